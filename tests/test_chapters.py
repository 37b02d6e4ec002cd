"""Every chapter runs from top to bottom in a fresh kernel, and what it claims holds."""

import re
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from d2lperf.claims import MIME_TYPE

NOTEBOOKS = sorted((Path(__file__).parent.parent / "notebooks").glob("*.ipynb"))
FEWEST_CLAIMS = {"00_start_here": 1, "02_asynchronous_computation": 17}

NO_NETWORK = """
import socket

def _refuse(self, address, connect=socket.socket.connect):
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1", "localhost"):
        raise OSError(f"a chapter must not need the network, but asked for {address}")
    return connect(self, address)

socket.socket.connect = _refuse
"""
# Linux counts in KiB, macOS in bytes.
MEMORY = """
import resource, sys
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""
ONE_CORE = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"

CODE = re.compile(r"```.*?```|`[^`]*`|\$[^$]*\$|\]\([^)]*\)", re.DOTALL)
MEASURED = re.compile(r"\d[\d.,]*\s?(?:[nµum]?s|min|seconds?|minutes?|[KMG]i?B|%|GFLOP)\b")

every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path, kind):
    """The cells of one type of a notebook."""
    return [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == kind]


def outputs(notebook):
    """Pairs of cell id and output."""
    return [(cell.id, out) for cell in notebook.cells for out in cell.get("outputs", [])]


def claims_of(notebook):
    """Every claim that a run displayed, by the id of its cell."""
    bundles = [(name, out.get("data", {})) for name, out in outputs(notebook)]
    return [(name, data[MIME_TYPE]) for name, data in bundles if MIME_TYPE in data]


def test_there_are_chapters():
    assert {path.stem for path in NOTEBOOKS} >= set(FEWEST_CLAIMS)


def run(path, tmp_path, *, before=""):
    """Run a notebook without a network and return it with its seconds and the kernel's peak bytes."""
    notebook = nbformat.read(path, 4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(NO_NETWORK + before))
    notebook.cells.append(nbformat.v4.new_code_cell(MEMORY))
    client = NotebookClient(
        notebook,
        timeout=240,
        allow_errors=True,
        store_widget_state=False,
        resources={"metadata": {"path": str(tmp_path)}},
    )
    start = time.perf_counter()
    client.execute()
    return notebook, time.perf_counter() - start, int(notebook.cells[-1].outputs[0].text)


def errors_of(notebook):
    """Everything that went wrong in a run, by the id of its cell."""
    found = outputs(notebook)
    errors = [f"{name}: {out.ename}: {out.evalue}" for name, out in found if "ename" in out]
    return errors + [f"{name}: {out.text}" for name, out in found if out.get("name") == "stderr"]


@every_notebook
def test_a_chapter_runs_and_its_claims_hold(path, tmp_path, record_property):
    notebook, seconds, peak_bytes = run(path, tmp_path)
    assert errors_of(notebook) == []
    print(f"{path.stem}: {seconds:.1f} s, peak {peak_bytes / 2**20:.0f} MiB")
    record_property("seconds", round(seconds, 1))
    record_property("peak_bytes", peak_bytes)
    # Not a speed: a chapter that needs more does not open on Binder.
    assert peak_bytes < 1.5e9
    claims = claims_of(notebook)
    for name, claim in claims:
        print(f"  {claim['status']:12} {name}")
    assert len(claims) >= FEWEST_CLAIMS.get(path.stem, 0)
    assert [(name, c["text"]) for name, c in claims if c["status"] == "fails"] == []


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can bind a process to a core")
@every_notebook
def test_a_chapter_runs_on_one_core_as_well(path, tmp_path):
    notebook, seconds, _ = run(path, tmp_path, before=ONE_CORE)
    print(f"{path.stem}: {seconds:.1f} s on one core")
    assert errors_of(notebook) == []
    claims = claims_of(notebook)
    assert [(name, c["text"]) for name, c in claims if c["status"] == "fails"] == []


@every_notebook
def test_code_cells_are_short(path):
    long = {c.id: len(c.source.splitlines()) for c in cells(path, "code")}
    assert {name: lines for name, lines in long.items() if lines > 20} == {}


@every_notebook
def test_paragraphs_are_short(path):
    paragraphs = [
        (cell.id, len(paragraph.split()), paragraph[:40])
        for cell in cells(path, "markdown")
        for paragraph in re.split(r"\n\s*\n|\n(?=- |\|)", cell.source)
    ]
    assert [entry for entry in paragraphs if entry[1] > 60] == []


@every_notebook
def test_no_measured_number_is_typed_into_prose(path):
    prose = {cell.id: CODE.sub("", cell.source) for cell in cells(path, "markdown")}
    typed = {name: MEASURED.findall(text) for name, text in prose.items()}
    assert {name: found for name, found in typed.items() if found} == {}


@every_notebook
def test_a_chapter_is_stored_without_outputs_and_with_readable_cell_ids(path):
    notebook = nbformat.read(path, 4)
    assert notebook.metadata.kernelspec.name == "python3"
    assert outputs(notebook) == []
    assert all(cell.get("execution_count") is None for cell in notebook.cells)
    unreadable = [c.id for c in notebook.cells if not re.fullmatch(r"[a-z]+(-[a-z0-9]+)*", c.id)]
    assert unreadable == []


@every_notebook
def test_every_local_link_leads_somewhere(path):
    # The exercises are built from the solutions, so that is where their links must lead.
    root = path.parent.parent
    for cell in cells(path, "markdown"):
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", cell.source):
            file = (path.parent / target).resolve()
            source = (
                root / "solutions" / file.relative_to(root).relative_to("exercises")
                if (file.is_relative_to(root / "exercises"))
                else file
            )
            assert source.exists(), f"{cell.id} links to {target}"
