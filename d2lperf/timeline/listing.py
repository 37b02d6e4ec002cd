"""A timeline as a table, for those who read rather than look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

import numpy as np

from d2lperf.events import CATEGORIES
from d2lperf.tables import Table, table
from d2lperf.timeline.analyse import lane_use, summarise
from d2lperf.timeline.columns import Columns
from d2lperf.timeline.moments import moment
from d2lperf.units import format_seconds


def listing(timeline: Columns, what: str = "lanes", *, rows: int = 200) -> Table:
    """Return a timeline as a table.

    Args:
        timeline: the events.
        what: `lanes` (busy, waiting, idle and longest gap of each), `events` (one row each, in order of their start) or
            `names` (how often and how long, for each name and category, those that take longest first).
        rows: the most rows to show; the caption says how many are left out.

    Raises:
        ValueError: `what` is none of these, or negative `rows`.
    """
    if what not in _LISTINGS:
        raise ValueError(f"no table of {what!r}: ask for one of {', '.join(_LISTINGS)}")
    if rows < 0:
        raise ValueError(f"rows must be zero or more, not {rows}")
    header, count, lines = _LISTINGS[what](timeline)
    left = count - min(rows, count)
    caption = summarise(timeline)
    if left:
        caption += f" {left} of {count} rows are left out: ask for more with rows=…"
    return table(header, [*islice(lines, rows)], caption=caption)


_Rows = tuple[tuple[str, ...], int, Iterator[tuple[str, ...]]]


def _lanes(timeline: Columns) -> _Rows:
    header = ("lane", "kind", "events", "busy", "waiting", "idle", "longest gap", "ended by")
    uses = zip(timeline.lanes, lane_use(timeline), strict=True)
    lines = (
        (
            use.lane,
            lane.kind,
            str(use.events),
            *map(format_seconds, (use.busy_s, use.waiting_s, use.idle_s, use.gap_s)),
            "" if use.gap_ended_by < 0 else timeline.event(use.gap_ended_by).name,
        )
        for lane, use in uses
    )
    return header, len(timeline.lanes), lines


def _events(timeline: Columns) -> _Rows:
    header = ("event", "category", "lane", "start", "duration", "step", "operation")
    fine_ns = float(np.median(timeline.duration_ns)) if len(timeline) else 1.0
    lines = (
        (
            "· " * event.depth + event.name,
            event.category,
            event.lane,
            moment(event.start_ns, fine_ns),
            format_seconds(event.duration_ns / 1e9),
            *("" if number < 0 else str(number) for number in (event.step, event.flow)),
        )
        for event in timeline
    )
    return header, len(timeline), lines


def _names(timeline: Columns) -> _Rows:
    header = ("name", "category", "count", "total", "median", "longest")
    keys = timeline.name.astype(np.int64) * len(CATEGORIES) + timeline.category
    kinds, kind, counts = np.unique(keys, return_inverse=True, return_counts=True)
    # Sorted by kind and duration, each kind is a run whose middle and end are its median and its longest.
    lasted = timeline.duration_ns[np.lexsort((timeline.duration_ns, kind))]
    stops = np.cumsum(counts)
    starts = stops - counts
    sums = np.r_[0, np.cumsum(lasted)]
    totals = sums[stops] - sums[starts]
    medians = (lasted[starts + (counts - 1) // 2] + lasted[starts + counts // 2]) / 2
    lines = (
        (
            timeline.names[kinds[i] // len(CATEGORIES)],
            CATEGORIES[kinds[i] % len(CATEGORIES)],
            str(counts[i]),
            *(format_seconds(ns / 1e9) for ns in (totals[i], medians[i], lasted[stops[i] - 1])),
        )
        for i in np.argsort(-totals, kind="stable")
    )
    return header, len(kinds), lines


_LISTINGS: dict[str, Callable[[Columns], _Rows]] = {
    "lanes": _lanes,
    "events": _events,
    "names": _names,
}
