"""What a student does, in a real JupyterLab in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from browsing import ROOT, Notebook, outputs, the_cell_with

from d2lperf.bench.browser import chromium_path

CLAIM = "application/vnd.d2lperf.claim+json"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        chromium_path() is None, reason="no Chromium: install the package `chromium`"
    ),
    # Playwright's own event loop leaves sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


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


def test_a_slider_of_a_chapter_moves_the_bars(notebook: Notebook):
    notebook.open("notebooks/02_asynchronous_computation.ipynb")
    notebook.run_all()
    cell = notebook.cell("law-sliders")
    timeline = cell.locator(".d2l-timeline")
    timeline.wait_for(state="visible")
    assert cell.locator("img.d2lperf-picture").is_hidden()
    before = int(timeline.get_attribute("data-events"))
    cell.locator(".widget-slider .noUi-handle").first.focus()
    for _ in range(5):
        notebook.page.keyboard.press("ArrowRight")
    # A dispatch and a run for each of five operations more.
    notebook.page.wait_for_function(
        "([timeline, wanted]) => Number(timeline.dataset.events) >= wanted",
        arg=[timeline.element_handle(), before + 10],
        timeout=10_000,
    )
    notebook.screenshot("chapter-slider")


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
