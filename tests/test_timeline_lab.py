"""The timeline in a real JupyterLab: live, by mouse and by key, after a theme switch, and reopened without a kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import Notebook, outputs

from d2lperf.bench.browser import chromium_path

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        chromium_path() is None, reason="no Chromium: install the package `chromium`"
    ),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

CELLS = {
    "setup": """
from d2lperf import explore, predict_barriers, predict_schedule, virtual

def simulate(n, t1_us):
    return virtual.pipeline(n, t1_us * 1e-6, 40e-6, 20e-6).timeline(title=f"{n} steps")

timeline = simulate(5, 10)
""",
    "static-and-live": "timeline",
    "widget": "widget = simulate(6, 10).widget()\nwidget",
    "answer": "print(len(widget.selection), widget.selected)",
    "explore": "explore(simulate, n=(1, 9, 4), t1_us=(1, 50, 10))",
    "predict": "guess = predict_schedule(simulate(3, 10))\nguess",
    "how-far": "print([round(start) for start in guess.widget.placed], guess.revealed)",
    "last": "'done'",
}


@pytest.fixture
def trial(course: Path, notebook: Notebook) -> Notebook:
    """A notebook with a timeline of every kind, open and run."""
    book = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(source.strip(), id=name) for name, source in CELLS.items()
        ],
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}},
    )
    nbformat.write(book, course / "trial.ipynb")
    notebook.open("trial.ipynb")
    notebook.run_all()
    assert not [o for o in outputs(notebook.cells()) if o["output_type"] == "error"]
    return notebook


def live(trial: Notebook, cell: str) -> Any:
    """Return the timeline in a cell once it has drawn."""
    root = trial.cell(cell).locator(".d2l-timeline")
    root.wait_for(state="visible")
    trial.page.wait_for_function("root => root.dataset.first", arg=root.element_handle())
    return root


def enter(root: Any) -> Any:
    """Click on an empty place of the timeline, as one does before typing."""
    stage = root.locator(".stage")
    stage.click(position={"x": stage.bounding_box()["width"] - 4, "y": 2})
    return stage


def text_of(trial: Notebook, cell: str) -> str:
    trial.run(cell)
    return "".join(output["text"] for output in trial.cells()[cell]["outputs"])


def test_the_live_timeline_takes_the_place_of_its_picture(trial: Notebook):
    root = live(trial, "static-and-live")
    cell = trial.cell("static-and-live")
    assert cell.locator("img.d2lperf-picture").is_hidden()
    assert root.locator("canvas.bars").bounding_box()["width"] > 400
    assert "5 steps" in root.inner_text()
    trial.screenshot("timeline-live")


def test_keys_belong_to_the_timeline_while_it_has_the_focus(trial: Notebook):
    root = live(trial, "widget")
    before = list(trial.cells())
    enter(root)
    # In JupyterLab these would make cells, delete them, cut them, or leave the cell.
    for key in ("a", "b", "d", "d", "x", "z", "ArrowDown", "ArrowDown", "ArrowRight", "m", "0"):
        trial.page.keyboard.press(key)
    assert list(trial.cells()) == before
    assert root.evaluate("root => root.contains(document.activeElement)")


PARTS = (
    *(".stage", ".tools button", ".search input", ".legend button"),
    *(".gutter button", ".events", ".events tbody button"),
)


def test_keys_on_any_part_stay_there_but_saving_is_jupyterlabs(trial: Notebook):
    root = live(trial, "widget")
    root.locator("button[data-action=table]").click()
    root.locator(".events tbody tr").first.wait_for()
    before = trial.cells()
    for part in PARTS:
        root.locator(part).first.evaluate("part => part.focus()")
        for key in ("a", "d", "d", "b", "x", "Shift+Enter"):
            trial.page.keyboard.press(key)
            assert root.evaluate("root => root.contains(document.activeElement)"), (part, key)
    assert trial.cells() == before
    trial.page.evaluate(
        """() => {
            const { context } = window.jupyterapp.shell.currentWidget;
            context.saveState.connect((_, state) => { window.saved += state === 'completed'; });
        }"""
    )
    for part in PARTS:
        root.locator(part).first.evaluate("part => { part.focus(); window.saved = 0; }")
        trial.page.keyboard.press("ControlOrMeta+s")
        trial.page.wait_for_function("() => window.saved > 0", timeout=10_000)


def test_keys_of_the_help_stand_in_one_line_whatever_jupyterlab_does_to_lists(trial: Notebook):
    root = live(trial, "widget")
    root.locator("button[data-action=help]").click()
    trial.screenshot("timeline-help")
    lines = root.evaluate(
        """root => Object.fromEntries([...root.querySelectorAll('.help dt')].filter(dt => !dt.hidden).map(
            dt => [dt.textContent, dt.offsetHeight / parseFloat(getComputedStyle(dt).lineHeight)]))"""
    )
    assert len(lines) > 15
    assert [key for key, count in lines.items() if count > 1.5] == []


def test_what_is_selected_comes_back_to_python_as_events(trial: Notebook):
    root = live(trial, "widget")
    enter(root)
    trial.page.keyboard.press("Home")
    assert text_of(trial, "answer").startswith("1 ")
    enter(root)
    trial.page.keyboard.press("0")
    trial.page.keyboard.press("s")
    assert text_of(trial, "answer").startswith("13 <Timeline of 13 events")


def test_a_dark_theme_is_followed_at_once(trial: Notebook):
    root = live(trial, "static-and-live")
    assert root.get_attribute("data-theme") == "light"
    trial.theme("JupyterLab Dark")
    root.locator("xpath=self::*[@data-theme='dark']").wait_for(state="attached", timeout=5000)
    trial.page.screenshot(path=trial.picture_folder / "timeline-dark.png")
    trial.theme("JupyterLab Light")
    root.locator("xpath=self::*[@data-theme='light']").wait_for(state="attached", timeout=5000)


def test_a_slider_simulates_while_it_moves(trial: Notebook):
    root = live(trial, "explore")
    cell = trial.cell("explore")
    assert cell.locator("img.d2lperf-picture").is_hidden()
    cell.locator(".widget-slider .noUi-handle").first.focus()
    for _ in range(3):
        trial.page.keyboard.press("ArrowRight")
    root.get_by_text("7 steps").first.wait_for(state="visible", timeout=10_000)
    assert root.get_attribute("data-events") == "15"


def test_bars_are_placed_by_hand_and_then_compared_with_the_truth(trial: Notebook):
    root = live(trial, "predict")
    enter(root)
    trial.page.keyboard.press("]")
    for _ in range(4):
        trial.page.keyboard.press("ArrowRight")
    placed = text_of(trial, "how-far")
    assert placed.endswith("False\n") and not placed.startswith("[0,")
    cell = trial.cell("predict")
    trial.screenshot("predict-before")
    cell.get_by_role("button", name="Reveal").click()
    cell.get_by_text("off on average").wait_for(state="visible", timeout=10_000)
    trial.screenshot("predict-after")
    assert text_of(trial, "how-far").endswith("True\n")


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_axe_finds_no_violation_in_a_notebook_cell(trial: Notebook, theme: str):
    root = live(trial, "static-and-live")
    trial.theme(theme)
    enter(root)
    for key in ("t", "?", "m"):
        trial.page.keyboard.press(key)
    found = Axe().run(trial.page, context=".d2l-timeline")
    trial.theme("JupyterLab Light")
    assert found.response["violations"] == [], found.generate_report()


@pytest.mark.parametrize("trusted", [True, False], ids=["trusted", "untrusted"])
def test_a_reopened_notebook_shows_the_picture(trial: Notebook, course: Path, trusted: bool):
    trial.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    trial.page.wait_for_function(
        "() => !window.jupyterapp.shell.currentWidget.context.model.dirty", timeout=20_000
    )
    saved = nbformat.read(course / "trial.ipynb", 4)
    assert "widgets" not in saved.metadata
    if not trusted:
        # Trust is a signature of the content: another content has none.
        saved.cells[-1].source = "'somebody else wrote this'"
        nbformat.write(saved, course / "trial.ipynb")
    trial.close_kernels()
    trial.open("trial.ipynb")
    picture = trial.cell("static-and-live").locator("img.d2lperf-picture")
    picture.wait_for(state="visible")
    assert picture.evaluate("image => image.naturalWidth") > 400
    assert trial.cell("static-and-live").locator(".d2l-timeline").count() == 0
    trial.screenshot(f"timeline-reopened-{'trusted' if trusted else 'untrusted'}")
