// Thousands of columns of pixels, written as pixels: one rectangle each takes five times as long.

export const TILE = 8; // a power of two, so that a place in the pattern is a mask and not a division

export class Raster {
  constructor(document) {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
    this.used = false;
  }

  begin(width, height) {
    const [w, h] = [Math.max(Math.ceil(width), 1), Math.max(Math.ceil(height), 1)];
    if (this.width !== w || this.height !== h) {
      Object.assign(this, { width: w, height: h });
      this.canvas.width = w;
      this.canvas.height = h;
      this.image = this.context.createImageData(w, h);
      this.pixels = new Uint32Array(this.image.data.buffer);
    } else if (this.used) this.pixels.fill(0);
    this.used = false;
  }

  // Fill x … x + w − 1 from one height to another with a tile; `shift` keeps its pattern in place while panning.
  column(x, top, bottom, tile, shift, w = 1) {
    const from = Math.max(Math.round(top), 0);
    const to = Math.min(Math.round(bottom), this.height);
    const end = Math.min(x + w, this.width);
    for (let column = Math.max(x, 0); column < end; column += 1) {
      const across = (column + shift) & (TILE - 1);
      for (let y = from, k = from * this.width + column; y < to; y += 1, k += this.width) {
        this.pixels[k] = tile[((y & (TILE - 1)) * TILE) + across];
      }
    }
    this.used = true;
  }

  draw(context) {
    if (!this.used) return;
    this.context.putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.canvas, 0, 0, this.width, this.height);
  }
}
