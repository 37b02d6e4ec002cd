// The elements of the view. All text goes in as text, never as HTML: names of events are anybody's.

export function element(document, tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  // JupyterLab looks for this upwards from what has the focus, but takes a shortcut that matches there first.
  if (tag === "button" || tag === "input" || "tabindex" in attributes) made.dataset.lmSuppressShortcuts = "true";
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== null) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

const KEYS = [
  ["← →", "previous, next event of the lane"],
  ["↑ ↓", "lane above, below"],
  ["Home End", "first, last event of the lane"],
  ["Shift + ← →", "pan"],
  ["+ −", "zoom"],
  ["Enter", "zoom to the event"],
  ["0", "show everything"],
  ["f", "fold or unfold the lane"],
  ["Shift + F", "fold or unfold its group"],
  ["a", "arrows on or off"],
  ["m", "set cursor A, then B: measures between them"],
  ["s", "select between the cursors, or what is in view"],
  ["/", "search; Enter and Shift + Enter go through the matches"],
  ["t", "events in view as a table"],
  ["Esc", "take back: search, cursors, selection"],
  ["?", "this list"],
];

const PLACING = [
  ["[ ]", "previous, next bar to place"],
  ["← →", "move that bar, with Shift to the next edge"],
];

const POINTER = [
  ["drag", "pan"],
  ["Ctrl + wheel, or wheel on the axis", "zoom"],
  ["Shift + wheel", "pan"],
  ["Shift + drag", "select a span of time and lanes, on the axis in all lanes"],
  ["double click", "zoom to the event"],
];

function button(document, action, text, label, extra = {}) {
  return element(document, "button",
    { type: "button", "data-action": action, "aria-label": label, title: label, ...extra }, text);
}

function terms(document, pairs) {
  return pairs.flatMap(([key, what]) => [element(document, "dt", {}, key), element(document, "dd", {}, what)]);
}

export function build(document) {
  const make = (tag, attributes, ...children) => element(document, tag, attributes, ...children);
  const input = make("input", {
    type: "search", placeholder: "Search events", "aria-label": "Search events by name",
    autocomplete: "off", spellcheck: "false",
  });
  const found = make("span", { class: "found", "aria-live": "polite" });
  const toggle = { "aria-pressed": "false" };
  const buttons = {
    over: button(document, "over", "Overlay", "Overlay: draw the second timeline upon the first", toggle),
    arrows: button(document, "arrows", "Arrows", "Arrows from dispatch to run to wait (a)", toggle),
    table: button(document, "table", "Table", "Events in view as a table (t)", { "aria-expanded": "false" }),
    help: button(document, "help", "?", "Keys and gestures (?)", { "aria-expanded": "false" }),
  };
  const zoom = make("span", { class: "joined", role: "group", "aria-label": "Zoom" },
    button(document, "out", "−", "Zoom out (−)"), button(document, "in", "+", "Zoom in (+)"),
    button(document, "whole", "Fit", "Show everything (0)"));
  const title = make("div", { class: "title" });
  const tools = make("div", { class: "tools", role: "group", "aria-label": "Tools" },
    make("span", { class: "search" }, input, found), zoom,
    buttons.over, buttons.arrows, buttons.table, buttons.help);
  const axis = make("canvas", { class: "axis", "aria-hidden": "true" });
  const canvas = make("canvas", { class: "bars", "aria-hidden": "true" });
  const stage = make("div", { class: "stage", tabindex: "0", role: "application" }, canvas);
  const gutter = make("div", { class: "gutter" });
  const scroll = make("div", { class: "scroll" }, gutter, stage);
  const placingKeys = terms(document, PLACING);
  const help = make("div", { class: "help", hidden: true, role: "group", "aria-label": "Help" },
    make("dl", {}, ...placingKeys, ...terms(document, KEYS)), make("dl", {}, ...terms(document, POINTER)));
  const said = make("div", { class: "unseen", "aria-live": "polite", role: "status" });
  const parts = {
    title, input, found, buttons, tools, axis, canvas, stage, gutter, scroll, said,
    twin: make("style"),
    legend: make("div", { class: "legend", role: "group", "aria-label": "Categories" }),
    status: make("div", { class: "status" }),
    tip: make("div", { class: "tip", hidden: true, "aria-hidden": "true" }),
    table: make("div", {
      class: "events", hidden: true, tabindex: "0", role: "region", "aria-label": "Events in view",
    }),
    help, placingKeys,
    caption: make("div", { class: "caption" }),
    notes: make("ul", { class: "notes" }),
  };
  parts.root = make("div",
    { class: "d2l-timeline", role: "group" },
    parts.twin, make("div", { class: "head" }, title, tools), parts.help, parts.legend,
    make("div", { class: "frame" }, make("div", { class: "top" }, axis), scroll),
    parts.status, parts.table, parts.caption, parts.notes, said, parts.tip);
  return parts;
}

// Set a text only where it differs: layout is the slowest part of a frame.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
