"""The live timeline in a notebook."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import anywidget
import numpy as np
import traitlets

from d2lperf.timeline.bundle import bundle, css
from d2lperf.timeline.packing import MOST_EVENTS, pack
from d2lperf.timeline.packing import folded as shut

if TYPE_CHECKING:
    from d2lperf.events import Event
    from d2lperf.timeline.timeline import Timeline

LOWEST_PX = 60


class TimelineWidget(anywidget.AnyWidget):
    """A timeline that can be panned, zoomed, searched, measured and selected from.

    Args:
        timeline: what to show.
        height: most pixels that the lanes take before they scroll.
        arrange: `under`, or `over` to draw the second of two compared timelines upon the first; by default as the
            comparison itself is arranged.
        folded: names of lanes that begin as thin rows, and `group:NAME` for groups; by default those whose `folded`
            is true.
        twin: id of the element with the static picture, hidden while the widget is on the page.
        most_events: above this number short neighbours are merged, and the picture says so.

    Attributes:
        view: left and right end of what is shown, in nanoseconds; empty for everything.
        region: start and end in nanoseconds and names of lanes that the reader has selected, or `None`.
        chosen: number of the event that the reader has chosen, -1 for none.
        search: text that the names of emphasised events contain.
        folded: names of folded lanes and groups.
        movable: bars that the reader can place: `lane` (number), `duration_ns`, `name` and `category` of each.
        placed: where each of them starts, in nanoseconds.
        locked: whether they stay where they are, drawn as outlines upon the events.

    Raises:
        ValueError: a height below 60 pixels, or an unknown arrangement.
    """

    _esm = bundle()
    _css = css()

    data = traitlets.Dict().tag(sync=True)
    view = traitlets.List(traitlets.Float()).tag(sync=True)
    region = traitlets.List(allow_none=True, default_value=None).tag(sync=True)
    chosen = traitlets.Int(-1).tag(sync=True)
    search = traitlets.Unicode("").tag(sync=True)
    folded = traitlets.List(traitlets.Unicode()).tag(sync=True)
    arrange = traitlets.Unicode("under").tag(sync=True)
    twin = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Int(420).tag(sync=True)
    movable = traitlets.List(traitlets.Dict()).tag(sync=True)
    placed = traitlets.List(traitlets.Float()).tag(sync=True)
    locked = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        timeline: Timeline,
        *,
        height: int = 420,
        arrange: str | None = None,
        folded: Iterable[str] | None = None,
        twin: str = "",
        most_events: int = MOST_EVENTS,
    ) -> None:
        if height < LOWEST_PX:
            raise ValueError(f"height must be at least {LOWEST_PX} pixels, not {height}")
        arrange = getattr(timeline, "arrange", "under") if arrange is None else arrange
        if arrange not in ("under", "over"):
            raise ValueError(f"arrange must be 'under' or 'over', not {arrange!r}")
        self._most_events = most_events
        self._timeline = timeline
        super().__init__(
            data=pack(timeline, most_events=most_events),
            height=height,
            arrange=arrange,
            folded=shut(timeline) if folded is None else [*folded],
            twin=twin,
        )

    def __repr__(self) -> str:
        return f"<live {repr(self._timeline)[1:]}"

    @property
    def timeline(self) -> Timeline:
        """What is shown. Setting it replaces the events in place and keeps the view if the time axis is the same."""
        return self._timeline

    @timeline.setter
    def timeline(self, timeline: Timeline) -> None:
        same = timeline.axis_end_ns == self._timeline.axis_end_ns
        self._timeline = timeline
        with self.hold_sync():
            self.data = pack(timeline, most_events=self._most_events)
            self.region, self.chosen = None, -1
            if not same:
                self.view = []

    @property
    def selection(self) -> list[Event]:
        """The events that the reader has selected or, without a selection, the one that is chosen."""
        return [self._timeline.event(int(number)) for number in self._selected()]

    @property
    def selected(self) -> Timeline:
        """The same as a timeline of its own, on the same lanes and the same axis."""
        from d2lperf.timeline.timeline import Timeline

        numbers = self._selected()
        columns = {key: column[numbers] for key, column in self._timeline._columns().items()}
        return Timeline(columns, **self._timeline._options())

    def zoom(self, start_s: float, end_s: float) -> None:
        """Show a part of the time axis.

        Args:
            start_s: left end, in seconds.
            end_s: right end, in seconds.

        Raises:
            ValueError: an end that is not after the start.
        """
        if not end_s > start_s:
            raise ValueError(f"expected an end after the start, got {start_s} to {end_s} s")
        self.view = [start_s * 1e9, end_s * 1e9]

    def _selected(self) -> np.ndarray:
        if self.region is None:
            known = 0 <= self.chosen < len(self._timeline)
            return np.array([self.chosen] if known else [], np.int64)
        start_ns, end_ns, lanes = self.region
        names = self._timeline.lane_names
        wanted = [names.index(lane) for lane in lanes if lane in names]
        found = self._timeline.matches(start_ns=start_ns, end_ns=end_ns)
        return found[np.isin(self._timeline.lane[found], wanted)]


def show(timeline: Timeline, **options: Any) -> TimelineWidget:
    """Display a timeline as two outputs: a static picture that survives everywhere, and the live widget in its place.

    Args:
        timeline: what to show.
        **options: what `TimelineWidget` takes.

    Returns:
        The widget.
    """
    picture = timeline.picture()
    widget = TimelineWidget(timeline, **options)
    widget.twin = show_in_place(picture.as_figure(), widget, plain=picture.alt)
    return widget


def show_in_place(static: str, live: Any, *, plain: str) -> str:
    """Display HTML that survives everywhere, then a widget that is to hide it while it is on the page.

    Args:
        static: HTML without scripts.
        live: the widget, of ipywidgets or anywidget.
        plain: what a terminal shows.

    Returns:
        The id of the element to hide: for the `twin` of a `TimelineWidget`.
    """
    from IPython.display import display

    # Not a running number: a picture kept from an earlier kernel would have the same one.
    key = f"d2lperf-{secrets.token_hex(6)}"
    display({"text/plain": plain, "text/html": f'<div id="{key}">{static}</div>'}, raw=True)
    made = live._repr_mimebundle_()
    # Some hosts want metadata with it. Exports would show its text form below the static picture.
    bundle = dict(made[0] if isinstance(made, tuple) else made or {})
    display(bundle | {"text/plain": ""}, raw=True)
    return key
