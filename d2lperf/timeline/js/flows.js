// Operations: the dispatch, the run and the wait that belong together carry the same flow number.

import { endOf, laneOf, rowOf, within } from "./rows.js";

// Positions of the events by flow, by counting: a Map of a million entries takes a second.
function index(rows) {
  if (rows.flows) return rows.flows;
  let most = -1;
  for (const flow of rows.flow) if (flow > most) most = flow;
  const offsets = new Uint32Array(most + 2);
  for (const flow of rows.flow) if (flow >= 0) offsets[flow + 1] += 1;
  for (let i = 0; i <= most; i += 1) offsets[i + 1] += offsets[i];
  const next = offsets.slice();
  const items = new Uint32Array(offsets[most + 1]);
  rows.flow.forEach((flow, i) => {
    if (flow >= 0) items[next[flow]++] = i;
  });
  rows.flows = { offsets, items };
  return rows.flows;
}

// Events of a flow, by start; none for -1.
export function eventsOf(rows, flow) {
  if (!rows.flow || flow < 0) return [];
  const { offsets, items } = index(rows);
  if (flow + 1 >= offsets.length) return [];
  return [...items.subarray(offsets[flow], offsets[flow + 1])]
    .sort((a, b) => rows.start[a] - rows.start[b]);
}

export function flowOf(rows, i) {
  return rows.flow && i >= 0 ? rows.flow[i] : -1;
}

function isA(rows, i, ...names) {
  return names.includes(rows.meta.categories[rows.category[i]]);
}

// What a flow is made of. Details that the runtime does for it are none of the three.
export function partsOf(rows, flow) {
  const events = eventsOf(rows, flow);
  return {
    dispatch: events.find((i) => isA(rows, i, "dispatch")) ?? -1,
    runs: events.filter((i) => isA(rows, i, "run", "copy", "collective")),
    waits: events.filter((i) => isA(rows, i, "wait")),
  };
}

// Arrows of a flow: from the end of the dispatch (no later than the run begins) to the first run in each lane, and
// from the end of the last run to what waited for it.
export function arrowsOf(rows, flow) {
  const { dispatch, runs, waits } = partsOf(rows, flow);
  const arrows = [];
  const arrow = (from, fromNs, to, toNs) => {
    if (rowOf(rows, from) !== rowOf(rows, to)) {
      arrows.push({ fromRow: rowOf(rows, from), fromNs, toRow: rowOf(rows, to), toNs });
    }
  };
  const seen = new Set();
  for (const run of runs) {
    const { number } = laneOf(rows, run);
    if (dispatch >= 0 && rows.start[run] >= rows.start[dispatch] && !seen.has(number)) {
      arrow(dispatch, Math.min(endOf(rows, dispatch), rows.start[run]), run, rows.start[run]);
    }
    seen.add(number);
  }
  for (const wait of waits) {
    const run = runs.at(-1);
    if (run !== undefined) arrow(run, endOf(rows, run), wait, endOf(rows, wait));
  }
  return arrows;
}

// Arrows of what an operation needs: from the end of each earlier run to its own start.
export function needsOf(rows, flow) {
  const arrows = [];
  if (flow < 0) return arrows;
  const own = partsOf(rows, flow).runs[0];
  for (let k = 0; own !== undefined && k < rows.needs.length; k += 2) {
    if (rows.needs[k + 1] !== flow) continue;
    const earlier = partsOf(rows, rows.needs[k]).runs.at(-1);
    if (earlier === undefined) continue;
    arrows.push({
      fromRow: rowOf(rows, earlier), fromNs: endOf(rows, earlier),
      toRow: rowOf(rows, own), toNs: rows.start[own], need: true,
    });
  }
  return arrows;
}

// Flows in view, or null where they are too many to be told apart.
export function visibleFlows(rows, from, to, most = 200) {
  if (!rows.flow) return [];
  const spans = within(rows, from, to);
  if (spans.reduce((n, { i, j }) => n + j - i, 0) > 10 * most) return null;
  const flows = new Set();
  for (const { i, j } of spans) {
    for (let k = i; k < j; k += 1) if (rows.flow[k] >= 0) flows.add(rows.flow[k]);
  }
  return flows.size > most ? null : [...flows];
}
