// Arrows between the bars of an operation.

import { arrowsOf, flowOf, needsOf, visibleFlows } from "./flows.js";
import { xOf } from "./scale.js";

const HALF_HEAD = 3.5; // half the width of an arrow's head
const APART = 8; // pixels between neighbouring heads, in the middle of all, below which nobody could follow them
const MOST = 24; // arrows into one row

function lookedAt({ rows, hovered, chosen }) {
  return [...new Set([flowOf(rows, hovered), flowOf(rows, chosen)])].filter((flow) => flow >= 0);
}

// Arrows of everything in view, below the bars so that they cross out no name.
// Returns whether all of them are drawn: those into a row are left out where they are too close.
export function paintArrows(context, scene) {
  if (!scene.arrows) return true;
  const { rows, view, placed, theme } = scene;
  const looked = lookedAt(scene);
  const flows = visibleFlows(rows, view.from, view.to);
  const byRow = new Map();
  for (const flow of flows ?? []) {
    if (looked.includes(flow)) continue;
    for (const arrow of arrowsOf(rows, flow)) {
      // Arrows of both timelines upon each other could not be told apart.
      if (placed.rows[arrow.toRow]?.outline) continue;
      if (!byRow.has(arrow.toRow)) byRow.set(arrow.toRow, []);
      byRow.get(arrow.toRow).push(arrow);
    }
  }
  context.strokeStyle = context.fillStyle = theme.surface.arrow;
  context.globalAlpha = looked.length ? 0.2 : 0.45;
  context.lineWidth = 1;
  let complete = flows !== null;
  for (const arrows of byRow.values()) {
    if (crowded(scene, arrows)) complete = false;
    else arrows.forEach((arrow) => drawArrow(context, scene, arrow));
  }
  context.globalAlpha = 1;
  return complete;
}

// Arrows of the event that is looked at, above everything and with what it needs.
export function paintLooked(context, scene) {
  const { rows, theme } = scene;
  context.strokeStyle = context.fillStyle = theme.surface.arrow;
  context.lineWidth = 1.75;
  for (const flow of lookedAt(scene)) {
    [...arrowsOf(rows, flow), ...needsOf(rows, flow)].forEach((arrow) => drawArrow(context, scene, arrow));
  }
}

function crowded(scene, arrows) {
  if (arrows.length > MOST) return true;
  const heads = [...new Set(arrows.map(({ toNs }) => xOf(scene, toNs)))].sort((a, b) => a - b);
  const gaps = heads.slice(1).map((x, k) => x - heads[k]).sort((a, b) => a - b);
  return gaps.length > 1 && gaps[gaps.length >> 1] < APART;
}

function drawArrow(context, scene, { fromRow, fromNs, toRow, toNs, need }) {
  const from = scene.placed.rows[fromRow];
  const to = scene.placed.rows[toRow];
  if (!from || !to) return;
  const [x1, x2] = [fromNs, toNs].map((ns) => inside(scene, xOf(scene, ns)));
  if (Math.max(x1, x2) < -50 || Math.min(x1, x2) > scene.width + 50) return;
  const down = Math.sign(to.y - from.y);
  const y1 = edgeOf(from, down) - scene.scrolled;
  const y2 = edgeOf(to, -down) - scene.scrolled;
  const bend = down * Math.min(Math.max(Math.abs(y2 - y1) * 0.5, 6), 40);
  context.setLineDash(need ? [4, 3] : []);
  context.beginPath();
  context.moveTo(x1, y1);
  context.bezierCurveTo(x1, y1 + bend, x2, y2 - bend, x2, y2 - down * 4);
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  context.moveTo(x2, y2);
  context.lineTo(x2 - HALF_HEAD, y2 - (down || 1) * 6);
  context.lineTo(x2 + HALF_HEAD, y2 - (down || 1) * 6);
  context.fill();
}

// What ends at the very edge of the view keeps the whole of its arrow's head.
function inside({ width }, x) {
  return x < -1 || x > width + 1 ? x : Math.min(Math.max(x, HALF_HEAD), width - HALF_HEAD);
}

function edgeOf({ y, h }, down) {
  return y + (h * (1 + down)) / 2;
}
