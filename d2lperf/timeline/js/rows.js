// Packed columns as rows: a lane and a depth, in which nothing overlaps, ordered by start.

const TYPES = {
  f8: Float64Array, u4: Uint32Array, u2: Uint16Array, u1: Uint8Array, i4: Int32Array,
};

function typed(view, Type) {
  if (view instanceof Type) return view;
  const buffer = view.buffer ?? view;
  const offset = view.byteOffset ?? 0;
  const bytes = view.byteLength;
  // Buffers from a kernel begin anywhere; typed arrays must begin at a multiple of their size.
  if (offset % Type.BYTES_PER_ELEMENT) return new Type(buffer.slice(offset, offset + bytes));
  return new Type(buffer, offset, bytes / Type.BYTES_PER_ELEMENT);
}

export function unpack(data) {
  const { meta } = data;
  const rows = { meta, flow: null, step: null, busy: null, count: null, shares: [] };
  for (const [key, type] of Object.entries(meta.types)) rows[key] = typed(data[key], TYPES[type]);
  rows.size = rows.start.length;
  rows.busy ??= rows.duration;
  rows.strips = data.strips.map((strip, i) => ({
    ...meta.strips[i],
    times: typed(strip.times, Float64Array),
    values: typed(strip.values, Float64Array),
  }));
  rows.rowCount = meta.rows.length;
  rows.lanes = meta.lanes.map((lane, number) => ({ ...lane, number, first: 0, last: 0, depth: 0 }));
  meta.rows.forEach(([lane, depth], row) => {
    const owner = rows.lanes[lane];
    if (owner.last === 0) owner.first = row;
    owner.last = row + 1;
    owner.depth = Math.max(owner.depth, depth + 1);
  });
  sumUp(rows);
  rows.end = Math.max(meta.axis_end_ns, lastEnd(rows));
  return rows;
}

// Time before each event in its row. Starting anew in each row keeps the sums exact.
function sumUp(rows) {
  const { busy, count, offsets } = rows;
  rows.before = new Float64Array(rows.size);
  rows.counted = count && new Float64Array(rows.size + 1);
  for (let row = 0; row < rows.rowCount; row += 1) {
    let sum = 0;
    for (let i = offsets[row]; i < offsets[row + 1]; i += 1) {
      rows.before[i] = sum;
      sum += busy[i];
    }
  }
  for (let i = 0; count && i < rows.size; i += 1) rows.counted[i + 1] = rows.counted[i] + count[i];
}

function lastEnd(rows) {
  let end = 0;
  for (let row = 0; row < rows.rowCount; row += 1) {
    end = Math.max(end, endOf(rows, rows.offsets[row + 1] - 1));
  }
  return end;
}

export function endOf(rows, i) {
  return rows.start[i] + rows.duration[i];
}

export function rowOf(rows, i) {
  let low = 0;
  let high = rows.rowCount - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (rows.offsets[middle] <= i) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function laneOf(rows, i) {
  return rows.lanes[rows.meta.rows[rowOf(rows, i)][0]];
}

// How many events i … j − 1 stand for: more than j − i where the kernel merged some.
export function countBetween(rows, i, j) {
  return rows.counted ? rows.counted[j] - rows.counted[i] : j - i;
}

// Busy time of the events i … j − 1 of one row, exact.
export function busyBetween(rows, i, j) {
  return j > i ? rows.before[j - 1] + rows.busy[j - 1] - rows.before[i] : 0;
}

// First event of i … last − 1 that starts at or after a moment; `last` if none does.
export function firstFrom(rows, row, ns, from = rows.offsets[row]) {
  const { start } = rows;
  const last = rows.offsets[row + 1];
  let low = from;
  let high = from;
  // Gallop first: the next pixel is usually a few events away, not half a million.
  for (let step = 1; high < last && start[high] < ns; step *= 2) {
    low = high + 1;
    high += step;
  }
  high = Math.min(high, last);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (start[middle] < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

// First event of a row that ends at or after a moment.
export function firstEnding(rows, row, ns) {
  let low = rows.offsets[row];
  let high = rows.offsets[row + 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows.start[middle] + rows.duration[middle] < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Visit what is visible of a row: events of a pixel or more one by one, the others merged by columns of
// pixels. Columns are counted from time 0, so that a picture that is dragged does not flicker.
export function walk(rows, row, from, to, scale, onEvent, onMerged) {
  const { start, duration } = rows;
  const last = rows.offsets[row + 1];
  let i = firstEnding(rows, row, from);
  while (i < last && start[i] < to) {
    if (duration[i] * scale >= 1) {
      onEvent(i);
      i += 1;
      continue;
    }
    const column = Math.floor(start[i] * scale);
    let j = firstFrom(rows, row, Math.min((column + 1) / scale, to), i + 1);
    if (j - i > 1 && duration[j - 1] * scale >= 1) j -= 1;
    // Alone, it is drawn in full; among others it is a share of its pixel as they are.
    const alone = j - i === 1 && (j === last || start[j] * scale >= column + 2);
    if (alone && !rows.count) onEvent(i);
    else onMerged(column, i, j);
    i = j;
  }
}

// Time of each category before each event of a row: [category, sums], for exact shares of a merged column.
export function sharesOf(rows, row) {
  if (rows.shares[row]) return rows.shares[row];
  const first = rows.offsets[row];
  const last = rows.offsets[row + 1];
  const present = new Set(rows.category.subarray(first, last));
  const shares = [...present].sort((a, b) => a - b).map((category) => {
    if (present.size === 1) return { category, sums: null };
    const sums = new Float64Array(last - first + 1);
    for (let i = first; i < last; i += 1) {
      sums[i - first + 1] = sums[i - first] + (rows.category[i] === category ? rows.busy[i] : 0);
    }
    return { category, sums };
  });
  rows.shares[row] = shares;
  return shares;
}

// The event at a moment of a row; with `slack` in nanoseconds also one nearby. -1 for none.
export function eventAt(rows, row, ns, slack = 0) {
  const first = firstEnding(rows, row, ns - slack);
  let best = -1;
  let least = Infinity;
  for (let i = first; i < rows.offsets[row + 1] && rows.start[i] <= ns + slack; i += 1) {
    const distance = Math.max(rows.start[i] - ns, ns - endOf(rows, i), 0);
    if (distance < least) [best, least] = [i, distance];
    if (distance === 0 && rows.start[i] > ns - slack) break;
  }
  return best;
}

// Events of all rows that overlap a span, or of some lanes: how many, as [first, last) of each row.
export function within(rows, from, to, lanes = null) {
  const spans = [];
  for (let row = 0; row < rows.rowCount; row += 1) {
    if (lanes && !lanes.includes(rows.meta.rows[row][0])) continue;
    const i = firstEnding(rows, row, from);
    const j = firstFrom(rows, row, to, i);
    if (j > i) spans.push({ row, i, j });
  }
  return spans;
}

export function countWithin(rows, from, to, lanes = null) {
  return within(rows, from, to, lanes).reduce((n, { i, j }) => n + countBetween(rows, i, j), 0);
}

// Positions of all events in the order of time, and the position of the event that Python calls `id`.
export function orderOf(rows) {
  if (rows.order) return rows.order;
  const keys = new Float64Array(rows.size);
  let dense = true;
  for (let i = 0; dense && i < rows.size; i += 1) dense = rows.id[i] < rows.size;
  const order = new Uint32Array(rows.size);
  if (dense) for (let i = 0; i < rows.size; i += 1) order[rows.id[i]] = i;
  else {
    for (let i = 0; i < rows.size; i += 1) keys[i] = rows.id[i] * rows.size + i;
    keys.sort().forEach((key, place) => { order[place] = key % rows.size; });
  }
  rows.order = order;
  return order;
}

export function positionOf(rows, id) {
  if (id < 0) return -1;
  const order = orderOf(rows);
  let low = 0;
  let high = rows.size;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows.id[order[middle]] < id) low = middle + 1;
    else high = middle;
  }
  return low < rows.size && rows.id[order[low]] === id ? order[low] : -1;
}
