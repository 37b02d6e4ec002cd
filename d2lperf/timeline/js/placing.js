// Bars that the reader puts where they are expected, before the truth is shown.

import { FONT, fitted } from "./paint.js";
import { endOf } from "./rows.js";
import { formatTime } from "./scale.js";

const NEAR = 7; // pixels within which a bar catches an edge
const MOST_EDGES = 4000;
const INSET = 3;

export class Placing {
  constructor(scene) {
    Object.assign(this, { scene, bars: [], chosen: -1, locked: false, held: null });
  }

  // movable: {lane, duration_ns, name, category} of each bar; placed: where each starts, in nanoseconds.
  show(movable, placed) {
    this.bars = (movable ?? []).map((bar, k) => ({ ...bar, start: placed?.[k] ?? 0 }));
    this.chosen = Math.min(this.chosen, this.bars.length - 1);
    this.scene.redraw();
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
    return {
      x: (start - view.from) * scale, w: Math.max(duration * scale, 3), y: band.y - scrolled + INSET, h: band.h - 2 * INSET,
    };
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
    if (!this.bars.length || this.locked) return false;
    if (key === "]" || key === "[") {
      const { length } = this.bars;
      const first = key === "]" ? 0 : length - 1;
      this.chosen = this.chosen < 0 ? first : (this.chosen + (key === "]" ? 1 : length - 1)) % length;
      this.scene.say(`bar ${this.chosen + 1} of ${length}: ${this.sentence(this.chosen)}`);
    } else if (this.chosen >= 0 && (key === "ArrowLeft" || key === "ArrowRight")) {
      this.nudge(key === "ArrowRight" ? 1 : -1, shiftKey);
    } else if (this.chosen >= 0 && key === "Escape") {
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
    const { theme, fills, rows, widths } = this.scene;
    context.font = FONT;
    context.textAlign = "center";
    context.textBaseline = "middle";
    this.bars.forEach((bar, k) => {
      const box = this.box(k);
      if (!box) return;
      const paint = theme.paints[bar.category];
      if (!this.locked) {
        context.fillStyle = fills[rows.meta.categories.indexOf(bar.category)];
        context.fillRect(box.x, box.y, box.w, box.h);
      }
      context.strokeStyle = k === this.chosen && !this.locked ? theme.surface.focus : theme.surface.outline;
      context.lineWidth = 2;
      context.setLineDash(this.locked ? [4, 3] : []);
      context.strokeRect(box.x + 1, box.y + 1, Math.max(box.w - 2, 1), box.h - 2);
      context.setLineDash([]);
      const text = this.locked ? "" : fitted(context, widths, bar.name, box.w - 8);
      if (!text) return;
      context.fillStyle = paint.ink;
      context.fillText(text, box.x + box.w / 2, box.y + box.h / 2 + 0.5);
    });
  }
}
