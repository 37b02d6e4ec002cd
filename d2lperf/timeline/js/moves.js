// From one event to another.

import { endOf, firstFrom, firstEnding, laneOf, rowOf } from "./rows.js";

function lanesShown(placed) {
  return placed.bands.map((band) => band.lane);
}

// All events of a lane are in its rows; the next one is the nearest beginning of any of them.
function step(rows, i, direction) {
  const lane = laneOf(rows, i);
  const key = (k) => [rows.start[k], rows.id[k]];
  const later = (a, b) => a[0] - b[0] || a[1] - b[1];
  let best = -1;
  for (let row = lane.first; row < lane.last; row += 1) {
    let k = firstFrom(rows, row, rows.start[i]);
    if (direction > 0) while (k < rows.offsets[row + 1] && later(key(k), key(i)) <= 0) k += 1;
    else {
      while (k < rows.offsets[row + 1] && later(key(k), key(i)) < 0) k += 1;
      k -= 1;
    }
    if (k < rows.offsets[row] || k >= rows.offsets[row + 1]) continue;
    if (best < 0 || direction * later(key(k), key(best)) < 0) best = k;
  }
  return best < 0 ? i : best;
}

function nearest(rows, lane, ns) {
  let best = -1;
  let least = Infinity;
  for (let row = lane.first; row < lane.last; row += 1) {
    const found = firstEnding(rows, row, ns);
    for (const k of [found, found - 1]) {
      if (k < rows.offsets[row] || k >= rows.offsets[row + 1]) continue;
      const distance = Math.max(rows.start[k] - ns, ns - endOf(rows, k), 0);
      if (distance < least) [best, least] = [k, distance];
    }
  }
  return best;
}

function edge(rows, lane, direction) {
  let best = -1;
  for (let row = lane.first; row < lane.last; row += 1) {
    const k = direction < 0 ? rows.offsets[row] : rows.offsets[row + 1] - 1;
    if (best < 0 || direction * (rows.start[k] - rows.start[best]) > 0) best = k;
  }
  return best;
}

// The event that a key leads to from the chosen one, or from the middle of the view; -1 where there are none.
export function move(scene, key) {
  const { rows, placed, chosen, view } = scene;
  const lanes = lanesShown(placed).filter((lane) => lane.last > lane.first);
  if (!lanes.length) return -1;
  const visible = chosen >= 0 && placed.rows[rowOf(rows, chosen)];
  if (!visible) return nearest(rows, lanes[0], view.from);
  const lane = laneOf(rows, chosen);
  const place = lanes.findIndex((other) => other.number === lane.number);
  switch (key) {
    case "ArrowRight": return step(rows, chosen, 1);
    case "ArrowLeft": return step(rows, chosen, -1);
    case "Home": return edge(rows, lane, -1);
    case "End": return edge(rows, lane, 1);
    default: {
      const next = lanes[place + (key === "ArrowDown" ? 1 : -1)];
      const middle = Math.min(Math.max(rows.start[chosen] + rows.duration[chosen] / 2, view.from), view.to);
      return next ? nearest(rows, next, middle) : chosen;
    }
  }
}
