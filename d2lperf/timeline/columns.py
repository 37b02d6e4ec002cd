"""Events of a finished timeline in columns, checked and in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from d2lperf.events import CATEGORIES, Event, Lane, Mark, Strip

FARTHEST_NS = 2**53
"""Times beyond are refused: JavaScript has no whole numbers there. It is 104 days."""


class Columns:
    """Events in read-only columns, ordered by start: of those with one start, instants first, then the longest.

    The number of an event is its place in this order. `depth` is computed: an event inside another
    one of its lane is one deeper, and events of a lane that overlap otherwise get different depths,
    so that a lane and a depth are a row in which nothing overlaps.

    Args:
        columns: `start_ns`, `duration_ns`, `lane`, `name` and `category` of one length, the last three as numbers
            that index `lanes`, `names` and `CATEGORIES`; optionally `flow` and `step` (-1 for none).
        lanes: rows of the picture, as `Lane` or by name.
        names: what events are called.
        marks: notes at moments.
        strips: quantities over time.
        needs: pairs of flow numbers: the second operation needs the result of the first.
        span_ns: start and end of the time that was watched, in nanoseconds, where that is more than from the first
            event to the last.

    Attributes:
        start_ns: int64, nanoseconds.
        duration_ns: int64, nanoseconds, zero or more.
        lane: uint16.
        name: uint32.
        category: uint8.
        flow: int64, number of the operation, -1 for none.
        step: int32, number of the step, -1 for none.
        depth: uint16.

    Raises:
        ValueError: columns that are missing, of different lengths, not numbers, not finite, negative
            durations, or numbers that stand for no lane, name or category.
    """

    def __init__(
        self,
        columns: Mapping[str, Any],
        *,
        lanes: Iterable[Lane | str],
        names: Iterable[str],
        marks: Iterable[Mark] = (),
        strips: Iterable[Strip] = (),
        needs: Iterable[tuple[int, int]] = (),
        span_ns: tuple[int, int] | None = None,
    ) -> None:
        given = (lane if isinstance(lane, Lane) else Lane(lane) for lane in lanes)
        self.lanes = tuple(
            replace(lane, name=encodable(lane.name), group=encodable(lane.group)) for lane in given
        )
        self.names = tuple(map(encodable, names))
        noted = (Mark(mark.time_ns, encodable(mark.text)) for mark in marks)
        self.marks = tuple(sorted(noted, key=lambda mark: mark.time_ns))
        self.strips = tuple(replace(strip, name=encodable(strip.name)) for strip in strips)
        self.needs = np.array([*needs], np.int64).reshape(-1, 2)
        self.span_ns = _span(span_ns)
        _refuse_twice([lane.name for lane in self.lanes])
        start, duration = (_nanoseconds(columns, key) for key in ("start_ns", "duration_ns"))
        if len(duration) != len(start):
            raise ValueError(f"start_ns has {len(start)} entries, duration_ns has {len(duration)}")
        if len(duration) and duration.min() < 0:
            at = int(np.argmin(duration))
            raise ValueError(f"event {at} lasts {duration[at]} ns: a duration is zero or more")
        # An instant at the beginning of a longer event stands before it, not in it.
        order = np.lexsort((-duration, duration > 0, start))
        size = len(start)
        limits = {"lane": len(self.lanes), "name": len(self.names), "category": len(CATEGORIES)}
        numbers = {key: _numbers(columns, key, size, limit) for key, limit in limits.items()}
        flow, step = (_numbers(columns, key, size, None) for key in ("flow", "step"))
        self.start_ns = _kept(start[order], np.int64)
        self.duration_ns = _kept(duration[order], np.int64)
        self.lane = _kept(numbers["lane"][order], np.uint16)
        self.name = _kept(numbers["name"][order], np.uint32)
        self.category = _kept(numbers["category"][order], np.uint8)
        self.flow = _kept(flow[order], np.int64)
        self.step = _kept(step[order], np.int32)
        self.depth = _kept(
            _depths(self.start_ns, self.end_ns, self.lane, len(self.lanes)), np.uint16
        )

    def __len__(self) -> int:
        return len(self.start_ns)

    def __iter__(self) -> Iterator[Event]:
        return map(self.event, range(len(self)))

    def event(self, number: int) -> Event:
        """Return one event by its number.

        Raises:
            IndexError: no such event.
        """
        return Event(
            int(self.start_ns[number]),
            int(self.duration_ns[number]),
            self.lanes[self.lane[number]].name,
            self.names[self.name[number]],
            CATEGORIES[self.category[number]],
            int(self.flow[number]),
            int(self.step[number]),
            int(self.depth[number]),
        )

    @property
    def end_ns(self) -> np.ndarray:
        """End of every event: int64, nanoseconds."""
        return self.start_ns + self.duration_ns

    @property
    def first_ns(self) -> int:
        """When what was watched begins, by default with the first event, in nanoseconds; 0 if there is nothing."""
        starts = [int(self.start_ns[0])] if len(self) else []
        return min([*starts, *(self.span_ns or ())], default=0)

    @property
    def last_ns(self) -> int:
        """When what was watched ends, by default with the last event, in nanoseconds; 0 if there is nothing."""
        ends = [int(self.end_ns.max())] if len(self) else []
        return max([*ends, *(self.span_ns or ())], default=0)

    @property
    def lane_names(self) -> tuple[str, ...]:
        """Names of the lanes, by number."""
        return tuple(lane.name for lane in self.lanes)

    def lane_number(self, lane: str) -> int:
        """Return the number of a lane.

        Raises:
            ValueError: there is no such lane.
        """
        if lane not in self.lane_names:
            raise ValueError(f"no lane {lane!r}: there are {_listed(self.lane_names)}")
        return self.lane_names.index(lane)

    def matches(
        self,
        *,
        lane: str | None = None,
        name: str | None = None,
        category: str | None = None,
        step: int | None = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> np.ndarray:
        """Return the numbers of the events that match everything that is given, in order.

        Args:
            lane: name of a lane.
            name: exact name of the event.
            category: one of `CATEGORIES`.
            step: number of a step.
            start_ns: events that end after this moment, in nanoseconds.
            end_ns: events that start before this moment, in nanoseconds.

        Returns:
            Numbers of events: int64, ascending.

        Raises:
            ValueError: no such lane or category.
        """
        found = np.ones(len(self), bool)
        if lane is not None:
            found &= self.lane == self.lane_number(lane)
        if name is not None:
            found &= self.name == (self.names.index(name) if name in self.names else -1)
        if category is not None:
            found &= self.category == _category(category)
        if step is not None:
            found &= self.step == step
        if start_ns is not None:
            found &= self.end_ns > start_ns
        if end_ns is not None:
            found &= self.start_ns < end_ns
        return np.flatnonzero(found)

    def select(self, **criteria: Any) -> list[Event]:
        """Return the events that match; takes what `matches` takes."""
        return [self.event(int(number)) for number in self.matches(**criteria)]


def encodable(text: str) -> str:
    """Return text that every file and every notebook can hold: halves of surrogate pairs become �."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _category(category: str) -> int:
    if category not in CATEGORIES:
        raise ValueError(f"unknown category {category!r}: give one of {', '.join(CATEGORIES)}")
    return CATEGORIES.index(category)


def _refuse_twice(names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two lanes are called {twice[0]!r}: give each lane its own name")


def _span(span_ns: tuple[int, int] | None) -> tuple[int, int] | None:
    if span_ns is None:
        return None
    start, end = map(int, span_ns)
    if start > end:
        raise ValueError(f"what was watched cannot end at {end} ns and begin at {start} ns")
    return start, end


def _column(columns: Mapping[str, Any], key: str) -> np.ndarray:
    if key not in columns:
        raise ValueError(f"expected a column {key!r}, got {_listed(tuple(columns))}")
    column = np.asarray(columns[key])
    # An empty list has no type of its own.
    column = column.astype(np.int64) if not column.size else column
    if column.ndim != 1 or column.dtype.kind not in "iuf":
        raise ValueError(f"column {key!r} must be a row of numbers, not {column.dtype}")
    return column


def _nanoseconds(columns: Mapping[str, Any], key: str) -> np.ndarray:
    column = _column(columns, key)
    if column.dtype.kind == "f":
        odd = np.flatnonzero(~np.isfinite(column))
        if len(odd):
            raise ValueError(
                f"{key} of event {odd[0]} is {column[odd[0]]}: times must be finite numbers of nanoseconds"
            )
        column = np.rint(column)
    if column.size and max(abs(float(column.min())), abs(float(column.max()))) >= FARTHEST_NS:
        raise ValueError(
            f"{key} goes up to {column.max():.3g} ns, more than 104 days: subtract the time of the beginning"
        )
    return column.astype(np.int64)


def _numbers(columns: Mapping[str, Any], key: str, size: int, limit: int | None) -> np.ndarray:
    if limit is None and key not in columns:
        return np.full(size, -1, np.int64)
    column = _column(columns, key)
    if len(column) != size:
        raise ValueError(f"column {key!r} has {len(column)} entries, start_ns has {size}")
    column = column.astype(np.int64)
    if limit is not None and size and not (column.min() >= 0 and column.max() < limit):
        at = int(np.flatnonzero((column < 0) | (column >= limit))[0])
        raise ValueError(f"event {at} has {key} number {column[at]}, but there are {limit}")
    return column


def _kept(column: np.ndarray, dtype: Any) -> np.ndarray:
    column = column.astype(dtype, copy=False)
    column.flags.writeable = False
    return column


def _depths(start: np.ndarray, end: np.ndarray, lane: np.ndarray, lanes: int) -> np.ndarray:
    depth = np.zeros(len(start), np.int64)
    for number in range(lanes):
        own = np.flatnonzero(lane == number)
        starts, ends = start[own], end[own]
        if np.all(starts[1:] >= np.maximum.accumulate(ends)[:-1]):
            continue
        depth[own] = _stacked(starts.tolist(), ends.tolist())
    return depth


def _stacked(starts: list[int], ends: list[int]) -> list[int]:
    """Return for each event of a lane a row that is free, below every event that contains it."""
    busy: list[int] = []
    depths = []
    for start, end in zip(starts, ends, strict=True):
        while busy and busy[-1] <= start:
            busy.pop()
        row = 0
        for i in range(len(busy) - 1, -1, -1):
            if busy[i] > start and busy[i] >= end:
                row = i + 1
                break
        while row < len(busy) and busy[row] > start:
            row += 1
        if row == len(busy):
            busy.append(end)
        else:
            busy[row] = end
        depths.append(row)
    return depths


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(map(repr, names[:12])) or "none"
    return shown + (f" and {len(names) - 12} more" if len(names) > 12 else "")
