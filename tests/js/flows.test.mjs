import assert from "node:assert/strict";
import { test } from "node:test";

import { arrowsOf, eventsOf, needsOf, partsOf, visibleFlows } from "../../d2lperf/timeline/js/flows.js";
import { arrange, rowsAt } from "../../d2lperf/timeline/js/layout.js";
import { move } from "../../d2lperf/timeline/js/moves.js";
import { hit } from "../../d2lperf/timeline/js/pointer.js";
import { endOf, laneOf, rowOf, unpack } from "../../d2lperf/timeline/js/rows.js";
import { emphasisOf, matchingNames, nextMatch, rankOf } from "../../d2lperf/timeline/js/search.js";
import { eventFacts, eventSentence, laneSentence, rulerSentence } from "../../d2lperf/timeline/js/words.js";
import { many, pack, pipeline } from "./example.mjs";

function scene(rows, more = {}) {
  const placed = arrange(rows, { folded: new Set(more.folded ?? []), over: more.over });
  return { rows, placed, chosen: -1, view: { from: 0, to: rows.end }, width: 1000, scrolled: 0, ...more };
}

test("a flow consists of its dispatch, its runs and its waits", () => {
  const rows = unpack(pipeline());
  const { dispatch, runs, waits } = partsOf(rows, 1);
  assert.equal(eventSentence(rows, dispatch),
    "g: dispatch on host, starts at 1.00 µs, lasts 1.00 µs; runs at 5.00 µs on gpu");
  assert.deepEqual([runs.length, waits.length], [1, 1]);
  assert.deepEqual(eventsOf(rows, -1), []);
  assert.deepEqual(eventsOf(rows, 99), []);
});

test("arrows lead from the dispatch's end to the run and from the run's end to the end of the wait", () => {
  const rows = unpack(pipeline());
  assert.deepEqual(arrowsOf(rows, 1), [
    { fromRow: 0, fromNs: 2000, toRow: 1, toNs: 5000 },
    { fromRow: 1, fromNs: 9000, toRow: 0, toNs: 9500 },
  ]);
  assert.deepEqual(needsOf(rows, 1), [{ fromRow: 1, fromNs: 5000, toRow: 1, toNs: 5000, need: true }]);
  assert.deepEqual(needsOf(rows, 0), []);
});

test("too many flows to tell apart are none", () => {
  const rows = unpack(pipeline());
  assert.deepEqual(visibleFlows(rows, 0, 10_000).sort(), [0, 1]);
  assert.equal(visibleFlows(rows, 0, 10_000, 1), null);
  assert.deepEqual(visibleFlows(unpack(many(10, 1)), 0, 1e6), []);
});

test("an event says its step, and when and by whom it was dispatched", () => {
  const rows = unpack(pipeline());
  const [run] = partsOf(rows, 0).runs;
  assert.equal(eventSentence(rows, run),
    "step 3, f: run on gpu, starts at 1.00 µs, lasts 4.00 µs; dispatched at 0 s by host");
  assert.deepEqual(Object.fromEntries(eventFacts(rows, run)),
    { kind: "run", lane: "gpu", start: "1.00 µs", duration: "4.00 µs", step: "3", dispatched: "0 s" });
});

test("a lane says how full it is, the cursors what is between them", () => {
  const rows = unpack(pipeline());
  assert.equal(laneSentence(rows, rows.lanes[1], 0, 10_000), "lane gpu, device: 2 events, filled 80 % of the time");
  assert.equal(rulerSentence(rows, [4000, 1500]), "1.50 µs to 4.00 µs: 2.50 µs apart, 3 events between");
});

test("arrow keys visit every event of a lane once, in the order of time", () => {
  const rows = unpack(many(100, 2));
  const state = scene(rows);
  state.chosen = move({ ...state, chosen: rows.offsets[1] - 1 }, "Home");
  const visited = [state.chosen];
  for (let next = move(state, "ArrowRight"); next !== state.chosen; next = move(state, "ArrowRight")) {
    state.chosen = next;
    visited.push(next);
  }
  assert.equal(visited.length, 100);
  assert.deepEqual(visited, [...new Set(visited)].sort((a, b) => rows.start[a] - rows.start[b]));
  assert.equal(move(state, "End"), state.chosen);
  const back = [state.chosen];
  for (let next = move(state, "ArrowLeft"); next !== state.chosen; next = move(state, "ArrowLeft")) {
    state.chosen = next;
    back.push(next);
  }
  assert.deepEqual(back.reverse(), visited);
});

test("up and down lead to the nearest event of the next lane, and nested events belong to their lane", () => {
  const lanes = [{ name: "a" }, { name: "b" }];
  const rows = unpack(pack([
    { lane: "a", start: 0, duration: 100, name: "outer", category: "host" },
    { lane: "a", start: 10, duration: 20, name: "inner", category: "host", depth: 1 },
    { lane: "b", start: 300, duration: 10, name: "far", category: "run" },
    { lane: "b", start: 40, duration: 10, name: "near", category: "run" },
  ], { lanes }));
  const name = (i) => rows.meta.names[rows.name[i]];
  const state = scene(rows, { chosen: 0 });
  assert.equal(name(move(state, "ArrowRight")), "inner");
  assert.equal(name(move(state, "ArrowDown")), "near");
  assert.equal(move(state, "ArrowUp"), 0);
  assert.equal(name(move({ ...state, chosen: 2 }, "ArrowUp")), "outer");
});

test("what is below the pointer is what was drawn there", () => {
  const rows = unpack(many(300, 5));
  for (const [from, to] of [[0, rows.end], [1000, 1600]]) {
    const state = scene(rows, { view: { from, to } });
    for (let x = 0; x < 1000; x += 7) {
      const place = state.placed.rows[0];
      const found = hit(state, x + 0.5, place.y + 5);
      const ns = from + ((x + 0.5) / 1000) * (to - from);
      const slack = (2 / 1000) * (to - from);
      const near = [...Array(rows.offsets[1]).keys()]
        .some((i) => rows.start[i] <= ns + slack && endOf(rows, i) >= ns - slack);
      assert.equal(Boolean(found), near);
      if (found) for (let i = found.i; i < found.j; i += 1) assert.equal(rowOf(rows, i), 0);
    }
  }
});

test("folded lanes are thin, lanes of a folded group share a row, and nothing overlaps", () => {
  const lanes = [{ name: "host" }, { name: "s1", group: "gpu" }, { name: "other" }, { name: "s2", group: "gpu" }];
  const events = lanes.map(({ name }, k) => ({ lane: name, start: k, duration: 5, name: "f", category: "run" }));
  const rows = unpack(pack(events, { lanes }));
  const open = arrange(rows, { folded: new Set() });
  assert.deepEqual(open.bands.map((band) => band.lane.name), ["host", "s1", "s2", "other"]);
  assert.deepEqual(open.heads.map((head) => head.name), ["gpu"]);
  const spans = [...open.bands, ...open.heads].sort((a, b) => a.y - b.y);
  spans.slice(1).forEach((span, k) => assert.ok(span.y >= spans[k].y + spans[k].h));
  const thin = arrange(rows, { folded: new Set(["host"]) });
  assert.ok(thin.rows[0].h < open.rows[0].h);
  const shut = arrange(rows, { folded: new Set(["group:gpu"]) });
  assert.deepEqual(shut.bands.map((band) => band.lane.name), ["host", "other"]);
  assert.equal(shut.rows[1].y, shut.rows[3].y);
  assert.deepEqual(rowsAt(shut, shut.rows[1].y + 2), [3, 1]);
  assert.equal(laneOf(rows, 1).name, "s1");
});

test("one timeline upon the other has outlines upon the bars of the first", () => {
  const lanes = [{ name: "before" }, { name: "after" }];
  const events = lanes.map(({ name }) => ({ lane: name, start: 0, duration: 5, name: "f", category: "run" }));
  const rows = unpack(pack(events, { lanes, overlay: [[0, 1]] }));
  const under = arrange(rows, { folded: new Set() });
  assert.notEqual(under.rows[0].y, under.rows[1].y);
  const over = arrange(rows, { folded: new Set(), over: true });
  assert.ok(Math.abs(over.rows[0].y - over.rows[1].y) < over.rows[0].h / 2);
  assert.equal(over.bands[0].over.name, "after");
  assert.deepEqual([over.rows[0].outline, over.rows[1].outline], [undefined, true]);
});

test("a search finds every event whose name contains the text, in the order of time and around the end", () => {
  const rows = unpack(many(50, 3));
  const matches = emphasisOf(rows, { names: matchingNames(rows.meta.names, " OP 3") });
  const expected = [...Array(rows.size).keys()].filter((i) => rows.meta.names[rows.name[i]] === "op 3")
    .sort((a, b) => rows.id[a] - rows.id[b]);
  assert.equal(matches.total, expected.length);
  let at = -1;
  expected.forEach((i, k) => {
    at = nextMatch(rows, matches, at, 1);
    assert.equal(at, i);
    assert.equal(rankOf(rows, matches, at), k + 1);
  });
  assert.equal(nextMatch(rows, matches, at, 1), expected[0]);
  assert.equal(nextMatch(rows, matches, expected[0], -1), expected.at(-1));
  assert.equal(nextMatch(rows, matches, -1, -1), expected.at(-1));
  assert.equal(matchingNames(rows.meta.names, "  "), null);
  assert.equal(emphasisOf(rows, { names: matchingNames(rows.meta.names, "nothing") }).total, 0);
});
