import assert from "node:assert/strict";
import { test } from "node:test";

import { formatCount, formatTime, plural, ticks } from "../../d2lperf/timeline/js/scale.js";
import { random } from "./example.mjs";

test("ticks are round, in view, as dense as asked for, and no two read the same", () => {
  const next = random(3);
  for (let round = 0; round < 500; round += 1) {
    const span = 10 ** (1 + 15 * next());
    const from = span * next() * 3;
    const width = 200 + 1500 * next();
    const found = ticks(from, from + span, width);
    const gaps = found.slice(1).map(({ ns }, k) => ns - found[k].ns);
    for (const { ns } of found) assert.ok(ns >= from && ns <= from + span);
    for (const gap of gaps) assert.ok((gap / span) * width >= 90 * (1 - 1e-6));
    for (const gap of gaps) assert.ok((gap / span) * width <= 90 * 2.5 * (1 + 1e-6));
    assert.equal(new Set(found.map(({ text }) => text)).size, found.length);
  }
});

test("ticks of a known axis", () => {
  assert.deepEqual(ticks(0, 1e6, 500).map(({ text }) => text), ["0", "0.2 ms", "0.4 ms", "0.6 ms", "0.8 ms", "1.0 ms"]);
  assert.deepEqual(ticks(1e9, 1e9 + 4, 400).map(({ text }) => text),
    ["1.000000000 s", "1.000000001 s", "1.000000002 s", "1.000000003 s", "1.000000004 s"]);
});

test("counts have spaces and nouns their number", () => {
  assert.equal(formatCount(1234567), "1\u00a0234\u00a0567");
  assert.equal(formatCount(999), "999");
  assert.equal(plural(1, "event"), "1 event");
  assert.equal(plural(12340, "event"), "12\u00a0340 events");
});

test("times are in nanoseconds", () => {
  assert.equal(formatTime(1_200_000), "1.20 ms");
  assert.equal(formatTime(0), "0 s");
});
