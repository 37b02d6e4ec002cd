"""A layout as one SVG document."""

from __future__ import annotations

import html
from functools import cache
from importlib.resources import files

from d2lperf.timeline.furniture import WIDTH, Area, Arrow, Key, Line, Text
from d2lperf.timeline.layout import Layout
from d2lperf.timeline.rows import Bar

ANCHORS = {"start": "", "middle": ' text-anchor="middle"', "end": ' text-anchor="end"'}


def svg(layout: Layout) -> str:
    """Return a self-contained SVG document: no script, no other file, no style of the page around it."""
    size = f"{WIDTH:.0f} {layout.height:.0f}"
    width, height = size.split()
    draw = {Bar: _bar, Key: _key, Text: _text, Line: _line, Area: _area, Arrow: _arrow}
    body = "".join(draw[type(shape)](shape) for shape in layout.shapes)  # type: ignore[operator]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{width}" height="{height}" '
        f'role="img"><style>{asset("picture.css")}</style>{asset("hatches.svg")}'
        f'<rect class="card" width="{width}" height="{height}"/>{body}</svg>'
    )


def _bar(bar: Bar) -> str:
    return _rect(" ".join(classes(bar)), bar.x, bar.y, bar.width, bar.height, bar.tip)


def classes(bar: Bar) -> list[str]:
    """Return what the style sheet knows a bar by: its category and how it is to be drawn."""
    if bar.outlined:
        return [bar.category, "outlined"]
    # In a few pixels a stroke would hide the fill, and a hatch could not be seen.
    small = ["thin"] if bar.width < 3 or bar.height < 5 else []
    return [bar.category, *(["merged"] if bar.merged else []), *small]


def _key(key: Key) -> str:
    return _rect(f"{key.category} key", key.x, key.y, 13, 10)


def _text(text: Text) -> str:
    kind = f"{text.role} {text.category}".rstrip()
    at = f'x="{_px(text.x)}" y="{_px(text.y)}"{ANCHORS[text.anchor]}'
    return f'<text class="{kind}" {at}>{html.escape(text.text)}{_title(text.tip)}</text>'


def _line(line: Line) -> str:
    at = " ".join(f'{key}="{_px(getattr(line, key))}"' for key in ("x1", "y1", "x2", "y2"))
    return f'<line class="{line.role}" {at}/>'


def _area(area: Area) -> str:
    return f'<polygon class="{area.role}" points="{_points(area.points)}"/>'


def _arrow(arrow: Arrow) -> str:
    x1, y1, x2, y2 = map(_px, arrow)
    a, b = map(_px, arrow.controls)
    curve = f'<path class="arrow" d="M{x1} {y1}C{x1} {a} {x2} {b} {x2} {y2}"/>'
    return f'{curve}<polygon class="head" points="{_points(arrow.head)}"/>'


def _rect(kind: str, x: float, y: float, width: float, height: float, tip: str = "") -> str:
    at = f'x="{_px(x)}" y="{_px(y)}" width="{_px(width)}" height="{_px(height)}"'
    inside = _title(tip)
    return (
        f'<rect class="{kind}" {at}>{inside}</rect>' if inside else f'<rect class="{kind}" {at}/>'
    )


def _title(tip: str) -> str:
    return f"<title>{html.escape(tip)}</title>" if tip else ""


def _points(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{_px(x)},{_px(y)}" for x, y in points)


def _px(pixels: float) -> str:
    """Write a length to a hundredth of a pixel, without needless digits."""
    return f"{pixels:.2f}".rstrip("0").rstrip(".")


@cache
def asset(name: str) -> str:
    """Return a file that lies beside this module, in one line."""
    text = files("d2lperf.timeline").joinpath(name).read_text("utf-8")
    return "".join(line.strip() for line in text.splitlines())
