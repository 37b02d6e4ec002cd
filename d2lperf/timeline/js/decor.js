// What stands around and upon the bars: bands, ticks, marks, cursors, the selection and the strips.

import { paintFlags } from "./flags.js";
import { FONT } from "./paint.js";
import { endOf, rowOf } from "./rows.js";
import { ticks, xOf } from "./scale.js";
import { stripSentence } from "./words.js";

const SMALL = "10.5px system-ui, sans-serif";
const AXIS = 34;

function line(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

export function paintGround(context, scene) {
  const { placed, width, height, scrolled, theme, view } = scene;
  // What is behind is the style sheet's: JupyterLab's own colour.
  context.clearRect(0, 0, width, height);
  context.fillStyle = theme.surface.band;
  placed.bands.forEach(({ y, h }, k) => {
    if (k % 2 === 0) context.fillRect(0, y - scrolled, width, h);
  });
  context.strokeStyle = theme.surface.grid;
  context.globalAlpha = theme.surface.gridAlpha ?? 1;
  context.lineWidth = 1;
  for (const { ns } of ticks(view.from, view.to, width)) {
    const x = Math.round(xOf(scene, ns)) + 0.5;
    line(context, x, 0, x, height);
  }
  context.globalAlpha = 1;
}

// The axis has a canvas of its own above the lanes, so that it stays when they are scrolled.
export function paintAxis(context, scene) {
  const { width, theme, view } = scene;
  context.clearRect(0, 0, width, AXIS);
  context.font = SMALL;
  context.textBaseline = "middle";
  context.textAlign = "center";
  for (const { ns, text } of ticks(view.from, view.to, width)) {
    const x = xOf(scene, ns);
    context.fillStyle = theme.surface.soft;
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(Math.max(x, half + 1), width - half - 1), 22);
    context.strokeStyle = theme.surface.grid;
    line(context, Math.round(x) + 0.5, 29, Math.round(x) + 0.5, AXIS);
  }
  paintPart(context, scene);
  paintFlags(context, scene);
}

// Which part of the whole is in view, while it is a part.
function paintPart(context, { view, whole, width, theme }) {
  const share = (view.to - view.from) / (whole.to - whole.from);
  if (share > 0.999) return;
  const left = ((view.from - whole.from) / (whole.to - whole.from)) * width;
  context.fillStyle = theme.surface.grid;
  context.fillRect(0, AXIS - 3, width, 3);
  context.fillStyle = theme.surface.focus;
  context.fillRect(Math.min(left, width - 6), AXIS - 3, Math.max(share * width, 6), 3);
}

function post(context, scene, ns, colour, dash) {
  const x = Math.round(xOf(scene, ns)) + 0.5;
  if (x < 0 || x > scene.width) return;
  context.strokeStyle = colour;
  context.setLineDash(dash);
  line(context, x, 0, x, scene.height);
  context.setLineDash([]);
}

export function paintMarks(context, scene) {
  const { rows, cursors, theme, region, width, placed, scrolled } = scene;
  context.lineWidth = 1.25;
  for (const [ns] of rows.meta.marks) post(context, scene, ns, theme.surface.mark, [2, 3]);
  cursors.forEach((ns) => post(context, scene, ns, theme.surface.focus, []));
  if (!region) return;
  const x = Math.max(xOf(scene, region.from), -2);
  const w = Math.min(xOf(scene, region.to), width + 2) - x;
  const bands = [...placed.bands, ...placed.heads.filter((head) => head.folded)].filter((band) =>
    (band.lanes ?? [band.lane]).some((lane) => region.lanes.includes(lane.number)));
  context.strokeStyle = theme.surface.focus;
  for (const { y, h } of bands) {
    context.fillStyle = theme.surface.veil;
    context.fillRect(x, y - scrolled, w, h);
    context.strokeRect(x, y - scrolled + 0.5, w, h - 1);
  }
}

function outline(context, scene, i, width, colour) {
  const place = scene.placed.rows[rowOf(scene.rows, i)];
  if (!place) return;
  const x = Math.max(xOf(scene, scene.rows.start[i]), -4);
  const end = Math.min(xOf(scene, endOf(scene.rows, i)), scene.width + 4);
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.strokeRect(x - 1, place.y - scene.scrolled - 1, Math.max(end - x, 1) + 2, place.h + 2);
}

export function paintChosen(context, scene) {
  const { hovered, chosen, theme } = scene;
  if (hovered >= 0) outline(context, scene, hovered, 1.5, theme.surface.ink);
  if (chosen >= 0) {
    // Two lines, so that one of them differs from whatever is below.
    outline(context, scene, chosen, 4, theme.surface.back);
    outline(context, scene, chosen, 2, theme.surface.focus);
  }
}

// First place in ascending numbers that is larger than a value.
function after(numbers, value) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (numbers[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Highest value in each column of pixels: a peak is never lost between two of them.
export function columnsOf(strip, view, width) {
  const columns = new Float64Array(Math.max(Math.ceil(width), 1));
  const scale = (view.to - view.from) / width;
  let next = after(strip.times, view.from);
  for (let x = 0; x < columns.length; x += 1) {
    while (next < strip.times.length && strip.times[next] <= view.from + x * scale) next += 1;
    let most = next > 0 ? strip.values[next - 1] : 0;
    const end = view.from + (x + 1) * scale;
    for (; next < strip.times.length && strip.times[next] < end; next += 1) {
      most = Math.max(most, strip.values[next]);
    }
    columns[x] = most;
  }
  return columns;
}

export function paintStrips(context, scene) {
  const { placed, view, width, theme, scrolled, height } = scene;
  for (const place of placed.strips) {
    const { strip, h } = place;
    const y = place.y - scrolled;
    if (y > height || y + h < 0) continue;
    const top = Math.max(strip.peak, strip.budget ?? 0, 1) * 1.08;
    const level = (value) => y + h - (value / top) * (h - 16);
    context.beginPath();
    context.moveTo(0, y + h);
    columnsOf(strip, view, width).forEach((value, x) => {
      context.lineTo(x, level(value));
      context.lineTo(x + 1, level(value));
    });
    context.lineTo(width, y + h);
    context.fillStyle = theme.surface.strip;
    context.fill();
    context.strokeStyle = theme.surface.stripEdge;
    context.lineWidth = 1;
    context.stroke();
    if (strip.budget !== null) {
      context.strokeStyle = theme.surface.budget;
      context.lineWidth = 1.5;
      context.setLineDash([5, 3]);
      line(context, 0, level(strip.budget), width, level(strip.budget));
      context.setLineDash([]);
    }
    context.font = FONT;
    context.textAlign = "right";
    context.textBaseline = "middle";
    context.fillStyle = theme.surface.soft;
    context.fillText(stripSentence(strip), width - 6, y + 7);
  }
}
