// Not part of the view: what drawing costs without any cleverness, for `d2lperf bench` to measure beside it.

export function drawEverything(context, rows, { from, to }, width, height) {
  const colours = ["#0060a0", "#f0a830", "#ffffff", "#d9c2e0", "#f5ec7a", "#bfe3dc", "#f6cfc8", "#e4e6e9"];
  const scale = width / (to - from);
  const h = height / Math.max(rows.rowCount, 1);
  context.clearRect(0, 0, width, height);
  for (let row = 0; row < rows.rowCount; row += 1) {
    for (let i = rows.offsets[row]; i < rows.offsets[row + 1]; i += 1) {
      context.fillStyle = colours[rows.category[i]];
      context.fillRect((rows.start[i] - from) * scale, row * h, rows.duration[i] * scale, h - 1);
    }
  }
}
