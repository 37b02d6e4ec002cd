// The bars: one by one where they can be told apart, otherwise as exact shares of each column of pixels.

import { busyBetween, countBetween, endOf, sharesOf, walk } from "./rows.js";
import { DIM } from "./theme.js";
import { nameOf } from "./words.js";

export const FONT = "11px system-ui, sans-serif";
const LEAST = 2; // the lowest column: something happened, however short
const NARROW = 5; // below, a bar is pixels without an outline
const LABELLED = 26;
const LETTERS = 12;

// Bars wide enough for an outline, and how many events were merged; the others are in the raster at once.
function collect(scene) {
  const { rows, view, width, placed, scrolled, height, raster } = scene;
  const scale = width / (view.to - view.from);
  const seen = { merged: 0, columns: 0, bars: [], outlines: [], shift: Math.round(view.from * scale) };
  raster.begin(width, height);
  placed.rows.forEach((place, row) => {
    const y = place.y - scrolled;
    if (y > height || y + place.h < 0) return;
    const shares = sharesOf(rows, row);
    walk(rows, row, view.from, view.to, scale,
      (i) => collectEvent(scene, seen, place, y, scale, i),
      (column, i, j) => {
        const events = countBetween(rows, i, j);
        if (events > 1) seen.merged += events;
        seen.columns += 1;
        if (place.outline) seen.outlines.push(column - seen.shift, y, 1, place.h);
        else stack(scene, seen, shares, row, column, i, j, y, place.h, scale);
      });
  });
  return seen;
}

function collectEvent(scene, seen, place, y, scale, i) {
  const { rows, view, width, emphasis, raster, tiles } = scene;
  // Bars that begin far outside would lose their precision on the way through float32.
  const x = Math.max((rows.start[i] - view.from) * scale, -NARROW);
  const w = Math.max(Math.min((endOf(rows, i) - view.from) * scale, width + NARROW) - x, 1);
  if (place.outline) {
    seen.outlines.push(x, y, w, place.h);
    return;
  }
  const share = rows.count ? Math.min(1, rows.busy[i] / Math.max(rows.duration[i], 1)) : 1;
  const top = y + place.h - Math.max(place.h * share, LEAST);
  const dim = Boolean(emphasis && !emphasis.any(i, i + 1));
  if (w >= NARROW) seen.bars.push({ i, x, y: top, w, h: y + place.h - top, dim, thin: place.thin });
  else {
    const left = Math.floor(x);
    const wide = Math.max(Math.floor(x + w) - left, 1);
    const set = dim ? tiles.dim : tiles.bright;
    raster.column(left, top, y + place.h, set[rows.category[i]], seen.shift, wide > 2 ? wide - 1 : wide);
    seen.columns += 1;
  }
}

// One column of pixels: each category as high as its share of the time, from the bottom.
function stack(scene, seen, shares, row, column, i, j, y, h, scale) {
  const { rows, emphasis, raster, tiles } = scene;
  const set = emphasis && !emphasis.any(i, j) ? tiles.dim : tiles.bright;
  const total = busyBetween(rows, i, j);
  const height = Math.max(Math.min(1, total * scale) * h, LEAST);
  const x = column - seen.shift;
  if (shares.length === 1 || j - i === 1 || total === 0) {
    raster.column(x, y + h - height, y + h, set[rows.category[i]], seen.shift);
    return;
  }
  const first = rows.offsets[row];
  let bottom = y + h;
  for (const { category, sums } of shares) {
    const part = (height * (sums[j - first] - sums[i - first])) / total;
    if (part > 0) raster.column(x, bottom - part, bottom, set[category], seen.shift);
    bottom -= part;
  }
}

// In the order of rows: in a folded lane the inner events are upon the outer ones.
function fillBars(context, scene, bars) {
  const { rows, fills } = scene;
  let before = null;
  for (const { i, x, y, w, h, dim } of bars) {
    const fill = fills[rows.category[i]];
    if (fill !== before) context.fillStyle = before = fill;
    if (dim) context.globalAlpha = DIM;
    context.fillRect(x, y, w, h);
    if (dim) context.globalAlpha = 1;
  }
}

function strokeBars(context, scene, bars) {
  const { rows, theme } = scene;
  context.lineWidth = 0.75;
  for (const dashed of [false, true]) {
    context.setLineDash(dashed ? [3, 2] : []);
    for (const { i, x, y, w, h, dim } of bars) {
      const paint = theme.paints[rows.meta.categories[rows.category[i]]];
      if (Boolean(paint.dash) !== dashed || dim) continue;
      context.strokeStyle = paint.edge;
      context.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    }
  }
  context.setLineDash([]);
}

// The longest beginning of a name that fits; empty for fewer than four letters.
export function fitted(context, widths, name, space) {
  let width = widths.get(name);
  if (width === undefined) widths.set(name, width = context.measureText(name).width);
  if (width <= space) return name;
  const letters = Math.floor((space / width) * name.length) - 1;
  // Half of a letter beyond U+FFFF would be a box.
  const whole = name.slice(0, letters).replace(/[\ud800-\udbff]$/, "");
  return letters < 4 ? "" : `${whole.trimEnd()}…`;
}

function label(context, scene, { i, x, y, w, h, dim, thin }) {
  if (w < LABELLED || thin || dim) return;
  const { rows, theme, width, widths } = scene;
  const left = Math.max(x, 0);
  const space = Math.min(x + w, width) - left - 8;
  const text = fitted(context, widths, nameOf(rows, i), space);
  if (!text) return;
  const paint = theme.paints[rows.meta.categories[rows.category[i]]];
  const wide = Math.min(widths.get(text) ?? context.measureText(text).width, space);
  const middle = left + 4 + space / 2;
  if (paint.pattern) {
    context.fillStyle = paint.fill;
    // No higher than the letters: the pattern, which names the category, is seen above and below them.
    context.fillRect(middle - wide / 2 - 2, y + h / 2 - LETTERS / 2, wide + 4, LETTERS);
  }
  context.fillStyle = paint.ink;
  context.fillText(text, middle, y + h / 2 + 0.5);
}

// Draw all bars in view. Returns how many events were merged, and how many bars and columns it took.
export function paintBars(context, scene) {
  const seen = collect(scene);
  fillBars(context, scene, seen.bars);
  scene.raster.draw(context);
  strokeBars(context, scene, seen.bars);
  context.font = FONT;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const bar of seen.bars) label(context, scene, bar);
  context.strokeStyle = scene.theme.surface.outline;
  context.lineWidth = 1.5;
  for (let k = 0; k < seen.outlines.length; k += 4) {
    const [x, y, w, h] = seen.outlines.slice(k, k + 4);
    context.strokeRect(x + 1, y + 1, Math.max(w - 2, 0.5), h - 2);
  }
  return { merged: seen.merged, bars: seen.bars.length, columns: seen.columns };
}
