"""Two timelines in one picture: before and after, measured and virtual."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from d2lperf.events import Event, Lane, Mark, Strip
from d2lperf.timeline.timeline import Timeline
from d2lperf.units import format_seconds

ARRANGEMENTS = ("under", "over")


class Comparison(Timeline):
    """Two timelines on one axis; made by `Timeline.against`.

    Args:
        columns: see `Timeline`.
        variants: what the two are called.
        overlay: pairs of lanes that stand for the same thing, one of each timeline.
        arrange: `under` draws the lanes of a pair one below the other, `over` draws the second as outlines on the
            first.
        summaries: a sentence on each of the two, over its own time.
        **options: see `Timeline`.
    """

    def __init__(
        self,
        columns: Mapping[str, Any],
        *,
        variants: tuple[str, str],
        overlay: tuple[tuple[str, str], ...],
        arrange: str = "under",
        summaries: tuple[str, str] | None = None,
        **options: Any,
    ) -> None:
        if arrange not in ARRANGEMENTS:
            raise ValueError(f"arrange must be one of {', '.join(ARRANGEMENTS)}, not {arrange!r}")
        super().__init__(columns, **options)
        self.variants = variants
        self.overlay = tuple(pair for pair in overlay if {*pair} <= {*self.lane_names})
        self.arrange = arrange
        self.summaries = summaries

    def summary(self) -> str:
        """Return a sentence on each of the two, over its own time and not over that of the longer one."""
        if self.summaries is None:
            return super().summary()
        both = zip(self.variants, self.summaries, strict=True)
        return " ".join(f"{name}: {sentence}" for name, sentence in both)

    @classmethod
    def of(
        cls,
        first: Timeline,
        second: Timeline,
        *,
        names: tuple[str, str] = ("before", "after"),
        align: str = "start",
        arrange: str = "under",
        title: str = "",
    ) -> Comparison:
        """Return two timelines on one axis.

        Lanes of the same name belong together; what is left over is paired by kind, in order, so
        that a measured `cpu:0` meets a virtual `device:0`. Only lanes in a pair are shown, unless
        there is no pair at all.

        Args:
            first: one timeline.
            second: the other one.
            names: what to call them.
            align: what is put at one moment: the `start` of the first events, the `end` of the last ones, or the
                first events of a name, given by that name.
            arrange: `under` or `over`, see `Comparison`.
            title: a line above the lanes; by default it says how long each took.

        Raises:
            ValueError: one name for both, an unknown arrangement, or an event to align at that one of
                them does not have.
            TypeError: the other one is no timeline.
        """
        if not isinstance(second, Timeline):
            raise TypeError(
                f"expected a timeline to compare with, got {type(second).__name__}: a virtual machine's is "
                "machine.timeline()"
            )
        if names[0] == names[1]:
            raise ValueError(f"both timelines are called {names[0]!r}: give two names")
        pairs = _pairs(first.lanes, second.lanes)
        if pairs:
            first = first.only(*(a for a, _ in pairs))
            second = second.only(*(b for _, b in pairs))
        late = [_anchor(one, align, name) for one, name in zip((first, second), names, strict=True)]
        moved = [max(late) - moment for moment in late]
        both = (first, second)
        tagged = {(i, lane): f"{names[i]} · {lane}" for i in (0, 1) for lane in both[i].lane_names}
        lanes = [
            Lane(tagged[i, lane.name], lane.kind, names[i], lane.folded)
            for i in (0, 1)
            for lane in both[i].lanes
        ]
        place = {lane.name: number for number, lane in enumerate(lanes)}
        columns = [one._columns() for one in both]
        flows = int(first.flow.max(initial=-1)) + 1
        for i, one in enumerate(both):
            columns[i]["start_ns"] = one.start_ns + moved[i]
            to = np.array([place[tagged[i, lane]] for lane in one.lane_names], np.int64)
            columns[i]["lane"] = to[one.lane] if len(to) else one.lane
        columns[1]["name"] = second.name.astype(np.int64) + len(first.names)
        columns[1]["flow"] = np.where(second.flow < 0, -1, second.flow + flows)
        took = [format_seconds((one.last_ns - one.first_ns) / 1e9) for one in both]
        return cls(
            {key: np.concatenate([c[key] for c in columns]) for key in columns[0]},
            variants=names,
            overlay=tuple((tagged[0, a], tagged[1, b]) for a, b in pairs),
            arrange=arrange,
            lanes=lanes,
            names=(*first.names, *second.names),
            title=title or f"{names[0]}: {took[0]}; {names[1]}: {took[1]}",
            summaries=(first.summary(), second.summary()),
            needs=np.concatenate([first.needs, second.needs + flows]),
            end_ns=max(one.axis_end_ns + by for one, by in zip(both, moved, strict=True)),
            span_ns=(
                min(one.first_ns + by for one, by in zip(both, moved, strict=True)),
                max(one.last_ns + by for one, by in zip(both, moved, strict=True)),
            ),
            notes=dict.fromkeys((*first.notes, *second.notes)),
            marks=[
                Mark(mark.time_ns + moved[i], f"{names[i]} · {mark.text}")
                for i, one in enumerate(both)
                for mark in one.marks
                if mark.time_ns < one.last_ns  # what marks the end says nothing here
            ],
            strips=[
                _moved(strip, f"{names[i]} · {strip.name}", moved[i])
                for i, one in enumerate(both)
                for strip in one.strips
            ],
        )

    def matched(self) -> list[tuple[Event, Event]]:
        """Return pairs of events that belong together: the k-th of a category in both lanes of a pair."""
        together: list[tuple[Event, Event]] = []
        for a, b in self.overlay:
            for category in dict.fromkeys(event.category for event in self.select(lane=a)):
                one, other = (self.select(lane=lane, category=category) for lane in (a, b))
                together += zip(one, other, strict=False)
        return together

    def _with(self, columns: Mapping[str, Any], **options: Any) -> Comparison:
        keys = ("variants", "overlay", "arrange", "summaries")
        own: dict[str, Any] = {key: getattr(self, key) for key in keys}
        return Comparison(columns, **self._options() | own | options)


def _pairs(first: tuple[Lane, ...], second: tuple[Lane, ...]) -> list[tuple[str, str]]:
    mine, theirs = ({lane.name: lane for lane in lanes} for lanes in (first, second))
    pairs = {name: name for name in mine if name in theirs}
    left = [[lane for lane in lanes if lane.name not in pairs] for lanes in (first, second)]
    for kind in ("host", "device", "link"):
        a, b = ([lane.name for lane in lanes if lane.kind == kind] for lanes in left)
        pairs |= dict(zip(a, b, strict=False))
    return [(name, pairs[name]) for name in mine if name in pairs]


def _moved(strip: Strip, name: str, by_ns: int) -> Strip:
    return replace(strip, name=name, times_ns=tuple(time_ns + by_ns for time_ns in strip.times_ns))


def _anchor(timeline: Timeline, align: str, variant: str) -> int:
    if align == "start":
        return int(timeline.start_ns.min(initial=timeline.last_ns))
    if align == "end":
        return int(timeline.end_ns.max(initial=timeline.first_ns))
    found = timeline.matches(name=align)
    if not len(found):
        raise ValueError(
            f"{variant} has no event called {align!r} to align at: give `start`, `end` or the name of "
            "an event that both have"
        )
    return int(timeline.start_ns[found[0]])
