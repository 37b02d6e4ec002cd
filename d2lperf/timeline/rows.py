"""The events of a timeline as bars in their rows, with labels and arrows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from d2lperf.events import CATEGORIES
from d2lperf.timeline.axis import Axis
from d2lperf.timeline.bars import Placed, Run, Spans, place
from d2lperf.timeline.columns import Columns
from d2lperf.timeline.furniture import SIZES, Arrow, Text
from d2lperf.timeline.lanes import Place, Stack
from d2lperf.timeline.lettering import cleaned, shorten
from d2lperf.units import format_seconds

TITLED = 200
"""Events up to which every bar says what it is when pointed at; more would only make the file large."""
ARROWS = 40
"""The most dispatches whose arrows can be followed with the eye."""
APART = 4.0
"""Pixels between the heads of neighbouring arrows, in the middle of all, below which none is drawn."""
THIN = 0.6
"""No bar is narrower, so that a short event can be seen at all."""
LOW = 2.0
"""No merged bar is lower, so that a rare event can be seen too."""
_DISPATCH = CATEGORIES.index("dispatch")
_TARGETS = [CATEGORIES.index(category) for category in ("run", "copy", "collective")]


class Bar(NamedTuple):
    """An event, or a stretch of merged ones.

    Attributes:
        x: left end in pixels.
        y: upper end.
        width: in pixels.
        height: in pixels; less than the row's height for merged events that leave gaps.
        category: one of `d2lperf.events.CATEGORIES`.
        lane: name of the lane.
        share: part of the width that is covered: 1 for an event.
        merged: how many events, of all categories, it stands for; 0 for an event of its own.
        tip: what it says when pointed at.
        outlined: whether only its outline is drawn, over the bars of another lane.
    """

    x: float
    y: float
    width: float
    height: float
    category: str
    lane: str
    share: float = 1.0
    merged: int = 0
    tip: str = ""
    outlined: bool = False


class Rows(NamedTuple):
    """What stands in the rows, and what has to be said about it."""

    shapes: list[Bar | Text]
    notes: list[str]


class _Drawn(NamedTuple):
    """The events that are drawn: their numbers, their rows and their times."""

    number: np.ndarray
    row: np.ndarray
    start_ns: np.ndarray
    end_ns: np.ndarray


def fill(timeline: Columns, axis: Axis, lanes: Stack, over: dict[int, int]) -> Rows:
    """Draw every event in its row.

    Args:
        timeline: the events.
        axis: times and pixels.
        lanes: where the lanes are.
        over: lanes that are drawn as outlines, by number, and over which lane.
    """
    shapes, notes = list[Bar | Text](), list[str]()
    merged, narrow, late = 0, 1.0, 0
    for outlined in (False, True) if over else (False,):
        drawn = _drawn(timeline, lanes, over if outlined else {i: i for i in _shown(lanes)})
        beyond = drawn.start_ns > axis.end_ns
        late += int(beyond.sum())
        drawn = _Drawn(*(column[~beyond] for column in drawn))
        placed = place(_spans(timeline, axis, drawn))
        merged, narrow = merged + placed.merged, max(narrow, placed.narrow)
        shapes += _shapes(timeline, axis, lanes, drawn, placed, outlined)
    if merged:
        size = "a pixel" if narrow == 1 else f"{narrow:.0f} pixels"
        notes.append(
            f"{merged:,} bars narrower than {size} are merged: a merged bar is as high as its time is busy."
        )
    if late:
        notes.append(f"{late:,} events after the end of the axis are not drawn.")
    return Rows(shapes, notes)


def _shown(lanes: Stack) -> list[int]:
    return [place.lane for place in lanes.places]


def _drawn(timeline: Columns, lanes: Stack, into: dict[int, int]) -> _Drawn:
    """Return the events of some lanes; `into` says over which lane's rows they are drawn.

    The number of a row is its lane's number times 2¹⁶ plus its depth.
    """
    rows = np.zeros(len(timeline.lanes), np.int64)
    target = np.zeros(len(timeline.lanes), np.int64)
    by_lane = {place.lane: place for place in lanes.places}
    for lane, under in into.items():
        rows[lane] = by_lane[under].rows if under in by_lane else 0
        target[lane] = under
    depth = timeline.depth.astype(np.int64)
    high = rows[timeline.lane]
    # What lasts no time needs no row of its own.
    depth = np.where(timeline.duration_ns == 0, np.minimum(depth, high - 1), depth)
    folded = np.array([lane.folded for lane in timeline.lanes], bool)[timeline.lane]
    kept = np.flatnonzero((high > 0) & ((depth < high) | folded))
    row = target[timeline.lane[kept]] << 16 | np.where(folded, 0, depth)[kept]
    drawn = _Drawn(kept, row, timeline.start_ns[kept], timeline.end_ns[kept])
    return _flattened(drawn, folded[kept]) if folded.any() else drawn


def _flattened(drawn: _Drawn, folded: np.ndarray) -> _Drawn:
    """Cut off what earlier events of a folded lane cover already, and drop what they cover altogether."""
    start, kept = drawn.start_ns.copy(), np.ones(len(folded), bool)
    for row in np.unique(drawn.row[folded]):
        own = np.flatnonzero(drawn.row == row)
        covered = np.maximum.accumulate(drawn.end_ns[own])[:-1]
        start[own[1:]] = np.maximum(start[own[1:]], covered)
        kept[own[1:]] = drawn.end_ns[own[1:]] > start[own[1:]]
    cut = drawn._replace(start_ns=start)
    return _Drawn(*(column[kept] for column in cut))


def _spans(timeline: Columns, axis: Axis, drawn: _Drawn) -> Spans:
    x = axis.pixels(drawn.start_ns)
    # Not the difference of two pixels, which would lose the digits of short events.
    width = (np.minimum(drawn.end_ns, axis.end_ns) - drawn.start_ns) * axis.scale
    return Spans(drawn.row, x, width, timeline.category[drawn.number].astype(np.int64))


def _shapes(
    timeline: Columns, axis: Axis, lanes: Stack, drawn: _Drawn, placed: Placed, outlined: bool
) -> Iterator[Bar | Text]:
    by_lane = {place.lane: place for place in lanes.places}
    spans, titled = _spans(timeline, axis, drawn), len(timeline) <= TITLED
    for run in placed.runs:
        yield from _run(timeline, by_lane[run.row >> 16], run, titled, outlined)
    for i in placed.alone.tolist():
        number, row = int(drawn.number[i]), int(drawn.row[i])
        at = by_lane[row >> 16]
        bar = _bar(timeline, number, at, row & 0xFFFF, spans.x[i], spans.width[i], titled)
        yield bar._replace(outlined=outlined)
        if not outlined and bar.height > SIZES["bar"] and bar.width > 20:
            yield from _label(timeline, number, bar)


def _bar(
    timeline: Columns, number: int, at: Place, depth: int, x: float, width: float, titled: bool
) -> Bar:
    category = CATEGORIES[timeline.category[number]]
    name = cleaned(timeline.names[timeline.name[number]])
    duration = format_seconds(int(timeline.duration_ns[number]) / 1e9)
    tip = f"{name} ({category}, {duration})" if titled else ""
    lane = timeline.lanes[timeline.lane[number]].name
    return Bar(float(x), at.row_y(depth), max(float(width), THIN), at.bar, category, lane, tip=tip)


def _label(timeline: Columns, number: int, bar: Bar) -> Iterator[Text]:
    name = cleaned(timeline.names[timeline.name[number]])
    text = shorten(name, bar.width - 6, SIZES["bar"])
    if text:
        middle, base = bar.x + bar.width / 2, bar.y + bar.height / 2 + 4
        yield Text(middle, base, text, "bar", "middle", category=bar.category)


def _run(timeline: Columns, at: Place, run: Run, titled: bool, outlined: bool) -> Iterator[Bar]:
    """Stack the categories of a stretch of merged events, each as high as its share."""
    high = at.row_y(run.row & 0xFFFF)
    low = high + at.bar
    shares = {CATEGORIES[i]: float(run.share[i]) for i in np.flatnonzero(run.share)}
    parts = ", ".join(f"{share:.0%} {category}" for category, share in shares.items())
    tip = f"{run.events} events merged: {parts}" if titled else ""
    for category, share in shares.items():
        # Even the smallest share can be seen, as long as there is room.
        height = min(max(at.bar * share, LOW), max(low - high, 0.0))
        low -= height
        lane = timeline.lanes[at.lane].name
        yield Bar(
            *(run.x, low, max(run.width, THIN), height, category, lane),
            *(share, run.events, tip, outlined),
        )


class Pair(NamedTuple):
    """A dispatch and what it started, by number."""

    dispatch: int
    target: int


def pairs(timeline: Columns, axis: Axis, shown: list[int]) -> list[Pair]:
    """Return the dispatches and the runs that arrows lead between; none if nobody could follow them."""
    if getattr(timeline, "overlay", ()):
        # The lanes of two timelines lie between each other, and so would their arrows.
        return []
    visible = (
        np.isin(timeline.lane, shown) & (timeline.flow >= 0) & (timeline.end_ns <= axis.end_ns)
    )
    sources = np.flatnonzero(visible & (timeline.category == _DISPATCH))
    flows, first = np.unique(timeline.flow[sources], return_index=True)
    if not 0 < len(flows) <= ARROWS:
        return []
    source = dict(zip(flows.tolist(), sources[first].tolist(), strict=True))
    targets = visible & np.isin(timeline.flow, flows) & np.isin(timeline.category, _TARGETS)
    found: dict[tuple[int, int], Pair] = {}
    for target in np.flatnonzero(targets).tolist():
        pair = Pair(source[int(timeline.flow[target])], target)
        lane, own = (int(timeline.lane[i]) for i in (target, pair.dispatch))
        if lane != own and timeline.start_ns[target] >= timeline.start_ns[pair.dispatch]:
            found.setdefault((pair.dispatch, lane), pair)
    heads = np.unique(axis.pixels(timeline.start_ns[[pair.target for pair in found.values()]]))
    crowded = len(heads) > 1 and float(np.median(np.diff(heads))) < APART
    return [] if crowded or len(found) > ARROWS else [*found.values()]


def arrows(timeline: Columns, axis: Axis, lanes: Stack, chosen: list[Pair]) -> Iterator[Arrow]:
    """Draw arrows from the end of each dispatch, no later than what it started begins, to that beginning."""
    by_lane = {place.lane: place for place in lanes.places}
    for pair in chosen:
        source, target = (by_lane[int(timeline.lane[i])] for i in pair)
        y1, y2 = (
            at.row_y(min(int(timeline.depth[i]), at.rows - 1))
            for at, i in zip((source, target), pair, strict=True)
        )
        down = y2 > y1
        start, end = (axis.x(int(timeline.start_ns[i])) for i in pair)
        # A little inside of the bars, so that it is plain whose ends they are.
        lengths = [int(timeline.duration_ns[i]) * axis.scale for i in pair]
        x2 = end + min(3.0, lengths[1] / 2)
        x1 = min(start + lengths[0] - min(2.0, lengths[0] / 2), x2)
        yield Arrow(x1, y1 + (source.bar if down else 0), x2, y2 + (0 if down else target.bar))
