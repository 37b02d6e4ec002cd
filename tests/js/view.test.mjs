// The joined module, as a notebook gets it, on a page that keeps a record.
import assert from "node:assert/strict";
import { test } from "node:test";

import { many, pipeline } from "./example.mjs";
import { key, Model, page } from "./stub.mjs";

const bundle = process.env.D2LPERF_BUNDLE ?? new URL("../../d2lperf/timeline/js/main.js", import.meta.url);
const module = await import(bundle);
const { render } = module.default ?? module;

function shown(data = pipeline(), state = {}, options = {}) {
  const { window, document, el } = page(options);
  const model = new Model({ data, view: [], chosen: -1, region: null, search: "", ...state });
  const dispose = render({ model, el });
  window.settle();
  const [root] = el.children;
  const view = root.d2lperf.view;
  view.parts.canvas.context.calls.length = 0;
  const press = (name, more = {}) => {
    const event = key(name, view.parts.stage, more);
    root.listeners.keydown.forEach((handler) => handler(event));
    window.settle();
    return event;
  };
  const fire = (target, name, event = {}) => {
    const given = { target, currentTarget: target, preventDefault() {}, ...event };
    target.listeners[name].forEach((handler) => handler(given));
    window.settle();
  };
  return { window, document, el, model, dispose, root, view, press, fire, said: () => view.parts.said.textContent };
}

test("the first frame draws every bar with its name and says how many events there are", () => {
  const { view, root } = shown();
  view.draw();
  const { context } = view.parts.canvas;
  assert.deepEqual(context.texts().sort(), ["block", "f", "f", "g", "g"]);
  assert.equal(root.dataset.events, 5);
  assert.equal(root.dataset.merged, 0);
  assert.equal(view.parts.axis.context.texts()[0], "0");
});

test("nothing is drawn outside of a frame, and one frame serves many changes", () => {
  const { view, window } = shown();
  view.pan(0.1);
  view.pan(0.1);
  view.zoom(2);
  assert.equal(view.parts.canvas.context.calls.length, 0);
  assert.equal(window.frames.size, 1);
});

test("merged events are counted, and the count is said", () => {
  const { view, root } = shown(many(5000, 1));
  const { rows } = view;
  let drawn = 0;
  view.draw();
  assert.ok(root.dataset.merged > 1000);
  assert.match(view.parts.status.textContent, /events narrower than a pixel are drawn merged/);
  for (const size of [view.painted.bars, view.painted.columns]) drawn += size;
  assert.ok(drawn < 2 * view.width);
  assert.ok(Number(root.dataset.merged) <= rows.size);
});

test("what is dimmed and what is bright are different pixels", () => {
  const { view } = shown(many(5000, 1));
  view.draw();
  const bright = new Set(view.raster.pixels);
  view.search("op 3");
  view.draw();
  const dimmed = new Set(view.raster.pixels);
  assert.ok([...dimmed].some((pixel) => !bright.has(pixel)));
});

test("handled keys go no further, others pass", () => {
  const { press } = shown();
  const handled = "ArrowRight + - 0 f F a m s t ? / Escape Home End Enter".split(" ");
  for (const name of handled) {
    const event = press(name);
    assert.ok(event.prevented && event.stopped, name);
  }
  for (const [name, more] of [["x"], ["Tab"], ["a", { ctrlKey: true }], ["+", { metaKey: true }]]) {
    const event = press(name, more);
    assert.ok(!event.prevented && !event.stopped, name);
  }
});

test("typing into the search reaches the browser and nobody else", () => {
  const { view, root } = shown();
  const event = key("f", view.parts.input);
  root.listeners.keydown.forEach((handler) => handler(event));
  assert.ok(event.stopped && !event.prevented);
  assert.equal(view.folded.size, 0);
});

test("arrow keys choose events, speak them and tell Python", () => {
  const { press, model, said } = shown();
  press("ArrowRight");
  assert.match(said(), /^step 3, f: dispatch on host, starts at 0 s, lasts 1.00 µs; runs at 1.00 µs on gpu/);
  assert.equal(model.get("chosen"), 0);
  press("ArrowDown");
  assert.match(said(), /^lane gpu, device: 2 events.*step 3, f: run on gpu/);
  press("Escape");
  assert.equal(model.get("chosen"), -1);
});

test("zooming keeps the time below the pointer, and never leaves the axis", () => {
  const { view, window } = shown();
  const time = view.timeAt(200);
  view.zoom(3, { at: 200 / view.width });
  assert.ok(Math.abs(view.timeAt(200) - time) < 1e-6);
  for (let k = 0; k < 50; k += 1) view.zoom(3, { at: 0.9 });
  assert.ok(view.view.to - view.view.from >= 20);
  for (let k = 0; k < 50; k += 1) view.zoom(0.3, { at: 0.9 });
  assert.deepEqual(view.view, view.whole);
  view.pan(5);
  assert.deepEqual(view.view, view.whole);
  window.settle();
});

test("a plain wheel scrolls the page; with Ctrl, or on the axis, it zooms", () => {
  const { view, fire } = shown();
  const turn = (target, more) => {
    let taken = false;
    const turned = { deltaX: 0, deltaY: -100, deltaMode: 0, clientX: 400, clientY: 10, ...more };
    fire(target, "wheel", { ...turned, preventDefault() { taken = true; } });
    return taken;
  };
  assert.equal(turn(view.parts.stage), false);
  assert.deepEqual(view.view, view.whole);
  assert.equal(turn(view.parts.stage, { ctrlKey: true }), true);
  const once = view.view.to - view.view.from;
  assert.ok(once < view.whole.to);
  assert.equal(turn(view.parts.axis), true);
  assert.ok(view.view.to - view.view.from < once);
  const { from } = view.view;
  assert.equal(turn(view.parts.stage, { shiftKey: true, deltaY: 50 }), true);
  assert.ok(view.view.from > from);
});

test("Shift and drag selects a span and lanes, and Python is told", () => {
  const { view, fire, model, said } = shown();
  const { y, h } = view.placed.rows[1];
  const at = (x, yy) => ({ clientX: x, clientY: yy, button: 0, pointerId: 1, shiftKey: true });
  fire(view.parts.stage, "pointerdown", at(80, y));
  fire(view.parts.stage, "pointermove", at(240, y + h));
  fire(view.parts.stage, "pointerup", { ...at(240, y + h), type: "pointerup" });
  const [start, end, lanes] = model.get("region");
  assert.deepEqual([start, end, lanes], [950, 2850, ["gpu"]]);
  assert.equal(said(), "selected 950 ns to 2.85 µs in gpu: 1 event");
});

test("a drag pans, a click chooses, a double click zooms to the event", () => {
  const { view, fire, model } = shown();
  view.zoom(4, { at: 0 });
  const { y } = view.placed.rows[0];
  const at = (x) => ({ clientX: x, clientY: y + 4, button: 0, pointerId: 1 });
  fire(view.parts.stage, "pointerdown", at(300));
  fire(view.parts.stage, "pointermove", at(200));
  fire(view.parts.stage, "pointerup", { ...at(200), type: "pointerup" });
  assert.ok(Math.abs(view.view.from - (9500 / 4) * (100 / 800)) < 1e-6);
  assert.equal(model.get("chosen"), -1);
  fire(view.parts.stage, "pointerdown", at(300));
  fire(view.parts.stage, "pointerup", { ...at(300), type: "pointerup" });
  assert.ok(model.get("chosen") >= 0);
  fire(view.parts.stage, "dblclick", at(300));
  const [i] = [view.chosen];
  assert.ok(view.view.from <= view.rows.start[i] && view.rows.start[i] < view.view.to);
});

test("two cursors measure the time and the events between them", () => {
  const { press, said } = shown();
  press("ArrowRight");
  press("m");
  press("m");
  assert.equal(said(), "0 s to 1.00 µs: 1.00 µs apart, 1 event between");
  press("s");
  assert.match(said(), /^selected 0 s to 1.00 µs in 2 lanes/);
});

test("Python moves the view, the search and the folds, and is not told what it said", () => {
  const { model, view, window } = shown();
  model.put("view", [1000, 3000]);
  model.put("search", "g");
  model.put("folded", ["host"]);
  model.put("chosen", 2);
  model.put("region", [0, 100, ["gpu"]]);
  window.settle();
  assert.deepEqual(view.view, { from: 1000, to: 3000 });
  assert.equal(view.matches.total, 2);
  assert.ok(view.placed.bands[0].folded);
  assert.equal(view.rows.id[view.chosen], 2);
  assert.deepEqual(view.region.lanes, [1]);
  assert.equal(model.saved, 0);
});

test("new events on the same axis keep the view, on another axis they are shown as a whole", () => {
  const { model, view, window } = shown();
  model.put("view", [1000, 3000]);
  model.put("data", pipeline());
  assert.deepEqual(view.view, { from: 1000, to: 3000 });
  model.put("data", pipeline({ axis_end_ns: 20_000 }));
  window.settle();
  assert.deepEqual(view.view, { from: 0, to: 20_000 });
});

test("Python is told of a view that rests, not of each step to it", () => {
  const { view, model, window } = shown();
  for (let k = 0; k < 10; k += 1) view.zoom(1.1);
  assert.equal(model.saved, 0);
  window.settle();
  assert.equal(model.saved, 1);
  assert.deepEqual(model.get("view"), [view.view.from, view.view.to]);
});

test("the table names the events in view and says if it leaves some out", () => {
  const { view, press } = shown(many(400, 2));
  press("t");
  const text = view.parts.table.all().map((node) => node.textContent).join(" ");
  assert.match(text, /the first 200 of 800 events in view; zoom in for the others/);
  assert.equal(view.parts.table.all().filter((node) => node.tag === "tr").length, 201);
});

test("names are text, whatever they contain", () => {
  const data = pipeline({ names: ["<img src=x>", "</script>", "b"] });
  const { view, press } = shown(data);
  press("t");
  const nodes = view.parts.root.all();
  assert.ok(nodes.some((node) => node.textContent === "<img src=x>"));
  assert.ok(nodes.every((node) => !("innerHTML" in node)));
});

test("the static twin is hidden by an element that goes with the view", () => {
  const { root } = shown(pipeline(), { twin: "d2lperf-12ab" });
  assert.equal(root.children[0].tag, "style");
  assert.equal(root.children[0].textContent, "#d2lperf-12ab { display: none }");
  assert.equal(shown(pipeline(), { twin: "x { } *" }).root.children[0].textContent, "");
});

test("with reduced motion the view jumps", () => {
  const calm = shown(pipeline(), {}, { queries: ["(prefers-reduced-motion: reduce)"] });
  calm.view.zoom(2, { smooth: true });
  assert.deepEqual(calm.view.view, calm.view.goal);
  const moving = shown();
  moving.view.zoom(2, { smooth: true });
  assert.notDeepEqual(moving.view.view, moving.view.goal);
  moving.window.performance.now();
});

test("colours follow JupyterLab, then the system, and forced colours before both", () => {
  const dark = "(prefers-color-scheme: dark)";
  assert.equal(shown().view.theme.name, "light");
  assert.equal(shown(pipeline(), {}, { queries: [dark] }).view.theme.name, "dark");
  assert.equal(shown(pipeline(), {}, { queries: [dark, "(forced-colors: active)"] }).view.theme.name, "forced");
  const { view, document } = shown(pipeline(), {}, { queries: [dark] });
  document.body.dataset.jpThemeLight = "true";
  view.dress();
  assert.equal(view.theme.name, "light");
});

test("an empty timeline is a view with lanes and no events", () => {
  const data = pipeline({ rows: [], events: 0, axis_end_ns: 1 });
  for (const column of ["start", "duration", "name", "category", "id", "flow", "step", "needs"]) {
    data[column] = new DataView(new ArrayBuffer(0));
  }
  data.offsets = new DataView(new ArrayBuffer(4));
  const { press, root } = shown(data);
  press("ArrowRight");
  press("t");
  assert.equal(root.dataset.merged, 0);
});

test("after the view is gone nothing of it is left", () => {
  const { dispose, el, model, window, view } = shown();
  view.zoom(2);
  dispose();
  assert.equal(el.children.length, 0);
  assert.equal(window.watched, 0);
  assert.equal(window.frames.size, 0);
  assert.equal(window.timers.size, 0);
  assert.ok(Object.values(model.handlers).every((handlers) => handlers.size === 0));
});

test("bars to place come with a sentence and keys that say how, as long as they can be moved", () => {
  const movable = [{ lane: 1, duration_ns: 1000, name: "f", category: "run" }];
  const { view, model, press, window } = shown(pipeline(), { movable, placed: [0], locked: false });
  assert.match(view.parts.status.textContent, /^Drag the bars .* \] chooses a bar/);
  assert.ok(view.parts.placingKeys.every((part) => !part.hidden));
  press("]");
  press("ArrowRight");
  assert.deepEqual(model.get("placed"), [95]);
  press("?");
  press("Escape");
  assert.ok(view.parts.help.hidden && view.placing.chosen === 0);
  press("Escape");
  assert.equal(view.placing.chosen, -1);
  model.put("locked", true);
  window.settle();
  assert.match(view.parts.status.textContent, /^in view/);
  assert.ok(view.parts.placingKeys.every((part) => part.hidden));
  view.draw();
  assert.ok(view.parts.canvas.context.texts().includes("1"));
  assert.ok(shown().view.parts.placingKeys.every((part) => part.hidden));
});

test("a click on the axis chooses nothing of the lanes that are scrolled behind it", () => {
  const { view, fire } = shown();
  view.parts.scroll.scrollTop = 40;
  view.draw();
  const at = { clientX: 10, clientY: -20, button: 0, pointerId: 1 };
  fire(view.parts.axis, "pointerdown", at);
  fire(view.parts.axis, "pointerup", { ...at, type: "pointerup" });
  assert.equal(view.chosen, -1);
});
