"""Sliders that draw a picture anew whenever they are moved."""

from __future__ import annotations

import html
import json
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ipywidgets import HTML, VBox, Widget

    from d2lperf.timeline import Picture


class Explorer:
    """A picture with sliders.

    It displays itself as two outputs: a static picture, which survives in exports and in a
    notebook that is opened without a kernel, and the live widget, which hides the static one as
    soon as it is on the page.

    Attributes:
        sliders: the controls by name.
        image: the HTML widget that holds the current picture. Its element carries the current
            values as JSON in `data-values`.
        box: both together.
    """

    def __init__(self, draw: Callable[..., Picture], controls: dict[str, Any]) -> None:
        import ipywidgets

        self._draw = draw
        # Not a running number: a picture kept from an earlier kernel would have the same one.
        self._key = f"d2lperf-{secrets.token_hex(6)}"
        self.sliders: dict[str, Widget] = {k: _slider(k, v) for k, v in controls.items()}
        self._first = self._figure()
        self.image: HTML = ipywidgets.HTML(self._live(self._first))
        rows = ipywidgets.Box(
            list(self.sliders.values()), layout=ipywidgets.Layout(flex_flow="row wrap")
        )
        self.box: VBox = ipywidgets.VBox([rows, self.image])
        for slider in self.sliders.values():
            slider.observe(self._redraw, names="value")

    @property
    def values(self) -> dict[str, Any]:
        """Where the sliders stand."""
        return {name: slider.value for name, slider in self.sliders.items()}

    def _redraw(self, change: Any) -> None:
        self.image.value = self._live(self._figure())

    def _figure(self) -> str:
        try:
            picture = self._draw(**self.values)
        except Exception as error:
            # Raised in a widget's callback it would end up in a log that nobody reads.
            return f"<p><b>{type(error).__name__}:</b> {html.escape(str(error))}</p>"
        return f"{picture.as_img()}<figcaption>{html.escape(picture.caption)}</figcaption>"

    def _live(self, figure: str) -> str:
        values = html.escape(json.dumps(self.values))
        return (
            f"<style>#{self._key} {{ display: none }} .d2lperf-explore img {{ max-width: 100% }}</style>"
            f'<figure class="d2lperf-explore" style="margin:0" data-values="{values}">'
            f"{figure}</figure>"
        )

    def _ipython_display_(self) -> None:
        from IPython.display import display

        static = f'<figure id="{self._key}" style="margin:0">{self._first}</figure>'
        plain = f"Picture with sliders: {', '.join(f'{k} = {v}' for k, v in self.values.items())}"
        display({"text/plain": plain, "text/html": static}, raw=True)
        # Without its text form, which exports would show below the static picture.
        bundle = self.box._repr_mimebundle_() | {"text/plain": ""}
        display(bundle, raw=True)


def explore(draw: Callable[..., Picture], **sliders: Any) -> Explorer:
    """Show a picture with sliders that draw it anew.

    Args:
        draw: called with the values of all sliders by name, returns a `Picture`. Should take less
            than a tenth of a second, so that the picture follows the hand.
        **sliders: for each argument of `draw` (a name that ends in `_us` or another unit is shown
            with it) one of: `(low, high, start)` or `(low, high, start, step)` for a number (whole
            if all of them are), a bool for a box to tick, a list of values to choose from (the
            first one to begin with), or a widget.

    Returns:
        The explorer; make it the last line of a cell.

    Raises:
        TypeError: if a slider is none of these.
    """
    return Explorer(draw, sliders)


_UNITS = {"s": "s", "ms": "ms", "us": "µs", "ns": "ns", "bytes": "B"}


def _label(name: str) -> str:
    """Write `t1_us` as "t1 / µs" and `queue_depth` as "queue depth"."""
    quantity, _, unit = name.rpartition("_")
    if quantity and unit in _UNITS:
        return f"{quantity} / {_UNITS[unit]}".replace("_", " ")
    return name.replace("_", " ")


def _slider(name: str, spec: Any) -> Widget:
    import ipywidgets

    look: dict[str, Any] = {"description": _label(name), "style": {"description_width": "5em"}}
    match spec:
        case ipywidgets.Widget():
            return spec
        case bool():
            return ipywidgets.Checkbox(spec, indent=False, description=look["description"])
        case (low, high, start, *step) if isinstance(spec, tuple) and len(step) <= 1:
            whole = all(isinstance(number, int) for number in spec)
            kind = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
            steps = {"step": step[0]} if step else {}
            return kind(start, min=low, max=high, **steps, **look)
        case [_, *_] if isinstance(spec, list):
            options = [(str(value), value) for value in spec]
            return ipywidgets.SelectionSlider(options=options, **look)
    raise TypeError(
        f"expected (low, high, start), a bool, a list or a widget for {name!r}, got {spec!r}"
    )
