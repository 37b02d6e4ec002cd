"""A timeline as a few arrays that a browser can draw from without looking at every event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from d2lperf.events import CATEGORIES
from d2lperf.units import format_seconds

if TYPE_CHECKING:
    from d2lperf.timeline.timeline import Timeline

MOST_EVENTS = 2_000_000
"""Events that are sent one by one; of more than these, short neighbours are sent as one."""


def pack(timeline: Timeline, *, most_events: int = MOST_EVENTS) -> dict[str, Any]:
    """Return what a browser needs to draw a timeline: columns in drawing order and a description.

    Events are ordered by row (a lane and a depth, in which nothing overlaps), then by start. Times stay exact: they are
    whole nanoseconds below 2⁵³, sent as float64, or as uint32 where all of them fit.

    Args:
        timeline: what to draw.
        most_events: above this number short neighbours of a row are merged, and the picture's notes say so.

    Returns:
        `meta`, which is JSON, and columns as memoryviews whose types `meta["types"]` names: `start`, `duration`,
        `name`, `category`, `id` (number of the event in the timeline), `offsets` (first event of each row, and
        the end), `needs`, where they say anything `flow` and `step`, and after merging `busy` and `count`.

    Raises:
        ValueError: `most_events` below 1.
    """
    if most_events < 1:
        raise ValueError(f"most_events must be at least 1, not {most_events}")
    key = timeline.lane.astype(np.int64) * 65536 + timeline.depth
    order = np.argsort(key, kind="stable")  # the columns are by start already
    rows, first = np.unique(key[order], return_index=True)
    columns = _columns(timeline, order)
    offsets = np.append(first, len(order))
    notes = list(timeline.notes)
    if len(order) > most_events:
        columns, offsets, resolution_ns = _merged(columns, offsets, most_events)
        notes.append(
            f"{len(order):,} events are more than can be shown one by one: neighbours of a lane that lie within "
            f"{format_seconds(resolution_ns / 1e9)} are one bar, as high as they are busy.".replace(
                ",", "\N{NO-BREAK SPACE}", f"{len(order):,}".count(",")
            )
        )
    columns["offsets"] = offsets.astype(np.uint32)
    strips = [
        {"times": np.array(strip.times_ns, float), "values": np.array(strip.values, float)}
        for strip in timeline.strips
    ]
    meta = _meta(timeline, rows) | {"notes": notes}
    meta["types"] = {name: column.dtype.str[1:] for name, column in columns.items()}
    buffers = {name: memoryview(column) for name, column in columns.items()}  # type: ignore[arg-type]
    curves = [{name: memoryview(column) for name, column in s.items()} for s in strips]  # type: ignore[arg-type]
    return {"meta": meta, **buffers, "strips": curves}


def folded(timeline: Timeline) -> list[str]:
    """Return what begins as thin rows: names of lanes, and `group:NAME` for groups of nothing but such lanes."""
    groups: dict[str, list[bool]] = {}
    for lane in timeline.lanes:
        if lane.group:
            groups.setdefault(lane.group, []).append(lane.folded)
    shut = [f"group:{name}" for name, lanes in groups.items() if all(lanes)]
    return [lane.name for lane in timeline.lanes if lane.folded] + shut


def _columns(timeline: Timeline, order: np.ndarray) -> dict[str, np.ndarray]:
    flow, needs = _dense(timeline.flow, timeline.needs)
    columns = {
        "start": timeline.start_ns[order].astype(np.float64),
        "duration": _small(timeline.duration_ns[order]),
        "name": _small(timeline.name[order]),
        "category": timeline.category[order],
        "id": order.astype(np.uint32),
        "needs": needs.astype(np.int32).ravel(),
    }
    if (flow >= 0).any():
        columns["flow"] = flow[order].astype(np.int32)
    if (timeline.step >= 0).any():
        columns["step"] = timeline.step[order]
    return columns


def _small(column: np.ndarray) -> np.ndarray:
    """Return whole numbers, zero or more, in the smallest type that holds them exactly."""
    largest = int(column.max(initial=0))
    if largest < 2**16:
        return column.astype(np.uint16)
    return column.astype(np.uint32 if largest < 2**32 else np.float64)


def _dense(flow: np.ndarray, needs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Number flows from 0 without large gaps, so that the browser can index by them."""
    known = needs[np.isin(needs, flow).all(axis=1)] if len(needs) else needs
    largest = int(flow.max(initial=-1))
    if int(flow.min(initial=-1)) >= -1 and largest < 4 * len(flow) + 16:
        return flow, known
    present = np.unique(flow[flow != -1])
    return np.where(flow == -1, -1, np.searchsorted(present, flow)), np.searchsorted(present, known)


def _merged(
    columns: dict[str, np.ndarray], offsets: np.ndarray, most: int
) -> tuple[dict[str, np.ndarray], np.ndarray, int]:
    """Merge short neighbours of a row at the finest resolution that leaves at most `most` events."""
    start = columns["start"].astype(np.int64)
    duration = columns["duration"].astype(np.int64)
    row = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    span = int((start + duration).max() - start.min()) if len(start) else 1
    resolution = max(span // most, 1)
    while True:
        new = _beginnings(start, duration, row, resolution)
        # Beyond the whole span nothing more can be merged: what is left is one event a row.
        if new.sum() <= most or resolution > 2 * span + 2:
            break
        resolution *= 2
    group = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(start)) - 1
    weights = np.bincount(
        group * len(CATEGORIES) + columns["category"], duration + 1e-9, len(first) * len(CATEGORIES)
    )
    merged = {
        name: column[first] for name, column in columns.items() if name not in ("duration", "needs")
    }
    merged |= {
        "duration": _small(start[last] + duration[last] - start[first]),
        "category": weights.reshape(len(first), -1).argmax(axis=1).astype(np.uint8),
        "busy": np.bincount(group, duration, len(first)),
        "count": np.bincount(group, minlength=len(first)).astype(np.uint32),
        "needs": columns["needs"],
    }
    return merged, np.searchsorted(first, offsets), resolution


def _beginnings(
    start: np.ndarray, duration: np.ndarray, row: np.ndarray, resolution: int
) -> np.ndarray:
    bucket = start // resolution
    long = duration >= resolution
    new = np.ones(len(start), bool)
    new[1:] = (np.diff(row) != 0) | (np.diff(bucket) != 0) | long[1:] | long[:-1]
    return new


def _meta(timeline: Timeline, rows: np.ndarray) -> dict[str, Any]:
    summary = timeline.summary()
    return {
        "title": timeline.title,
        "caption": timeline.caption or summary,
        "alt": f"{timeline.title}. {summary}" if timeline.title else summary,
        "events": len(timeline),
        "axis_end_ns": timeline.axis_end_ns,
        "first_ns": min(timeline.first_ns, 0),
        "categories": list(CATEGORIES),
        "names": list(timeline.names),
        "lanes": [
            {"name": lane.name, "kind": lane.kind, "group": lane.group, "folded": lane.folded}
            for lane in timeline.lanes
        ],
        "folded": folded(timeline),
        "rows": [[int(row) >> 16, int(row) & 65535] for row in rows],
        "marks": [[mark.time_ns, mark.text] for mark in timeline.marks],
        "strips": [
            {"name": strip.name, "budget": strip.budget, "peak": strip.peak}
            for strip in timeline.strips
        ],
        "overlay": [[int(a), int(b)] for a, b in _overlay(timeline)],
        "arrange": getattr(timeline, "arrange", "under"),
    }


def _overlay(timeline: Timeline) -> list[tuple[int, int]]:
    pairs = getattr(timeline, "overlay", ())
    return [(_lane(timeline, a), _lane(timeline, b)) for a, b in pairs]


def _lane(timeline: Timeline, lane: int | str) -> int:
    return timeline.lane_number(lane) if isinstance(lane, str) else int(lane)
