"""Sliders that simulate anew while they are dragged."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from d2lperf.timeline import Timeline

if TYPE_CHECKING:
    from ipywidgets import HTML, VBox, Widget

    from d2lperf.timeline.widget import TimelineWidget


class Explorer:
    """A timeline with sliders.

    It displays itself as two outputs: a static picture, which survives in exports and in a
    notebook that is opened without a kernel, and the live widget, which hides the static one as
    soon as it is on the page.

    Attributes:
        sliders: the controls by name.
        widget: the live timeline.
        state: an HTML widget that carries the current values as JSON in `data-values`, and the error if simulating
            failed.
        box: all of them together.
    """

    def __init__(self, simulate: Callable[..., Timeline], controls: dict[str, Any]) -> None:
        import ipywidgets

        self._simulate = simulate
        self.sliders: dict[str, Widget] = {k: _slider(k, v) for k, v in controls.items()}
        self._first = self._checked()
        self.widget: TimelineWidget = self._first.widget()
        self.state: HTML = ipywidgets.HTML(self._state())
        rows = ipywidgets.Box(
            list(self.sliders.values()), layout=ipywidgets.Layout(flex_flow="row wrap")
        )
        self.box: VBox = ipywidgets.VBox([rows, self.widget, self.state])
        for slider in self.sliders.values():
            slider.observe(self._redraw, names="value")

    @property
    def values(self) -> dict[str, Any]:
        """Where the sliders stand."""
        return {name: slider.value for name, slider in self.sliders.items()}

    @property
    def timeline(self) -> Timeline:
        """What is shown."""
        return self.widget.timeline

    def _checked(self) -> Timeline:
        timeline = self._simulate(**self.values)
        if not isinstance(timeline, Timeline):
            raise TypeError(
                f"expected a function that returns a Timeline, it returned a {type(timeline).__name__}: "
                "return machine.timeline() or a recording"
            )
        return timeline

    def _redraw(self, change: Any) -> None:
        error = None
        try:
            self.widget.timeline = self._checked()
        except Exception as problem:
            # Raised in a widget's callback it would end up in a log that nobody reads.
            error = problem
        self.state.value = self._state(error)

    def _state(self, error: Exception | None = None) -> str:
        values = html.escape(json.dumps(self.values))
        words = f"<b>{type(error).__name__}:</b> {html.escape(str(error))}" if error else ""
        return f'<div class="d2lperf-explore" role="status" data-values="{values}">{words}</div>'

    def _ipython_display_(self) -> None:
        from d2lperf.timeline.widget import show_in_place

        values = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        static = self._first.picture().as_figure()
        plain = f"Timeline with sliders: {values}"
        self.widget.twin = show_in_place(static, self.box, plain=plain)


def explore(simulate: Callable[..., Timeline], **sliders: Any) -> Explorer:
    """Show a timeline with sliders that simulate it anew.

    Args:
        simulate: called with the values of all sliders by name, returns a `Timeline`. Should take
            less than a twentieth of a second, so that the bars follow the hand.
        **sliders: for each argument of `simulate` (a name that ends in `_us` or another unit is shown
            with it) one of: `(low, high, start)` or `(low, high, start, step)` for a number (whole
            if all of them are), a bool for a box to tick, a list of values to choose from (the
            first one to begin with), or a widget.

    Returns:
        The explorer; make it the last line of a cell.

    Raises:
        TypeError: if a slider is none of these, or `simulate` returns something else.
    """
    return Explorer(simulate, sliders)


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
