"""What is left of a timeline where no kernel and no script of ours runs: exports, feedback pages, terminals."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

from d2lperf.bench.browser import chromium_path

SETUP = """
from d2lperf import explore, predict_schedule, virtual

def simulate(n):
    return virtual.pipeline(n, 1e-5, 4e-5).timeline(title=f"{n} steps")
"""
SOURCE = [
    SETUP,
    "simulate(5)",
    "explore(simulate, n=(1, 9, 4))",
    "predict_schedule(simulate(3))",
    "simulate(2).against(simulate(2))",
]


@pytest.fixture(scope="module")
def executed() -> nbformat.NotebookNode:
    """A notebook as nbconvert and nbgrader execute it."""
    cells = [nbformat.v4.new_code_cell(source) for source in SOURCE]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=120, store_widget_state=False).execute()
    return notebook


@pytest.fixture(scope="module")
def export(executed: nbformat.NotebookNode) -> str:
    return HTMLExporter().from_notebook_node(executed)[0]


def test_an_exported_notebook_holds_every_timeline_as_a_picture(export: str):
    titles = re.findall(r'alt="([^"]*?)\. ', export)
    assert [t for t in titles if "step" in t or "before" in t] == [
        *("5 steps", "4 steps", "3 steps"),
        "before: 90.0 µs; after: 90.0 µs",
    ]


def test_no_widget_state_and_no_programs_of_ours_are_exported(
    executed: nbformat.NotebookNode, export: str
):
    assert "widgets" not in executed.metadata
    assert "widget-state" not in export
    assert "lmSuppressShortcuts" not in export
    assert "TimelineWidget" not in export


@pytest.mark.browser
@pytest.mark.skipif(chromium_path() is None, reason="no Chromium: install the package `chromium`")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_the_pictures_are_there_offline_and_without_scripts(
    export: str, browser: Any, tmp_path: Path
):
    file = tmp_path / "export.html"
    file.write_text(export, "utf-8")
    context = browser.new_context(offline=True, java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("img.d2lperf-picture").count() == 4
    page.locator("summary").click()  # what was to be predicted is folded away
    for picture in page.locator("img.d2lperf-picture").all():
        picture.scroll_into_view_if_needed()
        box = picture.bounding_box()
        assert box["width"] > 400 and box["height"] > 80
    context.close()


def test_in_a_terminal_a_timeline_is_a_sentence():
    code = "from d2lperf import virtual; print(virtual.pipeline(5, 1e-5, 4e-5).timeline())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("<Timeline of 11 events. 210 µs altogether; host waits 76%")
