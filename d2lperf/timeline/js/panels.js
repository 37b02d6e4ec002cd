// What stands beside the canvas: names of lanes, legend, tooltip, table.

import { element } from "./dom.js";
import { countWithin, laneOf, endOf, within } from "./rows.js";
import { formatTime, plural } from "./scale.js";
import { fillsOf } from "./theme.js";
import { categoryOf, nameOf } from "./words.js";

const MOST_ROWS = 200;

// Replace what is in a part. What takes the place of the element with the focus gets it, so that the next key
// does not go to the page, where JupyterLab would act on it.
function refill(document, part, attribute, ...children) {
  const held = part.contains?.(document.activeElement) ? document.activeElement.getAttribute(attribute) : null;
  part.replaceChildren(...children);
  if (held === null) return;
  const same = [...part.querySelectorAll(`[${attribute}]`)].find((one) => one.getAttribute(attribute) === held);
  (same ?? part).focus({ preventScroll: true });
}

// Below the name of its group a lane need not repeat it.
function shortName({ lane, indent }) {
  if (!indent || !lane.name.startsWith(`${lane.group} `)) return lane.name;
  return lane.name.slice(lane.group.length + 1).replace(/^· /, "");
}

export function fillGutter(document, gutter, placed, { current }) {
  const label = (key, text, { y, h, folded, over }, kind, extra = {}) => {
    const second = over ? [element(document, "span", { class: "over" }, `▭ ${over.name}`)] : [];
    const made = element(document, "button", {
      type: "button", class: kind, tabindex: "-1", title: key.replace(/^group:/, ""), "data-fold": key,
      "aria-expanded": String(!folded), ...extra,
    }, element(document, "span", { class: "fold", "aria-hidden": "true" }, folded ? "▸" : "▾"),
    element(document, "span", { class: "name" }, text, ...second));
    made.style.top = `${y}px`;
    made.style.height = `${h}px`;
    return made;
  };
  const heads = placed.heads.map((head) => label(`group:${head.name}`, head.name, head, "group"));
  const lanes = placed.bands.map((band) => label(band.lane.name, shortName(band), band,
    band.indent ? "lane indented" : "lane",
    { "aria-current": band.lane.number === current ? "true" : null }));
  const strips = placed.strips.map(({ strip, y, h }) => {
    const made = element(document, "span", { class: "strip", title: strip.name }, strip.name);
    made.style.top = `${y}px`;
    made.style.height = `${h}px`;
    return made;
  });
  refill(document, gutter, "data-fold", ...heads, ...lanes, ...strips);
  gutter.style.height = `${placed.height}px`;
}

export function fillLegend(document, legend, rows, theme, ratio, chosen, bars = []) {
  const present = new Set(bars.map((bar) => rows.meta.categories.indexOf(bar.category)));
  for (const category of rows.category) present.add(category);
  const items = [...present].sort((a, b) => a - b).map((category) => {
    const swatch = element(document, "canvas", { "aria-hidden": "true" });
    drawSwatch(document, swatch, theme, rows.meta.categories, category, ratio);
    return element(document, "button", {
      type: "button", "data-category": category, "aria-pressed": String(category === chosen),
      title: `Show ${rows.meta.categories[category]} alone`,
    }, swatch, rows.meta.categories[category]);
  });
  refill(document, legend, "data-category", ...items);
}

function drawSwatch(document, canvas, theme, categories, category, ratio) {
  const [w, h] = [22, 12];
  canvas.width = w * ratio;
  canvas.height = h * ratio;
  canvas.style.width = `${w}px`;
  canvas.style.height = `${h}px`;
  const context = canvas.getContext("2d");
  const paint = theme.paints[categories[category]];
  context.scale(ratio, ratio);
  context.fillStyle = fillsOf(context, document, theme, categories, ratio)[category];
  context.fillRect(0, 0, w, h);
  context.strokeStyle = paint.edge;
  context.setLineDash(paint.dash ? [3, 2] : []);
  context.strokeRect(0.5, 0.5, w - 1, h - 1);
}

export function showTip(document, { tip, root }, title, facts, x, y) {
  tip.replaceChildren(element(document, "strong", {}, title), element(document, "dl", {},
    ...facts.flatMap(([term, text]) => [
      element(document, "dt", {}, term), element(document, "dd", {}, text),
    ])));
  tip.hidden = false;
  const box = root.getBoundingClientRect();
  const own = tip.getBoundingClientRect();
  const left = Math.min(x - box.left + 14, box.width - own.width - 4);
  const above = y - box.top - own.height - 10;
  tip.style.left = `${Math.max(left, 4)}px`;
  // An output area cuts off what hangs out below it.
  const below = Math.max(Math.min(y - box.top + 18, box.height - own.height - 2), 2);
  tip.style.top = `${above > 0 ? above : below}px`;
}

// The first events of a span, by start, as many as a page can hold.
export function firstEvents(rows, from, to, most = MOST_ROWS) {
  const found = [];
  for (const { i, j } of within(rows, from, to)) {
    for (let k = i; k < Math.min(j, i + most); k += 1) found.push(k);
  }
  return found.sort((a, b) => rows.start[a] - rows.start[b] || rows.id[a] - rows.id[b]).slice(0, most);
}

export function fillTable(document, region, rows, view) {
  const events = firstEvents(rows, view.from, view.to);
  const marks = rows.meta.marks.filter(([ns]) => ns >= view.from && ns <= view.to).slice(0, MOST_ROWS);
  const total = countWithin(rows, view.from, view.to);
  const count = `${plural(total, "event")}${marks.length ? ` and ${plural(marks.length, "mark")}` : ""} in view`;
  const more = total > events.length ? `the first ${events.length} of ${count}; zoom in for the others` : count;
  const cell = (tag, text, extra = {}) => element(document, tag, extra, text);
  const header = ["event", "kind", "lane", "start", "duration", "end", "step"];
  const notes = marks.map(([ns, text]) => element(document, "tr", {}, cell("th", text, { scope: "row" }),
    cell("td", "mark"), cell("td", ""), cell("td", formatTime(ns), { class: "number" }),
    ...["", "", ""].map((text) => cell("td", text))));
  const body = events.map((i) => element(document, "tr", {},
    element(document, "th", { scope: "row" },
      element(document, "button", { type: "button", "data-event": i }, nameOf(rows, i))),
    cell("td", categoryOf(rows, i)), cell("td", laneOf(rows, i).name),
    cell("td", formatTime(rows.start[i]), { class: "number" }),
    cell("td", formatTime(rows.duration[i]), { class: "number" }),
    cell("td", formatTime(endOf(rows, i)), { class: "number" }),
    cell("td", rows.step && rows.step[i] >= 0 ? String(rows.step[i]) : "", { class: "number" })));
  const numbers = new Set(["start", "duration", "end", "step"]);
  refill(document, region, "data-event", element(document, "table", {},
    cell("caption", `${formatTime(view.from)} to ${formatTime(view.to)}: ${more}`),
    element(document, "thead", {}, element(document, "tr", {}, ...header.map((text) =>
      cell("th", text, { scope: "col", class: numbers.has(text) ? "number" : null })))),
    element(document, "tbody", {}, ...notes, ...body)));
}
