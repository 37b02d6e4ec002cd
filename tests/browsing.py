"""JupyterLab in Chromium, as a test holds it: notebooks that are opened, run, typed into and looked at."""

from __future__ import annotations

import json
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from d2lperf.bench.server import TOKEN

ROOT = Path(__file__).parents[1]
RUN_LIMIT_MS = 200_000


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

    def close_kernels(self) -> None:
        """Stop the kernels, as if the server had been restarted meanwhile."""
        stop_kernels(self.address)

    def screenshot(self, name: str, *, dark: bool = False) -> None:
        """Keep a picture of the window, for people to look at."""
        if dark:
            self.theme("JupyterLab Dark")
        self.page.screenshot(path=self.picture_folder / f"{name}.png")
        if dark:
            self.theme("JupyterLab Light")

    def theme(self, theme: str) -> None:
        """Switch JupyterLab's theme and wait until it is there."""
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme
        )
        light = "true" if theme.endswith("Light") else "false"
        self.page.locator(f"body[data-jp-theme-light='{light}']").wait_for(state="attached")
        self.page.locator("#jupyterlab-splash").wait_for(state="detached")


def outputs(cells: dict[str, Any]) -> list[dict[str, Any]]:
    return [output for cell in cells.values() for output in cell.get("outputs", [])]


def the_cell_with(notebook: Notebook, mime_type: str) -> str:
    """Return the id of the first cell that has an output of this type."""
    for name, cell in notebook.cells().items():
        if any(mime_type in output.get("data", {}) for output in cell.get("outputs", [])):
            return name
    raise AssertionError(f"no cell has an output of type {mime_type}")


def stop_kernels(address: str) -> None:
    """Stop all kernels of a server: they outlive pages, and the next test starts its own."""
    with urllib.request.urlopen(f"{address}/api/sessions?token={TOKEN}") as answer:
        sessions = json.load(answer)
    for session in sessions:
        request = urllib.request.Request(
            f"{address}/api/sessions/{session['id']}",
            method="DELETE",
            headers={"Authorization": f"token {TOKEN}"},
        )
        urllib.request.urlopen(request).close()
