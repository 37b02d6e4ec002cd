// One frame: both canvases, in device pixels.

import { paintArrows, paintLooked } from "./arrows.js";
import { paintAxis, paintChosen, paintGround, paintMarks, paintStrips } from "./decor.js";
import { paintBars } from "./paint.js";
import { Raster } from "./raster.js";
import { fillsOf, tilesOf } from "./theme.js";

const AXIS_HEIGHT = 34;

function ready(scene, canvas, height) {
  const ratio = scene.window.devicePixelRatio || 1;
  const [w, h] = [Math.round(scene.width * ratio), Math.round(height * ratio)];
  // Setting a size clears the canvas and costs a new one, even if it is the same.
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = `${scene.width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  if (ratio !== scene.ratio || !scene.fills) {
    scene.ratio = ratio;
    scene.fills = fillsOf(context, scene.document, scene.theme, scene.rows.meta.categories, ratio);
    scene.tiles = tilesOf(scene.document, scene.theme, scene.rows.meta.categories);
    scene.raster ??= new Raster(scene.document);
  }
  return context;
}

// Returns {merged, bars, columns, arrows}: `arrows` is false where they are too many to be drawn.
export function paint(scene) {
  const context = ready(scene, scene.parts.canvas, scene.height);
  paintGround(context, scene);
  const arrows = paintArrows(context, scene);
  const painted = paintBars(context, scene);
  paintStrips(context, scene);
  scene.placing.paint(context);
  paintLooked(context, scene);
  paintChosen(context, scene);
  paintMarks(context, scene);
  paintAxis(ready(scene, scene.parts.axis, AXIS_HEIGHT), scene);
  return { ...painted, arrows };
}
