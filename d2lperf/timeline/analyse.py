"""What the lanes of a timeline did with their time: busy, waiting, idle, overlapping.

Intervals are int64 arrays of shape (m, 2), start and end in nanoseconds, disjoint and ascending.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from d2lperf.events import CATEGORIES, Lane
from d2lperf.timeline.columns import Columns
from d2lperf.timeline.intervals import (
    before_ns,
    clipped,
    difference,
    intersection,
    length_ns,
    union,
)
from d2lperf.units import format_seconds

__all__ = [
    "SINGLY",
    "WORK",
    "LaneUse",
    "binned",
    "bottleneck",
    "busy_intervals",
    "exposed_s",
    "gap_intervals",
    "idle_intervals",
    "in_flight",
    "lane_use",
    "length_ns",
    "longest_gap",
    "overlap",
    "self_ns",
    "summarise",
    "union",
    "wait_intervals",
]

WORK = ("run", "copy", "collective")
"""Categories of what a host hands over: the other ones are its own."""

SINGLY = 8
"""Lanes of a kind up to which a summary names each."""


def busy_intervals(
    columns: Columns,
    lane: str,
    *,
    categories: Collection[str] | None = None,
    start_ns: int | None = None,
    end_ns: int | None = None,
) -> np.ndarray:
    """Return when something went on in a lane.

    Nested and overlapping events count once. A wait inside another event, such as a step or a Python
    function, is a wait: that time is not busy.

    Args:
        columns: the events.
        lane: name of the lane.
        categories: count what is of these categories; by default everything but waits.
        start_ns: nothing before this moment, in nanoseconds.
        end_ns: nothing after this moment, in nanoseconds.

    Returns:
        Intervals.

    Raises:
        ValueError: no such lane or category.
    """
    number = columns.lane_number(lane)
    if categories is None:
        busy = difference(
            _covered(columns, [number], set(CATEGORIES) - {"wait"}),
            _covered(columns, [number], ["wait"]),
        )
    else:
        busy = _covered(columns, [number], categories)
    return clipped(busy, start_ns, end_ns)


def wait_intervals(columns: Columns, lane: str) -> np.ndarray:
    """Return when a lane waited.

    Raises:
        ValueError: no such lane.
    """
    return _covered(columns, [columns.lane_number(lane)], ["wait"])


def gap_intervals(columns: Columns, lane: str) -> np.ndarray:
    """Return when a lane did no work, waiting included, between the first and the last event of the whole timeline.

    Raises:
        ValueError: no such lane.
    """
    return difference(_span(columns), busy_intervals(columns, lane))


def idle_intervals(columns: Columns, lane: str) -> np.ndarray:
    """Return when a lane was neither busy nor waiting, between the first and the last event of the whole timeline.

    Raises:
        ValueError: no such lane.
    """
    return difference(_span(columns), _covered(columns, [columns.lane_number(lane)], CATEGORIES))


def overlap(columns: Columns, *lanes: str) -> np.ndarray:
    """Return when all of some lanes were busy at the same time.

    Raises:
        ValueError: fewer than two lanes, or no such lane.
    """
    if len(lanes) < 2:
        raise ValueError(
            f"expected at least two lanes that may overlap, got {len(lanes)}: name them"
        )
    return intersection(*(busy_intervals(columns, lane) for lane in lanes))


def binned(columns: Columns, lane: str, edges_ns: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return how long a lane was busy in each bin of the time axis.

    Args:
        columns: the events.
        lane: name of the lane.
        edges_ns: m + 1 ascending moments in nanoseconds, the borders of m bins.

    Returns:
        Nanoseconds per bin, int64 (m,), exact: bins that cover everything add up to the length of `busy_intervals`.

    Raises:
        ValueError: no such lane, or edges that do not ascend.
    """
    edges = np.asarray(edges_ns, np.int64)
    if edges.ndim != 1 or len(edges) < 2 or np.any(np.diff(edges) < 0):
        raise ValueError("the edges of bins must be two or more ascending numbers of nanoseconds")
    busy = busy_intervals(columns, lane)
    return np.diff(before_ns(busy, edges))


def self_ns(
    columns: Columns, lane: str, *, start_ns: int, end_ns: int, without: Collection[str] = ()
) -> tuple[np.ndarray, np.ndarray]:
    """Return how long each event was the innermost one of its lane, in a window of time.

    Args:
        columns: the events.
        lane: name of the lane.
        start_ns: start of the window, in nanoseconds.
        end_ns: end of the window, in nanoseconds.
        without: categories to leave out; what is around them gets their time.

    Returns:
        Numbers of the events in the window, and nanoseconds of each without what is deeper; int64, both (m,).
        The nanoseconds add up to the part of the window in which anything was recorded.

    Raises:
        ValueError: no such lane or category.
    """
    events = columns.matches(lane=lane, start_ns=start_ns, end_ns=end_ns)
    events = events[~_of(columns, without)[events]]
    starts = np.maximum(columns.start_ns[events], start_ns)
    ends, depth = np.minimum(columns.end_ns[events], end_ns), columns.depth[events]
    own = ends - starts
    for row in np.unique(depth):
        here, below = depth == row, depth > row
        deeper = union(starts[below], ends[below])
        own[here] -= before_ns(deeper, ends[here]) - before_ns(deeper, starts[here])
    return events, own


def in_flight(columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """Return how many operations were dispatched and not yet finished.

    An operation is in flight from the end of its first dispatch (if none is recorded: from the start
    of its work) to the end of the last run, copy or collective of the same flow. Operations
    whose work is not recorded do not count: nobody knows when they ended.

    Returns:
        Moments in nanoseconds, ascending, and how many are in flight from each of them to the next; int64, both (m,).
    """
    works = _of(columns, WORK) & (columns.flow >= 0)
    flows, number = np.unique(columns.flow[works], return_inverse=True)
    never = np.iinfo(np.int64)
    begin, finish = np.full(len(flows), never.max), np.full(len(flows), never.min)
    np.minimum.at(begin, number, columns.start_ns[works])
    np.maximum.at(finish, number, columns.end_ns[works])
    dispatched = np.full(len(flows), never.max)
    sent = _of(columns, ["dispatch"]) & np.isin(columns.flow, flows)
    np.minimum.at(dispatched, np.searchsorted(flows, columns.flow[sent]), columns.end_ns[sent])
    # Work may begin before the call that dispatched it returns.
    begin = np.where(dispatched < never.max, np.minimum(dispatched, finish), begin)
    moments, place = np.unique(np.r_[begin, finish], return_inverse=True)
    steps = np.zeros(len(moments), np.int64)
    np.add.at(steps, place, np.repeat([1, -1], len(flows)))
    return moments, np.cumsum(steps)


def exposed_s(columns: Columns, category: str = "copy") -> float:
    """Return how long data moved while nothing was computed: what overlap did not hide.

    Args:
        columns: the events.
        category: what to look at, `copy` or `collective`.

    Returns:
        Seconds in which at least one event of the category and no `run` went on, on any lane.

    Raises:
        ValueError: no such category.

    Source: the overlap of communication and computation in HolisticTraceAnalysis, here over all lanes together.
    """
    lanes = range(len(columns.lanes))
    moving, computing = _covered(columns, lanes, [category]), _covered(columns, lanes, ["run"])
    return length_ns(difference(moving, computing)) / 1e9


@dataclass(frozen=True)
class LaneUse:
    """What a lane did between the first and the last event of the whole timeline.

    Attributes:
        lane: its name.
        busy_s: seconds with work.
        waiting_s: seconds in waits.
        idle_s: seconds with nothing recorded; the three add up to the whole.
        events: how many events it has, nested ones included.
        gap_start_s: start of the longest time without work (waiting included), in seconds.
        gap_s: how long that lasted.
        gap_ended_by: number of the event that ended it; -1 if it lasted to the end, or if there is no gap.
    """

    lane: str
    busy_s: float
    waiting_s: float
    idle_s: float
    events: int
    gap_start_s: float
    gap_s: float
    gap_ended_by: int


def lane_use(columns: Columns) -> tuple[LaneUse, ...]:
    """Return for each lane how long it was busy, waiting and idle, and its longest gap."""
    return tuple(_use(columns, lane) for lane in columns.lane_names)


def longest_gap(columns: Columns, lane: str) -> tuple[int, int]:
    """Return start and end of the longest time in which a lane did no work, in nanoseconds; the first of equal ones.

    A lane that always works has an empty gap at the first event of the timeline.

    Raises:
        ValueError: no such lane.
    """
    gaps = gap_intervals(columns, lane)
    if not len(gaps):
        return columns.first_ns, columns.first_ns
    start, end = gaps[np.argmax(gaps[:, 1] - gaps[:, 0])]
    return int(start), int(end)


def _use(columns: Columns, lane: str) -> LaneUse:
    start, end = longest_gap(columns, lane)
    number = columns.lane_number(lane)
    own = columns.lane == number
    lasting = (columns.duration_ns > 0) & ~_of(columns, ["wait"])
    enders = np.flatnonzero(own & lasting & (columns.start_ns <= end) & (columns.end_ns > end))
    return LaneUse(
        lane=lane,
        busy_s=length_ns(busy_intervals(columns, lane)) / 1e9,
        waiting_s=length_ns(wait_intervals(columns, lane)) / 1e9,
        idle_s=length_ns(idle_intervals(columns, lane)) / 1e9,
        events=int(own.sum()),
        gap_start_s=start / 1e9,
        gap_s=(end - start) / 1e9,
        # Of events inside one another, the outermost that begins last is what a reader sees begin.
        gap_ended_by=_begins_last(columns, enders) if end > start else -1,
    )


def _begins_last(columns: Columns, events: np.ndarray) -> int:
    if not len(events):
        return -1
    starts = columns.start_ns[events]
    return int(events[np.argmax(starts == starts.max())])


def summarise(columns: Columns) -> str:
    """Return one sentence: how long it took, how long each lane was busy and how long the host waited."""
    total_ns = columns.last_ns - columns.first_ns
    if not len(columns):
        return "Nothing is recorded."
    parts = [f"{format_seconds(total_ns / 1e9)} altogether"]
    by_kind: dict[str, list[Lane]] = {"host": [], "device": [], "link": [], "thread": []}
    for number in np.unique(columns.lane):
        by_kind[columns.lanes[number].kind].append(columns.lanes[number])
    for lane in by_kind["host"]:
        parts += _of_host(columns, lane.name, total_ns)
    for kind in ("device", "link"):
        parts += _of_workers(columns, by_kind[kind], f"{kind} lanes", singly=SINGLY)
    parts += _of_workers(columns, by_kind["thread"], "threads", singly=0)
    return "; ".join(parts) + "."


def bottleneck(columns: Columns) -> str:
    """Return one sentence about the lane with the most work, which bounds what anything else can gain."""
    shares = {
        lane.name: _share(columns, lane.name) for lane in columns.lanes if lane.kind != "thread"
    }
    if not any(shares.values()):
        return "No lane did any work."
    lane = max(shares, key=lambda name: shares[name])
    busy, rest = shares[lane], 1 - shares[lane]
    kind = columns.lanes[columns.lane_number(lane)].kind
    others = "a faster device" if kind == "host" else "a faster host"
    gain = f"would gain {rest:.0%} at most" if rest >= 0.005 else "would gain nothing"
    return f"{lane} is busy {busy:.0%} of the time: {others} {gain}."


def _of_host(columns: Columns, lane: str, total_ns: int) -> list[str]:
    waited_ns = length_ns(wait_intervals(columns, lane))
    if not waited_ns:
        return [f"{lane} busy {_percent(_share(columns, lane))}"]
    waits = f"{lane} waits {_percent(waited_ns / total_ns)} of the time"
    # A host that works on operations itself, as XLA's client on a CPU does, is busy as devices are.
    inline = len(busy_intervals(columns, lane, categories=WORK))
    return [waits, f"{lane} busy {_percent(_share(columns, lane))}"] if inline else [waits]


def _of_workers(columns: Columns, lanes: list[Lane], several: str, *, singly: int) -> list[str]:
    shares = [_share(columns, lane.name) for lane in lanes]
    if len(lanes) <= singly:
        return [f"{lane.name} busy {_percent(s)}" for lane, s in zip(lanes, shares, strict=True)]
    if len(lanes) == 1:
        return [f"1 {several.removesuffix('s')} busy {shares[0]:.0%}"]
    return [
        f"{len(lanes)} {several} busy {np.mean(shares):.0%} on average, {max(shares):.0%} at most"
    ]


def _percent(share: float) -> str:
    """Write a share in whole percent; a little is not nothing."""
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def _share(columns: Columns, lane: str) -> float:
    total_ns = max(columns.last_ns - columns.first_ns, 1)
    return length_ns(busy_intervals(columns, lane)) / total_ns


def _span(columns: Columns) -> np.ndarray:
    return union(np.array([columns.first_ns]), np.array([columns.last_ns]))


def _of(columns: Columns, categories: Collection[str]) -> np.ndarray:
    unknown = sorted(set(categories) - set(CATEGORIES))
    if unknown:
        raise ValueError(f"unknown category {unknown[0]!r}: give one of {', '.join(CATEGORIES)}")
    wanted = np.zeros(len(CATEGORIES), bool)
    wanted[[CATEGORIES.index(category) for category in categories]] = True
    return wanted[columns.category]


def _covered(columns: Columns, lanes: Collection[int], categories: Collection[str]) -> np.ndarray:
    wanted = np.zeros(max(len(columns.lanes), 1), bool)
    wanted[[*lanes]] = True
    found = wanted[columns.lane] & _of(columns, categories)
    return union(columns.start_ns[found], columns.end_ns[found])
