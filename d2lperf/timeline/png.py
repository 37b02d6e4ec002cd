"""A timeline as a PNG image, for where SVG cannot go: the same layout, colours and hatches."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from collections import defaultdict
from functools import cache
from typing import TYPE_CHECKING, Any

from d2lperf.timeline.furniture import SIZES, WIDTH, Area, Arrow, Key, Line, Text
from d2lperf.timeline.layout import Layout, layout
from d2lperf.timeline.rows import Bar
from d2lperf.timeline.svg import asset, classes
from d2lperf.timeline.timeline import Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 100
"""Pixels of the layout in an inch; the image has `SCALE` times as many."""
SCALE = 2
FONT = "DejaVu Sans"
POINT = 72 / DPI
"""Points in a pixel of the layout."""
HATCHES = {"wait": "////", "copy": "----", "collective": "xxxx"}
"""The patterns of `hatches.svg` in the words of matplotlib."""


def png(timeline: Timeline, *, arrows: bool = True) -> bytes:
    """Return the picture of a timeline as a PNG image with twice the pixels of the SVG.

    Args:
        timeline: what to draw.
        arrows: draw arrows from dispatches to runs, where they can be told apart.

    Returns:
        The bytes of the file; the alternative text is in its `Description`.
    """
    # Not pyplot, which would keep the figure and might open a window.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    placed = layout(timeline, with_arrows=arrows)
    figure = Figure((WIDTH / DPI, placed.height / DPI), dpi=DPI * SCALE, facecolor="#fff")
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, WIDTH), ylim=(placed.height, 0))
    axes.set_axis_off()
    _draw(axes, placed)
    file = io.BytesIO()
    described = timeline.picture(arrows=arrows).alt
    canvas.print_png(file, metadata={"Software": "d2lperf", "Description": described})
    return file.getvalue()


def _draw(axes: Axes, placed: Layout) -> None:
    _lines(axes, placed.only(Line))
    for area in placed.only(Area):
        _polygons(axes, f"polygon.{area.role}", [area.points])
    for arrow in placed.only(Arrow):
        _arrow(axes, arrow)
    for kind, corners in _boxes(placed).items():
        _polygons(axes, "rect." + ".".join(kind), corners)
    for text in placed.only(Text):
        _text(axes, text)


def _boxes(placed: Layout) -> dict[tuple[str, ...], list[Any]]:
    """Return the corners of bars that look alike, merged ones first and outlines last."""
    boxes: dict[tuple[str, ...], list[Any]] = defaultdict(list)
    for key in placed.only(Key):
        boxes[key.category,].append(_corners(key.x, key.y, 13, 10))
    for bar in sorted(placed.only(Bar), key=lambda bar: (bar.outlined, not bar.merged)):
        boxes[tuple(classes(bar))].append(_corners(bar.x, bar.y, bar.width, bar.height))
    return dict(sorted(boxes.items(), key=lambda item: "outlined" in item[0]))


def _corners(x: float, y: float, width: float, height: float) -> list[tuple[float, float]]:
    return [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]


def _polygons(axes: Axes, selector: str, corners: list[Any]) -> None:
    from matplotlib.collections import PolyCollection

    look = _look(selector)
    pattern = re.fullmatch(r"url\(#(\w+)\)", look.get("fill", "none"))
    hatch: dict[str, Any] = {}
    face = look.get("fill", "none")
    if pattern:
        face, ink, width = _patterns()[pattern[1]]
        hatch = {"hatch": HATCHES[pattern[1]], "hatchcolor": ink}
    polygons = PolyCollection(
        corners,
        facecolors=face,
        edgecolors=look.get("stroke", "none"),
        linewidths=_stroke(look) * POINT,
        linestyles=_dashes(look),
        **hatch,
    )
    if pattern:
        polygons.set_hatch_linewidth(width * POINT)
    axes.add_collection(polygons, autolim=False)


def _lines(axes: Axes, lines: list[Line]) -> None:
    from matplotlib.collections import LineCollection

    # As in the document: the grid is drawn first, marks and budgets last.
    by_role: dict[str, list[Any]] = defaultdict(list)
    for line in lines:
        by_role[line.role].append([(line.x1, line.y1), (line.x2, line.y2)])
    for role, ends in by_role.items():
        look = _look(f"line.{role}")
        width = _stroke(look) * POINT
        front = 3 if role in ("mark", "budget") else 0.5
        axes.add_collection(
            LineCollection(
                ends,
                colors=look["stroke"],
                linewidths=width,
                linestyles=_dashes(look),
                zorder=front,
            ),
            autolim=False,
        )


def _arrow(axes: Axes, arrow: Arrow) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    a, b = arrow.controls
    points = [(arrow.x1, arrow.y1), (arrow.x1, a), (arrow.x2, b), (arrow.x2, arrow.y2)]
    curve = Path(points, [Path.MOVETO, *[Path.CURVE4] * 3])
    look = _look("path.arrow")
    axes.add_patch(
        PathPatch(
            curve,
            fill=False,
            edgecolor=look["stroke"],
            linewidth=_stroke(look) * POINT,
            alpha=float(look["stroke-opacity"]),
        )
    )
    _polygons(axes, "polygon.head", [arrow.head])


def _text(axes: Axes, text: Text) -> None:
    from matplotlib.patheffects import withStroke

    look = _look("text." + ".".join(filter(None, (text.role, text.category))))
    halo = "stroke" in look
    width = _stroke(look) * POINT
    axes.text(
        text.x,
        text.y,
        _drawable(text.text),
        fontsize=SIZES[text.role] * POINT,
        fontfamily=FONT,
        fontweight="bold" if "font-weight" in look else "normal",
        color=look["fill"],
        ha={"start": "left", "middle": "center", "end": "right"}[text.anchor],
        va="baseline",
        parse_math=False,
        usetex=False,
        zorder=5,
        path_effects=[withStroke(linewidth=width, foreground=look["stroke"])] if halo else [],
    )


def _stroke(look: dict[str, str]) -> float:
    """Return the width of a line in pixels."""
    return float(look.get("stroke-width", "1").removesuffix("px"))


def _dashes(look: dict[str, str]) -> Any:
    dashes = look.get("stroke-dasharray", "none")
    if dashes == "none":
        return "solid"
    # Matplotlib counts dashes in widths of the line.
    width = _stroke(look)
    return (0, tuple(float(length) / width for length in dashes.split()))


def _look(selector: str) -> dict[str, str]:
    """Return the properties that the style sheet gives to an element, such as `rect.wait.thin`."""
    element, *names = selector.split(".")
    look: dict[str, str] = {}
    for tag, wanted, properties in sorted(_rules(), key=lambda rule: len(rule[1])):
        if tag in ("", element) and wanted <= {*names}:
            look |= properties
    return look


@cache
def _rules() -> list[tuple[str, frozenset[str], dict[str, str]]]:
    """Return the rules of the style sheet: element, classes, properties."""
    rules = []
    for selectors, block in re.findall(r"([^{}]+)\{([^}]*)\}", asset("picture.css")):
        pairs = (pair.split(":", 1) for pair in block.split(";") if ":" in pair)
        properties = {key.strip(): value.strip() for key, value in pairs}
        for selector in selectors.split(","):
            tag, *names = selector.strip().split(".")
            rules.append((tag, frozenset(names), properties))
    return rules


@cache
def _patterns() -> dict[str, tuple[str, str, float]]:
    """Return paper, ink and width of the lines of each hatch."""
    patterns = {}
    for pattern in ET.fromstring(asset("hatches.svg")):
        paper, lines = pattern
        ink, width = lines.attrib["stroke"], float(lines.attrib["stroke-width"])
        patterns[pattern.attrib["id"]] = (paper.attrib["fill"], ink, width)
    return patterns


def _drawable(text: str) -> str:
    """Replace letters that the font does not have, which would be a warning and an empty box."""
    known = _letters()
    return "".join(letter if ord(letter) in known else "□" for letter in text)


@cache
def _letters() -> frozenset[int]:
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont(FONT)).get_charmap())
