"""Matplotlib figures that say in words what they show."""

import base64
import html
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DOTS_PER_INCH = 144
_CSS_PIXELS_PER_INCH = 100


@dataclass(frozen=True)
class DescribedFigure:
    """A drawn figure with a description for readers who cannot see it.

    Attributes:
        png: the image.
        alt: what it shows, in a sentence or two.
        width: how wide to show it, in CSS pixels.
    """

    png: bytes
    alt: str
    width: int

    def as_img(self) -> str:
        """Return an HTML image that needs no other file."""
        data = base64.b64encode(self.png).decode()
        return (
            f'<img class="d2lperf-figure" width="{self.width}" style="max-width:100%" '
            f'src="data:image/png;base64,{data}" alt="{html.escape(self.alt)}">'
        )

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": self.alt, "text/html": self.as_img()}


def described(figure: "Figure", alt: str) -> DescribedFigure:
    """Draw a matplotlib figure and attach a description to it.

    Closes the figure, so that a notebook does not show it a second time without the description.

    Args:
        figure: the finished figure.
        alt: what it shows, as a sentence.

    Returns:
        The image; make it the last line of a cell.

    Raises:
        ValueError: for an empty description.
    """
    if not alt.strip():
        raise ValueError("expected a sentence that says what the figure shows, got an empty one")
    import matplotlib.pyplot as plt

    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=_DOTS_PER_INCH, bbox_inches="tight", facecolor="white")
    width = round(figure.get_figwidth() * _CSS_PIXELS_PER_INCH)
    plt.close(figure)
    return DescribedFigure(file.getvalue(), alt, width)
