"""What must be true of a notebook before it is released, beyond its form."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from nbformat import NotebookNode

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
_MARKER = re.compile(r"(BEGIN|END)\s+SOLUTION", re.IGNORECASE)
_GRADE_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def problems(
    notebook: NotebookNode, *, points: Mapping[str, int], has_solutions: bool
) -> Iterator[str]:
    """Yield what is wrong with a notebook's exercises, as sentences that say what to do.

    Args:
        notebook: in normal form.
        points: what each known exercise is worth, by its id.
        has_solutions: whether it is an instructor's source, which marks its solutions.
    """
    yield from _repeated_ids(notebook)
    checked: Counter[str] = Counter()
    for number, cell in enumerate(notebook.cells, start=1):
        grading = cell.metadata.get("nbgrader", {})
        where = f"cell {number} ({grading.get('grade_id') or cell.id!r})"
        if grading:
            yield from _bad_metadata(grading, where=where)
        if grading.get("grade") and cell.cell_type == "code":
            names = exercises_checked(cell.source)
            checked.update(names)
            yield from _bad_check(grading, names, points=points, where=where)
        if has_solutions:
            yield from _bad_solution(cell, is_solution=bool(grading.get("solution")), where=where)
    for name, times in checked.items():
        if times > 1:
            yield f"{times} graded cells check {name}: keep one, or its points are given twice"


def exercises_checked(source: str) -> list[str]:
    """Return the ids in all calls of `check("…", …)` in a cell's code; none if it is not valid."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return []
    return [
        node.args[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and _called(node.func) == "check"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, str)
    ]


def _called(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def _repeated_ids(notebook: NotebookNode) -> Iterator[str]:
    ids = Counter(cell.metadata.get("nbgrader", {}).get("grade_id") for cell in notebook.cells)
    for grade_id, times in ids.items():
        if grade_id and times > 1:
            yield f"{times} cells have the grade_id {grade_id!r}: give each its own"


def _bad_metadata(grading: Mapping[str, object], *, where: str) -> Iterator[str]:
    grade_id = grading.get("grade_id")
    if not isinstance(grade_id, str) or not _GRADE_ID.fullmatch(grade_id):
        yield (
            f"{where}: expected a grade_id of 1 to 64 letters, digits, - and _, "
            f"got {grade_id!r}: rename it"
        )
    if grading.get("schema_version") != 3:
        yield (
            f"{where}: expected nbgrader's metadata in version 3, got "
            f"{grading.get('schema_version')!r}: run `nbgrader update solutions`"
        )
    if grading.get("grade") and "points" not in grading:
        yield f"{where}: a graded cell without points: set them in Create Assignment"


def _bad_check(
    grading: Mapping[str, object], names: list[str], *, points: Mapping[str, int], where: str
) -> Iterator[str]:
    if len(names) != 1:
        got = f"{len(names)} ({', '.join(names)})" if names else "none"
        yield f'{where}: expected a graded cell to hold one `check("chNN.name", …)`, got {got}'
        return
    (name,) = names
    if name not in points:
        yield f"{where}: checks {name!r}, which is no exercise: there are {', '.join(points)}"
    elif "points" in grading and grading["points"] != points[name]:
        yield (
            f"{where}: has {grading['points']} points, but {name} is worth {points[name]}: "
            f"set the cell's points to {points[name]}"
        )


def _bad_solution(cell: NotebookNode, *, is_solution: bool, where: str) -> Iterator[str]:
    lines = [line.strip() for line in cell.source.split("\n") if _MARKER.search(line)]
    if is_solution and cell.cell_type == "code" and not lines:
        yield (
            f"{where}: a solution cell without markers: put the lines that students shall not get "
            f"between `{BEGIN}` and `{END}`"
        )
    if lines and not is_solution:
        yield f"{where}: has solution markers: make it a solution cell in Create Assignment"
    strange = [line for line in lines if line not in (BEGIN, END)]
    for line in strange:
        yield f"{where}: expected `{BEGIN}` or `{END}` on a line of its own, got {line!r}"
    if not strange and lines != [BEGIN, END] * (len(lines) // 2):
        yield f"{where}: expected `{BEGIN}` and `{END}` in turn, got {', '.join(lines)}"
