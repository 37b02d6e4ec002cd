"""The timeline: events, and everything that can be done with them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from d2lperf.events import EventLog, Lane, Mark, Strip
from d2lperf.timeline.columns import Columns, encodable

if TYPE_CHECKING:
    from d2lperf.tables import Table
    from d2lperf.timeline.comparison import Comparison
    from d2lperf.timeline.critical import CriticalPath
    from d2lperf.timeline.picture import Picture
    from d2lperf.timeline.widget import TimelineWidget


class Timeline(Columns):
    """What Python, the runtime and the devices did, measured or simulated.

    As the last line of a cell it is a picture that survives everywhere, and in a live notebook a
    widget in its place. `record` makes one from a measured program, `virtual.Machine.timeline` from a
    simulated one, `open_timeline` from a file.

    Args:
        columns: see `Columns`.
        lanes: rows of the picture.
        names: what events are called.
        title: a line above the lanes.
        caption: a line below; by default a summary of the lanes.
        marks: notes at moments.
        strips: quantities over time.
        needs: pairs of flow numbers: the second operation needs the result of the first.
        end_ns: right end of the time axis, to draw several timelines on one scale; by default where the timeline ends,
            or its last mark.
        notes: sentences about what was left out or could not be known, shown below the picture.
        span_ns: start and end of the time that was watched, in nanoseconds, such as that of a recorded block; by
            default from the first event to the last.

    Raises:
        ValueError: columns that do not fit together; see `Columns`.
    """

    def __init__(
        self,
        columns: Mapping[str, Any],
        *,
        lanes: Iterable[Lane | str],
        names: Iterable[str],
        title: str = "",
        caption: str = "",
        marks: Iterable[Mark] = (),
        strips: Iterable[Strip] = (),
        needs: Iterable[tuple[int, int]] = (),
        end_ns: int | None = None,
        notes: Iterable[str] = (),
        span_ns: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(
            columns,
            lanes=lanes,
            names=names,
            marks=marks,
            strips=strips,
            needs=needs,
            span_ns=span_ns,
        )
        self.title, self.caption = encodable(title), encodable(caption)
        self.notes = tuple(map(encodable, notes))
        last_ns = max([self.last_ns, *(mark.time_ns for mark in self.marks)])
        self.axis_end_ns = max(last_ns if end_ns is None else int(end_ns), 1)

    @classmethod
    def from_log(cls, log: EventLog, **options: Any) -> Timeline:
        """Return what a log holds so far as a timeline; takes the options of `Timeline`."""
        given = {"lanes": log.described_lanes, "names": log.names, "needs": log.needs}
        return cls(log.columns(), **given | options)

    def replace(self, **options: Any) -> Timeline:
        """Return the same events with another `title`, `caption`, `lanes`, `marks`, `strips`, `end_ns` or `notes`."""
        return self._with(self._columns(), **options)

    def only(self, *lanes: str, **criteria: Any) -> Timeline:
        """Return the events of some lanes, or those that `matches` finds, on the same time axis.

        Args:
            *lanes: names of the lanes to keep, in this order; none for all.
            **criteria: what `matches` takes.

        Raises:
            ValueError: no such lane or category.
        """
        chosen = [self.lane_number(lane) for lane in lanes] or [*range(len(self.lanes))]
        kept = np.zeros(len(self), bool)
        kept[self.matches(**criteria)] = True
        kept &= np.isin(self.lane, chosen)
        place = np.zeros(len(self.lanes), np.int64)
        place[chosen] = range(len(chosen))
        columns = {key: column[kept] for key, column in self._columns().items()}
        columns["lane"] = place[columns["lane"]]
        return self._with(columns, lanes=[self.lanes[i] for i in chosen])

    def against(self, other: Timeline, **options: Any) -> Comparison:
        """Return this timeline and another one in one picture; takes the options of `Comparison.of`."""
        from d2lperf.timeline.comparison import Comparison

        return Comparison.of(self, other, **options)

    def summary(self) -> str:
        """Return one sentence: how long it took, how long each lane was busy and how long the host waited."""
        from d2lperf.timeline.analyse import summarise

        return summarise(self)

    def busy_s(
        self, lane: str, *, start_s: float | None = None, end_s: float | None = None
    ) -> float:
        """Return how long something other than a wait went on in a lane, in seconds.

        Args:
            lane: name of a lane.
            start_s: look at what comes after this moment only, in seconds.
            end_s: look at what comes before this moment only, in seconds.

        Raises:
            ValueError: no such lane.
        """
        from d2lperf.timeline.analyse import busy_intervals, length_ns

        start_ns, end_ns = (None if at is None else round(at * 1e9) for at in (start_s, end_s))
        busy = busy_intervals(self, lane, start_ns=start_ns, end_ns=end_ns)
        return length_ns(busy) / 1e9

    def overlap_s(self, *lanes: str) -> float:
        """Return how long all of these lanes were busy at the same time, in seconds.

        Raises:
            ValueError: fewer than two lanes, or no such lane.
        """
        from d2lperf.timeline.analyse import length_ns, overlap

        return length_ns(overlap(self, *lanes)) / 1e9

    def why_idle(self, lane: str, at_s: float | None = None) -> str:
        """Say in a sentence why a lane has nothing to do at a moment.

        Args:
            lane: name of a lane.
            at_s: the moment in seconds; by default the middle of the lane's longest gap.

        Raises:
            ValueError: no such lane, or a moment outside of the timeline.
        """
        from d2lperf.timeline.idle import why_idle

        return why_idle(self, lane, None if at_s is None else round(at_s * 1e9))

    def critical_path(self) -> CriticalPath:
        """Return the chain of events that the total time consists of."""
        from d2lperf.timeline.critical import critical_path

        return critical_path(self)

    def table(self, what: str = "lanes", *, rows: int = 200) -> Table:
        """Return the timeline as a table.

        Args:
            what: `lanes` (busy, idle, waiting, longest gap of each), `events` (one row each) or `names` (how often and
                how long).
            rows: the most rows to show; a table that leaves some out says how many.

        Raises:
            ValueError: `what` is none of these.
        """
        from d2lperf.timeline.listing import listing

        return listing(self, what, rows=rows)

    def picture(self, *, arrows: bool = True) -> Picture:
        """Return the static picture with its alternative text.

        Args:
            arrows: draw an arrow from a dispatch to its run, where they are few enough to be told apart.
        """
        from d2lperf.timeline.picture import picture

        return picture(self, arrows=arrows)

    def svg(self, path: str | Path | None = None) -> str:
        """Return the picture as one SVG document, and write it to a file if a path is given."""
        svg = self.picture().svg
        if path is not None:
            Path(path).write_text(svg, "utf-8")
        return svg

    def png(self, path: str | Path | None = None) -> bytes:
        """Return the picture as a PNG image with the labels of the lanes, and write it to a file if a path is given."""
        from d2lperf.timeline.png import png

        image = png(self)
        if path is not None:
            Path(path).write_bytes(image)
        return image

    def to_html(self, path: str | Path | None = None) -> str:
        """Return one HTML page that works offline, interactive, with picture and table inside; write it if asked."""
        from d2lperf.timeline.page import page

        text = page(self)
        if path is not None:
            Path(path).write_text(text, "utf-8")
        return text

    def to_perfetto(self, path: str | Path) -> Path:
        """Write a trace that Perfetto and chrome://tracing open; compressed if the name ends in `.gz`."""
        from d2lperf.timeline.perfetto import write

        return write(self, Path(path))

    def widget(self, **options: Any) -> TimelineWidget:
        """Return the live widget: pan, zoom, search, measure, select. Takes the options of `TimelineWidget`."""
        from d2lperf.timeline.widget import TimelineWidget

        return TimelineWidget(self, **options)

    def _with(self, columns: Mapping[str, Any], **options: Any) -> Timeline:
        return Timeline(columns, **self._options() | options)

    def _columns(self) -> dict[str, np.ndarray]:
        keys = ("start_ns", "duration_ns", "lane", "name", "category", "flow", "step")
        return {key: getattr(self, key) for key in keys}

    def _options(self) -> dict[str, Any]:
        keys = ("lanes", "names", "title", "caption", "marks", "strips", "needs", "notes")
        more = {"end_ns": self.axis_end_ns, "span_ns": self.span_ns}
        return {key: getattr(self, key) for key in keys} | more

    def __repr__(self) -> str:
        title = f"{self.title}. " if self.title else ""
        return f"<Timeline of {len(self)} events. {title}{self.summary()}>"

    def _ipython_display_(self) -> None:
        from d2lperf.timeline.widget import show

        show(self)
