"""From an answer to a result: which criteria hold, what they earn and what to say. No presentation here."""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2lperf.grading.answer import Answer, StudentError, quiet
from d2lperf.grading.exercise import Case, Criterion, Exercise, Wrong
from d2lperf.timeline import Timeline


@dataclass(frozen=True)
class Finding:
    """What became of one criterion.

    Attributes:
        criterion: the criterion.
        status: `ok`, `wrong`, `not judged` (a criterion it needs does not hold), or how the code failed.
        message: for the student; empty if it holds.
        expected: what would have been right, if that helps.
        got: what came instead.
    """

    criterion: Criterion
    status: str
    message: str = ""
    expected: object = None
    got: object = None

    @property
    def points(self) -> int:
        """Points earned: all or none."""
        return self.criterion.points if self.status == "ok" else 0


@dataclass(frozen=True)
class Result:
    """What an answer earned.

    Attributes:
        exercise: the exercise.
        findings: one for each criterion, in its order.
        printed: what the student's code printed or warned about, shortened.
        timeline: the student's own run, of the first case that went wrong if one did.
    """

    exercise: Exercise
    findings: tuple[Finding, ...]
    printed: str = ""
    timeline: Timeline | None = None

    @property
    def points(self) -> int:
        """Points earned altogether."""
        return sum(finding.points for finding in self.findings)

    @property
    def status(self) -> str:
        """`ok` if every criterion holds, else the status of the first that does not."""
        return next((f.status for f in self.findings if f.status != "ok"), "ok")


def public_seed(exercise_id: str) -> int:
    """Return the seed of an exercise's public check, the same everywhere."""
    return zlib.crc32(exercise_id.encode())


def judge(
    exercise: Exercise, answer: Any, *, seed: int | None = None, instances: int | None = None
) -> Result:
    """Run an answer in the exercise's cases and decide every criterion.

    Args:
        exercise: what was asked.
        answer: what was handed in: a function, a dictionary of functions, or an `Answer`.
        seed: where the random cases come from; by default the public one.
        instances: how many random cases of every kind; by default the exercise's own number.

    Returns:
        The result; a failing answer is a result as well, never an exception.
    """
    rng = np.random.default_rng(public_seed(exercise.id) if seed is None else seed)
    try:
        student = answer if isinstance(answer, Answer) else Answer(answer, exercise.parts)
    except StudentError as error:
        findings = tuple(Finding(c, error.status, error.message) for c in exercise.criteria)
        return Result(exercise, findings)
    # Reading an odd answer can warn, too, and nothing may reach stderr.
    with quiet(io.StringIO()):
        cases = exercise.cases(rng, instances or exercise.instances)
        runs = [(case, _observe(exercise, student, case)) for case in cases]
        findings_by_key: dict[str, Finding] = {}
        shown = runs[0][1]
        for criterion in exercise.criteria:
            finding, seen = _decide(criterion, runs, findings_by_key)
            if finding.status != "ok" and all(f.status == "ok" for f in findings_by_key.values()):
                shown = seen
            findings_by_key[criterion.key] = finding
        timeline = None
        if exercise.timeline is not None and not isinstance(shown, StudentError):
            timeline = exercise.timeline(shown)
    return Result(exercise, tuple(findings_by_key.values()), student.printed, timeline)


def _observe(exercise: Exercise, student: Answer, case: Case) -> Any:
    try:
        return exercise.observe(student, case)
    except StudentError as error:
        if case.label and error.status != "missing":
            return StudentError(error.status, f"{case.label}: {error.message}")
        return error
    except Exception as error:
        return _unreadable(error)


def _unreadable(error: Exception) -> StudentError:
    """Return what to say when an answer is so odd that reading it fails."""
    return StudentError(
        "crashed",
        f"What your code did or returned could not be read ({type(error).__name__}): "
        "compare it with what the text asks for.",
    )


def _decide(
    criterion: Criterion, runs: list[tuple[Case, Any]], earlier: dict[str, Finding]
) -> tuple[Finding, Any]:
    """Look at the cases that a criterion is about and stop at the first in which it does not hold."""
    own = [seen for case, seen in runs if not criterion.kinds or case.kind in criterion.kinds]
    if not own:
        raise ValueError(f"no case of the kinds {criterion.kinds} for criterion {criterion.key}")
    for seen in own:
        if isinstance(seen, StudentError):
            return Finding(criterion, seen.status, seen.message), seen
    missing = [key for key in criterion.needs if earlier[key].status != "ok"]
    if missing:
        sentence = earlier[missing[0]].criterion.sentence
        return Finding(criterion, "not judged", f"Not judged until this holds: {sentence}"), own[0]
    for seen in own:
        try:
            criterion.test(seen)
        except Wrong as wrong:
            return Finding(criterion, "wrong", wrong.message, wrong.expected, wrong.got), seen
        except Exception as error:
            odd = _unreadable(error)
            return Finding(criterion, odd.status, odd.message), seen
    return Finding(criterion, "ok"), own[0]
