"""The one call that a student makes: `check("ch02.overlap", train)`."""

from __future__ import annotations

from typing import Any

from d2lperf.grading.judging import Result, judge
from d2lperf.grading.present import as_html, as_text
from d2lperf.grading.registry import find
from d2lperf.timeline import Timeline


class Report:
    """The outcome of a check, as a notebook shows it.

    As the last line of a cell it is a table of criteria, messages and the picture of the run. Its
    plain text is the number of points and nothing else: that is what nbgrader reads a mark from.
    """

    def __init__(self, result: Result) -> None:
        self.result = result

    @property
    def points(self) -> int:
        """Points earned."""
        return self.result.points

    @property
    def timeline(self) -> Timeline | None:
        """The run that the report draws, to look into: zoom, measure, select; `None` if there is none."""
        return self.result.timeline

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": str(float(self.points)), "text/html": as_html(self.result)}

    def __repr__(self) -> str:
        return as_text(self.result)


def check(exercise_id: str, answer: Any) -> Report:
    """Check an answer, say criterion by criterion what holds, and show what the answer did.

    It may be called as often as you like. The random cases are the same every time; when marks are
    given they are others, of the same kinds.

    Args:
        exercise_id: such as `ch02.overlap`.
        answer: your function, or a dictionary of functions where the exercise asks for several.

    Returns:
        The report; make it the last line of a cell.

    Raises:
        ValueError: no such exercise.
    """
    return Report(judge(find(exercise_id), answer))
