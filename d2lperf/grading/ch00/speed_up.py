"""`ch00.speed_up`: a first exercise, to see how checking works."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from d2lperf.grading.answer import Answer
from d2lperf.grading.exercise import Case, Criterion, Exercise, Wrong
from d2lperf.grading.values import as_number, close


def cases(rng: np.random.Generator, instances: int) -> Iterator[Case]:
    """Draw pairs of times in milliseconds."""
    for _ in range(instances):
        before, after = rng.integers(1, 100, 2).tolist()
        yield Case("pair", {"before_s": before * 1e-3, "after_s": (after + 100) * 1e-3})


def observe(answer: Answer, case: Case) -> tuple[Any, float, float]:
    """Ask for the speed-up of one pair of times."""
    before_s, after_s = case.data["before_s"], case.data["after_s"]
    return answer.call(before_s, after_s), before_s, after_s


def test(seen: tuple[Any, float, float]) -> None:
    """Compare with the definition."""
    answer, before_s, after_s = seen
    got, want = as_number(answer, what="speed_up"), before_s / after_s
    if close(got, want):
        return
    message = "Speed-up is the time before, divided by the time after."
    if close(got, 1 / want):
        message = "This is the other way round: a program that takes half the time has a speed-up of 2, not of ½."
    if close(got, before_s - after_s):
        message = "This is the time saved, in seconds; speed-up is a ratio without a unit."
    raise Wrong(
        f"From {before_s:g} s to {after_s:g} s: {message}", expected=f"{want:.4g}", got=f"{got:.4g}"
    )


EXERCISE = Exercise(
    id="ch00.speed_up",
    title="Speed-up",
    criteria=(Criterion("ratio", 1, "Says by what factor a program became faster.", test),),
    cases=cases,
    observe=observe,
)
