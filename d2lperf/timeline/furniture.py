"""What stands around the bars of a picture: title, legend, flags, strips."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from d2lperf.events import Mark, Strip
from d2lperf.timeline.axis import Axis
from d2lperf.timeline.lettering import cleaned, shorten, width_of
from d2lperf.units import format_bytes

WIDTH = 860.0
EDGE = 8.0
BOLD = 1.1
"""How much wider bold letters are."""
RIGHT = 26.0
STRIP = 54.0
FLAG = 15.0
FLAG_ROWS = 3
SIZES = {
    "title": 12.0,
    "lane": 12.0,
    "group": 11.0,
    "bar": 11.0,
    "legend": 11.0,
    "flag": 11.0,
    "tick": 10.5,
    "note": 10.5,
    "detail": 10.5,
}
"""Sizes of letters in pixels by role; the style sheet has the same ones."""
LEGEND = ("dispatch", "host", "wait", "compile", "run", "copy", "collective", "runtime")
"""Categories in the order of the legend; they are called there what `select` and the live view call them."""


class Text(NamedTuple):
    """A line of text.

    Attributes:
        x: where it begins, ends or has its middle, in pixels.
        y: its base line.
        text: what is written.
        role: what it is, a key of `SIZES`.
        anchor: `start`, `middle` or `end`.
        tip: the whole text if it had to be shortened.
        category: category of the bar that it stands on.
    """

    x: float
    y: float
    text: str
    role: str
    anchor: str = "start"
    tip: str = ""
    category: str = ""


class Line(NamedTuple):
    """A straight line; the role says how it looks."""

    x1: float
    y1: float
    x2: float
    y2: float
    role: str


class Area(NamedTuple):
    """A filled shape; the role says how it looks."""

    points: list[tuple[float, float]]
    role: str


class Arrow(NamedTuple):
    """From the end of a dispatch to the start of its run, an S that leaves and arrives upright."""

    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def controls(self) -> tuple[float, float]:
        """Heights of the two points that bend the curve; they stand below and above its ends."""
        return self.y1 + 0.55 * (self.y2 - self.y1), self.y2 - 0.75 * (self.y2 - self.y1)

    @property
    def head(self) -> list[tuple[float, float]]:
        """The corners of its head."""
        back = self.y2 - (5.0 if self.y2 > self.y1 else -5.0)
        return [(self.x2, self.y2), (self.x2 - 2.6, back), (self.x2 + 2.6, back)]


class Key(NamedTuple):
    """A small bar that stands for a category in the legend."""

    x: float
    y: float
    category: str


class Heading(NamedTuple):
    """Title and legend, and where they end."""

    shapes: list[Key | Text]
    bottom: float


def heading(title: str, words: dict[str, str]) -> Heading:
    """Place the title at the left and the legend at the right, one below the other if they would touch.

    Args:
        title: a line, may be empty.
        words: what each kind of bar means, by category.
    """
    room = WIDTH - 2 * EDGE
    short = shorten(title, room, SIZES["title"] * BOLD)
    lengths = {
        category: 18 + width_of(text, SIZES["legend"]) + 12 for category, text in words.items()
    }
    total = sum(lengths.values())
    below = bool(words) and bool(title) and total + width_of(short, SIZES["title"] * BOLD) > room
    y, x = (35.0 if below else 16.0), max(WIDTH - EDGE - total + 12, EDGE)
    shapes = list[Key | Text]()
    if short:
        shapes.append(Text(EDGE, 17, short, "title", tip=title if short != title else ""))
    for category, text in words.items():
        shapes += [Key(x, y - 9, category), Text(x + 18, y, text, "legend")]
        x += lengths[category]
    return Heading(shapes, y + 10)


class Flags(NamedTuple):
    """Flags of marks: poles, cloths and text, how many got no text, and how high they are together."""

    shapes: list[Line | Area | Text]
    silent: int
    height: float


def flags(marks: Iterable[Mark], axis: Axis, top: float, bottom: float) -> Flags:
    """Place the flags above the lanes in up to three rows; poles reach down to `bottom`.

    A mark too close to others for its text has a pole only.
    """
    ends: list[float] = []
    poles, shapes = list[Line | Area | Text](), list[Line | Area | Text]()
    for mark in marks:
        x, text = axis.x(mark.time_ns), cleaned(mark.text)
        short = shorten(text, 180, SIZES["flag"])
        length = 14 + width_of(short, SIZES["flag"])
        # At the right edge a flag flies to the left.
        side = 1 if x + length <= WIDTH else -1
        left = x if side > 0 else x - length
        row = next((i for i, end in enumerate(ends) if end <= left), len(ends))
        y = top + FLAG * row
        if row == FLAG_ROWS:
            poles.append(Line(x, top + FLAG * FLAG_ROWS, x, bottom, "mark"))
            continue
        ends[row:] = [left + length, *ends[row + 1 :]]
        poles.append(Line(x, y, x, bottom, "mark"))
        shapes.append(Area([(x, y), (x + 7 * side, y + 4), (x, y + 8)], "flag"))
        tip, anchor = text if text != short else "", "start" if side > 0 else "end"
        shapes.append(Text(x + 10 * side, y + 9, short, "flag", anchor, tip))
    silent = len(poles) - len(shapes) // 2
    return Flags(poles + shapes, silent, FLAG * len(ends))


def strip(one: Strip, axis: Axis, y: float) -> Iterator[Text | Line | Area]:
    """Draw a quantity over time as an area, with its name, its peak and its budget.

    Args:
        one: the quantity.
        axis: the time axis.
        y: upper end of the `STRIP` pixels that it may take.
    """
    base, height = y + STRIP - 4, STRIP - 14
    top = max(one.peak, one.budget or 0, 1)
    name = cleaned(one.name)
    short = shorten(name, axis.left - EDGE - 12, SIZES["lane"], middle=True)
    tip = name if short != name else ""
    yield Text(axis.left - EDGE, y + 24, short, "lane", "end", tip)
    yield Text(axis.left - EDGE, y + 39, f"peak {format_bytes(one.peak)}", "detail", "end")
    steps = _steps(one, axis)
    points = [(x, base - height * value / top) for x, value in steps]
    yield Area([(points[0][0], base), *points, (points[-1][0], base)], "memory")
    yield Line(axis.left, base, axis.right, base, "rule")
    if one.budget:
        level = base - height * one.budget / top
        yield Line(axis.left, level, axis.right, level, "budget")
        words = f"budget {format_bytes(one.budget)}"
        yield Text(axis.right - 4, level + 11, words, "detail", "end")


def _steps(one: Strip, axis: Axis) -> list[tuple[float, float]]:
    """Return the corners of a quantity that holds until it changes; of many changes in a pixel, the largest."""
    if not one.times_ns:
        return [(axis.left, 0), (axis.right, 0)]
    times, values = np.array(one.times_ns, np.int64), np.array(one.values, np.float64)
    x = axis.pixels(times)
    heads = np.flatnonzero(np.diff(np.floor(x * 2), prepend=-1.0))
    tails = np.append(heads[1:], len(x)) - 1
    level = float(values[times < axis.begin_ns][-1]) if times[0] < axis.begin_ns else 0.0
    corners = [(axis.left, level)]
    for at, highest, last in zip(
        x[heads], np.maximum.reduceat(values, heads), values[tails], strict=True
    ):
        corners += [(at, level), (at, highest)] + ([(at, last)] if last != highest else [])
        level = last
    return [*corners, (axis.right, level)]
