// Colours, and a pattern for every category that would otherwise differ from another by its colour only.

import { TILE } from "./raster.js";

export const DIM = 0.22; // how much remains of what is not searched for

// The colours of the static picture. Fill, ink of text, outline (perhaps dashed), pattern, and what differs where a
// bar is too narrow for an outline.
const LIGHT = {
  dispatch: { fill: "#0060a0", ink: "#ffffff", edge: "#003050" },
  run: { fill: "#f0a830", ink: "#000000", edge: "#5a3a00" },
  wait: {
    fill: "#ffffff", ink: "#000000", edge: "#444444",
    pattern: "diagonal", line: "#8a8a8a", narrow: { fill: "#dfe2e5" },
  },
  host: { fill: "#d9c2e0", ink: "#000000", edge: "#5b3a66", pattern: "dots", line: "#9a78a8" },
  compile: { fill: "#f5ec7a", ink: "#000000", edge: "#6b6400", dash: true },
  copy: { fill: "#d3ebf8", ink: "#000000", edge: "#1b5f86", pattern: "horizontal", line: "#2a7fae" },
  collective: { fill: "#d6f0de", ink: "#000000", edge: "#1d6b40", pattern: "cross", line: "#2c8552" },
  runtime: { fill: "#c9ced3", ink: "#000000", edge: "#5f666d" },
};

const DARK = {
  dispatch: { fill: "#5aa9e6", ink: "#000000", edge: "#d6ecff" },
  run: { fill: "#f0a830", ink: "#000000", edge: "#ffe2ab" },
  wait: {
    fill: "#26282b", ink: "#ffffff", edge: "#b9bdc2",
    pattern: "diagonal", line: "#8d939a", narrow: { fill: "#44484d" },
  },
  host: { fill: "#c9aed4", ink: "#000000", edge: "#efe0f5", pattern: "dots", line: "#7d5b8b" },
  compile: { fill: "#efe56a", ink: "#000000", edge: "#26282b", dash: true },
  copy: { fill: "#a3d0ec", ink: "#000000", edge: "#d8eefb", pattern: "horizontal", line: "#1f6592" },
  collective: { fill: "#a9dcba", ink: "#000000", edge: "#dff5e6", pattern: "cross", line: "#23693f" },
  runtime: { fill: "#8b9199", ink: "#000000", edge: "#c9ced4" },
};

// With forced colours only the reader's own few remain: shapes have to do.
const SHAPES = {
  dispatch: { solid: true },
  run: {},
  wait: { pattern: "diagonal", narrow: { fill: "Canvas", pattern: "horizontal" } },
  host: { pattern: "dots" },
  compile: { dash: true },
  copy: { pattern: "horizontal" },
  collective: { pattern: "cross" },
  runtime: { pattern: "vertical" },
};

const SURFACES = {
  light: {
    back: "#ffffff", ink: "#1b1d1f", soft: "#5c6166", grid: "#e8eaec", band: "#f6f7f8",
    focus: "#0060a0", arrow: "#2b2f33", mark: "#a3195b", budget: "#b00020",
    strip: "#9fd3c0", stripEdge: "#1d6b52", outline: "#000000", veil: "rgba(0, 96, 160, 0.12)",
  },
  dark: {
    back: "#17191b", ink: "#eceef0", soft: "#a7adb3", grid: "#2c2f33", band: "#1e2023",
    focus: "#7cc0f5", arrow: "#e4e7ea", mark: "#ff9ac6", budget: "#ff8a93",
    strip: "#2f6f5c", stripEdge: "#9fd3c0", outline: "#ffffff", veil: "rgba(124, 192, 245, 0.18)",
  },
};

function forced() {
  const surface = {
    back: "Canvas", ink: "CanvasText", soft: "CanvasText", grid: "CanvasText", gridAlpha: 0.25, band: "Canvas",
    focus: "Highlight", arrow: "CanvasText", mark: "LinkText", budget: "LinkText", strip: "Canvas",
    stripEdge: "CanvasText", outline: "Highlight", veil: "rgba(128, 128, 128, 0.3)",
  };
  const paints = Object.fromEntries(Object.entries(SHAPES).map(([name, shape]) => [name, {
    fill: shape.solid ? "CanvasText" : "Canvas",
    ink: shape.solid ? "Canvas" : "CanvasText",
    edge: "CanvasText",
    line: "CanvasText",
    narrow: { fill: "CanvasText" },
    ...shape,
  }]));
  return { name: "forced", surface, paints };
}

function matches(window, query) {
  return Boolean(window.matchMedia?.(query).matches);
}

export function themeOf(window) {
  if (matches(window, "(forced-colors: active)")) return forced();
  const lab = window.document.body?.dataset?.jpThemeLight;
  const dark = lab === undefined ? matches(window, "(prefers-color-scheme: dark)") : lab === "false";
  return dark
    ? { name: "dark", surface: SURFACES.dark, paints: DARK }
    : { name: "light", surface: SURFACES.light, paints: LIGHT };
}

export function calm(window) {
  return matches(window, "(prefers-reduced-motion: reduce)");
}

// Call back when JupyterLab or the system changes its colours; returns what ends it.
export function watchTheme(window, changed) {
  const queries = ["(forced-colors: active)", "(prefers-color-scheme: dark)"]
    .map((query) => window.matchMedia?.(query)).filter(Boolean);
  queries.forEach((query) => query.addEventListener?.("change", changed));
  const observer = window.MutationObserver && new window.MutationObserver(changed);
  observer?.observe(window.document.body, { attributeFilter: ["data-jp-theme-light"] });
  return () => {
    queries.forEach((query) => query.removeEventListener?.("change", changed));
    observer?.disconnect();
  };
}

const LINES = {
  diagonal: (c) => { for (const k of [-TILE, 0, TILE]) { c.moveTo(k, TILE); c.lineTo(k + TILE, 0); } },
  horizontal: (c) => { for (const y of [1.5, 5.5]) { c.moveTo(0, y); c.lineTo(TILE, y); } },
  vertical: (c) => { c.moveTo(3.5, 0); c.lineTo(3.5, TILE); },
  cross: (c) => { c.moveTo(0, 0); c.lineTo(TILE, TILE); c.moveTo(0, TILE); c.lineTo(TILE, 0); },
};

function tile(document, paint, ratio) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = Math.round(TILE * ratio);
  const context = canvas.getContext("2d");
  context.scale(canvas.width / TILE, canvas.width / TILE);
  context.fillStyle = paint.fill;
  context.fillRect(0, 0, TILE, TILE);
  context.strokeStyle = context.fillStyle = paint.line ?? paint.fill;
  context.lineWidth = 1;
  context.beginPath();
  if (paint.pattern === "dots") {
    context.arc(TILE / 2, TILE / 2, 1, 0, 7);
    context.fill();
  } else if (paint.pattern) {
    LINES[paint.pattern](context);
    context.stroke();
  }
  return canvas;
}

// What to set as fillStyle for each category, by number.
export function fillsOf(context, document, theme, categories, ratio) {
  return categories.map((name) => {
    const paint = theme.paints[name];
    if (!paint.pattern) return paint.fill;
    const pattern = context.createPattern(tile(document, paint, ratio), "repeat");
    // Patterns are in device pixels otherwise, twice as fine on a fine screen.
    pattern.setTransform?.({ a: 1 / ratio, b: 0, c: 0, d: 1 / ratio, e: 0, f: 0 });
    return pattern;
  });
}

// The same as pixels, bright and dimmed: tiles of TILE × TILE for each category.
export function tilesOf(document, theme, categories) {
  const bright = categories.map((name) => {
    const paint = theme.paints[name];
    const canvas = tile(document, { ...paint, ...paint.narrow }, 1);
    const { data } = canvas.getContext("2d").getImageData(0, 0, TILE, TILE);
    return new Uint32Array(data.buffer.slice(0));
  });
  const dim = bright.map((pixels) => {
    const bytes = new Uint8ClampedArray(pixels.slice().buffer);
    for (let k = 3; k < bytes.length; k += 4) bytes[k] *= DIM;
    return new Uint32Array(bytes.buffer);
  });
  return { bright, dim };
}
