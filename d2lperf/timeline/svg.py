"""A schedule as a static picture."""

from __future__ import annotations

import base64
import html
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from d2lperf.events import Event, EventLog
from d2lperf.units import format_bytes, format_seconds

WIDTH = 860
LANE = 30
TOP = 26
STRIP = 54
NOTE = 12
RIGHT = 26
TITLED = 200
"""Events up to which every bar says what it is when pointed at; more would only make the file large."""
GLYPH = 6.2
"""Width of an average letter at the font size used, in pixels: enough to know which labels fit."""


@dataclass(frozen=True)
class Picture:
    """A drawn schedule.

    Attributes:
        svg: the drawing, one self-contained SVG document.
        alt: what it shows, in a sentence for readers who cannot see it.
        caption: a line to stand under it.
    """

    svg: str
    alt: str
    caption: str

    def as_img(self) -> str:
        """Return an HTML image that needs no script and no other file."""
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img class="d2lperf-picture" src="data:image/svg+xml;base64,{data}" alt="{html.escape(self.alt)}">'

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        caption = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        return {
            "text/plain": self.alt,
            "text/html": f'<figure style="margin:0">{self.as_img()}{caption}</figure>',
        }


class _Bar(NamedTuple):
    x: float
    width: float
    event: Event
    merged: int


def picture(
    log: EventLog,
    *,
    title: str = "",
    caption: str = "",
    end_s: float | None = None,
    memory: tuple[Sequence[int], Sequence[int]] | None = None,
    budget_bytes: int | None = None,
) -> Picture:
    """Draw the events of a log, a lane each for the host and every device.

    Args:
        log: what to draw.
        title: a line above the lanes.
        caption: a line below the picture; by default a summary of the lanes.
        end_s: right end of the time axis in seconds, to draw several logs on one scale; by default the log's own end.
        memory: times in nanoseconds and the bytes held from each of them on: a strip under the lanes.
        budget_bytes: a line across that strip.

    Returns:
        The picture. Bars narrower than a pixel are merged, and the picture says how many.
    """
    end_ns = max(log.end_ns, 1) if end_s is None else max(round(end_s * 1e9), 1)
    left = 12 + GLYPH * max(map(len, (*log.lanes, "10 letters")))
    scale = (WIDTH - left - RIGHT) / end_ns
    lanes: dict[str, list[Event]] = {lane: [] for lane in log.lanes}
    for event in log:
        if event.start_ns <= end_ns:
            lanes[event.lane].append(event)
    bottom = TOP + LANE * len(lanes)
    height = bottom + 24 + (STRIP if memory else 0) + NOTE
    body, merged = [_legend(log), _axis(left, bottom, end_ns, scale)], 0
    titled = len(log) <= TITLED
    for row, (lane, events) in enumerate(lanes.items()):
        y = TOP + LANE * row
        body.append(_tag("text", lane, cls="lane", x=left - 8, y=y + 19))
        body.append(_rule("rule", left, y + LANE, WIDTH - RIGHT, y + LANE))
        for bar in _bars(events, scale, left):
            merged += bar.merged
            body.append(_draw(bar, y, titled))
    if memory:
        body.append(_strip(memory, budget_bytes, left, bottom + 24, end_ns, scale))
    note = f"{merged} bars narrower than a pixel are merged" if merged else ""
    card = _tag("rect", cls="card", width=WIDTH, height=height)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'width="{WIDTH}" height="{height}" role="img"><style>{_css()}</style>{_HATCH}'
        f"{card}{_tag('text', title, cls='title', x=8, y=17)}{''.join(body)}"
        f"{_tag('text', note, cls='note', x=8, y=height - 3)}</svg>"
    )
    summary = summarise(log)
    return Picture(svg, f"{title}. {summary}" if title else summary, caption or summary)


def summarise(log: EventLog) -> str:
    """Return one sentence a lane: how long the host waited, how busy each device was."""
    total_ns = max(log.end_ns, 1)
    spent: dict[tuple[str, str], int] = defaultdict(int)
    for event in log:
        spent[event.lane, event.category] += event.duration_ns
    parts = [f"{format_seconds(total_ns / 1e9)} altogether"]
    for lane in log.lanes:
        wait_ns = spent.get((lane, "wait"), 0)
        if wait_ns:
            parts.append(f"{lane} waits {wait_ns / total_ns:.0%} of the time")
        if (lane, "run") in spent:
            parts.append(f"{lane} busy {spent[lane, 'run'] / total_ns:.0%}")
    return "; ".join(parts) + "."


def _bars(events: list[Event], scale: float, left: float) -> list[_Bar]:
    """Place the events of one lane; runs of bars too narrow to see become one."""
    bars: list[_Bar] = []
    for event in sorted(events):
        if not event.duration_ns:
            continue
        x, width = left + event.start_ns * scale, event.duration_ns * scale
        last = bars[-1] if bars else None
        if (
            last
            and width < 1
            and (last.width < 1 or last.merged)
            and last.event.category == event.category
            and x - (last.x + last.width) < 0.5
        ):
            bars[-1] = _Bar(last.x, x + width - last.x, last.event, last.merged + 1)
        else:
            bars.append(_Bar(x, width, event, 0))
    return bars


def _draw(bar: _Bar, y: float, titled: bool) -> str:
    event = bar.event
    name = f"{bar.merged + 1} × {event.category}" if bar.merged else event.name
    duration = "" if bar.merged else f", {format_seconds(event.duration_ns / 1e9)}"
    fits = int((bar.width - 6) / GLYPH)
    label = name if len(name) <= fits else (name[: fits - 1] + "…" if fits >= 4 else "")
    text = ""
    if label:
        middle = bar.x + bar.width / 2
        text = _tag("text", label, cls=f"bar {event.category}", x=middle, y=y + 20)
    tip = f"<title>{html.escape(name)} ({event.category}{duration})</title>" if titled else ""
    thin = " thin" if bar.width < 3 and not bar.merged else ""
    cls, width = event.category + thin, max(bar.width, 0.6)
    return _tag("rect", cls=cls, inside=tip, x=bar.x, y=y + 4, width=width, height=LANE - 8) + text


LEGEND = {
    "dispatch": "dispatches",
    "host": "host works",
    "wait": "waits",
    "compile": "compiles",
    "run": "device works",
}


def _legend(log: EventLog) -> str:
    """Explain the kinds of bars that occur, at the top right."""
    present = {event.category for event in log}
    x, parts = float(WIDTH - RIGHT), []
    for category, words in reversed(LEGEND.items()):
        if category in present:
            x -= GLYPH * len(words) + 6
            parts.append(_tag("text", words, cls="tip", x=x, y=16))
            x -= 18
            parts.append(_tag("rect", cls=f"{category} key", x=x, y=7, width=13, height=10))
            x -= 8
    return "".join(parts)


def _axis(left: float, y: float, end_ns: int, scale: float) -> str:
    step = _step(end_ns)
    ticks = []
    for i in range(int(end_ns // step) + 1):
        x = left + i * step * scale
        label = format_seconds(i * step / 1e9) if i else "0"
        ticks.append(_rule("tick", x, TOP, x, y + 4))
        ticks.append(_tag("text", label, cls="tick", x=x, y=y + 17))
    return "".join(ticks)


def _step(end_ns: int) -> float:
    """Return a round distance of axis ticks, 1, 2 or 5 times a power of ten, for five to ten of them."""
    power = 10.0 ** len(str(int(end_ns)))
    steps = (power / d for d in (1, 2, 5, 10, 20, 50, 100, 200, 500))
    return next(step for step in steps if end_ns / step >= 5)


def _strip(
    memory: tuple[Sequence[int], Sequence[int]],
    budget_bytes: int | None,
    left: float,
    y: float,
    end_ns: int,
    scale: float,
) -> str:
    times, held = memory
    peak = max(held, default=0)
    top = max(peak, budget_bytes or 0, 1)
    height = STRIP - 12

    def up(nbytes: int) -> float:
        return y + height - height * nbytes / top

    points = [f"{left:.1f},{up(0):.1f}"]
    level = 0
    for time_ns, nbytes in zip(times, held, strict=True):
        x = left + min(time_ns, end_ns) * scale
        points += [f"{x:.1f},{up(level):.1f}", f"{x:.1f},{up(nbytes):.1f}"]
        level = nbytes
    right = left + end_ns * scale
    points += [f"{right:.1f},{up(level):.1f}", f"{right:.1f},{up(0):.1f}"]
    parts = [
        _tag("text", "memory", cls="lane", x=left - 8, y=y + 20),
        _tag("text", format_bytes(peak), cls="lane", x=left - 8, y=y + 34),
        f'<polygon class="memory" points="{" ".join(points)}"/>',
    ]
    if budget_bytes:
        parts.append(_rule("budget", left, up(budget_bytes), right, up(budget_bytes)))
    return "".join(parts)


def _tag(name: str, text: str = "", *, cls: str, inside: str = "", **numbers: float) -> str:
    """Return one SVG element; `text` is escaped, `inside` is markup already."""
    at = "".join(f' {key}="{value:.1f}"' for key, value in numbers.items())
    return f'<{name} class="{cls}"{at}>{html.escape(text)}{inside}</{name}>'


def _rule(cls: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return _tag("line", cls=cls, x1=x1, y1=y1, x2=x2, y2=y2)


_HATCH = (
    '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="6" height="6" fill="#fff"/>'
    '<line x1="0" y1="0" x2="0" y2="6" stroke="#555" stroke-width="2"/></pattern></defs>'
)


@cache
def _css() -> str:
    return files("d2lperf.timeline").joinpath("picture.css").read_text("utf-8")
