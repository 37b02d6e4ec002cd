// Finding events by name, and what is emphasised while the others are dimmed.

import { countBetween, orderOf } from "./rows.js";

// Which names contain a text, whatever the case; null for an empty text.
export function matchingNames(names, text) {
  const wanted = text.trim().toLowerCase();
  return wanted ? Uint8Array.from(names, (name) => Number(name.toLowerCase().includes(wanted))) : null;
}

// Whether any of the events i … j − 1 matches; null where nothing is asked for.
export function emphasisOf(rows, { names = null, category = -1 }) {
  if (!names && category < 0) return null;
  const sums = new Uint32Array(rows.size + 1);
  const is = (i) => (!names || names[rows.name[i]]) && (category < 0 || rows.category[i] === category);
  for (let i = 0; i < rows.size; i += 1) sums[i + 1] = sums[i] + (is(i) ? countBetween(rows, i, i + 1) : 0);
  return { is, any: (i, j) => sums[j] > sums[i], total: sums[rows.size] };
}

// The next match after (or before) an event in the order of time, around the end; -1 for none.
export function nextMatch(rows, emphasis, from, direction) {
  const order = orderOf(rows);
  const start = from < 0 ? (direction > 0 ? -1 : 0) : placeOf(rows, from);
  for (let k = 1; k <= rows.size; k += 1) {
    const place = (start + direction * k + rows.size * 2) % rows.size;
    if (emphasis.is(order[place])) return order[place];
  }
  return -1;
}

// How many matches there are up to an event: the n of "n of m".
export function rankOf(rows, emphasis, i) {
  const order = orderOf(rows);
  let rank = 0;
  for (let place = 0; place < rows.size; place += 1) {
    if (emphasis.is(order[place])) rank += countBetween(rows, order[place], order[place] + 1);
    if (order[place] === i) break;
  }
  return rank;
}

function placeOf(rows, i) {
  const order = orderOf(rows);
  let low = 0;
  let high = rows.size - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows.id[order[middle]] < rows.id[i]) low = middle + 1;
    else high = middle;
  }
  return low;
}
