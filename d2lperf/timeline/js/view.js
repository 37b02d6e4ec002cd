// The view: what is shown of the events, and how it changes.

import { build, setText } from "./dom.js";
import { flagsAt } from "./flags.js";
import { arrange } from "./layout.js";
import { move } from "./moves.js";
import { fillGutter, fillLegend, fillTable, showTip } from "./panels.js";
import { hit } from "./pointer.js";
import { endOf, laneOf, rowOf, unpack } from "./rows.js";
import { Placing } from "./placing.js";
import { paint } from "./screen.js";
import { formatTime, plural } from "./scale.js";
import { calm, themeOf } from "./theme.js";
import {
  eventFacts, eventSentence, laneSentence, marksTip, mergedFacts, mergedSentence, nameOf, regionSentence,
  rulerSentence, stripTip, viewSentence,
} from "./words.js";

const NARROWEST = 20; // nanoseconds

export class View {
  constructor(document, { changed = () => {} } = {}) {
    this.document = document;
    this.window = document.defaultView;
    this.changed = changed; // told what a person changed: view, chosen, region, search, folded, arrange
    this.parts = build(document);
    this.view = { from: 0, to: 1 };
    this.width = 600;
    this.most = 420;
    this.folded = new Set();
    Object.assign(this, { chosen: -1, hovered: -1, category: -1, lane: -1 });
    Object.assign(this, { text: "", over: false, arrows: true, cursors: [], region: null, names: null });
    Object.assign(this, { pointer: null, frame: 0, rows: null, emphasis: null, widths: new Map() });
    this.placing = new Placing(this);
  }

  // Put events in place of the ones shown. The view stays unless the time axis is another one.
  show(data) {
    const before = this.rows;
    this.rows = unpack(data);
    const { meta } = this.rows;
    this.whole = { from: meta.first_ns, to: this.rows.end };
    const same = before && before.end === this.rows.end && before.meta.first_ns === meta.first_ns;
    if (!same) this.view = this.goal = { ...this.whole };
    this.chosen = this.hovered = -1;
    this.region = null;
    this.parts.buttons.over.hidden = !meta.overlay.length;
    this.parts.root.setAttribute("aria-label", meta.title || "Timeline");
    this.parts.root.dataset.events = meta.events;
    this.parts.stage.setAttribute("aria-label", `${meta.alt} Arrow keys go from event to event, ? lists all keys.`);
    setText(this.parts.title, meta.title);
    setText(this.parts.caption, meta.caption);
    this.parts.notes.replaceChildren(...meta.notes.map((note) => {
      const item = this.document.createElement("li");
      item.textContent = note;
      return item;
    }));
    this.search(this.text, { quiet: true });
    this.dress();
    this.place();
  }

  // After a change of colours, or of the categories that occur.
  dress() {
    this.theme = themeOf(this.window);
    this.parts.root.dataset.theme = this.theme.name;
    this.fills = null;
    this.widths.clear();
    if (this.rows) {
      fillLegend(this.document, this.parts.legend, this.rows, this.theme,
        this.window.devicePixelRatio || 1, this.category, this.placing.bars);
    }
    this.redraw();
  }

  // After a change of what stands where.
  place() {
    if (!this.rows) return;
    this.placed = arrange(this.rows, this);
    const visible = Math.max(Math.min(this.placed.height, this.most), 30);
    this.parts.scroll.style.maxHeight = `${this.most}px`;
    this.parts.stage.style.height = `${this.placed.height}px`;
    this.height = visible;
    this.parts.root.style.setProperty("--gutter", `${this.gutter()}px`);
    fillGutter(this.document, this.parts.gutter, this.placed, { current: this.lane });
    this.parts.buttons.over.setAttribute("aria-pressed", String(this.over));
    this.parts.buttons.arrows.setAttribute("aria-pressed", String(this.arrows));
    this.redraw();
  }

  // As wide as the longest name, within limits.
  gutter() {
    const context = this.parts.axis.getContext("2d");
    context.font = "600 12px system-ui, sans-serif";
    const named = [...this.rows.lanes, ...this.rows.strips, ...this.placed.heads];
    const longest = Math.max(...named.map(({ name }) => context.measureText(name).width), 40);
    return Math.min(Math.ceil(longest) + 46, 280);
  }

  resize() {
    const width = this.parts.stage.clientWidth;
    if (width > 0 && width !== this.width) {
      this.width = width;
      this.redraw();
    }
  }

  redraw() {
    this.frame ||= this.window.requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  // Draw now. Returns how long it took in milliseconds.
  draw() {
    if (!this.rows) return 0;
    const begin = this.window.performance.now();
    this.scrolled = this.parts.scroll.scrollTop || 0;
    this.painted = paint(this);
    this.tell();
    return this.window.performance.now() - begin;
  }

  tell() {
    const { rows, view } = this;
    const lines = [this.placing.hint, `in view: ${formatTime(view.from)} – ${formatTime(view.to)}`].filter(Boolean);
    if (this.painted.merged) lines.push(mergedSentence(this.painted.merged));
    if (!this.painted.arrows) lines.push("more arrows than can be told apart: zoom in");
    if (this.cursors.length) lines.push(rulerSentence(rows, this.cursors));
    if (this.region) lines.push(regionSentence(rows, this.region));
    setText(this.parts.status, lines.join(" · "));
    this.parts.root.dataset.merged = this.painted.merged;
    if (!this.parts.table.hidden) this.refreshTable();
  }

  refreshTable() {
    const key = `${this.view.from} ${this.view.to} ${this.rows.size}`;
    if (this.tabled === key) return;
    this.window.clearTimeout(this.tabling);
    // A table of 200 rows takes longer than a frame.
    this.tabling = this.window.setTimeout(() => {
      this.tabled = key;
      fillTable(this.document, this.parts.table, this.rows, this.view);
    }, this.tabled ? 120 : 0);
  }

  say(text) {
    setText(this.parts.said, text);
  }

  go({ from, to }, { smooth = false, quiet = false } = {}) {
    const { whole } = this;
    const span = Math.min(Math.max(to - from, NARROWEST), Math.max(whole.to - whole.from, NARROWEST));
    const left = Math.max(whole.from, Math.min((from + to - span) / 2, whole.to - span));
    const goal = { from: left, to: left + span };
    this.window.cancelAnimationFrame(this.gliding);
    if (smooth && !calm(this.window)) this.glide(this.view, goal, this.window.performance.now());
    else this.view = goal;
    this.goal = goal;
    this.hideTip();
    if (!quiet) this.changed("view", goal);
    this.redraw();
  }

  glide(start, goal, begin) {
    const part = Math.min((this.window.performance.now() - begin) / 140, 1);
    const eased = 1 - (1 - part) ** 3;
    const between = (a, b) => a + (b - a) * eased;
    this.view = part < 1 ? { from: between(start.from, goal.from), to: between(start.to, goal.to) } : goal;
    this.draw();
    if (part < 1) {
      this.gliding = this.window.requestAnimationFrame(() => this.glide(start, goal, begin));
    }
  }

  zoom(factor, { at = 0.5, ...how } = {}) {
    const { from, to } = how.smooth ? this.goal ?? this.view : this.view;
    const fixed = from + at * (to - from);
    this.go({ from: fixed - (fixed - from) / factor, to: fixed + (to - fixed) / factor }, how);
  }

  pan(fraction, how = {}) {
    const { from, to } = how.smooth ? this.goal ?? this.view : this.view;
    this.go({ from: from + fraction * (to - from), to: to + fraction * (to - from) }, how);
  }

  timeAt(x) {
    return this.view.from + (x / this.width) * (this.view.to - this.view.from);
  }

  choose(i, { quiet = false, reveal = true } = {}) {
    this.chosen = i;
    if (i >= 0) {
      const lane = laneOf(this.rows, i).number;
      if (lane !== this.lane) {
        this.lane = lane;
        this.place();
      }
      if (reveal) this.reveal(i);
    }
    if (!quiet) {
      this.changed("chosen", i < 0 ? -1 : this.rows.id[i]);
      this.say(i < 0 ? "nothing chosen" : eventSentence(this.rows, i));
    }
    this.redraw();
  }

  reveal(i) {
    const { from, to } = this.goal ?? this.view;
    const [start, end] = [this.rows.start[i], endOf(this.rows, i)];
    if (end < from || start > to) {
      const half = (to - from) / 2;
      const middle = end - start > to - from ? start + half * 0.8 : (start + end) / 2;
      this.go({ from: middle - half, to: middle + half }, { smooth: true });
    }
    const place = this.placed.rows[rowOf(this.rows, i)];
    const { scroll } = this.parts;
    if (!place) return;
    if (place.y < scroll.scrollTop) scroll.scrollTop = place.y - 8;
    else if (place.y + place.h > scroll.scrollTop + this.height) {
      scroll.scrollTop = place.y + place.h + 8 - this.height;
    }
  }

  step(key) {
    const before = this.lane;
    const i = move(this, key);
    if (i < 0) return;
    this.pointer = null; // the keyboard measures from what it has chosen
    this.choose(i);
    if (key === "ArrowUp" || key === "ArrowDown") {
      const lane = laneOf(this.rows, i);
      const where = lane.number === before ? "" : `${laneSentence(this.rows, lane, this.whole.from, this.whole.to)}. `;
      this.say(`${where}${eventSentence(this.rows, i)}`);
    }
  }

  hover(point, onAxis = false) {
    this.pointer = point;
    const found = point && !onAxis ? hit(this, point.x, point.y) : null;
    const hovered = found && found.j - found.i === 1 ? found.i : -1;
    const beside = point && !found ? this.beside(point, onAxis) : null;
    this.parts.stage.dataset.over = point && !onAxis && this.placing.at(point) >= 0 ? "bar" : "";
    if (beside) this.tip(beside.title, beside.facts, point);
    else if (!found) this.hideTip();
    else if (hovered >= 0) this.tip(nameOf(this.rows, hovered), eventFacts(this.rows, hovered), point);
    else {
      this.tip(plural(found.j - found.i, "event"),
        mergedFacts(this.rows, found.i, found.j, found.from, found.to), point);
    }
    if (hovered !== this.hovered) {
      this.hovered = hovered;
      this.redraw();
    }
  }

  // What there is to say where no event is: a mark on the axis, the level of a strip.
  beside({ x, y }, onAxis) {
    if (onAxis) return marksTip(flagsAt(this, { x, y }));
    const place = this.placed.strips.find((one) => y + this.scrolled >= one.y && y + this.scrolled < one.y + one.h);
    return place ? stripTip(place.strip, this.timeAt(x)) : null;
  }

  tip(title, facts, { x, y }) {
    const stage = this.parts.stage.getBoundingClientRect();
    const top = this.parts.scroll.getBoundingClientRect().top;
    showTip(this.document, this.parts, title, facts, stage.left + x, top + y);
  }

  hideTip() {
    this.parts.tip.hidden = true;
  }

  click(point) {
    const found = hit(this, point.x, point.y);
    this.choose(found ? found.i : -1, { reveal: false });
  }

  zoomToPoint(point) {
    const found = hit(this, point.x, point.y);
    if (found) this.zoomTo(found.i, found.j - 1);
  }

  zoomTo(i, j = i) {
    const [from, to] = [this.rows.start[i], endOf(this.rows, j)];
    const margin = Math.max((to - from) * 0.15, NARROWEST);
    this.go({ from: from - margin, to: to + margin }, { smooth: true });
    this.say(`zoomed to ${viewSentence(this.rows, this.goal)}`);
  }
}
