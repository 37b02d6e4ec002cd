// Sentences: what is spoken, and what stands in a tooltip.

import { countBetween, countWithin, laneOf, busyBetween } from "./rows.js";
import { flowOf, partsOf } from "./flows.js";
import { formatBytes, formatShare, formatTime, plural } from "./scale.js";

const VERBS = { run: "runs", copy: "is copied", collective: "is exchanged" };

export function nameOf(rows, i) {
  return rows.meta.names[rows.name[i]];
}

export function categoryOf(rows, i) {
  return rows.meta.categories[rows.category[i]];
}

function handedOver(rows, i) {
  const { dispatch, runs } = partsOf(rows, flowOf(rows, i));
  if (categoryOf(rows, i) !== "dispatch") {
    return dispatch < 0 || dispatch === i ? ""
      : `; dispatched at ${formatTime(rows.start[dispatch])} by ${laneOf(rows, dispatch).name}`;
  }
  if (!runs.length) return "";
  const [run] = runs;
  return `; ${VERBS[categoryOf(rows, run)]} at ${formatTime(rows.start[run])} on ${laneOf(rows, run).name}`;
}

function merged(rows, i) {
  return rows.count ? rows.count[i] : 1;
}

// What an event is, as one says it.
export function eventSentence(rows, i) {
  const more = merged(rows, i) > 1 ? ` and ${plural(merged(rows, i) - 1, "event")} merged with it` : "";
  const step = rows.step && rows.step[i] >= 0 ? `step ${rows.step[i]}, ` : "";
  return `${step}${nameOf(rows, i)}${more}: ${categoryOf(rows, i)} on ${laneOf(rows, i).name}, ` +
    `starts at ${formatTime(rows.start[i])}, lasts ${formatTime(rows.duration[i])}${handedOver(rows, i)}`;
}

// The same as pairs of a term and a text, for a tooltip.
export function eventFacts(rows, i) {
  const facts = [
    ["kind", categoryOf(rows, i)],
    ["lane", laneOf(rows, i).name],
    ["start", formatTime(rows.start[i])],
    ["duration", formatTime(rows.duration[i])],
  ];
  if (rows.step && rows.step[i] >= 0) facts.push(["step", String(rows.step[i])]);
  if (merged(rows, i) > 1) facts.push(["events", `${plural(merged(rows, i), "event")}, merged`]);
  const flow = partsOf(rows, flowOf(rows, i));
  if (flow.dispatch >= 0 && flow.dispatch !== i) {
    facts.push(["dispatched", formatTime(rows.start[flow.dispatch])]);
  }
  if (flow.dispatch === i && flow.runs.length) facts.push(["runs", formatTime(rows.start[flow.runs[0]])]);
  return facts;
}

// Where several events share a pixel.
export function mergedFacts(rows, i, j, from, to) {
  const share = Math.min(1, busyBetween(rows, i, j) / Math.max(to - from, 1));
  return [
    ["lane", laneOf(rows, i).name],
    ["at", formatTime(rows.start[i])],
    ["first", nameOf(rows, i)],
    ["filled", formatShare(share)],
  ];
}

export function laneSentence(rows, lane, from, to) {
  let count = 0;
  let busy = 0;
  for (let row = lane.first; row < lane.last; row += 1) {
    const i = rows.offsets[row];
    const j = rows.offsets[row + 1];
    count += countBetween(rows, i, j);
    if (row === lane.first) busy = busyBetween(rows, i, j);
  }
  const kind = lane.name.startsWith(lane.kind) ? "" : `, ${lane.kind}`;
  const share = lane.depth === 1 && to > from ? `, filled ${formatShare(busy / (to - from))} of the time` : "";
  return `lane ${lane.name}${kind}: ${plural(count, "event")}${share}`;
}

export function viewSentence(rows, view) {
  const count = plural(countWithin(rows, view.from, view.to), "event");
  return `${formatTime(view.from)} to ${formatTime(view.to)}: ${count}`;
}

export function mergedSentence(count) {
  return count ? `${plural(count, "event")} narrower than a pixel ${count === 1 ? "is" : "are"} drawn merged` : "";
}

export function rulerSentence(rows, [a, b]) {
  if (b === undefined) return `cursor at ${formatTime(a)}; press m for the second one`;
  const [from, to] = [Math.min(a, b), Math.max(a, b)];
  return `${formatTime(from)} to ${formatTime(to)}: ${formatTime(to - from)} apart, ` +
    `${plural(countWithin(rows, from, to), "event")} between`;
}

export function regionSentence(rows, { from, to, lanes }) {
  const where = lanes.length === 1 ? rows.lanes[lanes[0]].name : plural(lanes.length, "lane");
  return `selected ${formatTime(from)} to ${formatTime(to)} in ${where}: ` +
    plural(countWithin(rows, from, to, lanes), "event");
}

export function stripSentence(strip) {
  const budget = strip.budget === null ? "" : ` of ${formatBytes(strip.budget)}`;
  return `peak ${formatBytes(strip.peak)}${budget}`;
}

// The level of a strip at a moment: what holds since the last change.
export function stripTip(strip, ns) {
  let last = -1;
  while (last + 1 < strip.times.length && strip.times[last + 1] <= ns) last += 1;
  const facts = [["at", formatTime(ns)], ["holds", formatBytes(last < 0 ? 0 : strip.values[last])]];
  return { title: strip.name, facts: [...facts, ["peak", formatBytes(strip.peak)]] };
}

// Marks [{ns, text}] at one place of the axis; null for none.
export function marksTip(marks, most = 5) {
  if (!marks.length) return null;
  if (marks.length === 1) return { title: marks[0].text, facts: [["at", formatTime(marks[0].ns)]] };
  const facts = marks.slice(0, most).map(({ ns, text }) => [formatTime(ns), text]);
  return { title: plural(marks.length, "mark"), facts };
}
