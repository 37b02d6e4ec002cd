import assert from "node:assert/strict";
import { test } from "node:test";

import { drawEverything } from "../../d2lperf/timeline/js/naive.js";
import { unpack } from "../../d2lperf/timeline/js/rows.js";
import { many } from "./example.mjs";
import { Context } from "./stub.mjs";

test("the naive way draws every event, which is what it is measured for", () => {
  const rows = unpack(many(100, 1));
  const context = new Context();
  drawEverything(context, rows, { from: 0, to: rows.end }, 800, 100);
  assert.equal(context.calls.filter(([name]) => name === "fillRect").length, 200);
});
