"""Predict, then reveal: the reader commits to a schedule before seeing the true one."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from d2lperf.events import Event
from d2lperf.timeline import Timeline
from d2lperf.units import format_seconds

if TYPE_CHECKING:
    from ipywidgets import HTML, Button, ToggleButton, VBox

    from d2lperf.timeline.widget import TimelineWidget

MANY = 60
"""More bars than this nobody wants to place."""
CLOSE = 0.01
"""A bar that is off by a smaller part of the total is where it belongs: hands are not finer."""


@dataclass(frozen=True)
class Placement:
    """How far predicted bars are from the true ones.

    Attributes:
        errors_s: predicted minus true start of each bar, in seconds.
        end_s: when the prediction ends, in seconds.
        true_end_s: when the truth ends, in seconds.
    """

    errors_s: tuple[float, ...]
    end_s: float
    true_end_s: float

    @property
    def mean_error_s(self) -> float:
        """Mean distance of a bar from its true place, in seconds."""
        return float(np.mean(np.abs(self.errors_s)))

    def __str__(self) -> str:
        worst, count = int(np.argmax(np.abs(self.errors_s))), len(self.errors_s)
        total_s = self.true_end_s or 1.0
        if abs(self.errors_s[worst]) < CLOSE * total_s:
            return (
                "The bar is where it belongs."
                if count == 1
                else f"All {count} bars are where they belong."
            )
        share = self.mean_error_s / total_s
        side = "late" if self.errors_s[worst] > 0 else "early"
        return (
            f"Your bars are {format_seconds(self.mean_error_s)} off on average, {share:.0%} of the total; "
            f"bar {worst + 1} is {format_seconds(abs(self.errors_s[worst]))} too {side}. "
            f"You end at {format_seconds(self.end_s)}, the truth at {format_seconds(self.true_end_s)}."
        )


@dataclass(frozen=True)
class Barriers:
    """Which of a program's statements were taken for barriers, and which are.

    Attributes:
        found: numbers of statements that wait and were named.
        missed: numbers of those that wait and were not named.
        mistaken: numbers of those that were named and do not wait.
    """

    found: tuple[int, ...]
    missed: tuple[int, ...]
    mistaken: tuple[int, ...]

    def __str__(self) -> str:
        total = len(self.found) + len(self.missed)
        parts = [f"You found {len(self.found)} of {total} wait{'' if total == 1 else 's'}"]
        if self.missed:
            parts.append(f"missed {len(self.missed)}")
        if self.mistaken:
            does = "does" if len(self.mistaken) == 1 else "do"
            parts.append(f"named {len(self.mistaken)} that {does} not wait")
        return ", ".join(parts) + "."


class _Prediction:
    """A question with a button: what both kinds of prediction share."""

    legend = ""
    """What to say beside the verdict."""

    def __init__(self, truth: Timeline, question: str) -> None:
        import ipywidgets

        self.truth = truth
        self.question = question
        self.revealed = False
        self.text: HTML = ipywidgets.HTML(f"<p>{html.escape(question)}</p>")
        self.verdict: HTML = ipywidgets.HTML("")
        self.hider: HTML = ipywidgets.HTML("")
        self.button: Button = ipywidgets.Button(
            description="Reveal", tooltip="show what happened, and how far off you are"
        )
        self.button.on_click(lambda _: self.reveal())

    def reveal(self) -> Any:
        """Show the truth and return how far off the prediction is; the first call counts."""
        result = self._compare()
        if not self.revealed:
            self.revealed = True
            self.button.disabled = True
            self._show()
            words = html.escape(str(result))
            self.verdict.value = f'<p role="status"><b>{words}</b> {self.legend}</p>'
        return result

    def _compare(self) -> Any:
        raise NotImplementedError

    def _show(self) -> None:
        raise NotImplementedError

    def _box(self) -> VBox:
        raise NotImplementedError

    def _twin(self) -> str:
        return (
            f"<p>{html.escape(self.question)}</p><details><summary>Show what happened</summary>"
            f"{self.truth.picture().as_figure()}</details>"
        )

    def _ipython_display_(self) -> None:
        from d2lperf.timeline.widget import show_in_place

        key = show_in_place(self._twin(), self._box(), plain=self.question)
        self.hider.value = f"<style>#{key} {{ display: none }}</style>"


class SchedulePrediction(_Prediction):
    """Bars to place before the truth is shown; made by `predict_schedule`.

    Attributes:
        widget: the live timeline with the bars to place.
        events: the true events, in the order of the bars.
    """

    legend = "Dashed outlines are where you put the bars."

    def __init__(self, truth: Timeline, lanes: Sequence[str], question: str) -> None:
        super().__init__(truth, question)
        wanted = [truth.matches(lane=lane) for lane in lanes]
        numbers = np.concatenate(wanted) if wanted else np.zeros(0, np.int64)
        self.events: list[Event] = [truth.event(int(number)) for number in numbers]
        if not 1 <= len(self.events) <= MANY:
            raise ValueError(
                f"{', '.join(lanes) or 'no lane'} has {len(self.events)} events to place: choose lanes with 1 to {MANY}"
            )
        known = np.setdiff1d(np.arange(len(truth)), numbers)
        columns = {key: column[known] for key, column in truth._columns().items()}
        self.widget: TimelineWidget = truth._with(columns, strips=(), notes=()).widget()
        self.widget.movable = [
            {
                "lane": truth.lane_number(event.lane),
                "duration_ns": event.duration_ns,
                "name": event.name,
                "category": event.category,
            }
            for event in self.events
        ]
        self.widget.placed = self._heap()

    def _heap(self) -> list[int]:
        """Return where the bars lie at first: in a heap at the right end, where none of them belongs by chance."""
        end_ns, first_ns = self.truth.axis_end_ns, self.truth.first_ns
        count = len(self.events)
        step_ns = (end_ns - first_ns) / 4 / max(count, 8)
        return [
            max(first_ns, round(end_ns - event.duration_ns - (count - 1 - i) * step_ns))
            for i, event in enumerate(self.events)
        ]

    def _in_order(self) -> list[int]:
        """Return where the bars are; of bars that look alike the first is the earliest, whichever was dragged there."""
        alike: dict[tuple, list[int]] = {}
        for i, event in enumerate(self.events):
            look = (event.lane, event.name, event.category, event.duration_ns)
            alike.setdefault(look, []).append(i)
        placed = [round(start) for start in self.widget.placed]
        order = list(placed)
        for same in alike.values():
            for i, start in zip(same, sorted(placed[i] for i in same), strict=True):
                order[i] = start
        return order

    def _compare(self) -> Placement:
        pairs = list(zip(self._in_order(), self.events, strict=True))
        return Placement(
            tuple((start - event.start_ns) / 1e9 for start, event in pairs),
            max(start + event.duration_ns for start, event in pairs) / 1e9,
            max(event.end_ns for event in self.events) / 1e9,
        )

    def _show(self) -> None:
        self.widget.locked = True
        self.widget.timeline = self.truth

    def _box(self) -> VBox:
        import ipywidgets

        return ipywidgets.VBox([self.text, self.widget, self.button, self.verdict, self.hider])


class BarrierPrediction(_Prediction):
    """Statements to mark as barriers before the truth is shown; made by `predict_barriers`.

    Attributes:
        toggles: a button for each statement; pressed means "Python waits here".
        statements: what the host did, in order.
    """

    def __init__(self, truth: Timeline, statements: Sequence[str], question: str) -> None:
        import ipywidgets

        super().__init__(truth, question)
        hosts = [lane.name for lane in truth.lanes if lane.kind == "host"]
        if not hosts:
            raise ValueError("expected a timeline with a host's lane, got none: give all lanes")
        acts = [event for event in truth.select(lane=hosts[0]) if event.depth == 0]
        self.statements = tuple(statements) or tuple(act.name for act in acts)
        if len(self.statements) != len(acts):
            raise ValueError(
                f"got {len(self.statements)} statements, but the host did {len(acts)} things: "
                f"{', '.join(act.name for act in acts)}"
            )
        self._waits = {
            i for i, act in enumerate(acts) if act.category == "wait" and act.duration_ns
        }
        self.toggles: list[ToggleButton] = [
            ipywidgets.ToggleButton(description=text, tooltip="press if Python waits here")
            for text in self.statements
        ]
        self._picture = ipywidgets.VBox([])

    def _compare(self) -> Barriers:
        named = {i for i, toggle in enumerate(self.toggles) if toggle.value}
        return Barriers(
            found=tuple(sorted(named & self._waits)),
            missed=tuple(sorted(self._waits - named)),
            mistaken=tuple(sorted(named - self._waits)),
        )

    def _show(self) -> None:
        for i, toggle in enumerate(self.toggles):
            right = toggle.value == (i in self._waits)
            toggle.description = f"{'✓' if right else '✗'} {self.statements[i]}"
            toggle.disabled = True
        self._picture.children = [self.truth.widget()]

    def _box(self) -> VBox:
        import ipywidgets

        rows = ipywidgets.Box(self.toggles, layout=ipywidgets.Layout(flex_flow="row wrap"))
        return ipywidgets.VBox(
            [self.text, rows, self.button, self.verdict, self._picture, self.hider]
        )


def predict_schedule(
    truth: Timeline, *, lanes: Sequence[str] = (), question: str = ""
) -> SchedulePrediction:
    """Let the reader place the bars of some lanes, then show where they belong.

    Args:
        truth: the timeline; its other lanes are shown from the beginning.
        lanes: whose bars are to be placed; by default those of the devices.
        question: what is asked.

    Returns:
        The prediction; make it the last line of a cell. `reveal()` does what its button does.

    Raises:
        ValueError: no such lane, or more bars than anybody would place.
    """
    devices = [lane.name for lane in truth.lanes if lane.kind == "device"]
    words = "When does each bar begin? Drag the bars to where you expect them, then reveal."
    return SchedulePrediction(truth, [*lanes] or devices, question or words)


def predict_barriers(
    truth: Timeline, *, statements: Sequence[str] = (), question: str = ""
) -> BarrierPrediction:
    """Let the reader say which statements make Python wait, then show what happened.

    Args:
        truth: the timeline of a program whose host lane has one event for each statement.
        statements: what to call them, in order; by default the names of the host's events.
        question: what is asked.

    Returns:
        The prediction; make it the last line of a cell. `reveal()` does what its button does.

    Raises:
        ValueError: another number of statements than the host did things.
    """
    words = "Where does Python wait? Press those statements, then reveal."
    return BarrierPrediction(truth, statements, question or words)
