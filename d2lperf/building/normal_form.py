"""The one form in which a notebook is stored, so that versions differ only where it matters.

No outputs, no execution counts, no traces of the editor; formatted code; cell ids that stay.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import nbformat

NOTEBOOK_METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
CELL_METADATA = ("deletable", "editable", "jupyter", "nbgrader", "slideshow", "tags")
# nbgrader computes these at each release; kept in the source they would only go stale.
RELEASE_METADATA = ("cell_type", "checksum")

_VALID_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class NotebookError(Exception):
    """A notebook that cannot be read or formatted."""


def normal_form(text: str, *, path: Path | None = None, name: str = "notebook.ipynb") -> str:
    """Return a notebook in normal form; its own normal form is itself.

    Args:
        text: the notebook file's text.
        path: where it lies, which decides the settings of the formatter; the current folder's if
            not given.
        name: what to call it in errors.

    Raises:
        NotebookError: it is not a notebook of format 4, or its code has a syntax error.
    """
    notebook = _normalise(read(text, name=name))
    try:
        nbformat.validate(notebook)
    except nbformat.ValidationError as error:
        reason = str(error).splitlines()[0]
        raise NotebookError(f"{name}: expected a valid notebook: {reason}") from error
    formatted = _format_code(_write(notebook), path=path or Path("notebook.ipynb"), name=name)
    return _write(_normalise(read(formatted, name=name)))


def read(text: str, *, name: str = "notebook.ipynb") -> nbformat.NotebookNode:
    """Return the notebook as it is written, without the repairs that nbformat would make.

    Raises:
        NotebookError: it is not a notebook of format 4.
    """
    try:
        notebook = nbformat.from_dict(json.loads(text))
        major = notebook.get("nbformat")
    except (json.JSONDecodeError, AttributeError) as error:
        raise NotebookError(f"{name}: expected a notebook, but it is not one: {error}") from error
    if major == 4 and not isinstance(notebook.get("cells"), list):
        raise NotebookError(f"{name}: expected a notebook, but it has no list of cells")
    if major != 4:
        raise NotebookError(
            f"{name}: expected notebook format 4, got {major}: open it in JupyterLab and save it"
        )
    for cell in notebook.cells:
        if not {"cell_type", "metadata", "source"} <= cell.keys():
            raise NotebookError(f"{name}: expected cells with type, metadata and source")
        if isinstance(cell.source, list):
            cell.source = "".join(cell.source)
    return notebook


def _normalise(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    notebook.metadata = nbformat.from_dict(NOTEBOOK_METADATA)
    for cell in notebook.cells:
        cell.source = cell.source.replace("\r\n", "\n").rstrip("\n")
        cell.metadata = nbformat.from_dict(_cell_metadata(cell.metadata))
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    for cell, identity in zip(notebook.cells, _ids(notebook.cells), strict=True):
        cell.id = identity
    return notebook


def _cell_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    kept = {key: metadata[key] for key in CELL_METADATA if metadata.get(key) not in (None, [], {})}
    if "nbgrader" in kept:
        grading = {k: v for k, v in kept["nbgrader"].items() if k not in RELEASE_METADATA}
        kept["nbgrader"] = grading
        if not any(grading.get(role) for role in ("grade", "solution", "locked", "task")):
            del kept["nbgrader"]
    return kept


def _ids(cells: list[nbformat.NotebookNode]) -> list[str]:
    """Choose an id for every cell: nbgrader's, else its own, else one from its content."""
    graded = [cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cells]
    taken = {identity for identity in graded if _is_valid(identity)}
    repeated: Counter[str] = Counter()
    chosen = []
    for cell, grade_id in zip(cells, graded, strict=True):
        if _is_valid(grade_id) and grade_id not in chosen:
            chosen.append(grade_id)
            continue
        identity = cell.get("id")
        if not _is_valid(identity) or identity in taken:
            content = f"{cell.cell_type}\n{cell.source}"
            while not _is_valid(identity) or identity in taken:
                digest = sha256(f"{repeated[content]}\n{content}".encode()).hexdigest()
                repeated[content] += 1
                identity = digest[:8]
        taken.add(identity)
        chosen.append(identity)
    return chosen


def _is_valid(identity: object) -> bool:
    return isinstance(identity, str) and _VALID_ID.fullmatch(identity) is not None


def _write(notebook: nbformat.NotebookNode) -> str:
    text: str = nbformat.v4.writes(notebook)
    return text.rstrip("\n") + "\n"


def _format_code(text: str, *, path: Path, name: str) -> str:
    command = [find_ruff(), "format", "--stdin-filename", str(path), "-"]
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        reason = done.stderr.strip().removeprefix("error: ").replace(str(path), name)
        raise NotebookError(f"{name}: its code cannot be formatted: {reason}")
    return done.stdout


def find_ruff() -> str:
    """Return the formatter's path: the one installed beside this Python, else any.

    Raises:
        NotebookError: there is none.
    """
    beside = Path(sys.executable).parent
    found = shutil.which("ruff", path=str(beside)) or shutil.which("ruff")
    if found is None:
        raise NotebookError(
            "building needs the formatter `ruff`, which is not installed: call `make build`, "
            "which installs it, or `pip install -e '.[test]'`"
        )
    return found
