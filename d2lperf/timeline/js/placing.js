// Bars that the reader puts where they are expected, before the truth is shown.

import { FONT, fitted } from "./paint.js";
import { endOf } from "./rows.js";
import { formatTime } from "./scale.js";

const NEAR = 7; // pixels within which a bar catches an edge
const MOST_EDGES = 4000;
const INSET = 3;
const NUMBERED = 24; // pixels of width from which an outline bears its number
const NUMBER = 13; // and how high it is

export class Placing {
  constructor(scene) {
    Object.assign(this, { scene, bars: [], chosen: -1, locked: false, held: null });
  }

  // Whether there are bars that the reader can move.
  get open() {
    return this.bars.length > 0 && !this.locked;
  }

  // movable: {lane, duration_ns, name, category} of each bar; placed: where each starts, in nanoseconds.
  show(movable, placed) {
    this.bars = (movable ?? []).map((bar, k) => ({ ...bar, start: placed?.[k] ?? 0 }));
    this.chosen = Math.min(this.chosen, this.bars.length - 1);
    this.lock(this.locked);
  }

  lock(locked) {
    this.locked = Boolean(locked);
    for (const part of this.scene.parts.placingKeys) part.hidden = !this.open;
    this.scene.redraw();
  }

  // How bars are placed, for eyes and ears; empty where there are none.
  get hint() {
    return this.open ? "Drag the bars to where you expect them. By key: ] chooses a bar, ← → move it" : "";
  }

  get starts() {
    return this.bars.map((bar) => Math.round(bar.start));
  }

  box(k) {
    const { placed, view, width, scrolled = 0 } = this.scene;
    const { lane, start, duration_ns: duration } = this.bars[k];
    const band = placed.bands.find((one) => one.lane.number === lane);
    if (!band) return null;
    const scale = width / (view.to - view.from);
    const [x, y] = [(start - view.from) * scale, band.y - scrolled + INSET];
    return { x, y, w: Math.max(duration * scale, 3), h: band.h - 2 * INSET };
  }

  // The bar at a point, the one in front first; -1 for none.
  at({ x, y }) {
    if (this.locked) return -1;
    for (let k = this.bars.length - 1; k >= 0; k -= 1) {
      const box = this.box(k);
      if (box && x >= box.x - 2 && x <= box.x + box.w + 2 && y >= box.y && y <= box.y + box.h) return k;
    }
    return -1;
  }

  grab(point) {
    const k = this.at(point);
    if (k < 0) return false;
    this.chosen = k;
    this.held = this.scene.timeAt(point.x) - this.bars[k].start;
    this.scene.redraw();
    return true;
  }

  drag(point) {
    const { view, width } = this.scene;
    const slack = (NEAR * (view.to - view.from)) / width;
    this.put(this.chosen, this.caught(this.scene.timeAt(point.x) - this.held, slack));
  }

  drop() {
    this.held = null;
    this.tell();
  }

  put(k, start) {
    const { from, to } = this.scene.whole;
    const bar = this.bars[k];
    bar.start = Math.round(Math.min(Math.max(start, from), Math.max(to - bar.duration_ns, from)));
    this.scene.redraw();
  }

  // Where a bar comes to lie: with an end on the end of another bar or event, if one is near.
  caught(start, slack) {
    const { duration_ns: duration } = this.bars[this.chosen];
    let best = start;
    let least = slack;
    for (const edge of this.edges()) {
      for (const candidate of [edge, edge - duration]) {
        if (Math.abs(candidate - start) < least) [best, least] = [candidate, Math.abs(candidate - start)];
      }
    }
    return best;
  }

  edges() {
    const { rows } = this.scene;
    const edges = this.bars.flatMap((bar, k) => (k === this.chosen ? [] : [bar.start, bar.start + bar.duration_ns]));
    for (let i = 0; i < Math.min(rows.size, MOST_EDGES); i += 1) edges.push(rows.start[i], endOf(rows, i));
    return edges;
  }

  // Returns whether the key was meant for a bar.
  key({ key, shiftKey }) {
    if (!this.open) return false;
    if (key === "]" || key === "[") {
      const { length } = this.bars;
      const first = key === "]" ? 0 : length - 1;
      this.chosen = this.chosen < 0 ? first : (this.chosen + (key === "]" ? 1 : length - 1)) % length;
      this.scene.say(`bar ${this.chosen + 1} of ${length}: ${this.sentence(this.chosen)}`);
    } else if (this.chosen >= 0 && (key === "ArrowLeft" || key === "ArrowRight")) {
      this.nudge(key === "ArrowRight" ? 1 : -1, shiftKey);
    } else if (this.chosen >= 0 && key === "Escape" && this.scene.parts.help.hidden) {
      this.chosen = -1;
      this.scene.say("no bar chosen");
    } else return false;
    this.scene.redraw();
    return true;
  }

  // A hundredth of the view, or with Shift to the next edge in that direction.
  nudge(direction, far) {
    const { view } = this.scene;
    const bar = this.bars[this.chosen];
    let start = bar.start + direction * ((view.to - view.from) / 100);
    if (far) {
      const beyond = this.edges().filter((edge) => direction * (edge - bar.start) > 0);
      if (beyond.length) start = direction > 0 ? Math.min(...beyond) : Math.max(...beyond);
    }
    this.put(this.chosen, start);
    this.scene.say(this.sentence(this.chosen));
    this.tell();
  }

  sentence(k) {
    const { lane, name, category, start, duration_ns: duration } = this.bars[k];
    const where = this.scene.rows.lanes[lane]?.name ?? "";
    return `${name}, ${category} on ${where}, from ${formatTime(start)} to ${formatTime(start + duration)}`;
  }

  tell() {
    this.scene.changed("placed", this.starts);
  }

  paint(context) {
    context.font = FONT;
    context.textBaseline = "middle";
    this.bars.forEach((bar, k) => {
      const box = this.box(k);
      if (!box || box.x > this.scene.width || box.x + box.w < 0) return;
      if (this.locked) this.paintPlaced(context, box, k);
      else this.paintMovable(context, box, k);
    });
    context.setLineDash([]);
  }

  paintMovable(context, { x, y, w, h }, k) {
    const { theme, fills, rows, widths } = this.scene;
    const { name, category } = this.bars[k];
    context.fillStyle = fills[rows.meta.categories.indexOf(category)];
    context.fillRect(x, y, w, h);
    context.strokeStyle = k === this.chosen ? theme.surface.focus : theme.surface.outline;
    context.lineWidth = k === this.chosen ? 3 : 1.5;
    context.strokeRect(x + 1, y + 1, Math.max(w - 2, 1), h - 2);
    context.textAlign = "center";
    context.fillStyle = theme.paints[category].ink;
    context.fillText(fitted(context, widths, `${k + 1} · ${name}`, w - 8), x + w / 2, y + h / 2 + 0.5);
  }

  // An outline upon the truth, with the number by which the verdict calls it.
  paintPlaced(context, { x, y, w, h }, k) {
    const { surface } = this.scene.theme;
    context.strokeStyle = surface.outline;
    context.lineWidth = 2;
    context.setLineDash([4, 3]);
    context.strokeRect(x + 1, y + 1, Math.max(w - 2, 1), h - 2);
    if (w < NUMBERED) return;
    const text = String(k + 1);
    const wide = context.measureText(text).width + 6;
    context.fillStyle = surface.outline;
    context.fillRect(x, y, wide, NUMBER);
    context.textAlign = "left";
    context.fillStyle = surface.back;
    context.fillText(text, x + 3, y + NUMBER / 2 + 0.5);
  }
}
