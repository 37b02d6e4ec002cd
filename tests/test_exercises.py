"""The notebooks of the exercises: solutions earn everything, what students get earns nothing, and both say why."""

from __future__ import annotations

import ast
from pathlib import Path

import nbformat
import pytest

from d2lperf.grading import Report, exercises

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "solutions").glob("ch*/*.ipynb"))


def run(path: Path) -> dict[str, Report]:
    """Run a notebook's code in this process and return the reports of its checks by exercise id."""
    names: dict[str, object] = {"__name__": "__main__"}
    reports = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        tree = ast.parse(cell.source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(path), "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), str(path), "eval"), names)
            if isinstance(value, Report):
                reports[value.result.exercise.id] = value
    return reports


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.parent.name)
def test_reference_solutions_earn_full_marks(path: Path):
    reports = run(path)
    assert reports
    for exercise_id, report in reports.items():
        assert report.points == report.result.exercise.points, f"{exercise_id}\n{report!r}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.parent.name)
def test_stubs_earn_nothing_and_say_that_there_is_no_answer_yet(path: Path):
    for report in run(ROOT / "exercises" / path.parent.name / path.name).values():
        assert report.points == 0
        assert "no answer yet" in repr(report)


def test_every_exercise_stands_in_exactly_one_notebook():
    found = [exercise_id for path in SOURCES for exercise_id in run(path)]
    assert sorted(found) == sorted(e.id for e in exercises())


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: p.parent.name)
def test_released_notebooks_contain_no_solution(path: Path):
    text = (ROOT / "exercises" / path.parent.name / path.name).read_text("utf-8")
    assert "BEGIN SOLUTION" not in text
    solved = nbformat.read(path, as_version=4)
    for cell in solved.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            region = cell.source.split("### BEGIN SOLUTION\n")[1].split("### END SOLUTION")[0]
            for line in region.splitlines():
                if line.strip().startswith("#"):
                    assert line.strip() not in text
