"""What made an event begin, or a wait end, as far as the recording tells."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from d2lperf.events import CATEGORIES, Lane
from d2lperf.timeline.analyse import WORK
from d2lperf.timeline.columns import Columns

_WAIT, _DISPATCH, _RUN, _RUNTIME = (
    CATEGORIES.index(name) for name in ("wait", "dispatch", "run", "runtime")
)
_WORK = frozenset(CATEGORIES.index(name) for name in WORK)


class Cause(NamedTuple):
    """Something that an event had to wait for.

    Attributes:
        time_ns: until when.
        rank: of causes at the same time, the one with the highest rank is named.
        event: number of the event.
        how: `needs` (its result is an argument), `lane` (one thing at a time) or `dispatch`.
    """

    time_ns: int
    rank: int
    event: int
    how: str


class Causes:
    """Answers questions about the causes of events; makes its indexes once.

    Args:
        columns: the events. What the runtime did in detail inside something else is left out.
    """

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self.start: list[int] = columns.start_ns.tolist()
        self.end: list[int] = columns.end_ns.tolist()
        self.lane: list[int] = columns.lane.tolist()
        self.depth: list[int] = columns.depth.tolist()
        self.flow: list[int] = columns.flow.tolist()
        self.category: list[int] = columns.category.tolist()
        # One thread does one thing at a time, also where clocks let two events overlap a little.
        self._single = [lane.kind in ("host", "thread") for lane in columns.lanes]
        self._shown = _shown(columns)
        self._rows = _grouped(columns.lane.astype(np.int64) * 2**16 + columns.depth, self._shown)
        self._by_end = _grouped(columns.lane, self._shown, then=columns.end_ns)
        self._ends = {lane: [self.end[i] for i in own] for lane, own in self._by_end.items()}
        works = np.isin(columns.category, [*_WORK])
        flowing = columns.flow >= 0
        self._works = _ByFlow(columns, works & flowing, columns.end_ns)
        moves = works & (columns.category != _RUN)
        self._moves = _ByFlow(columns, moves & flowing, columns.end_ns)
        self._devices = _devices(columns.lanes)
        sent = columns.category == _DISPATCH
        self._dispatches = _ByFlow(columns, sent & flowing, columns.start_ns)
        order = np.flatnonzero(works)
        self._all_works = order[np.argsort(columns.end_ns[order], kind="stable")].tolist()
        self._all_work_ends = [self.end[i] for i in self._all_works]
        self._needs: dict[int, list[int]] = defaultdict(list)
        for earlier, later in columns.needs.tolist():
            self._needs[later].append(earlier)

    def last_event(self) -> int:
        """Return the event that ends last; of several the outermost one on the first lane.

        A thread of the runtime tidies up after the work that is shown on a device: it comes in only where it is alone.
        """
        columns = self._columns
        threads = np.array([lane.kind == "thread" for lane in columns.lanes])[columns.lane]
        ends = np.where(threads & ~threads.all(), columns.first_ns - 1, columns.end_ns)
        last = np.flatnonzero(ends == ends.max())
        return int(last[np.lexsort((last, columns.lane[last]))[0]])

    def is_wait(self, event: int) -> bool:
        """Whether an event is a wait."""
        return self.category[event] == _WAIT

    def work_of(self, flow: int, before_ns: int) -> int | None:
        """Return the last run, copy or collective of an operation that ended by then."""
        return next(self._works.back(flow, before_ns), None)

    def dispatch_of(self, flow: int, before_ns: int) -> int | None:
        """Return the last dispatch of an operation that began by then."""
        return next(self._dispatches.back(flow, before_ns), None)

    def needed(self, flow: int) -> list[int]:
        """Return the operations whose results an operation needs."""
        return self._needs.get(flow, [])

    def waited_for(self, wait: int) -> int | None:
        """Return the work that ended a wait: of its operation, or if that is unknown what ended last before.

        Returns:
            Number of the event; `None` if there is none, or if it had ended long before the wait began, so that the
            wait was for something else.
        """
        work = self._candidate(wait)
        if work is None or self.end[wait] == self.start[wait]:
            return None
        late = self.end[work] > self.start[wait]
        return work if late or self.end[wait] - self.end[work] <= self._notice_ns else None

    def of(self, event: int, seen: set[int]) -> Cause | None:
        """Return what an event had to wait for last before it could begin.

        Args:
            event: number of the event.
            seen: events that are no answer.
        """
        limit = self.start[event]
        beginning = [event]
        around = self.around(event)
        while around is not None and self.start[around] == limit:
            beginning.append(around)
            around = self.around(around)
        handed = [cause for begun in beginning for cause in self.handed_over(begun)]
        found = [cause for cause in handed if cause.event not in seen]
        # Coming out of an event into the one around it is never a step back.
        lane = around if around is not None else self.latest(event, limit, seen)
        if lane is not None:
            found.append(Cause(min(self.end[lane], limit), 2, lane, "lane"))
        return max(found, default=None)

    def handed_over(self, event: int) -> list[Cause]:
        """Return what work on a device needs: its arguments, the copies it is made of, its dispatch."""
        if self.category[event] not in _WORK:
            return []
        flow, limit, found = self.flow[event], self.start[event], []
        works = [self.work_of(earlier, limit) for earlier in self.needed(flow)]
        for work in (*works, self._part_before(event)):
            if work is not None:
                found.append(Cause(self.end[work], 3, work, "needs"))
        sent = self.dispatch_of(flow, limit)
        if sent is not None:
            # Work may begin before the call that dispatched it returns.
            found.append(Cause(min(self.end[sent], limit), 1, sent, "dispatch"))
        return found

    def _part_before(self, event: int) -> int | None:
        """Return the part of the same operation that ended last before this one, if the two can depend on each other.

        What is computed needs what was moved, and the other way round. The runs of one dispatch on several devices, or
        in several streams of one, are not made of each other.
        """
        parts = self._moves if self.category[event] == _RUN else self._works
        here = self._devices[self.lane[event]]
        for part in parts.back(self.flow[event], self.start[event]):
            there = self._devices[self.lane[part]]
            if part != event and (here == there or not here or not there):
                return part
        return None

    def around(self, event: int) -> int | None:
        """Return the innermost event of the same lane that was going on when this one began."""
        lane, start = self.lane[event], self.start[event]
        for depth in range(self.depth[event] - 1, -1, -1):
            row = self._rows.get(lane * 2**16 + depth, [])
            place = bisect_left(row, event) - 1
            if place >= 0 and self.end[row[place]] > start:
                contains = self.end[row[place]] >= self.end[event]
                if contains or self._single[lane]:
                    return row[place]
        return None

    def latest(self, event: int, time_ns: int, seen: set[int]) -> int | None:
        """Return the event of the same lane that ended last by a time, before this event."""
        lane = self.lane[event]
        own, ends = self._by_end.get(lane, []), self._ends.get(lane, [])
        for place in range(bisect_right(ends, time_ns) - 1, -1, -1):
            other = own[place]
            # Events without duration at one moment happened in the order of their numbers.
            later = other > event and self.start[other] == self.start[event] == time_ns
            if other not in seen and other != event and not later:
                return other
        return None

    def inside(self, event: int, time_ns: int, seen: set[int]) -> int | None:
        """Return the event inside this one that ended last by a time."""
        lane = self.lane[event]
        own, ends = self._by_end.get(lane, []), self._ends.get(lane, [])
        for place in range(bisect_right(ends, time_ns) - 1, -1, -1):
            other = own[place]
            if ends[place] <= self.start[event]:
                return None
            begun = self.start[other] >= self.start[event]
            if begun and self.depth[other] > self.depth[event] and other not in seen:
                return other
        return None

    def _candidate(self, wait: int) -> int | None:
        if self.flow[wait] >= 0:
            return self.work_of(self.flow[wait], self.end[wait])
        place = bisect_right(self._all_work_ends, self.end[wait]) - 1
        return self._all_works[place] if place >= 0 else None

    @cached_property
    def _notice_ns(self) -> float:
        """How long the host usually needs to notice an end that it waits for: the median; -1 if nobody knows."""
        waits = np.flatnonzero(self._columns.category == _WAIT).tolist()
        works = ((wait, self._candidate(wait)) for wait in waits)
        late = [
            self.end[wait] - self.end[work]
            for wait, work in works
            if work is not None and self.end[work] > self.start[wait]
        ]
        return float(np.median(late)) if late else -1.0


class _ByFlow:
    """Events by their flow number, those of one flow by a time."""

    def __init__(self, columns: Columns, kept: np.ndarray, times_ns: np.ndarray) -> None:
        events = np.flatnonzero(kept)
        events = events[np.lexsort((times_ns[events], columns.flow[events]))]
        self._events: list[int] = events.tolist()
        self._flows: list[int] = columns.flow[events].tolist()
        self._times: list[int] = times_ns[events].tolist()

    def back(self, flow: int, before_ns: int) -> Iterator[int]:
        """Yield the events of a flow up to a time, the last one first."""
        first, stop = bisect_left(self._flows, flow), bisect_right(self._flows, flow)
        place = bisect_right(self._times, before_ns, first, stop) if flow >= 0 else first
        yield from reversed(self._events[first:place])


def _devices(lanes: Sequence[Lane]) -> list[str]:
    """Return for each lane the device that it belongs to; empty for hosts, threads, and links between places."""
    names = {lane.group or lane.name for lane in lanes if lane.kind == "device"}
    own = [lane.group or lane.name for lane in lanes]
    return [name if name in names else "" for name in own]


def _shown(columns: Columns) -> np.ndarray:
    """Leave out what the runtime did inside something else: details, no causes."""
    shown = np.ones(len(columns), bool)
    runtime = columns.category == _RUNTIME
    for lane in np.unique(columns.lane[runtime]):
        other = np.flatnonzero((columns.lane == lane) & ~runtime)
        detail = np.flatnonzero((columns.lane == lane) & runtime)
        if len(other):
            furthest = np.maximum.accumulate(columns.end_ns[other])
            begun = np.searchsorted(columns.start_ns[other], columns.start_ns[detail], "right")
            reach = np.where(begun > 0, furthest[np.maximum(begun - 1, 0)], columns.first_ns - 1)
            shown[detail] = columns.end_ns[detail] > reach
    return shown


def _grouped(
    keys: np.ndarray, kept: np.ndarray, *, then: np.ndarray | None = None
) -> dict[int, list[int]]:
    """Return the numbers of the events with each key, in their order or in that of another column."""
    events = np.flatnonzero(kept)
    if not len(events):
        return {}
    order = (keys[events],) if then is None else (then[events], keys[events])
    events = events[np.lexsort(order)]
    values, first = np.unique(keys[events], return_index=True)
    parts = np.split(events, first[1:])
    return {int(key): part.tolist() for key, part in zip(values, parts, strict=True)}
