"""Every exercise of the course, by id."""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module

from d2lperf.grading.exercise import Exercise

MODULES = (
    "ch00.speed_up",
    "ch02.pipeline_law",
    "ch02.overlap",
    "ch02.two_devices",
    "ch02.wait_one_wait_all",
    "ch02.queue_depth",
    "ch02.lying_benchmarks",
)


@cache
def exercises() -> tuple[Exercise, ...]:
    """Return all exercises in the order of the course."""
    return tuple(import_module(f"d2lperf.grading.{name}").EXERCISE for name in MODULES)


def find(exercise_id: str) -> Exercise:
    """Return one exercise.

    Raises:
        ValueError: there is none of that id; the message suggests what may have been meant.
    """
    by_id = {e.id: e for e in exercises()}
    if exercise_id not in by_id:
        near = get_close_matches(exercise_id, by_id, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(by_id)}"
        raise ValueError(f"there is no exercise {exercise_id!r}: {hint}")
    return by_id[exercise_id]
