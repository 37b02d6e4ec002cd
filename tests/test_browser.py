"""What a student does, in a real JupyterLab in a real browser."""

from __future__ import annotations

import json
import os
import shutil
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

from d2lperf.bench.browser import chromium, chromium_path
from d2lperf.bench.server import TOKEN, lab_server

ROOT = Path(__file__).parents[1]
CLAIM = "application/vnd.d2lperf.claim+json"
RUN_LIMIT_MS = 200_000

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        chromium_path() is None, reason="no Chromium: install the package `chromium`"
    ),
    # Playwright's own event loop leaves sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """A copy of the course, so that nobody's notebooks are touched."""
    root = tmp_path_factory.mktemp("course")
    for name in ("notebooks", "exercises", "solutions"):
        shutil.copytree(ROOT / name, root / name)
    for name in ("nbgrader_config.py", "pyproject.toml"):
        shutil.copy(ROOT / name, root)
    return root


@pytest.fixture(scope="module")
def server(course: Path, tmp_path_factory) -> Iterator[str]:
    """JupyterLab as `d2lperf lab` starts it, with folders of its own."""
    with lab_server(course, tmp_path_factory.mktemp("jupyter")) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@dataclass
class Notebook:
    """A notebook that is open in JupyterLab."""

    page: Any
    address: str
    picture_folder: Path

    def open(self, path: str) -> None:
        """Open a notebook and wait until its kernel is idle."""
        self.page.goto(f"{self.address}/lab/tree/{path}?token={TOKEN}&reset", timeout=60_000)
        self.page.wait_for_function(
            """() => {
                const panel = window.jupyterapp?.shell.currentWidget;
                return panel?.content?.model?.cells?.length > 1
                    && panel.sessionContext?.session?.kernel?.status === 'idle';
            }""",
            timeout=90_000,
        )

    def run_all(self) -> None:
        """Run all cells and wait until the last one is done."""
        self.page.evaluate(
            "() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }"
        )
        self.page.wait_for_function(
            """() => {
                const panel = window.jupyterapp.shell.currentWidget;
                const cells = panel.content.model.sharedModel.toJSON().cells;
                const code = cells.filter(c => c.cell_type === 'code' && [c.source].flat().join('').trim());
                return code.every(c => c.execution_count !== null)
                    && panel.sessionContext.session.kernel.status === 'idle';
            }""",
            timeout=RUN_LIMIT_MS,
            polling=500,
        )

    def cells(self) -> dict[str, Any]:
        """Return the cells as they are now, outputs included, by id."""
        cells = self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.toJSON().cells"
        )
        return {cell["id"]: cell for cell in cells}

    def cell(self, cell_id: str) -> Any:
        """Scroll to a cell and return it as an element."""
        index = list(self.cells()).index(cell_id)
        self.page.evaluate(
            """async index => {
                const notebook = window.jupyterapp.shell.currentWidget.content;
                notebook.activeCellIndex = index;
                await notebook.scrollToCell(notebook.widgets[index], 'center');
            }""",
            index,
        )
        return self.page.locator(f".jp-Notebook .jp-Cell[data-windowed-list-index='{index}']")

    def type_and_run(self, cell_id: str, source: str) -> None:
        """Replace what a cell says, as one does with the keyboard, and run it."""
        self.cell(cell_id).locator(".cm-content").click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.insert_text(source)
        self.run(cell_id)

    def run(self, cell_id: str) -> None:
        """Run one cell and wait for its end."""
        before = self.cells()[cell_id]["execution_count"] or 0
        self.cell(cell_id).locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")
        self.page.wait_for_function(
            """([id, before]) => {
                const panel = window.jupyterapp.shell.currentWidget;
                const cell = panel.content.model.sharedModel.toJSON().cells.find(c => c.id === id);
                return cell.execution_count > before && panel.sessionContext.session.kernel.status === 'idle';
            }""",
            arg=[cell_id, before],
            timeout=60_000,
        )

    def screenshot(self, name: str, *, dark: bool = False) -> None:
        """Keep a picture of the window, for people to look at."""
        if dark:
            self._theme("JupyterLab Dark")
        self.page.screenshot(path=self.picture_folder / f"{name}.png")
        if dark:
            self._theme("JupyterLab Light")

    def _theme(self, theme: str) -> None:
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme
        )
        light = "true" if theme.endswith("Light") else "false"
        self.page.locator(f"body[data-jp-theme-light='{light}']").wait_for(state="attached")
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")


@pytest.fixture
def notebook(server: str, browser: Any, tmp_path: Path) -> Iterator[Notebook]:
    folder = Path(os.environ.get("D2LPERF_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    yield Notebook(page, server, folder)
    page.close()
    # Kernels outlive pages; the next test starts its own.
    with urllib.request.urlopen(f"{server}/api/sessions?token={TOKEN}") as answer:
        for session in json.load(answer):
            request = urllib.request.Request(
                f"{server}/api/sessions/{session['id']}",
                method="DELETE",
                headers={"Authorization": f"token {TOKEN}"},
            )
            urllib.request.urlopen(request).close()


def outputs(cells: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for cell in cells.values() for output in cell.get("outputs", [])]


def the_cell_with(notebook: Notebook, mime_type: str) -> str:
    """Return the id of the first cell that has an output of this type."""
    for name, cell in notebook.cells().items():
        if any(mime_type in output.get("data", {}) for output in cell.get("outputs", [])):
            return name
    raise AssertionError(f"no cell has an output of type {mime_type}")


def reference(cell_id: str) -> str:
    for cell in nbformat.read(
        ROOT / "solutions" / "ch02" / "asynchronous_computation.ipynb", as_version=4
    ).cells:
        if cell.id == cell_id:
            return cell.source
    raise KeyError(cell_id)


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda p: p.stem)
def test_a_chapter_runs_from_top_to_bottom(notebook: Notebook, path: Path):
    notebook.open(f"notebooks/{path.name}")
    notebook.screenshot(f"{path.stem}-opened")
    notebook.run_all()
    found = outputs(notebook.cells())
    assert not [o for o in found if o["output_type"] == "error" or o.get("name") == "stderr"]
    claims = [o["data"][CLAIM] for o in found if CLAIM in o.get("data", {})]
    assert claims
    notebook.cell(the_cell_with(notebook, CLAIM))
    notebook.page.locator(".d2lperf-claim").first.wait_for(state="visible")
    notebook.screenshot(f"{path.stem}-claim")
    notebook.screenshot(f"{path.stem}-claim-dark", dark=True)


def test_a_slider_moves_a_picture(notebook: Notebook):
    notebook.open("notebooks/02_asynchronous_computation.ipynb")
    notebook.run_all()
    cell = notebook.cell(the_cell_with(notebook, "application/vnd.jupyter.widget-view+json"))
    picture = cell.locator("img.d2lperf-picture").last
    picture.wait_for(state="visible")
    before = picture.get_attribute("src")
    notebook.screenshot("slider-before")
    cell.locator(".widget-slider .noUi-handle").first.focus()
    for _ in range(5):
        notebook.page.keyboard.press("ArrowRight")
    notebook.page.wait_for_function(
        "([image, before]) => image.isConnected ? image.src !== before : true",
        arg=[picture.element_handle(), before],
        timeout=10_000,
    )
    notebook.screenshot("slider-after")


def test_an_exercise_says_what_is_missing_what_is_wrong_and_what_is_right(notebook: Notebook):
    notebook.open("exercises/ch02/asynchronous_computation.ipynb")
    notebook.run("ch02-import")
    notebook.run("ch02-overlap")

    def check() -> Any:
        notebook.run("ch02-overlap-check")
        return notebook.cell("ch02-overlap-check").locator(".d2lperf-check")

    report = check()
    report.wait_for(state="visible")
    assert "There is no answer yet" in report.inner_text()
    assert report.get_attribute("data-points") == "0"

    wrong = reference("ch02-overlap").replace(
        "return jax.block_until_ready(params)", "return params"
    )
    notebook.type_and_run("ch02-overlap", wrong)
    report = check()
    report.locator("[data-criterion=drained][data-status=wrong]").wait_for(state="visible")
    assert "still running" in report.inner_text()
    assert report.get_attribute("data-points") == "5"
    assert report.locator("img.d2lperf-picture").evaluate("image => image.naturalWidth") > 100
    notebook.screenshot("exercise-wrong")

    notebook.type_and_run("ch02-overlap", reference("ch02-overlap"))
    report = check()
    notebook.page.locator(".d2lperf-check[data-state=ok]").wait_for(state="visible")
    assert "6 of 6 points" in notebook.cell("ch02-overlap-check").inner_text()
    notebook.screenshot("exercise-right")
    notebook.screenshot("exercise-right-dark", dark=True)


def test_validate_is_a_button(notebook: Notebook):
    notebook.open("exercises/ch00/start_here.ipynb")
    solution = "def speed_up(before_s, after_s):\n    return before_s / after_s"
    notebook.type_and_run("ch00-speed-up", solution)
    notebook.page.get_by_role("button", name="Validate").click()
    dialog = notebook.page.locator(".jp-Dialog")
    dialog.wait_for(state="visible", timeout=60_000)
    notebook.page.wait_for_function(
        "() => document.querySelector('.jp-Dialog')?.innerText.includes('Success!')", timeout=60_000
    )
    notebook.screenshot("validate")


def test_formgrader_lists_the_assignments(notebook: Notebook):
    notebook.open("exercises/ch00/start_here.ipynb")
    notebook.page.evaluate("() => window.jupyterapp.commands.execute('nbgrader:open-formgrader')")
    frame = notebook.page.frame_locator("iframe[src*=formgrader]")
    for name in ("ch00", "ch02"):
        frame.get_by_text(name, exact=True).first.wait_for(state="visible", timeout=60_000)
    notebook.screenshot("formgrader")
