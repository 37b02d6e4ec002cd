"""What an instructor does with a class of three, with nbgrader's own commands and nothing else."""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOK = "asynchronous_computation"

MIXED = {
    # t₁ + n·t₂ + t₃ with the host's pace, but without the queue: loses `synchronous` and `queue`.
    "ch02-pipeline-law": "def total_time(n, t1, t2, t3, depth):\n    return t1 + t2 + t3 + (n - 1) * max(t1, t2)",
    # Loses `drained`.
    "ch02-overlap": """
def train(step, params, batches):
    import warnings

    warnings.warn("this must not cost a point")
    previous = None
    for batch in batches:
        params, loss = step(params, batch)
        if previous is not None:
            previous.block_until_ready()
        previous = loss
    return params
""",
    "ch02-two-devices": None,
    # Loses `warm`.
    "ch02-wait-one-wait-all": """
def measure(programs, k, clock):
    start = clock()
    results = [program() for program in programs]
    results[k].block_until_ready()
    one_s = clock() - start
    jax.block_until_ready(results)
    return one_s, clock() - start
""",
    # Cannot even be compiled.
    "ch02-queue-depth": "def find_depth(run, clock)\n    return 32",
    "ch02-lying-benchmarks": None,
}
MARKS = {
    "right": [6, 6, 5, 4, 5, 6],
    "untouched": [0, 0, 0, 0, 0, 0],
    "mixed": [3, 5, 5, 3, 0, 6],
}
CHECKS = [f"{name}-check" for name in MIXED]


@dataclass(frozen=True)
class Course:
    """A course folder with a class of its own."""

    root: Path

    def nbgrader(self, *args: str) -> str:
        environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
            "D2LPERF_CLASSROOM": str(self.classroom),
        }
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *args],
            cwd=self.root,
            env=environment,
            text=True,
            capture_output=True,
        )
        assert done.returncode == 0, f"nbgrader {' '.join(args)}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    @property
    def classroom(self) -> Path:
        return self.root / "classroom"


def answered(released: Path, answers: dict[str, str | None]) -> nbformat.NotebookNode:
    """Return the released notebook with these answers; `None` takes the reference solution."""
    notebook = nbformat.read(released, as_version=4)
    solutions = nbformat.read(ROOT / "solutions" / "ch02" / f"{NOTEBOOK}.ipynb", as_version=4)
    reference = {cell.id: cell.source for cell in solutions.cells}
    for cell in notebook.cells:
        if cell.id in answers:
            cell.source = (answers[cell.id] or reference[cell.id]).strip()
    return notebook


def hand_in(course: Course, student: str, answers: dict[str, str | None]) -> None:
    folder = course.classroom / "submitted" / student / "ch02"
    folder.mkdir(parents=True)
    released = course.root / "exercises" / "ch02" / f"{NOTEBOOK}.ipynb"
    nbformat.write(answered(released, answers), folder / f"{NOTEBOOK}.ipynb")
    # What the exchange adds to a submission, and needs in order to return feedback.
    (folder / "timestamp.txt").write_text("2026-01-31 12:00:00 UTC\n")
    (folder / "submission_secret.txt").write_text(f"secret of {student}\n")


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Course:
    """A class that has been taken all the way from release to export."""
    root = tmp_path_factory.mktemp("my course")
    shutil.copytree(ROOT / "solutions", root / "solutions")
    shutil.copy(ROOT / "nbgrader_config.py", root)
    course = Course(root)
    course.nbgrader("generate_assignment", "ch02")
    course.nbgrader("release_assignment", "ch02")
    # One student goes through the exchange; the others' files are there already.
    course.nbgrader("fetch_assignment", "ch02")
    (fetched,) = root.rglob("fetched/**/ch02")
    answers = answered(fetched / f"{NOTEBOOK}.ipynb", MIXED)
    nbformat.write(answers, fetched / f"{NOTEBOOK}.ipynb")
    course.nbgrader("submit", "ch02", f"--CourseDirectory.root={fetched.parent}")
    course.nbgrader("collect", "ch02")
    (collected,) = (course.classroom / "submitted").iterdir()
    collected.rename(collected.with_name("mixed"))
    hand_in(course, "right", dict.fromkeys(MIXED))
    hand_in(course, "untouched", {})
    course.nbgrader("autograde", "ch02")
    course.nbgrader("generate_feedback", "ch02")
    course.nbgrader("export")
    return course


def feedback(course: Course, student: str) -> str:
    return (course.classroom / "feedback" / student / "ch02" / f"{NOTEBOOK}.html").read_text(
        "utf-8"
    )


def test_the_released_notebook_is_the_one_in_the_repository(course: Course):
    name = Path("exercises") / "ch02" / f"{NOTEBOOK}.ipynb"
    assert (course.root / name).read_bytes() == (ROOT / name).read_bytes()


@pytest.mark.parametrize("student", MARKS)
def test_every_exercise_gets_exactly_its_marks(course: Course, student: str):
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course.classroom / 'gradebook.db'}") as gradebook:
        notebook = gradebook.find_submission_notebook(NOTEBOOK, "ch02", student)
        marks = {grade.name: grade.auto_score for grade in notebook.grades}
        assert [marks[name] for name in CHECKS] == MARKS[student]
        assert not any(grade.needs_manual_grade for grade in notebook.grades)


def test_the_export_holds_the_sums(course: Course):
    with (course.classroom / "grades.csv").open(newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {name: float(row["score"]) for name, row in rows.items()} == {
        k: sum(v) for k, v in MARKS.items()
    }
    assert {float(row["max_score"]) for row in rows.values()} == {32.0}


def test_feedback_says_what_was_wrong_and_shows_the_students_own_run(course: Course):
    page = feedback(course, "mixed")
    assert "ignores the queue" in page
    assert "still running" in page
    assert "this contains compiling: call every program once" in page
    assert 'src="data:image/svg+xml;base64,' in page
    assert "SyntaxError" in page


def test_feedback_for_an_untouched_notebook_says_that_there_is_no_answer(course: Course):
    assert feedback(course, "untouched").count("no answer yet") >= 6


def test_feedback_contains_no_solution(course: Course):
    page = re.sub(r"<[^>]+>", "", feedback(course, "untouched"))
    assert "raise NotImplementedError" in page
    for words in ("BEGIN SOLUTION", "known[i - depth]", "Follow the operations one by one"):
        assert words not in page


def test_feedback_can_be_returned(course: Course):
    output = course.nbgrader("release_feedback", "ch02")
    assert "rror" not in output.replace("0 errors", "")


def test_validate_tells_a_student_before_handing_in(course: Course):
    submitted = course.classroom / "submitted"
    good = course.nbgrader("validate", str(submitted / "right" / "ch02" / f"{NOTEBOOK}.ipynb"))
    assert "Success! Your notebook passes all the tests." in good
    bad = course.nbgrader("validate", str(submitted / "untouched" / "ch02" / f"{NOTEBOOK}.ipynb"))
    assert "FAILED" in bad
