"""What a benchmark found: our time beside that of an obvious way, taken in turns in one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from d2lperf.stats import Samples, paired_ratio
from d2lperf.tables import Table, table
from d2lperf.units import format_seconds


@dataclass(frozen=True)
class Figure:
    """One thing that was timed.

    Attributes:
        name: what was done.
        ours: how long it took, in seconds.
        plain: how long the obvious way took, in seconds, taken in turns with ours; `None` if there is none.
        plain_name: what the obvious way is.
        goal_s: what we want it to take at most, in seconds; `None` if no goal is set.
    """

    name: str
    ours: Samples
    plain: Samples | None = None
    plain_name: str = ""
    goal_s: float | None = None

    @property
    def ratio(self) -> float | None:
        """How many times as long the obvious way takes: the median of the pairs."""
        return None if self.plain is None else paired_ratio(self.plain, self.ours).median

    def record(self) -> dict[str, Any]:
        """Return the figure as plain data."""
        return {
            "name": self.name,
            "ours_s": list(self.ours.values),
            "plain_s": None if self.plain is None else list(self.plain.values),
            "plain": self.plain_name,
            "ratio": self.ratio,
            "goal_s": self.goal_s,
        }


def in_turns(
    ours: Callable[[], Any], plain: Callable[[], Any], *, repeats: int = 5
) -> tuple[Samples, Samples]:
    """Time two ways in turns, after one unmeasured round, and return seconds of each."""
    pairs = [(_seconds(ours), _seconds(plain)) for _ in range(repeats + 1)][1:]
    first, second = zip(*pairs, strict=True)
    return Samples(first), Samples(second)


def repeated(work: Callable[[], Any], *, repeats: int = 5) -> Samples:
    """Time one way after one unmeasured round and return seconds."""
    return Samples([_seconds(work) for _ in range(repeats + 1)][1:])


def table_of(figures: list[Figure], caption: str) -> Table:
    """Return figures as a table: median with the middle half, the obvious way, the ratio and the goal."""
    header = ("", "ours", "middle half", "the obvious way", "takes", "times as long", "goal")
    return table(header, [_row(figure) for figure in figures], caption=caption)


def _row(figure: Figure) -> tuple[str, ...]:
    low, high = map(format_seconds, figure.ours.quartiles)
    plain = "" if figure.plain is None else format_seconds(figure.plain.median)
    ratio = "" if figure.ratio is None else f"{figure.ratio:.3g}"
    goal = "" if figure.goal_s is None else f"≤ {format_seconds(figure.goal_s)}"
    middle = format_seconds(figure.ours.median)
    return figure.name, middle, f"{low} – {high}", figure.plain_name, plain, ratio, goal


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
