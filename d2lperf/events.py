"""Columns of events: the one form in which a schedule is kept, measured or simulated."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

CATEGORIES = (
    *("dispatch", "run", "wait", "host", "compile"),
    *("copy", "collective", "runtime"),
)
"""What an event is.

The host hands work over, a device works, the host waits, the host computes, a compiler runs; bytes move over
a link, devices exchange data, the runtime does something for itself or in detail.
"""
_NUMBERS = {category: number for number, category in enumerate(CATEGORIES)}


LANE_KINDS = ("host", "device", "link", "thread")
"""What a lane stands for: the program's thread, what executes operations, what moves bytes, a thread of the runtime."""


@dataclass(frozen=True)
class Lane:
    """A row of a timeline.

    Attributes:
        name: what stands beside it, unique in a timeline.
        kind: one of `LANE_KINDS`.
        group: what lanes belong to that fold together, such as a device with its streams; empty for none.
        folded: whether it begins as a thin row.
    """

    name: str
    kind: str = "host"
    group: str = ""
    folded: bool = False

    def __post_init__(self) -> None:
        if self.kind not in LANE_KINDS:
            raise ValueError(
                f"unknown kind of lane {self.kind!r}: give one of {', '.join(LANE_KINDS)}"
            )


@dataclass(frozen=True)
class Mark:
    """A note at one moment, drawn as a flag across all lanes."""

    time_ns: int
    text: str


@dataclass(frozen=True)
class Strip:
    """A quantity over time under the lanes: the bytes that a device holds.

    Attributes:
        name: what stands beside it.
        times_ns: when the quantity changes, ascending, in nanoseconds.
        values: how much there is from each of these times on, in bytes.
        budget: a line across the strip, in bytes; `None` for none.
    """

    name: str
    times_ns: tuple[int, ...]
    values: tuple[int, ...]
    budget: int | None = None

    def __post_init__(self) -> None:
        if len(self.times_ns) != len(self.values):
            raise ValueError(
                f"strip {self.name!r} has {len(self.times_ns)} times and {len(self.values)} values: "
                "give one value for each time"
            )

    @property
    def peak(self) -> int:
        """The largest value; 0 for an empty strip."""
        return max(self.values, default=0)


class Event(NamedTuple):
    """One event, read back for people and for checks.

    `flow` is the number of the operation that the event belongs to, the same for its dispatch, its
    run and the wait for it; -1 for none. `step` is the number of the step it is part of; -1 for none.
    `depth` counts the events of the same lane around it.
    """

    start_ns: int
    duration_ns: int
    lane: str
    name: str
    category: str
    flow: int = -1
    step: int = -1
    depth: int = 0

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
        self._flow = array("q")
        self._lanes: dict[str, int] = {}
        self._kinds: list[Lane] = []
        self._needs: list[tuple[int, int]] = []
        self._names: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._start)

    def lane(self, lane: str, *, kind: str = "host", group: str = "") -> int:
        """Return the number of a lane, adding the lane if it is new; only then `kind` and `group` count.

        Raises:
            ValueError: unknown kind.
        """
        number = self._lanes.get(lane)
        if number is None:
            self._kinds.append(Lane(lane, kind, group))
            number = self._lanes[lane] = len(self._lanes)
        return number

    def need(self, earlier: int, later: int) -> None:
        """Note that operation `later` needs the result of operation `earlier`, both given by flow number."""
        self._needs.append((earlier, later))

    @property
    def described_lanes(self) -> tuple[Lane, ...]:
        """The lanes with their kinds and groups, by number."""
        return tuple(self._kinds)

    @property
    def needs(self) -> tuple[tuple[int, int], ...]:
        """Pairs of flow numbers: the second operation needs the result of the first."""
        return tuple(self._needs)

    def add(
        self,
        start_ns: int,
        duration_ns: int,
        *,
        lane: str,
        name: str,
        category: str,
        flow: int = -1,
    ) -> None:
        """Append one event.

        Args:
            start_ns: start in nanoseconds.
            duration_ns: duration in nanoseconds, zero or more.
            lane: the row that the event stands in, such as `host` or `gpu:0`.
            name: what a reader should see on it.
            category: one of `CATEGORIES`.
            flow: number of the operation that it belongs to; -1 for none.

        Raises:
            ValueError: negative duration or unknown category.
        """
        if duration_ns < 0:
            raise ValueError(f"an event cannot last {duration_ns} ns: give zero or more")
        kind = _NUMBERS.get(category)
        if kind is None:
            raise ValueError(f"unknown category {category!r}: give one of {', '.join(CATEGORIES)}")
        self._start.append(start_ns)
        self._duration.append(duration_ns)
        self._lane.append(self.lane(lane))
        self._name.append(self._names.setdefault(name, len(self._names)))
        self._category.append(kind)
        self._flow.append(flow)

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
            `flow` (int64); `lane`, `name` and `category` index `lanes`, `names` and `CATEGORIES`.
        """
        return {
            "start_ns": np.array(self._start, np.int64),
            "duration_ns": np.array(self._duration, np.int64),
            "lane": np.array(self._lane, np.uint16),
            "name": np.array(self._name, np.uint32),
            "category": np.array(self._category, np.uint8),
            "flow": np.array(self._flow, np.int64),
        }

    def __iter__(self) -> Iterator[Event]:
        lanes, names = self.lanes, self.names
        rows = zip(
            self._start,
            self._duration,
            self._lane,
            self._name,
            self._category,
            self._flow,
            strict=True,
        )
        for start, duration, lane, name, category, flow in rows:
            yield Event(start, duration, lanes[lane], names[name], CATEGORIES[category], flow)

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
            self._flow[i],
        )
