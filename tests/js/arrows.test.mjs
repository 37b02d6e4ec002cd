import assert from "node:assert/strict";
import { test } from "node:test";

import { paintArrows } from "../../d2lperf/timeline/js/arrows.js";
import { flagsAt, paintFlags } from "../../d2lperf/timeline/js/flags.js";
import { arrowsOf } from "../../d2lperf/timeline/js/flows.js";
import { arrange } from "../../d2lperf/timeline/js/layout.js";
import { fitted } from "../../d2lperf/timeline/js/paint.js";
import { unpack } from "../../d2lperf/timeline/js/rows.js";
import { pack } from "./example.mjs";
import { Context } from "./stub.mjs";

const LANES = [{ name: "host" }, { name: "gpu", kind: "device" }];

function operation(flow, at, start, duration = 10) {
  return [
    { lane: "host", start: at, duration: 100, name: "f", category: "dispatch", flow },
    { lane: "gpu", start, duration, name: "f", category: "run", flow },
  ];
}

function scene(events, more = {}) {
  const rows = unpack(pack(events, { lanes: LANES }));
  return {
    rows, placed: arrange(rows, { folded: new Set() }), view: { from: 0, to: 1000 }, width: 1000, scrolled: 0,
    hovered: -1, chosen: -1, arrows: true, cursors: [], theme: { surface: {} }, ...more,
  };
}

function headsOf(context) {
  return context.calls.filter(([name], k) => name === "moveTo" && context.calls[k + 1][0] === "lineTo");
}

test("an arrow leaves its dispatch no later than the run begins, and never before the dispatch", () => {
  const { rows } = scene([...operation(0, 0, 40), ...operation(1, 200, 350), ...operation(2, 600, 590)]);
  assert.deepEqual(arrowsOf(rows, 0), [{ fromRow: 0, fromNs: 40, toRow: 1, toNs: 40 }]);
  assert.deepEqual(arrowsOf(rows, 1), [{ fromRow: 0, fromNs: 300, toRow: 1, toNs: 350 }]);
  assert.deepEqual(arrowsOf(rows, 2), []);
});

test("arrows whose heads are too close are left out, and that is told", () => {
  const close = [...Array(20).keys()].flatMap((k) => operation(k, 101 * k, 3000 + 11 * k));
  const painted = (view) => {
    const context = new Context();
    const complete = paintArrows(context, scene(close, { view }));
    return [complete, headsOf(context).length];
  };
  assert.deepEqual(painted({ from: 0, to: 10_000 }), [false, 0]);
  assert.deepEqual(painted({ from: 2900, to: 3300 }), [true, 20]);
});

test("at the edge of the view an arrow's head is whole", () => {
  const context = new Context();
  paintArrows(context, scene([...operation(0, 0, 1000)]));
  const [[, x]] = headsOf(context);
  assert.ok(x <= 1000 - 3.5);
});

test("flags do not overlap; a mark without a flag is found at its pole", () => {
  const marks = [[0, "first"], [5, "second"], [6, "third"], [400, "fourth"], [1000, "last"], [2000, "beyond"]];
  const shown = scene(operation(0, 0, 50));
  shown.rows.meta.marks = marks;
  paintFlags(new Context(), shown);
  const { flags } = shown;
  assert.deepEqual(flags.map(({ text, short }) => [text, Boolean(short)]),
    [["first", true], ["second", false], ["third", false], ["fourth", true], ["last", true]]);
  assert.ok(flags.every(({ left, right }) => left >= 0 && right <= 1000));
  const texts = (x, y) => flagsAt(shown, { x, y }).map(({ text }) => text);
  assert.deepEqual(texts(5, -33), ["first"]);
  assert.deepEqual(texts(6, -10), ["second", "third"]);
  assert.deepEqual(texts(300, -10), []);
});

test("a shortened name has no half of a letter", () => {
  for (let space = 12; space < 90; space += 1) {
    const text = fitted(new Context(), new Map(), "a🚀b🔥c🚀d🔥", space);
    // Half a letter has no code of its own in UTF-8.
    assert.equal(new TextDecoder().decode(new TextEncoder().encode(text)), text);
  }
});
