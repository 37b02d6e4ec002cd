// Numbers as people read them, and where an axis has its ticks. The texts are those of d2lperf.units.

const UNITS = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];
const BYTES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

// toFixed rounds an exact half away from zero, Python to even.
function fixed(value, decimals) {
  const scaled = Math.abs(value) * 10 ** decimals;
  const half = Number.isInteger(value * 2 ** (decimals + 1)) && scaled % 1 === 0.5;
  if (!half) return value.toFixed(decimals);
  const even = 2 * Math.round(scaled / 2);
  return (value < 0 ? "-" : "") + (even / 10 ** decimals).toFixed(decimals);
}

function decimalsFor(value) {
  return Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
}

function threeDigits(value) {
  if (value === 0) return "0";
  const rounded = Number(fixed(value, decimalsFor(value)));
  return fixed(rounded, decimalsFor(rounded));
}

// Python's format(value, ".3g").
function general(value) {
  const [mantissa, exponent] = value.toExponential(2).split("e");
  if (Number(exponent) >= -4) return String(Number(value.toPrecision(3)));
  return `${Number(mantissa)}e-${String(-exponent).padStart(2, "0")}`;
}

export function formatSeconds(seconds) {
  if (seconds === 0) return "0 s";
  const size = Math.abs(seconds);
  if (size >= 59.95) {
    const minutes = (Math.sign(seconds) * Math.max(size, 60)) / 60;
    const text = Math.abs(minutes) >= 999.5 ? fixed(minutes, 0) : threeDigits(minutes);
    return `${text} min`;
  }
  for (const [step, unit] of UNITS) {
    if (size >= 0.9995 * step) return `${threeDigits(seconds / step)} ${unit}`;
  }
  return `${general(seconds / 1e-9)} ns`;
}

export function formatTime(ns) {
  return formatSeconds(ns / 1e9);
}

export function formatBytes(bytes) {
  let value = bytes;
  let unit = 0;
  while (Math.abs(value) >= 1023.5 && unit < BYTES.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const text = unit === 0 && Number.isInteger(value) ? String(value) : threeDigits(value);
  return `${text} ${BYTES[unit]}`;
}

// 12340 as 12 340, with spaces at which no line breaks.
export function formatCount(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, "\u00a0");
}

export function plural(count, noun) {
  return `${formatCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

export function formatShare(share) {
  return `${Math.round(100 * share)} %`;
}

// Round times between two moments, `spacing` pixels or more apart, with labels that tell them apart.
export function ticks(from, to, width, spacing = 90) {
  const step = niceStep(((to - from) * spacing) / Math.max(width, 1));
  const first = Math.ceil(from / step);
  const last = Math.floor(to / step);
  const [size, unit] = UNITS.find(([s]) => Math.max(Math.abs(from), Math.abs(to)) / 1e9 >= s) ??
    UNITS[3];
  const decimals = Math.max(0, -Math.floor(Math.log10(step / 1e9 / size) + 1e-9));
  const found = [];
  for (let i = first; i <= last; i += 1) {
    const ns = i * step;
    found.push({ ns, text: i === 0 ? "0" : `${(ns / 1e9 / size).toFixed(decimals)} ${unit}` });
  }
  return found;
}

function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1e-3)));
  return [1, 2, 5, 10].map((k) => k * power).find((step) => step >= least * (1 - 1e-9));
}

// The pixel of a moment.
export function xOf({ view, width }, ns) {
  return ((ns - view.from) / (view.to - view.from)) * width;
}
