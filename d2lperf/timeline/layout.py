"""Where everything in a picture of a timeline stands: geometry only, drawn by `svg` and by `png`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from d2lperf.events import CATEGORIES
from d2lperf.timeline.axis import Axis, axis_of
from d2lperf.timeline.furniture import (
    BOLD,
    EDGE,
    LEGEND,
    RIGHT,
    SIZES,
    STRIP,
    WIDTH,
    Area,
    Arrow,
    Key,
    Line,
    Text,
    flags,
    heading,
    strip,
)
from d2lperf.timeline.lanes import Stack, choose, named_groups, stack
from d2lperf.timeline.lettering import cleaned, shorten, width_of, wrap
from d2lperf.timeline.rows import Bar, arrows, fill, pairs
from d2lperf.timeline.timeline import Timeline

GUTTER = 215.0
"""The most pixels that names of lanes and groups may take."""
JOINTS = (" · ", ": ", "/", " ")
"""What may stand between the name of a group and the rest of a lane's name."""
GROUP = 90.0
"""The most pixels that the name of a group may take."""
SPREAD = 14.0
"""Pixels between lanes that arrows need."""
NOTE = 14.0
"""Height of a line of notes."""

Shape = Bar | Key | Text | Line | Area | Arrow
Kind = TypeVar("Kind", Bar, Key, Text, Line, Area, Arrow)


@dataclass(frozen=True)
class Layout:
    """A picture of a timeline before it is drawn; all lengths in pixels.

    Attributes:
        height: height of the whole; it is `WIDTH` wide.
        axis: times and pixels.
        stack: where the lanes are.
        shapes: everything to draw: `Bar`, `Key`, `Text`, `Line`, `Area`, `Arrow`.
    """

    height: float
    axis: Axis
    stack: Stack
    shapes: tuple[Shape, ...]

    def only(self, kind: type[Kind]) -> list[Kind]:
        """Return the shapes of a kind in the order in which they are drawn."""
        return [shape for shape in self.shapes if isinstance(shape, kind)]


def layout(timeline: Timeline, *, with_arrows: bool = True) -> Layout:
    """Give everything in the picture of a timeline its place.

    Args:
        timeline: what to draw.
        with_arrows: draw arrows from dispatches to runs, where they can be told apart.
    """
    over = _overlaid(timeline)
    choice = choose(timeline, over)
    room = GUTTER - _beside(timeline, [*choice.rows])
    labels = _labels(timeline, [*choice.rows], room)
    left = _gutter(timeline, labels, room)
    axis = axis_of(timeline, left, WIDTH - RIGHT, timeline.axis_end_ns)
    joined = pairs(timeline, axis, [*choice.rows]) if with_arrows else []
    head = heading(cleaned(timeline.title), _legend(timeline, [*choice.rows, *over]))
    marks = [mark for mark in timeline.marks if axis.begin_ns <= mark.time_ns <= axis.end_ns]
    top = head.bottom + flags(marks, axis, 0, 0).height
    lanes = stack(timeline, choice.rows, top, spread=SPREAD if joined else 0)
    bottom = lanes.bottom + STRIP * len(timeline.strips)
    flown = flags(marks, axis, head.bottom - 4, bottom)
    bars = fill(timeline, axis, lanes, over)
    notes = [*timeline.notes, *bars.notes, *choice.notes]
    if flown.silent:
        notes.append(f"{flown.silent} marks are too close to others for their text.")
    if outside := len(timeline.marks) - len(marks):
        notes.append(f"Marks before or after the axis, and so not drawn: {outside}.")
    written = [*_notes(notes, bottom + 20)]
    shapes = (
        *head.shapes,
        *_grid(axis, top, bottom),
        *_frame(timeline, lanes, labels, axis),
        *(
            shape
            for i, one in enumerate(timeline.strips)
            for shape in strip(one, axis, lanes.bottom + i * STRIP)
        ),
        # Under the bars: an arrow that crosses a lane must not cross out its labels.
        *arrows(timeline, axis, lanes, joined),
        *bars.shapes,
        *flown.shapes,
        *written,
    )
    return Layout(bottom + 28 + NOTE * len(written), axis, lanes, shapes)


def _overlaid(timeline: Timeline) -> dict[int, int]:
    """Return the lanes drawn as outlines, by number, and over which lane."""
    if getattr(timeline, "arrange", "") != "over":
        return {}
    pairs = getattr(timeline, "overlay", ())
    return {timeline.lane_number(b): timeline.lane_number(a) for a, b in pairs}


def _labels(timeline: Timeline, shown: list[int], room: float) -> dict[int, tuple[str, str]]:
    """Return the names of lanes as they are shown, and the whole name where that is not all of it."""
    named = named_groups(timeline, shown)
    variant = getattr(timeline, "variants", ("",))[0] if _overlaid(timeline) else ""
    labels = {}
    for number in shown:
        lane = timeline.lanes[number]
        name = full = cleaned(lane.name)
        prefixes = [f"{variant} · "] if variant else []
        # Beside the name of its group a lane need not repeat it.
        prefixes += [lane.group + joint for joint in JOINTS] if lane.group in named else []
        for prefix in prefixes:
            name = name.removeprefix(prefix) or name
        name = shorten(name, room, SIZES["lane"], middle=True)
        labels[number] = (name, full if name != full else "")
    return labels


def _beside(timeline: Timeline, shown: list[int]) -> float:
    """Return the pixels that names of groups take beside the names of lanes."""
    names = map(cleaned, named_groups(timeline, shown))
    widths = [width_of(name, SIZES["group"] * BOLD) for name in names]
    return 12 + min(max(widths), GROUP) if widths else 0.0


def _gutter(timeline: Timeline, labels: dict[int, tuple[str, str]], room: float) -> float:
    """Return the pixels that all these names take."""
    names = [name for name, _ in labels.values()]
    names += [shorten(cleaned(s.name), room, SIZES["lane"], middle=True) for s in timeline.strips]
    names += ["peak 1000 MiB"] if timeline.strips else []
    widest = max((width_of(name, SIZES["lane"]) for name in names), default=0)
    return 2 * EDGE + 2 + widest + _beside(timeline, [*labels])


def _legend(timeline: Timeline, shown: list[int]) -> dict[str, str]:
    """Explain the categories of the lanes shown, and which of two timelines has outlines."""
    own = timeline.category[np.isin(timeline.lane, shown)]
    present = {CATEGORIES[i] for i in np.unique(own)}
    words = {category: category for category in LEGEND if category in present}
    if _overlaid(timeline):
        filled, outlined = getattr(timeline, "variants", ("", ""))
        words |= {"filled": filled or "first", "outlined": outlined or "second"}
    return words


def _grid(axis: Axis, top: float, bottom: float) -> Iterator[Shape]:
    for x, label in axis.ticks():
        yield Line(x, top, x, bottom + 4, "tick")
        yield Text(x, bottom + 17, label, "tick", "middle")


def _frame(
    timeline: Timeline, lanes: Stack, labels: dict[int, tuple[str, str]], axis: Axis
) -> Iterator[Shape]:
    """Draw names of lanes and groups and the lines between lanes."""
    for place in lanes.places:
        name, tip = labels[place.lane]
        low = place.y + place.height
        # The name stands beside the first row, which the others hang from.
        middle = place.row_y(0) + place.bar / 2 + 4
        role = "lane" if place.bar > SIZES["lane"] else "detail"
        yield Text(axis.left - EDGE, middle, name, role, "end", tip)
        yield Line(axis.left, low, axis.right, low, "rule")
        if place.lane in lanes.groups:
            whole = cleaned(lanes.groups[place.lane])
            short = shorten(whole, GROUP, SIZES["group"] * BOLD, middle=True)
            yield Text(EDGE, middle, short, "group", tip=whole if short != whole else "")
            yield Line(EDGE, place.y, axis.left, place.y, "rule")


def _notes(notes: list[str], y: float) -> Iterator[Text]:
    lines = [
        line for note in notes for line in wrap(cleaned(note), WIDTH - 2 * EDGE, SIZES["note"])
    ]
    for i, line in enumerate(lines, 1):
        yield Text(EDGE, y + NOTE * i, line, "note")
