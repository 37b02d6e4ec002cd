"""What an exercise is: cases to run the answer on, and criteria that decide what it earns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from d2lperf.grading.answer import Answer
from d2lperf.timeline import Timeline


class Wrong(Exception):
    """A criterion is not met.

    Args:
        message: what the student should read; names the misconception where it can be told.
        expected: what would have been right, if that helps.
        got: what came instead.
    """

    def __init__(self, message: str, *, expected: object = None, got: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.expected = expected
        self.got = got


@dataclass(frozen=True)
class Case:
    """One situation that the answer is run in.

    `kind` names the family it belongs to; `data` is plain data (numbers, strings, containers of
    these), from which the exercise builds what the answer is called with, virtual machines included.
    `label` says in words which case it is, where an error alone would not tell: "with one batch".
    """

    kind: str
    data: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""


@dataclass(frozen=True)
class Criterion:
    """One thing an answer can get right.

    Attributes:
        key: short name, unique in the exercise.
        points: what it is worth.
        sentence: the criterion as a student reads it.
        test: gets what was observed in one case; raises `Wrong` if it is not met.
        kinds: the kinds of cases that it looks at; empty for all.
        needs: keys of criteria that must hold first, so that doing nothing is not a way to do no harm.
    """

    key: str
    points: int
    sentence: str
    test: Callable[[Any], None]
    kinds: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Exercise:
    """An exercise as the judge sees it.

    Attributes:
        id: `chNN.name`.
        title: a few words.
        criteria: what earns points, in the order shown.
        cases: draws the cases from a generator; the second argument says how many of each kind.
        observe: runs the answer in one case and returns what the criteria look at.
        timeline: gets an observation and returns the run as a timeline, or `None`.
        parts: names of the functions that an answer consists of; empty where it is a single one.
        instances: random instances of every kind of case in a check.
    """

    id: str
    title: str
    criteria: tuple[Criterion, ...]
    cases: Callable[[np.random.Generator, int], Iterable[Case]]
    observe: Callable[[Answer, Case], Any]
    timeline: Callable[[Any], Timeline | None] | None = None
    parts: tuple[str, ...] = ()
    instances: int = 3

    @property
    def chapter(self) -> int:
        """Number of the chapter."""
        return int(self.id[2:4])

    @property
    def points(self) -> int:
        """What the exercise is worth altogether."""
        return sum(criterion.points for criterion in self.criteria)
