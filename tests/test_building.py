"""From what people write to what students get."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from d2lperf import cli
from d2lperf.building import (
    Course,
    NotebookError,
    ReleaseError,
    build,
    find_course,
    normal_form,
    problems,
)
from d2lperf.building.normal_form import read

POINTS = {"ch02.overlap": 6, "ch02.queue_depth": 5}
SOLUTION = """\
def train(step):
    \"\"\"Return what it is told to.\"\"\"
    ### BEGIN SOLUTION
    return step
    ### END SOLUTION"""
CHECK = 'check("ch02.overlap", train)'


def cell(kind: str, source: str, **fields: Any) -> dict[str, Any]:
    made = {"cell_type": kind, "metadata": {}, "source": source} | fields
    if kind == "code":
        made = {"execution_count": 7, "outputs": [stream("old\n")]} | made
    return made


def stream(text: str) -> dict[str, Any]:
    return {"name": "stdout", "output_type": "stream", "text": text}


def graded(source: str, grade_id: str, **fields: Any) -> dict[str, Any]:
    metadata = {"schema_version": 3, "grade": False, "solution": False, "locked": False} | fields
    return cell("code", source, metadata={"nbgrader": metadata | {"grade_id": grade_id}})


def solution(source: str = SOLUTION, grade_id: str = "overlap") -> dict[str, Any]:
    return graded(source, grade_id, solution=True)


def checked(
    source: str = CHECK, grade_id: str = "overlap-check", points: int = 6
) -> dict[str, Any]:
    return graded(source, grade_id, grade=True, locked=True, points=points)


def notebook(*cells: dict[str, Any]) -> str:
    """Return a notebook as an editor might leave it."""
    metadata = {"language_info": {"version": "3.99"}, "widgets": {"state": {}}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4})


def cells_of(text: str) -> list[nbformat.NotebookNode]:
    return nbformat.reads(text, as_version=4).cells


EXERCISE = notebook(cell("markdown", "# Overlap\n"), solution(), checked())


class TestNormalForm:
    def test_the_normal_form_of_a_normal_form_is_itself(self):
        once = normal_form(EXERCISE)
        assert normal_form(once) == once

    def test_it_is_a_valid_notebook_that_ends_in_one_newline(self):
        text = normal_form(EXERCISE)
        nbformat.validate(nbformat.reads(text, as_version=4))
        assert text.endswith("}\n")
        assert not text.endswith("\n\n")
        assert json.loads(text)["nbformat_minor"] == 5

    def test_outputs_and_counts_are_gone(self):
        code = [c for c in cells_of(normal_form(EXERCISE)) if c.cell_type == "code"]
        assert all(c.outputs == [] and c.execution_count is None for c in code)

    def test_nothing_of_the_editor_is_left_in_the_metadata(self):
        marks = {"tags": ["hint"], "collapsed": True, "scrolled": False, "trusted": True}
        text = normal_form(notebook(cell("code", "x = 1", metadata=marks)))
        assert set(json.loads(text)["metadata"]) == {"kernelspec", "language_info"}
        assert json.loads(text)["metadata"]["kernelspec"]["name"] == "python3"
        assert json.loads(text)["cells"][0]["metadata"] == {"tags": ["hint"]}

    def test_what_nbgrader_computes_at_release_is_not_kept_in_the_source(self):
        given = checked()
        given["metadata"]["nbgrader"] |= {"checksum": "0" * 32, "cell_type": "code"}
        (made,) = cells_of(normal_form(notebook(given)))
        assert not {"checksum", "cell_type"} & set(made.metadata.nbgrader)
        assert made.metadata.nbgrader.points == 6

    def test_code_is_formatted_and_magics_survive(self):
        (made,) = cells_of(normal_form(notebook(cell("code", "%matplotlib inline\nx=[1,\n 2]\n"))))
        assert made.source == "%matplotlib inline\nx = [1, 2]"

    def test_line_breaks_of_prose_survive(self):
        (made,) = cells_of(normal_form(notebook(cell("markdown", "one  \ntwo\n\n"))))
        assert made.source == "one  \ntwo"

    def test_graded_cells_are_called_by_their_grade_id(self):
        ids = [c.id for c in cells_of(normal_form(EXERCISE))]
        assert ids[1:] == ["overlap", "overlap-check"]

    def test_an_id_that_a_grade_id_takes_is_given_up(self):
        text = normal_form(notebook(cell("code", "x = 1", id="overlap"), solution()))
        first, second = (c.id for c in cells_of(text))
        assert first != "overlap"
        assert second == "overlap"

    def test_a_valid_id_is_kept_whatever_the_cell_becomes(self):
        before, after = (
            cells_of(normal_form(notebook(cell("code", source, id="mine"))))[0].id
            for source in ("x = 1", "y = 2")
        )
        assert before == after == "mine"

    def test_missing_ids_depend_on_the_content_alone(self):
        same = cell("markdown", "same")
        ids = [c.id for c in cells_of(normal_form(notebook(same, same)))]
        more = [c.id for c in cells_of(normal_form(notebook(cell("code", "x = 1"), same, same)))]
        assert len(set(ids)) == 2
        assert more[1:] == ids

    def test_repeated_ids_are_told_apart(self):
        twice = [cell("code", f"x = {n}", id="mine") for n in range(2)]
        ids = [c.id for c in cells_of(normal_form(notebook(*twice)))]
        assert ids[0] == "mine"
        assert len(set(ids)) == 2

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("no notebook", "expected a notebook"),
            ("[]", "expected a notebook"),
            ('{"nbformat": 3}', "expected notebook format 4, got 3"),
            ('{"nbformat": 4}', "it has no list of cells"),
            ('{"nbformat": 4, "cells": [{}]}', "expected cells with type, metadata and source"),
            (notebook(cell("drawing", "x")), "expected a valid notebook"),
            (notebook(cell("code", "def f(:")), "my.ipynb: its code cannot be formatted"),
        ],
    )
    def test_what_is_no_sound_notebook_is_refused_with_its_name(self, text: str, says: str):
        with pytest.raises(NotebookError, match=says):
            normal_form(text, name="my.ipynb")


def found(*cells: dict[str, Any], has_solutions: bool = True) -> list[str]:
    made = read(normal_form(notebook(*cells)))
    return list(problems(made, points=POINTS, has_solutions=has_solutions))


class TestRules:
    def test_a_sound_exercise_has_no_problems(self):
        assert found(solution(), checked()) == []

    @pytest.mark.parametrize(
        ("cells", "says"),
        [
            ([solution(), solution()], "2 cells have the grade_id 'overlap'"),
            ([checked('check("ch02.overlp", f)')], "checks 'ch02.overlp', which is no exercise"),
            ([checked(points=5)], "has 5 points, but ch02.overlap is worth 6"),
            ([checked("print(1)")], "expected a graded cell to hold one `check"),
            ([checked(), checked(grade_id="more")], "2 graded cells check ch02.overlap"),
            ([checked(grade_id="ch02.overlap")], "expected a grade_id of 1 to 64 letters"),
            ([solution("x = 1")], "a solution cell without markers"),
            ([solution("### BEGIN SOLUTION\nx = 1")], "expected `### BEGIN SOLUTION` and"),
            ([solution("x = 1\n### END SOLUTION")], "in turn, got ### END SOLUTION"),
            ([solution("# BEGIN SOLUTION\nx = 1\n### END SOLUTION")], "got '# BEGIN SOLUTION'"),
            ([cell("code", SOLUTION)], "make it a solution cell"),
            ([graded(CHECK, "x", grade=True, locked=True)], "a graded cell without points"),
            ([graded(CHECK, "x", locked=True, schema_version=2)], "run `nbgrader update"),
        ],
    )
    def test_each_mistake_is_named_with_what_to_do(self, cells: list[dict[str, Any]], says: str):
        assert says in "\n".join(found(*cells))

    def test_a_chapter_needs_no_solution_markers(self):
        assert found(solution("x = 1"), has_solutions=False) == []


@pytest.fixture
def course(root: Path, tmp_path: Path) -> Course:
    """A course with one exercise, whose path holds what a regular expression would stumble over."""
    folder = tmp_path / "my course (1)"
    for part in ("notebooks", "solutions/ch02"):
        (folder / part).mkdir(parents=True)
    for name in ("nbgrader_config.py", "pyproject.toml"):
        shutil.copy(root / name, folder / name)
    (folder / "notebooks" / "02.ipynb").write_text(notebook(cell("code", "x=1")))
    (folder / "solutions" / "ch02" / "overlap.ipynb").write_text(EXERCISE)
    (folder / "solutions" / "ch02" / "data.csv").write_text("1,2\n")
    return Course(folder)


RELEASED = "exercises/ch02/overlap.ipynb"


@pytest.mark.nbgrader
class TestBuild:
    def test_it_writes_normal_form_and_exercises_and_then_has_nothing_to_do(self, course: Course):
        first = build(course, points=POINTS)
        assert first.unformed == ("notebooks/02.ipynb", "solutions/ch02/overlap.ipynb")
        assert first.stale == ("exercises/ch02/data.csv", RELEASED)
        second = build(course, points=POINTS, check=True)
        assert (second.unformed, second.stale, second.problems) == ((), (), ())

    def test_students_get_a_stub_and_no_solution(self, course: Course):
        build(course, points=POINTS)
        text = (course.root / RELEASED).read_text("utf-8")
        assert "raise NotImplementedError" in text
        assert "SOLUTION" not in text
        assert "return step" not in text

    def test_the_bytes_are_those_of_nbgraders_own_command(self, course: Course, tmp_path: Path):
        build(course, points=POINTS)
        built = (course.root / RELEASED).read_bytes()
        subprocess.run(
            [sys.executable, "-m", "nbgrader", "generate_assignment", "ch02", "--force"],
            cwd=course.root,
            env={**os.environ, "D2LPERF_CLASSROOM": str(tmp_path / "class")},
            capture_output=True,
            check=True,
        )
        assert (course.root / RELEASED).read_bytes() == built

    def test_it_leaves_no_gradebook_and_no_setting_behind(self, course: Course):
        environment, folder = dict(os.environ), Path.cwd()
        build(course, points=POINTS)
        assert dict(os.environ) == environment
        assert Path.cwd() == folder
        assert not (course.root / "classroom").exists()
        assert not list(course.root.rglob("gradebook.db"))

    def test_a_check_writes_nothing(self, course: Course):
        before = {p: p.read_bytes() for p in course.root.rglob("*") if p.is_file()}
        outcome = build(course, points=POINTS, check=True)
        assert outcome.unformed
        assert outcome.stale
        assert {p: p.read_bytes() for p in course.root.rglob("*") if p.is_file()} == before

    def test_with_a_problem_nothing_is_built(self, course: Course):
        path = course.solutions / "ch02" / "overlap.ipynb"
        path.write_text(notebook(solution(), checked(points=1)))
        outcome = build(course, points=POINTS)
        assert "ch02.overlap is worth 6" in outcome.problems[0]
        assert outcome.problems[0].startswith("solutions/ch02/overlap.ipynb: cell 2")
        assert not course.exercises.exists()

    def test_an_exercise_whose_source_is_gone_is_removed(self, course: Course):
        build(course, points=POINTS)
        shutil.move(course.solutions / "ch02", course.solutions / "ch03")
        build(course, points=POINTS)
        assert not (course.root / RELEASED).exists()
        assert (course.exercises / "ch03" / "overlap.ipynb").exists()

    def test_work_in_exercises_is_kept_unless_forced(self, course: Course):
        build(course, points=POINTS)
        path = course.root / RELEASED
        worked = path.read_text("utf-8").replace("raise NotImplementedError", "return step + 1")
        path.write_text(worked)
        notes = course.exercises / "ch02" / "notes.ipynb"
        notes.write_text(notebook(cell("markdown", "mine")))
        outcome = build(course, points=POINTS)
        assert set(outcome.kept) == {RELEASED, "exercises/ch02/notes.ipynb"}
        assert path.read_text("utf-8") == worked
        assert build(course, points=POINTS, force=True).kept == ()
        assert path.read_text("utf-8") != worked
        assert not notes.exists()

    def test_nbgraders_reason_is_passed_on(self, course: Course):
        with course.config.open("a") as file:
            file.write("c.ClearSolutions.code_stub = {'R': 'fail()'}\n")
        with pytest.raises(ReleaseError, match="'python' has not been specified"):
            build(course, points=POINTS)


@pytest.mark.nbgrader
def test_the_command_reports_what_it_builds(course: Course, monkeypatch, capsys):
    monkeypatch.chdir(course.solutions)
    assert cli.main(["build", "--check"]) == 1
    said = capsys.readouterr()
    assert f"{RELEASED}: would be built anew" in said.out
    assert "Run `make build`" in said.err
    assert cli.main(["build"]) == 0
    capsys.readouterr()
    assert cli.main(["build", "--check"]) == 0
    assert capsys.readouterr().out == "Everything is built and in normal form.\n"


@pytest.mark.nbgrader
def test_notebooks_are_in_normal_form_and_exercises_are_built_from_solutions(root: Path):
    from d2lperf.grading.registry import exercises

    points = {e.id: e.points for e in exercises()}
    outcome = build(find_course(root), points=points, check=True)
    assert outcome.problems == ()
    assert outcome.unformed + outcome.stale == (), "run `make build`"
