// What buttons, keys and gestures do.

import { lanesBetween } from "./pointer.js";
import { emphasisOf, matchingNames, nextMatch, rankOf } from "./search.js";
import { endOf, eventAt } from "./rows.js";
import { formatCount, formatTime, plural } from "./scale.js";
import { View } from "./view.js";
import { eventSentence, laneSentence, regionSentence, rulerSentence, stripSentence } from "./words.js";

const SNAP = 6; // pixels

export class LiveView extends View {
  act(action) {
    const smooth = { smooth: true };
    const doing = {
      in: () => this.zoom(1.6, { at: this.focus(), ...smooth }),
      out: () => this.zoom(1 / 1.6, { at: this.focus(), ...smooth }),
      whole: () => this.go(this.whole, smooth),
      arrows: () => this.toggleArrows(),
      over: () => this.setOver(!this.over),
      table: () => this.open("table"),
      help: () => this.open("help"),
      search: () => this.parts.input.focus(),
      zoomTo: () => this.chosen >= 0 && this.zoomTo(this.chosen),
      cursor: () => this.setCursor(),
      select: () => this.selectSpan(),
      fold: () => this.foldCurrent(false),
      foldGroup: () => this.foldCurrent(true),
      back: () => this.back(),
    };
    doing[action]?.();
  }

  // Zoom around the chosen event while it is in view.
  focus() {
    if (this.chosen < 0) return 0.5;
    const middle = (this.rows.start[this.chosen] + endOf(this.rows, this.chosen)) / 2;
    const at = (middle - this.view.from) / (this.view.to - this.view.from);
    return at >= 0 && at <= 1 ? at : 0.5;
  }

  toggleArrows() {
    this.arrows = !this.arrows;
    this.say(this.arrows ? "arrows on" : "arrows off");
    this.place();
  }

  setOver(over, { quiet = false } = {}) {
    this.over = over && this.rows.meta.overlay.length > 0;
    if (!quiet) {
      this.changed("arrange", this.over ? "over" : "under");
      this.say(this.over ? "one upon the other, the second as outlines" : "one below the other");
    }
    this.place();
  }

  open(name) {
    const part = this.parts[name];
    part.hidden = !part.hidden;
    this.parts.buttons[name].setAttribute("aria-expanded", String(!part.hidden));
    this.tabled = null;
    if (name === "table" && !part.hidden) this.say("table of the events in view, below the lanes");
    this.redraw();
  }

  // Search

  search(text, { quiet = false } = {}) {
    this.text = text;
    if (this.parts.input.value !== text) this.parts.input.value = text;
    this.names = matchingNames(this.rows.meta.names, text);
    this.matches = emphasisOf(this.rows, { names: this.names });
    this.emphasise();
    this.count();
    if (!quiet) this.changed("search", text);
  }

  emphasise() {
    this.emphasis = this.category < 0 ? this.matches
      : emphasisOf(this.rows, { names: this.names, category: this.category });
    this.redraw();
  }

  count() {
    const { matches } = this;
    const here = matches && this.chosen >= 0 && matches.is(this.chosen);
    const rank = here ? `${formatCount(rankOf(this.rows, matches, this.chosen))} of ` : "";
    this.parts.found.textContent = !matches ? "" : matches.total ? `${rank}${formatCount(matches.total)}` : "none";
  }

  searchNext(direction) {
    if (!this.matches?.total) return;
    this.choose(nextMatch(this.rows, this.matches, this.chosen, direction));
    this.count();
  }

  highlight(category) {
    this.category = category === this.category ? -1 : category;
    this.say(this.category < 0 ? "all categories" : `${this.rows.meta.categories[category]} alone`);
    for (const item of this.parts.legend.children) {
      item.setAttribute("aria-pressed", String(Number(item.dataset.category) === this.category));
    }
    this.emphasise();
  }

  // Folding

  foldCurrent(group) {
    const lane = this.rows.lanes[this.lane] ?? this.placed.bands[0]?.lane;
    if (!lane) return;
    const mates = this.rows.lanes.filter((other) => lane.group && other.group === lane.group);
    const shut = mates.length > 1 && this.folded.has(`group:${lane.group}`);
    this.toggleFold(mates.length > 1 && (group || shut) ? `group:${lane.group}` : lane.name);
  }

  toggleFold(key) {
    if (!this.folded.delete(key)) this.folded.add(key);
    this.changed("folded", [...this.folded]);
    this.say(`${key.replace(/^group:/, "group ")} ${this.folded.has(key) ? "folded" : "unfolded"}`);
    this.place();
  }

  // Measuring and selecting

  setCursor() {
    if (this.cursors.length > 1) this.cursors = [];
    this.cursors = [...this.cursors, this.cursorTime()];
    this.say(rulerSentence(this.rows, this.cursors));
    this.redraw();
  }

  // At the pointer, on the nearest edge of an event; without one at the start, then the end of the chosen event.
  cursorTime() {
    if (this.pointer) return this.snapped(this.pointer);
    if (this.chosen < 0) return (this.view.from + this.view.to) / 2;
    return this.cursors.length ? endOf(this.rows, this.chosen) : this.rows.start[this.chosen];
  }

  snapped({ x, y }) {
    const ns = this.timeAt(x);
    const slack = (SNAP * (this.view.to - this.view.from)) / this.width;
    let best = Math.round(ns);
    let least = slack;
    this.placed.rows.forEach((place, row) => {
      if (y + this.scrolled < place.y || y + this.scrolled > place.y + place.h) return;
      const i = eventAt(this.rows, row, ns, slack);
      if (i < 0) return;
      for (const edge of [this.rows.start[i], endOf(this.rows, i)]) {
        if (Math.abs(edge - ns) < least) [best, least] = [edge, Math.abs(edge - ns)];
      }
    });
    return best;
  }

  selectBox(a, b) {
    const [from, to] = [this.timeAt(Math.min(a.x, b.x)), this.timeAt(Math.max(a.x, b.x))];
    const [top, bottom] = [Math.min(a.y, b.y), Math.max(a.y, b.y)];
    // The axis is above all lanes and stands for them.
    const lanes = bottom < 0 ? this.rows.lanes.map((lane) => lane.number)
      : lanesBetween(this.placed, Math.max(top, 0) + this.scrolled, bottom + this.scrolled);
    this.region = lanes.length ? { from: Math.round(from), to: Math.round(to), lanes } : null;
    this.redraw();
  }

  endSelection() {
    const { region } = this;
    const lanes = region?.lanes.map((lane) => this.rows.lanes[lane].name);
    this.changed("region", region ? [region.from, region.to, lanes] : null);
    this.say(region ? regionSentence(this.rows, region) : "nothing selected");
    this.redraw();
  }

  selectSpan() {
    const [a, b] = this.cursors.length > 1 ? this.cursors : [this.view.from, this.view.to];
    this.region = {
      from: Math.round(Math.min(a, b)), to: Math.round(Math.max(a, b)),
      lanes: this.rows.lanes.map((lane) => lane.number),
    };
    this.endSelection();
  }

  // One thing at a time, what covers most first.
  back() {
    if (!this.parts.help.hidden) this.open("help");
    else if (this.text) this.search("");
    else if (this.category >= 0) this.highlight(this.category);
    else if (this.region) {
      this.region = null;
      this.endSelection();
    } else if (this.cursors.length) {
      this.cursors = [];
      this.say("cursors removed");
    } else if (this.chosen >= 0) this.choose(-1);
    this.hideTip();
    this.redraw();
  }

  // What a screen reader hears on arriving.
  greet() {
    if (this.chosen >= 0) this.say(eventSentence(this.rows, this.chosen));
    else {
      const { from, to } = this.whole;
      const lanes = this.rows.lanes.map((lane) => laneSentence(this.rows, lane, from, to));
      const strips = this.rows.strips.map((strip) => `${strip.name}: ${stripSentence(strip)}`);
      const { length } = this.rows.meta.marks;
      const marks = length ? [`${plural(length, "mark")}, listed in the table`] : [];
      this.say([
        `${formatTime(to - from)} in ${plural(lanes.length, "lane")}`, this.placing.hint,
        [...lanes.slice(0, 4), ...strips.slice(0, 2), ...marks].join("; "),
      ].filter(Boolean).join(". "));
    }
  }
}
