// Mouse, pen, fingers and wheel.

import { bandAt, rowsAt } from "./layout.js";
import { eventAt, firstFrom, firstEnding } from "./rows.js";

const CLICK = 4; // pixels that a hand trembles

// What is below a point: an event, or several [i, j) that share its pixel.
export function hit(scene, x, y) {
  const { rows, placed, view, width, scrolled } = scene;
  const scale = width / (view.to - view.from);
  const ns = view.from + x / scale;
  for (const row of rowsAt(placed, y + scrolled)) {
    const found = eventAt(rows, row, ns, 2 / scale);
    if (found < 0) continue;
    if (rows.duration[found] * scale >= 1) return { i: found, j: found + 1, row };
    const left = Math.floor((rows.start[found]) * scale) / scale;
    const i = Math.min(firstEnding(rows, row, left), found);
    const j = Math.max(firstFrom(rows, row, left + 1 / scale), found + 1);
    return j - i > 1 ? { i, j, row, from: left, to: left + 1 / scale } : { i: found, j: found + 1, row };
  }
  return null;
}

export function attachPointer(view) {
  const { stage, axis, scroll } = view.parts;
  const fingers = new Map();
  let drag = null;

  const at = (event) => {
    const box = stage.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - scroll.getBoundingClientRect().top };
  };

  function wheel(event) {
    const over = event.currentTarget === axis;
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!over && !event.ctrlKey && !event.metaKey && !sideways) return; // the page scrolls
    event.preventDefault();
    // Lines and pages, where a browser counts in these.
    const unit = [1, 16, 400][event.deltaMode] ?? 1;
    const turned = unit * (Math.abs(event.deltaX) > Math.abs(event.deltaY) ? event.deltaX : event.deltaY);
    if (sideways && !event.ctrlKey) view.pan(turned / view.width);
    else view.zoom(Math.exp(-turned * (event.ctrlKey && !event.deltaMode && Math.abs(turned) < 50 ? 0.01 : 0.002)),
      { at: at(event).x / view.width });
  }

  function down(event) {
    if (event.button !== 0) return;
    const point = at(event);
    fingers.set(event.pointerId, point);
    event.currentTarget.setPointerCapture?.(event.pointerId);
    drag = { from: point, last: point, selects: event.shiftKey, moved: fingers.size > 1 };
    drag.places = fingers.size === 1 && event.currentTarget === stage && view.placing.grab(point);
    view.hideTip();
  }

  function move(event) {
    const point = at(event);
    if (!drag) {
      view.hover(point, event.currentTarget === axis);
      return;
    }
    if (!fingers.has(event.pointerId)) return;
    const before = fingers.get(event.pointerId);
    fingers.set(event.pointerId, point);
    if (fingers.size === 2) {
      pinch(before, point, event.pointerId);
      return;
    }
    if (Math.hypot(point.x - drag.from.x, point.y - drag.from.y) > CLICK) drag.moved = true;
    if (!drag.moved) return;
    if (drag.places) view.placing.drag(point);
    else if (drag.selects) view.selectBox(drag.from, point);
    else {
      view.pan((drag.last.x - point.x) / view.width);
      drag.last = point;
    }
  }

  function pinch(before, now, id) {
    const other = [...fingers].find(([key]) => key !== id)[1];
    const factor = Math.max(Math.abs(now.x - other.x), 10) / Math.max(Math.abs(before.x - other.x), 10);
    view.zoom(factor, { at: other.x / view.width });
  }

  function up(event) {
    fingers.delete(event.pointerId);
    if (!drag || fingers.size) return;
    const { moved, selects, places } = drag;
    const click = !moved && event.type === "pointerup";
    drag = null;
    if (places) view.placing.drop();
    else if (selects && moved) view.endSelection();
    else if (click && event.currentTarget === stage) view.click(at(event));
  }

  function leave() {
    if (!drag) view.hover(null);
  }

  function twice(event) {
    view.zoomToPoint(at(event));
  }

  const handlers = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up, pointerleave: leave };
  for (const target of [stage, axis]) {
    for (const [name, handler] of Object.entries(handlers)) target.addEventListener(name, handler);
    target.addEventListener("wheel", wheel, { passive: false });
  }
  stage.addEventListener("dblclick", twice);
}

// Lanes between two heights.
export function lanesBetween(placed, top, bottom) {
  const lanes = [];
  for (const band of placed.bands) if (band.y < bottom && band.y + band.h > top) lanes.push(band.lane.number);
  for (const head of placed.heads) {
    if (head.folded && head.y < bottom && head.y + head.h > top) {
      lanes.push(...head.lanes.map((lane) => lane.number));
    }
  }
  if (!lanes.length && bandAt(placed, top)) lanes.push(bandAt(placed, top).lane.number);
  return lanes;
}
