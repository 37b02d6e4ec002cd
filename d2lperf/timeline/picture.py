"""A timeline as a static picture with words for those who cannot see it."""

from __future__ import annotations

import base64
import html
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

    def as_figure(self) -> str:
        """Return the image with its caption as HTML."""
        caption = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        return f'<figure style="margin:0">{self.as_img()}{caption}</figure>'

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": self.alt, "text/html": self.as_figure()}


def picture(timeline: Timeline, *, arrows: bool = True) -> Picture:
    """Draw a timeline.

    Args:
        timeline: what to draw.
        arrows: draw an arrow from a dispatch to its run, where they are few enough to be told apart.

    Returns:
        The picture. Bars narrower than a pixel are merged, and the picture says how many.
    """
    from d2lperf.timeline.layout import layout
    from d2lperf.timeline.svg import svg

    summary = timeline.summary()
    alt = f"{timeline.title}. {summary}" if timeline.title else summary
    return Picture(svg(layout(timeline, with_arrows=arrows)), alt, timeline.caption or summary)
