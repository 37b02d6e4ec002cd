"""How fast a slider moves the bars in a real JupyterLab, through kernel and back."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import nbformat

from d2lperf.bench.browser import chromium
from d2lperf.bench.figures import Figure
from d2lperf.bench.server import TOKEN, lab_server
from d2lperf.stats import Samples

SOURCE = """
from d2lperf import explore, virtual

def simulate(n, t1_us):
    return virtual.pipeline(n, t1_us * 1e-6, 40e-6, 20e-6).timeline(end_s=0.01)

explore(simulate, n=(1, 60, 30), t1_us=(1, 100, 10))
"""
IDLE = """() => {
    const panel = window.jupyterapp?.shell.currentWidget;
    return panel?.content?.model?.cells?.length
        && panel.sessionContext?.session?.kernel?.status === 'idle';
}"""
# From the key that moves the slider to the end of the frame that shows the new events.
DRAG = """
async ([moves]) => {
    const root = document.querySelector('.jp-OutputArea [data-events]');
    const { view } = root.d2lperf;
    const handle = document.querySelector('.jp-OutputArea .noUi-handle');
    const [show, draw] = [view.show.bind(view), view.draw.bind(view)];
    let fresh = false, arrived = () => {};
    view.show = (data) => { fresh = true; return show(data); };
    view.draw = () => {
        const took = draw();
        if (fresh) { fresh = false; arrived(performance.now()); }
        return took;
    };
    const times = [];
    for (let i = 0; i < moves; i += 1) {
        await new Promise(resolve => setTimeout(resolve, 120));
        const shown = new Promise(resolve => { arrived = resolve; });
        const begin = performance.now();
        const key = i < moves / 2 ? 'ArrowRight' : 'ArrowLeft';
        handle.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        times.push(await shown - begin);
    }
    return times;
}
"""
MOVES = 24


def in_jupyterlab() -> Iterator[Figure]:
    """Time a slider that simulates 30 operations anew.

    Raises:
        BrowserMissing: there is no Chromium, or playwright is not installed.
        RuntimeError: JupyterLab did not start.
    """
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        course, private = Path(name) / "course", Path(name) / "private"
        course.mkdir()
        private.mkdir()
        _write_notebook(course / "slider.ipynb")
        with lab_server(course, private) as address:
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.goto(f"{address}/lab/tree/slider.ipynb?token={TOKEN}&reset", timeout=60_000)
            page.wait_for_function(IDLE, timeout=90_000)
            page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
            page.wait_for_selector(".jp-OutputArea [data-first]", timeout=60_000)
            times = page.evaluate(DRAG, [MOVES])
            page.close()
    samples = Samples(ms / 1e3 for ms in times[2:])
    yield Figure("slider to pixels in JupyterLab", samples, goal_s=0.08)


def _write_notebook(path: Path) -> None:
    # Without a kernel's name JupyterLab would ask for one.
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    cells = [nbformat.v4.new_code_cell(SOURCE)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), path)
