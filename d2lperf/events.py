"""Columns of events: the one form in which a schedule is kept, measured or simulated."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

CATEGORIES = ("dispatch", "run", "wait", "host", "compile")
"""What an event is: the host hands work over, a device works, the host waits, the host computes, a compiler runs."""


class Event(NamedTuple):
    """One row of an `EventLog`, read back for people and for checks.

    `op` is the number of the operation that the event belongs to, the same for its dispatch and its run; -1 for none.
    """

    start_ns: int
    duration_ns: int
    lane: str
    name: str
    category: str
    op: int

    @property
    def end_ns(self) -> int:
        """End of the event in nanoseconds."""
        return self.start_ns + self.duration_ns


class EventLog:
    """Events in columns, appended in the order in which they were issued.

    Lanes (the rows of a picture) and names are stored once, in dictionaries; an event holds their numbers. Times are
    whole nanoseconds on the clock of whoever writes the log.
    """

    def __init__(self) -> None:
        self._start = array("q")
        self._duration = array("q")
        self._lane = array("H")
        self._name = array("L")
        self._category = array("B")
        self._op = array("q")
        self._lanes: dict[str, int] = {}
        self._names: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._start)

    def lane(self, lane: str) -> int:
        """Return the number of a lane, adding the lane if it is new."""
        return self._lanes.setdefault(lane, len(self._lanes))

    def add(
        self, start_ns: int, duration_ns: int, *, lane: str, name: str, category: str, op: int = -1
    ) -> None:
        """Append one event.

        Args:
            start_ns: start in nanoseconds.
            duration_ns: duration in nanoseconds, zero or more.
            lane: the row that the event stands in, such as `host` or `gpu:0`.
            name: what a reader should see on it.
            category: one of `CATEGORIES`.
            op: number of the operation that it belongs to.

        Raises:
            ValueError: negative duration or unknown category.
        """
        if duration_ns < 0:
            raise ValueError(f"an event cannot last {duration_ns} ns: give zero or more")
        if category not in CATEGORIES:
            raise ValueError(f"unknown category {category!r}: give one of {', '.join(CATEGORIES)}")
        self._start.append(start_ns)
        self._duration.append(duration_ns)
        self._lane.append(self.lane(lane))
        self._name.append(self._names.setdefault(name, len(self._names)))
        self._category.append(CATEGORIES.index(category))
        self._op.append(op)

    def extend(self, name: str, start_ns: int, end_ns: int) -> bool:
        """Prolong the last event if it has this name and ends where the new one starts.

        Returns:
            Whether it was prolonged.
        """
        if not self._start or self._name[-1] != self._names.get(name):
            return False
        if self._start[-1] + self._duration[-1] != start_ns:
            return False
        self._duration[-1] = end_ns - self._start[-1]
        return True

    @property
    def lanes(self) -> tuple[str, ...]:
        """Names of the lanes, by number."""
        return tuple(self._lanes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of events, by number."""
        return tuple(self._names)

    @property
    def end_ns(self) -> int:
        """When the last event ends, in nanoseconds; 0 for an empty log."""
        return max((s + d for s, d in zip(self._start, self._duration, strict=True)), default=0)

    def columns(self) -> dict[str, np.ndarray]:
        """Return the columns as arrays of one length, copied.

        Returns:
            `start_ns` (int64), `duration_ns` (int64), `lane` (uint16), `name` (uint32), `category` (uint8) and
            `op` (int64); the last but one indexes `CATEGORIES`, `lane` and `name` index `lanes` and `names`.
        """
        return {
            "start_ns": np.array(self._start, np.int64),
            "duration_ns": np.array(self._duration, np.int64),
            "lane": np.array(self._lane, np.uint16),
            "name": np.array(self._name, np.uint32),
            "category": np.array(self._category, np.uint8),
            "op": np.array(self._op, np.int64),
        }

    def __iter__(self) -> Iterator[Event]:
        lanes, names = self.lanes, self.names
        rows = zip(
            self._start,
            self._duration,
            self._lane,
            self._name,
            self._category,
            self._op,
            strict=True,
        )
        for start, duration, lane, name, category, op in rows:
            yield Event(start, duration, lanes[lane], names[name], CATEGORIES[category], op)

    def select(
        self, *, lane: str | None = None, name: str | None = None, category: str | None = None
    ) -> list[Event]:
        """Return the events that match everything that is given, in the order of issue."""
        wanted = [
            (column, number)
            for column, number in (
                (self._lane, None if lane is None else self._lanes.get(lane, -1)),
                (self._name, None if name is None else self._names.get(name, -1)),
                (self._category, None if category is None else CATEGORIES.index(category)),
            )
            if number is not None
        ]
        matches = np.ones(len(self), bool)
        for column, number in wanted:
            matches &= np.array(column) == number
        return [self._event(int(i)) for i in np.flatnonzero(matches)]

    def _event(self, i: int) -> Event:
        return Event(
            self._start[i],
            self._duration[i],
            self.lanes[self._lane[i]],
            self.names[self._name[i]],
            CATEGORIES[self._category[i]],
            self._op[i],
        )
