// Packed columns as Python sends them, from events that are easy to read.

const CATEGORIES = ["dispatch", "run", "wait", "host", "compile", "copy", "collective", "runtime"];

// events: {lane, start, duration, name, category, flow, step, depth}
export function pack(events, { lanes, needs = [], ...more } = {}) {
  const names = [...new Set(events.map((event) => event.name))];
  const byTime = events.map((event, k) => ({ depth: 0, flow: -1, step: -1, ...event, k }))
    .sort((a, b) => a.start - b.start || b.duration - a.duration || a.k - b.k);
  byTime.forEach((event, id) => { event.id = id; });
  const number = (event) => lanes.findIndex((lane) => lane.name === event.lane);
  const ordered = [...byTime]
    .sort((a, b) => number(a) - number(b) || a.depth - b.depth || a.start - b.start || a.id - b.id);
  const rows = [];
  const offsets = [];
  ordered.forEach((event, i) => {
    const row = [number(event), event.depth];
    if (!rows.length || rows.at(-1).some((part, k) => part !== row[k])) {
      rows.push(row);
      offsets.push(i);
    }
  });
  offsets.push(ordered.length);
  const column = (Type, read) => new DataView(Type.from(ordered, read).buffer);
  return {
    meta: {
      title: "Example", caption: "A caption.", alt: "An example.", notes: [], events: events.length,
      axis_end_ns: Math.max(1, ...events.map((event) => event.start + event.duration)), first_ns: 0,
      categories: CATEGORIES, names, rows, marks: [], strips: [], overlay: [],
      lanes: lanes.map((lane) => ({ kind: "host", group: "", folded: false, ...lane })),
      types: {
        start: "f8", duration: "f8", name: "u2", category: "u1", id: "u4", flow: "i4", step: "i4",
        offsets: "u4", needs: "i4",
      },
      ...more,
    },
    start: column(Float64Array, (event) => event.start),
    duration: column(Float64Array, (event) => event.duration),
    name: column(Uint16Array, (event) => names.indexOf(event.name)),
    category: column(Uint8Array, (event) => CATEGORIES.indexOf(event.category)),
    id: column(Uint32Array, (event) => event.id),
    flow: column(Int32Array, (event) => event.flow),
    step: column(Int32Array, (event) => event.step),
    offsets: new DataView(Uint32Array.from(offsets).buffer),
    needs: new DataView(Int32Array.from(needs.flat()).buffer),
    strips: [],
  };
}

// A generator of numbers that is the same every time.
export function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Events of two lanes that touch, leave gaps, last nothing or long, in rows without overlap.
export function many(count, seed) {
  const next = random(seed);
  const events = [];
  for (const lane of ["a", "b"]) {
    let time = 0;
    for (let k = 0; k < count; k += 1) {
      time += next() < 0.3 ? 0 : Math.floor(next() * 40);
      const duration = next() < 0.1 ? 0 : Math.floor(next() ** 4 * 900);
      const category = CATEGORIES[Math.floor(next() * (lane === "a" ? 8 : 1))];
      events.push({ lane, start: time, duration, name: `op ${k % 7}`, category });
      // Of two that start together, the model puts the shorter one into another row.
      time += Math.max(duration, 1);
    }
  }
  return pack(events, { lanes: [{ name: "a" }, { name: "b" }] });
}

// Two operations: dispatched, run, waited for.
export function pipeline(more = {}) {
  return pack([
    { lane: "host", start: 0, duration: 1000, name: "f", category: "dispatch", flow: 0, step: 3 },
    { lane: "host", start: 1000, duration: 1000, name: "g", category: "dispatch", flow: 1 },
    { lane: "gpu", start: 1000, duration: 4000, name: "f", category: "run", flow: 0, step: 3 },
    { lane: "gpu", start: 5000, duration: 4000, name: "g", category: "run", flow: 1 },
    { lane: "host", start: 2000, duration: 7500, name: "block", category: "wait", flow: 1 },
  ], { lanes: [{ name: "host" }, { name: "gpu", kind: "device" }], needs: [[0, 1]], ...more });
}
