// The bars: one by one where they can be told apart, otherwise as exact shares of each column of pixels.

import { busyBetween, countBetween, endOf, sharesOf, walk } from "./rows.js";
import { nameOf } from "./words.js";

export const FONT = "11px system-ui, sans-serif";
const LEAST = 1.5; // the lowest bar: something happened, however short
const LABELLED = 26;

// Rectangles by category, so that a colour is set once and not a thousand times.
class Batch {
  constructor(categories) {
    this.rects = categories.map(() => []);
    this.open = categories.map(() => null);
  }

  add(category, x, y, w, h) {
    this.rects[category].push(x, y, w, h);
  }

  // Columns that continue the one before become one rectangle.
  column(category, x, y, h) {
    const open = this.open[category];
    if (open && open.x + open.w === x && open.y === y && open.h === h) open.w += 1;
    else {
      this.close(category);
      this.open[category] = { x, y, w: 1, h };
    }
  }

  close(category) {
    const open = this.open[category];
    if (open) this.add(category, open.x, open.y, open.w, open.h);
    this.open[category] = null;
  }

  fill(context, fills) {
    this.rects.forEach((rects, category) => {
      this.close(category);
      if (!rects.length) return;
      context.fillStyle = fills[category];
      for (let k = 0; k < rects.length; k += 4) {
        context.fillRect(rects[k], rects[k + 1], rects[k + 2], rects[k + 3]);
      }
    });
  }

  get size() {
    return this.rects.reduce((n, rects) => n + rects.length / 4, 0);
  }
}

function collect(scene) {
  const { rows, view, width, placed, emphasis, scrolled, height } = scene;
  const scale = width / (view.to - view.from);
  const { categories } = rows.meta;
  const seen = {
    merged: 0, bars: [], outlines: [], bright: new Batch(categories), dim: new Batch(categories),
  };
  placed.rows.forEach((place, row) => {
    const y = place.y - scrolled;
    if (y > height || y + place.h < 0) return;
    const shares = sharesOf(rows, row);
    walk(rows, row, view.from, view.to, scale,
      (i) => collectEvent(scene, seen, place, y, scale, i),
      (column, i, j) => {
        const x = column - Math.round(view.from * scale);
        seen.merged += countBetween(rows, i, j);
        if (place.outline) seen.outlines.push(x, y, 1, place.h);
        else {
          const batch = !emphasis || emphasis.any(i, j) ? seen.bright : seen.dim;
          stack(rows, batch, shares, rows.offsets[row], i, j, x, y, place.h, scale);
        }
      });
  });
  return seen;
}

function collectEvent(scene, seen, place, y, scale, i) {
  const { rows, view, width, emphasis } = scene;
  // Bars that begin far outside would lose their precision on the way through float32.
  const x = Math.max((rows.start[i] - view.from) * scale, -4);
  const end = Math.min((endOf(rows, i) - view.from) * scale, width + 4);
  const w = Math.max(end - x, 1);
  if (place.outline) seen.outlines.push(x, y, w, place.h);
  else {
    const share = rows.count ? Math.min(1, rows.busy[i] / Math.max(rows.duration[i], 1)) : 1;
    const h = Math.max(place.h * share, LEAST);
    const dim = emphasis && !emphasis.any(i, i + 1);
    (dim ? seen.dim : seen.bright).add(rows.category[i], x, y + place.h - h, w, h);
    if (w >= 3) seen.bars.push({ i, x, y, w, h: place.h, dim, thin: place.thin });
  }
}

// One column of pixels: each category as high as its share of the time, from the bottom.
function stack(rows, batch, shares, first, i, j, x, y, h, scale) {
  const height = Math.max(Math.min(1, busyBetween(rows, i, j) * scale) * h, LEAST);
  if (shares.length === 1) {
    batch.column(shares[0].category, x, y + h - height, height);
    return;
  }
  const total = busyBetween(rows, i, j);
  let bottom = y + h;
  for (const { category, sums } of shares) {
    const own = sums[j - first] - sums[i - first];
    if (own === 0 && !(total === 0 && category === rows.category[i])) continue;
    const part = total === 0 ? height : (height * own) / total;
    batch.column(category, x, bottom - part, part);
    bottom -= part;
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

// The longest beginning of a name that fits; empty for fewer than two letters.
export function fitted(context, widths, name, space) {
  let width = widths.get(name);
  if (width === undefined) widths.set(name, width = context.measureText(name).width);
  if (width <= space) return name;
  const letters = Math.floor((space / width) * name.length) - 1;
  return letters < 2 ? "" : `${name.slice(0, letters).trimEnd()}…`;
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
    context.fillRect(middle - wide / 2 - 2, y + 2, wide + 4, h - 4);
  }
  context.fillStyle = paint.ink;
  context.fillText(text, middle, y + h / 2 + 0.5);
}

// Draw all bars in view. Returns how many events were merged and how many rectangles it took.
export function paintBars(context, scene) {
  const seen = collect(scene);
  context.globalAlpha = 0.22;
  seen.dim.fill(context, scene.fills);
  context.globalAlpha = 1;
  seen.bright.fill(context, scene.fills);
  strokeBars(context, scene, seen.bars);
  context.font = FONT;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const bar of seen.bars) label(context, scene, bar);
  context.strokeStyle = scene.theme.surface.outline;
  context.lineWidth = 2;
  for (let k = 0; k < seen.outlines.length; k += 4) {
    const [x, y, w, h] = seen.outlines.slice(k, k + 4);
    context.strokeRect(x + 1, y + 1, Math.max(w - 2, 0.5), h - 2);
  }
  return { merged: seen.merged, rectangles: seen.bright.size + seen.dim.size };
}
