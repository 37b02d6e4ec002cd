"""A timeline as a static picture with words for those who cannot see it."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from d2lperf.events import EventLog, Strip
from d2lperf.timeline.timeline import Timeline


@dataclass(frozen=True)
class Picture:
    """A drawn timeline.

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


def picture(
    timeline: Timeline | EventLog,
    *,
    arrows: bool = True,
    title: str = "",
    caption: str = "",
    end_s: float | None = None,
    memory: tuple[Sequence[int], Sequence[int]] | None = None,
    budget_bytes: int | None = None,
) -> Picture:
    """Draw a timeline, a lane each for the host and every device.

    Args:
        timeline: what to draw; a log is made into a timeline with the options that follow.
        arrows: draw an arrow from a dispatch to its run, where they are few enough to be told apart.
        title: of a log: a line above the lanes.
        caption: of a log: a line below the picture; by default a summary of the lanes.
        end_s: of a log: right end of the time axis in seconds, to draw several on one scale; by default its own end.
        memory: of a log: times in nanoseconds and the bytes held from each of them on: a strip under the lanes.
        budget_bytes: of a log: a line across that strip.

    Returns:
        The picture. Bars narrower than a pixel are merged, and the picture says how many.
    """
    from d2lperf.timeline.analyse import summarise
    from d2lperf.timeline.layout import layout
    from d2lperf.timeline.svg import svg

    if isinstance(timeline, EventLog):
        end_ns = None if end_s is None else round(end_s * 1e9)
        strips = [_memory(memory, budget_bytes)] if memory else []
        timeline = Timeline.from_log(
            timeline, title=title, caption=caption, end_ns=end_ns, strips=strips
        )
    summary = summarise(timeline)
    alt = f"{timeline.title}. {summary}" if timeline.title else summary
    return Picture(svg(layout(timeline, with_arrows=arrows)), alt, timeline.caption or summary)


def _memory(memory: tuple[Sequence[int], Sequence[int]], budget_bytes: int | None) -> Strip:
    times, held = memory
    return Strip("memory", tuple(times), tuple(held), budget_bytes)
