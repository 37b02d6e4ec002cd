// What anywidget calls: a view on a page, kept in step with Python's side.

import { LiveView } from "./actions.js";
import { onKey, shareWithLab } from "./keys.js";
import { attachPointer } from "./pointer.js";
import { positionOf } from "./rows.js";
import { watchTheme } from "./theme.js";

const SYNC_MS = 120; // while a view glides, Python need not know every step

function listen(view) {
  const { root, tools, input, legend, gutter, table, scroll, stage } = view.parts;
  root.addEventListener("keydown", (event) => onKey(view, event));
  // JupyterLab reads keys when they go up as well.
  for (const name of ["keyup", "keypress"]) {
    root.addEventListener(name, (event) => event.target === input && event.stopPropagation());
  }
  const on = (parent, attribute, act) => parent.addEventListener("click", (event) => {
    const found = event.target.closest?.(`[${attribute}]`);
    if (found) act(found.getAttribute(attribute));
  });
  on(tools, "data-action", (action) => view.act(action));
  on(legend, "data-category", (category) => view.highlight(Number(category)));
  on(gutter, "data-fold", (key) => {
    stage.focus({ preventScroll: true }); // the button is about to be made anew
    view.toggleFold(key);
  });
  on(table, "data-event", (i) => view.choose(Number(i)));
  input.addEventListener("input", () => view.search(input.value));
  scroll.addEventListener("scroll", () => view.redraw(), { passive: true });
  stage.addEventListener("focus", () => view.greet());
  attachPointer(view);
}

// Tell Python, the view itself only when it rests.
function teller(model, window) {
  let timer = 0;
  const later = {};
  const send = () => {
    for (const [name, value] of Object.entries(later)) model.set(name, value);
    for (const name of Object.keys(later)) delete later[name];
    model.save_changes();
  };
  const tell = (name, value) => {
    later[name] = name === "view" ? [value.from, value.to] : value;
    window.clearTimeout(timer);
    if (name === "view") timer = window.setTimeout(send, SYNC_MS);
    else send();
  };
  tell.stop = () => window.clearTimeout(timer);
  return tell;
}

function follow(model, view) {
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const number = (name) => model.get("data").meta.lanes.findIndex((lane) => lane.name === name);
  // In this order: what decides where things stand comes before the events.
  const readers = {
    height: (most) => {
      view.most = most || 420;
      view.place();
    },
    folded: (names) => {
      const given = names ?? model.get("data").meta.folded ?? [];
      if (same(given, [...view.folded])) return;
      view.folded = new Set(given);
      view.place();
    },
    twin: (key) => {
      // The picture that says the same comes back as soon as this element leaves the page.
      view.parts.twin.textContent = /^[\w-]+$/.test(key ?? "") ? `#${key} { display: none }` : "";
    },
    data: (data) => view.show(data),
    view: (span) => {
      if (!span?.length) {
        if (!same(view.goal, view.whole)) view.go(view.whole, { quiet: true });
      } else if (!same(span, [view.goal.from, view.goal.to])) {
        view.go({ from: span[0], to: span[1] }, { quiet: true });
      }
    },
    chosen: (id) => {
      const i = positionOf(view.rows, id ?? -1);
      if (i !== view.chosen) view.choose(i, { quiet: true });
    },
    search: (text) => (text ?? "") !== view.text && view.search(text ?? "", { quiet: true }),
    arrange: (way) => (way === "over") !== view.over && view.setOver(way === "over", { quiet: true }),
    locked: (locked) => view.placing.lock(locked),
    movable: () => {
      view.placing.show(model.get("movable"), model.get("placed"));
      view.dress();
    },
    placed: (starts) => {
      if (!same(starts ?? [], view.placing.starts)) view.placing.show(model.get("movable"), starts);
    },
    region: (region) => {
      const lanes = region?.[2].map(number).filter((lane) => lane >= 0);
      view.region = region ? { from: region[0], to: region[1], lanes } : null;
      view.redraw();
    },
  };
  const handlers = Object.entries(readers).map(([name, read]) => {
    const handler = () => read(model.get(name));
    handler();
    model.on(`change:${name}`, handler);
    return [`change:${name}`, handler];
  });
  return () => handlers.forEach(([name, handler]) => model.off(name, handler));
}

// For a benchmark: frames on demand, in milliseconds.
function hook(view, ready) {
  view.parts.root.d2lperf = {
    ready,
    view,
    frame: () => view.draw(),
    pan: (fraction) => view.pan(fraction),
    zoom: (factor) => view.zoom(factor),
  };
}

export function render({ model, el }) {
  const document = el.ownerDocument;
  const window = document.defaultView;
  const begin = window.performance.now();
  const tell = teller(model, window);
  const view = new LiveView(document, { changed: tell });
  const unfollow = follow(model, view);
  listen(view);
  el.append(view.parts.root);
  const sizes = window.ResizeObserver && new window.ResizeObserver(() => view.resize());
  sizes?.observe(view.parts.stage);
  const unshare = shareWithLab(view, window);
  const unwatch = watchTheme(window, () => view.dress());
  view.resize();
  const ready = new Promise((resolve) => {
    window.requestAnimationFrame(() => {
      view.draw();
      const root = view.parts.root;
      root.dataset.first = (window.performance.now() - begin).toFixed(1);
      resolve(root.dataset.first);
    });
  });
  hook(view, ready);
  return () => {
    window.cancelAnimationFrame(view.frame);
    window.cancelAnimationFrame(view.gliding);
    window.clearTimeout(view.tabling);
    tell.stop();
    unwatch();
    unshare();
    sizes?.disconnect();
    unfollow();
    view.parts.root.remove();
  };
}
