// Flags on the axis: notes at moments, and the cursors.

import { fitted } from "./paint.js";
import { formatTime, xOf } from "./scale.js";

const WIDEST = 240;
const FLAG_HIGH = 14;
const AXIS_HIGH = 34;
const POLE_NEAR = 5; // pixels beside a pole that belong to it

// A mark too close to the one before has a pole only; pointing at it shows its text.
export function paintFlags(context, scene) {
  const { rows, theme, cursors, width } = scene;
  scene.flags = [];
  let end = 0;
  for (const [ns, text] of rows.meta.marks) {
    const x = xOf(scene, ns);
    if (x < 0 || x > width) continue;
    const box = boxOf(context, scene, x, text);
    const flag = { x, ns, text, left: x, right: x };
    if (box.left >= end) {
      Object.assign(flag, box);
      end = box.right + 2;
      draw(context, scene, box, theme.surface.mark);
    }
    // Without a flag it does not reach up into the times.
    pole(context, x, theme.surface.mark, flag.short ? FLAG_HIGH : AXIS_HIGH - 6);
    scene.flags.push(flag);
  }
  cursors.forEach((ns, k) => {
    const x = xOf(scene, ns);
    if (x < 0 || x > width) return;
    draw(context, scene, boxOf(context, scene, x, `${"AB"[k]} ${formatTime(ns)}`), theme.surface.focus);
    pole(context, x, theme.surface.focus, FLAG_HIGH);
  });
}

// The marks at a place of the axis, `y` from the upper end of the lanes: below the flags, those whose pole is close.
export function flagsAt({ flags = [] }, { x, y }) {
  const named = flags.filter(({ left, right }) => left < right && x >= left && x <= right);
  const close = flags.filter((flag) => Math.abs(flag.x - x) <= POLE_NEAR);
  return (y < FLAG_HIGH - AXIS_HIGH && named.length) || !close.length ? named : close;
}

// At the right edge a flag flies to the left.
function boxOf(context, { width }, x, text) {
  const short = fitted(context, new Map(), text, WIDEST);
  const wide = context.measureText(short).width + 8;
  const left = x + wide > width ? Math.max(x - wide, 0) : x;
  return { left, right: left + wide, short };
}

function draw(context, scene, { left, right, short }, colour) {
  context.fillStyle = colour;
  context.fillRect(left, 0, right - left, FLAG_HIGH);
  context.fillStyle = scene.theme.surface.back;
  context.textAlign = "left";
  context.fillText(short, left + 4, FLAG_HIGH / 2 + 0.5);
}

function pole(context, x, colour, top) {
  context.fillStyle = colour;
  context.fillRect(Math.round(x), top, 1, AXIS_HIGH - top);
}
