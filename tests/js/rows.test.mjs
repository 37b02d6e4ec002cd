import assert from "node:assert/strict";
import { test } from "node:test";

import {
  busyBetween, countWithin, endOf, eventAt, firstEnding, firstFrom, orderOf, positionOf, rowOf,
  sharesOf, unpack, walk, within,
} from "../../d2lperf/timeline/js/rows.js";
import { many, pipeline, random } from "./example.mjs";

const SEEDS = [1, 2, 3, 4, 5];

function visited(rows, row, from, to, width) {
  const scale = width / (to - from);
  const events = [];
  const merged = [];
  walk(rows, row, from, to, scale, (i) => events.push(i), (column, i, j) => merged.push({ column, i, j }));
  return { events, merged, scale };
}

function members(rows, row) {
  return Array.from({ length: rows.offsets[row + 1] - rows.offsets[row] }, (_, k) => rows.offsets[row] + k);
}

test("every event in view is drawn once, alone or merged", () => {
  for (const seed of SEEDS) {
    const rows = unpack(many(500, seed));
    const next = random(seed);
    for (let round = 0; round < 20; round += 1) {
      const [from, to] = [next(), next()].map((part) => part * rows.end).sort((a, b) => a - b);
      for (let row = 0; row < rows.rowCount; row += 1) {
        const { events, merged } = visited(rows, row, from, to, 1 + Math.floor(next() * 900));
        const drawn = [...events, ...merged.flatMap(({ i, j }) => [...Array(j - i).keys()].map((k) => i + k))];
        const inView = members(rows, row).filter((i) => endOf(rows, i) >= from && rows.start[i] < to);
        assert.deepEqual(drawn.sort((a, b) => a - b), inView);
      }
    }
  }
});

test("the busy time of what is drawn is exactly the union of the intervals", () => {
  for (const seed of SEEDS) {
    const rows = unpack(many(400, seed));
    for (const width of [7, 100, 1000]) {
      for (let row = 0; row < rows.rowCount; row += 1) {
        const { events, merged } = visited(rows, row, 0, rows.end + 1, width);
        const sum = events.reduce((total, i) => total + rows.duration[i], 0) +
          merged.reduce((total, { i, j }) => total + busyBetween(rows, i, j), 0);
        const covered = new Set();
        for (const i of members(rows, row)) for (let t = rows.start[i]; t < endOf(rows, i); t += 1) covered.add(t);
        assert.equal(sum, covered.size);
      }
    }
  }
});

test("only events narrower than a pixel that start in one pixel are merged", () => {
  const rows = unpack(many(500, 9));
  const { merged, scale } = visited(rows, 0, 0, rows.end, 300);
  assert.ok(merged.length > 10);
  for (const { column, i, j } of merged) {
    for (let k = i; k < j; k += 1) {
      assert.ok(rows.duration[k] * scale < 1);
      assert.equal(Math.floor(rows.start[k] * scale), column);
    }
  }
});

test("the shares of the categories add up to the whole, column by column", () => {
  const rows = unpack(many(500, 4));
  const shares = sharesOf(rows, 0);
  assert.ok(shares.length > 3);
  const first = rows.offsets[0];
  const { merged } = visited(rows, 0, 0, rows.end, 200);
  for (const { i, j } of merged) {
    const parts = shares.map(({ sums }) => sums[j - first] - sums[i - first]);
    assert.equal(parts.reduce((a, b) => a + b), busyBetween(rows, i, j));
    shares.forEach(({ category }, k) => {
      let own = 0;
      for (let e = i; e < j; e += 1) if (rows.category[e] === category) own += rows.duration[e];
      assert.equal(parts[k], own);
    });
  }
});

test("binary searches agree with looking at every event", () => {
  const rows = unpack(many(200, 6));
  for (let row = 0; row < rows.rowCount; row += 1) {
    const own = members(rows, row);
    for (let ns = -5; ns < rows.end + 50; ns += 13) {
      const last = rows.offsets[row + 1];
      assert.equal(firstFrom(rows, row, ns), own.find((i) => rows.start[i] >= ns) ?? last);
      assert.equal(firstEnding(rows, row, ns), own.find((i) => endOf(rows, i) >= ns) ?? last);
      const at = eventAt(rows, row, ns);
      assert.equal(at >= 0, own.some((i) => rows.start[i] <= ns && ns <= endOf(rows, i)));
      if (at >= 0) assert.ok(rows.start[at] <= ns && ns <= endOf(rows, at));
    }
  }
});

test("counts within a span agree with looking at every event", () => {
  const rows = unpack(many(300, 7));
  const all = [...Array(rows.size).keys()];
  for (const [from, to] of [[0, 100], [500, 4000], [-10, rows.end + 10]]) {
    const seen = all.filter((i) => endOf(rows, i) >= from && rows.start[i] < to);
    assert.equal(countWithin(rows, from, to), seen.length);
    assert.equal(countWithin(rows, from, to, [1]),
      seen.filter((i) => rows.meta.rows[rowOf(rows, i)][0] === 1).length);
  }
  assert.deepEqual(within(rows, 0, 100, []), []);
});

test("merged events count as many as they stand for", () => {
  const data = pipeline();
  data.meta.types.count = "u4";
  data.count = new DataView(Uint32Array.from([10, 1, 5, 2, 7]).buffer);
  const rows = unpack(data);
  assert.equal(countWithin(rows, 0, 10_000), 25);
});

test("events are found by Python's number, in the order of time", () => {
  const rows = unpack(many(100, 8));
  const starts = [...orderOf(rows)].map((i) => rows.start[i]);
  assert.deepEqual(starts, [...starts].sort((a, b) => a - b));
  for (let id = 0; id < rows.size; id += 1) assert.equal(rows.id[positionOf(rows, id)], id);
  assert.equal(positionOf(rows, rows.size), -1);
  assert.equal(positionOf(rows, -1), -1);
});

test("numbers with gaps are found as well", () => {
  const data = pipeline();
  data.id = new DataView(Uint32Array.from([4, 90, 200, 7, 1000]).buffer);
  const rows = unpack(data);
  assert.deepEqual([...orderOf(rows)].map((i) => rows.id[i]), [4, 7, 90, 200, 1000]);
  assert.equal(rows.id[positionOf(rows, 200)], 200);
  assert.equal(positionOf(rows, 5), -1);
});

test("buffers may begin anywhere", () => {
  const data = pipeline();
  const shifted = new Uint8Array(data.start.byteLength + 3);
  shifted.set(new Uint8Array(data.start.buffer), 3);
  data.start = new DataView(shifted.buffer, 3);
  assert.deepEqual([...unpack(data).start], [0, 1000, 2000, 1000, 5000]);
});
