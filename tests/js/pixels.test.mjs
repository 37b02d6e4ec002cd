import assert from "node:assert/strict";
import { test } from "node:test";

import { columnsOf } from "../../d2lperf/timeline/js/decor.js";
import { LiveView } from "../../d2lperf/timeline/js/actions.js";
import { firstEvents } from "../../d2lperf/timeline/js/panels.js";
import { unpack } from "../../d2lperf/timeline/js/rows.js";
import { many, pack, random } from "./example.mjs";
import { page } from "./stub.mjs";

// How many pixels of each category a lane of short events has, drawn 800 pixels wide.
function inked(events) {
  const { document } = page();
  const view = new LiveView(document);
  view.width = 800;
  view.show(pack(events, { lanes: [{ name: "gpu" }] }));
  view.draw();
  const { h } = view.placed.rows[0];
  const counts = new Map();
  for (const pixel of view.raster.pixels) if (pixel) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  return { view, area: 800 * h, of: (category) => counts.get(view.tiles.bright[category][0]) ?? 0 };
}

function comb(count, period, durations, categories) {
  return Array.from({ length: count }, (_, k) => ({
    lane: "gpu", name: "f", start: k * period, duration: durations[k % durations.length],
    category: categories[k % categories.length],
  }));
}

test("a lane that is busy for a part of the time has that part of its pixels inked", () => {
  for (const share of [10, 50, 90]) {
    const { area, of } = inked(comb(80_000, 100, [share], ["run"]));
    assert.ok(Math.abs(of(1) / area - share / 100) < 0.03, `${share} %: ${of(1) / area}`);
  }
});

test("categories share a column as they share its time", () => {
  const { area, of } = inked(comb(80_000, 100, [60, 20], ["run", "wait"]));
  assert.ok(Math.abs(of(1) / area - 0.3) < 0.03);
  assert.ok(Math.abs(of(2) / area - 0.1) < 0.03);
});

test("an event that is alone is drawn in full, however short it is", () => {
  const { view, of } = inked([
    { lane: "gpu", name: "f", start: 0, duration: 1, category: "run" },
    { lane: "gpu", name: "f", start: 1_000_000, duration: 0, category: "run" },
    { lane: "gpu", name: "f", start: 2_000_000, duration: 1, category: "run" },
  ]);
  assert.equal(view.painted.merged, 0);
  // The last one begins on the last pixel's right edge.
  assert.ok(of(1) >= 2 * view.placed.rows[0].h);
});

test("no peak of a strip is lost between two pixels", () => {
  const next = random(4);
  const times = Float64Array.from({ length: 3000 }, (_, k) => k * 10 + Math.floor(next() * 10));
  const values = Float64Array.from(times, () => Math.floor(next() * 1e6));
  const strip = { times, values };
  for (const view of [{ from: 0, to: 30_000 }, { from: 5000, to: 5600 }]) {
    const columns = columnsOf(strip, view, 200);
    const scale = (view.to - view.from) / 200;
    columns.forEach((most, x) => {
      const [left, right] = [view.from + x * scale, view.from + (x + 1) * scale];
      let held = 0;
      let expected = 0;
      times.forEach((time, k) => {
        if (time <= left) held = values[k];
        else if (time < right) expected = Math.max(expected, values[k]);
      });
      assert.equal(most, Math.max(held, expected));
    });
  }
});

test("the first events of a span are the first ones, by start", () => {
  const rows = unpack(many(300, 3));
  const found = firstEvents(rows, 500, 9000, 50);
  const all = [...Array(rows.size).keys()]
    .filter((i) => rows.start[i] + rows.duration[i] >= 500 && rows.start[i] < 9000)
    .sort((a, b) => rows.start[a] - rows.start[b] || rows.id[a] - rows.id[b]);
  assert.deepEqual(found, all.slice(0, 50));
});

test("what Python has merged is a bar as high as it is busy, and says how many events it is", () => {
  const { document } = page();
  const view = new LiveView(document);
  view.width = 800;
  const data = pack(comb(100, 1000, [1000], ["run"]), { lanes: [{ name: "gpu" }] });
  Object.assign(data.meta.types, { busy: "f8", count: "u4" });
  data.busy = new DataView(new Float64Array(100).fill(500).buffer);
  data.count = new DataView(new Uint32Array(100).fill(5).buffer);
  view.show(data);
  view.draw();
  const { y, h } = view.placed.rows[0];
  const bars = view.parts.canvas.context.calls.filter(([name, x, top, w]) => name === "fillRect" && w === 8);
  assert.equal(bars.length, 100);
  for (const [, , top, , height] of bars) assert.deepEqual([top, height], [y + h / 2, h / 2]);
  view.choose(0);
  assert.match(view.parts.said.textContent, /^f and 4 events merged with it: run on gpu/);
});
