// A document and a canvas that keep a record, enough for the view to run without a browser.

export class Context {
  constructor() {
    this.calls = [];
    return new Proxy(this, {
      get: (target, name) => target[name] ?? ((...given) => {
        target.calls.push([name, ...given]);
        return undefined;
      }),
      set: (target, name, value) => {
        if (name === "fillStyle") target.calls.push(["fillStyle", value]);
        target[name] = value;
        return true;
      },
    });
  }

  measureText(text) {
    return { width: 6 * text.length };
  }

  createPattern(tile) {
    return { pattern: tile };
  }

  createImageData(w, h) {
    return { width: w, height: h, data: new Uint8ClampedArray(4 * w * h) };
  }

  getImageData(x, y, w, h) {
    // Every tile has a colour of its own, so that pixels tell which category they show.
    Context.tiles = (Context.tiles ?? 0) + 1;
    const image = this.createImageData(w, h);
    new Uint32Array(image.data.buffer).fill(0xff000000 + Context.tiles);
    return image;
  }

  texts() {
    return this.calls.filter(([name]) => name === "fillText").map(([, text]) => text);
  }
}

class Node {
  constructor(tag, document) {
    Object.assign(this, { tag, ownerDocument: document, children: [], attributes: {}, dataset: {} });
    Object.assign(this, { listeners: {}, textContent: "", value: "", hidden: false, parent: null });
    Object.assign(this, { scrollTop: 0, clientWidth: 800 });
    this.style = { setProperty() {} };
  }

  setAttribute(name, value) {
    this.attributes[name] = String(value);
    if (name === "hidden") this.hidden = true;
    if (!name.startsWith("data-")) return;
    this.dataset[name.slice(5).replace(/-(.)/g, (_, l) => l.toUpperCase())] = String(value);
  }

  getAttribute(name) {
    return this.attributes[name] ?? null;
  }

  append(...children) {
    for (const child of children) {
      if (typeof child === "string") this.textContent += child;
      else {
        child.parent = this;
        this.children.push(child);
      }
    }
  }

  replaceChildren(...children) {
    this.children = [];
    this.append(...children);
  }

  remove() {
    this.parent.children = this.parent.children.filter((child) => child !== this);
  }

  addEventListener(name, handler) {
    (this.listeners[name] ??= []).push(handler);
  }

  getContext() {
    return (this.context ??= new Context());
  }

  getBoundingClientRect() {
    return { left: 0, top: 0, width: this.clientWidth, height: 100 };
  }

  closest(selector) {
    const attribute = selector.slice(1, -1);
    return attribute in this.attributes ? this : this.parent?.closest(selector) ?? null;
  }

  focus() {
    this.ownerDocument.active = this;
  }

  all() {
    return [this, ...this.children.flatMap((child) => child.all())];
  }
}

export class Model {
  constructor(state) {
    Object.assign(this, { state, handlers: {}, saved: 0 });
  }

  get(name) {
    return this.state[name];
  }

  set(name, value) {
    this.state[name] = value;
  }

  save_changes() {
    this.saved += 1;
  }

  on(name, handler) {
    (this.handlers[name] ??= new Set()).add(handler);
  }

  off(name, handler) {
    this.handlers[name].delete(handler);
  }

  // As if Python had set it.
  put(name, value) {
    this.state[name] = value;
    this.handlers[`change:${name}`]?.forEach((handler) => handler());
  }
}

export function page({ queries = [] } = {}) {
  const window = {
    performance,
    devicePixelRatio: 1,
    frames: new Map(),
    timers: new Map(),
    watched: 0,
    next: 1,
    addEventListener: () => { window.watched += 1; },
    removeEventListener: () => { window.watched -= 1; },
    requestAnimationFrame: (callback) => {
      window.frames.set(window.next, callback);
      return window.next++;
    },
    cancelAnimationFrame: (number) => window.frames.delete(number),
    setTimeout: (callback) => {
      window.timers.set(window.next, callback);
      return window.next++;
    },
    clearTimeout: (number) => window.timers.delete(number),
    matchMedia: (query) => ({
      matches: queries.includes(query),
      addEventListener: () => { window.watched += 1; },
      removeEventListener: () => { window.watched -= 1; },
    }),
    // Let all frames and timers happen that are due.
    settle: () => {
      for (let round = 0; round < 400 && window.frames.size + window.timers.size; round += 1) {
        for (const due of [window.frames, window.timers]) {
          const callbacks = [...due.values()];
          due.clear();
          callbacks.forEach((callback) => callback());
        }
      }
    },
  };
  for (const name of ["ResizeObserver", "MutationObserver"]) {
    window[name] = class {
      observe() { window.watched += 1; }

      disconnect() { window.watched -= 1; }
    };
  }
  const document = { defaultView: window, createElement: (tag) => new Node(tag, document) };
  window.document = document;
  document.body = new Node("body", document);
  return { window, document, el: new Node("div", document) };
}

// An event of the keyboard that remembers what was done with it.
export function key(name, target, more = {}) {
  return {
    key: name, target, prevented: false, stopped: false,
    preventDefault() { this.prevented = true; },
    stopPropagation() { this.stopped = true; },
    ...more,
  };
}
