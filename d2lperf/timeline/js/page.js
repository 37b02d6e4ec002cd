// A page that stands alone: the same view on data that the page brings along.

import { render } from "./main.js";

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;
}

// Python's side of the widget, without Python.
function stub(state) {
  return {
    get: (name) => state[name],
    set: (name, value) => { state[name] = value; },
    save_changes: () => {},
    on: () => {},
    off: () => {},
  };
}

export function boot(document) {
  const data = JSON.parse(document.getElementById("data").textContent);
  for (const [key, value] of Object.entries(data)) if (typeof value === "string") data[key] = bytes(value);
  data.strips = data.strips.map(({ times, values }) => ({ times: bytes(times), values: bytes(values) }));
  const { arrange } = data.meta;
  render({ model: stub({ data, arrange, height: 640 }), el: document.getElementById("timeline") });
}
