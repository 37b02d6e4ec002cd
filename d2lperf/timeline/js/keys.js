// The keyboard. A handled key goes no further: neither JupyterLab nor the page may act on it as well.

const STEPS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"]);

const ACTIONS = {
  "+": "in", "=": "in", "-": "out", _: "out", 0: "whole", a: "arrows", t: "table", "?": "help",
  m: "cursor", s: "select", f: "fold", F: "foldGroup", "/": "search", Enter: "zoomTo", Escape: "back",
};

export function onKey(view, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const done = event.target === view.parts.input ? inSearch(view, event) : inView(view, event);
  if (done) event.preventDefault();
  // What is typed into the search is nobody else's either, but the browser has to see it.
  if (done || event.target === view.parts.input) event.stopPropagation();
}

function inSearch(view, event) {
  if (event.key === "Enter") view.searchNext(event.shiftKey ? -1 : 1);
  else if (event.key === "Escape") {
    view.search("");
    view.parts.stage.focus();
  } else return false;
  return true;
}

function inView(view, event) {
  const native = event.target !== view.parts.stage;
  // Buttons and the table keep what browsers give them.
  if (native && (STEPS.has(event.key) || event.key === "Enter" || event.key === " ")) return false;
  if (!native && view.placing.key(event)) return true;
  if (STEPS.has(event.key)) {
    if (event.shiftKey && event.key === "ArrowLeft") view.pan(-0.2, { smooth: true });
    else if (event.shiftKey && event.key === "ArrowRight") view.pan(0.2, { smooth: true });
    else view.step(event.key);
    return true;
  }
  const action = ACTIONS[event.key];
  if (!action) return false;
  view.act(action);
  return true;
}

// JupyterLab matches keys on their way down, before the view sees them, and passes over elements with this attribute.
// What is pressed with Ctrl or Cmd is not the view's, such as saving; only the search has uses of its own for it.
export function shareWithLab(view, window) {
  const { root, input } = view.parts;
  const share = ({ key, ctrlKey, metaKey, target }) => {
    if (!root.contains(target)) return;
    const shared = (ctrlKey || metaKey) && (target !== input || key.toLowerCase() === "s");
    target.toggleAttribute("data-lm-suppress-shortcuts", !shared);
  };
  window.addEventListener("keydown", share, true);
  return () => window.removeEventListener("keydown", share, true);
}
