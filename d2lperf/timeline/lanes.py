"""Which lanes a picture shows, in how many rows, and how high they are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from d2lperf.timeline.columns import Columns

MOST_ROWS = 24
MOST_DEPTH = 8
THREAD_DEPTH = 3
"""Rows of a thread of the runtime: its details are in the table and in the widget."""
ROOMY = 8
"""Up to so many rows, lanes of one row are higher than they need to be."""
HIGH, BAR, FOLDED = 22.0, 16.0, 6.0
"""Heights of bars: alone in a lane, in one of many rows, in a folded lane."""


class Place(NamedTuple):
    """Where a lane is drawn.

    Attributes:
        lane: its number.
        y: its upper end.
        rows: how many rows it has.
        bar: height of its bars.
        pad: free pixels above its first row and below its last one.
    """

    lane: int
    y: float
    rows: int
    bar: float
    pad: float

    @property
    def height(self) -> float:
        """Height of the whole lane."""
        return 2 * self.pad + self.rows * self.bar + (self.rows - 1)

    def row_y(self, depth: int) -> float:
        """Return the upper end of the bars of a row."""
        return self.y + self.pad + depth * (self.bar + 1)


class Stack(NamedTuple):
    """The lanes of a picture from top to bottom.

    Attributes:
        places: where each lane is drawn.
        groups: names of groups by the number of their first lane.
        bottom: lower end of the last lane.
    """

    places: tuple[Place, ...]
    groups: dict[int, str]
    bottom: float


class Choice(NamedTuple):
    """What is drawn of a timeline: rows by lane number, in order, and what has to be said about the rest."""

    rows: dict[int, int]
    notes: tuple[str, ...]


def choose(timeline: Columns, over: dict[int, int]) -> Choice:
    """Choose at most `MOST_ROWS` rows; threads of the runtime are left out first.

    Args:
        timeline: what is drawn.
        over: lanes without rows of their own, by number: drawn over which lane.
    """
    lanes, depths = timeline.lanes, _depths(timeline)
    for lane, under in over.items():
        depths[under] = max(depths[under], depths[lane])
    seen = set(timeline.lane[timeline.duration_ns > 0].tolist())
    shown = [i for i in _in_groups(timeline) if i not in over]
    wanted = {i: 1 if lanes[i].folded else int(depths[i]) for i in shown}
    limit = _limit([wanted[i] for i in shown if lanes[i].kind != "thread"])
    limits = {i: min(limit, THREAD_DEPTH) if lanes[i].kind == "thread" else limit for i in shown}
    rows: dict[int, int] = {}
    for i in sorted(shown, key=lambda i: (lanes[i].kind == "thread", i not in seen)):
        need = min(wanted[i], limits[i])
        if sum(rows.values()) + need <= MOST_ROWS:
            rows[i] = need
    left_out = [lanes[i].kind for i in shown if i not in rows]
    deeper = sum(_deeper(timeline, i, rows[i]) for i in rows if wanted[i] > rows[i])
    return Choice({i: rows[i] for i in shown if i in rows}, _said(left_out, deeper))


def stack(timeline: Columns, rows: dict[int, int], top: float, *, spread: float = 0.0) -> Stack:
    """Give every lane its place.

    Args:
        timeline: what is drawn.
        rows: how many rows each lane has, in order.
        top: upper end of the first lane.
        spread: pixels between lanes besides the usual ones.
    """
    high = HIGH if sum(rows.values()) <= ROOMY else BAR
    named = named_groups(timeline, [*rows])
    places, groups, y, group = list[Place](), dict[int, str](), top, ""
    for number, count in rows.items():
        lane = timeline.lanes[number]
        if lane.group != group and lane.group in named:
            groups[number] = lane.group
        group = lane.group
        bar = FOLDED if lane.folded else (high if count == 1 else BAR)
        pad = (3.0 if high == BAR else 4.0) + spread / 2
        places.append(Place(number, y, count, bar, pad))
        y += places[-1].height
    return Stack(tuple(places), groups, y)


def _depths(timeline: Columns) -> np.ndarray:
    """Return how many rows each lane would need; what lasts no time needs none."""
    depths = np.ones(len(timeline.lanes), np.int64)
    lasting = timeline.duration_ns > 0
    np.maximum.at(depths, timeline.lane[lasting], timeline.depth[lasting].astype(np.int64) + 1)
    return depths


def _in_groups(timeline: Columns) -> list[int]:
    """Return the numbers of the lanes, those of a group together where its first one stands."""
    if getattr(timeline, "overlay", ()):
        # A comparison has put what is compared side by side.
        return [*range(len(timeline.lanes))]
    first: dict[str, int] = {}
    for i, lane in enumerate(timeline.lanes):
        first.setdefault(lane.group, i)
    lanes = enumerate(timeline.lanes)
    key = {i: (first[lane.group] if lane.group else i, i) for i, lane in lanes}
    return sorted(key, key=key.__getitem__)


def named_groups(timeline: Columns, shown: list[int]) -> set[str]:
    """Return the groups of which several lanes are shown: the name of a single one says enough."""
    if getattr(timeline, "overlay", ()):
        return set()
    groups = [timeline.lanes[i].group for i in shown]
    return {group for group in groups if group and groups.count(group) > 1}


def _limit(wanted: list[int]) -> int:
    """Return the most rows a lane may have so that all of them fit, if they can."""
    limits = range(MOST_DEPTH, 1, -1)
    fitting = (n for n in limits if sum(min(rows, n) for rows in wanted) <= MOST_ROWS)
    return next(fitting, 1)


def _deeper(timeline: Columns, lane: int, rows: int) -> int:
    hidden = (timeline.lane == lane) & (timeline.depth >= rows) & (timeline.duration_ns > 0)
    return int(hidden.sum())


def _said(left_out: list[str], deeper: int) -> tuple[str, ...]:
    notes = []
    threads = left_out.count("thread")
    for count, kind in (
        (len(left_out) - threads, ""),
        (threads, "of the runtime's threads "),
    ):
        if count:
            lanes = "lane is" if count == 1 else "lanes are"
            words = lanes.replace(" ", f" {kind}", 1) if kind else lanes
            notes.append(f"{count} more {words} in the table only.")
    if deeper:
        notes.append(f"{deeper:,} events nested deeper than the rows shown are in the table only.")
    return tuple(notes)
