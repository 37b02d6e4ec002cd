"""From a timeline to the virtual machine that explains it: t₁, t₂, t₃ and the depth, with the residual."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from d2lperf.fitting.program import Program
from d2lperf.stats import Samples
from d2lperf.tables import Table, table
from d2lperf.timeline import Timeline
from d2lperf.timeline.comparison import Comparison
from d2lperf.units import format_seconds
from d2lperf.virtual import Machine, pipeline


@dataclass(frozen=True)
class Fit:
    """The durations of a virtual machine, read off a timeline, and what they leave unexplained.

    Attributes:
        t1: host time for each dispatch, in seconds.
        t2: device time of each run, by the operation's name, in seconds.
        t3: from the end of an operation until a waiting host goes on, in seconds; `None` if it is not seen.
        depth: operations that were in flight whenever the host had to wait for a place; `None` if it never did.
        most_in_flight: the most operations that were dispatched and not finished.
        measured: the timeline.
        left_out: dispatches of which no run on a device is known; the prediction does without them.
        predicted: the same program on the virtual machine with these durations.
        errors_s: predicted minus measured end of every run, in seconds, both counted from the first dispatch.
    """

    t1: Samples
    t2: dict[str, Samples]
    t3: Samples | None
    depth: int | None
    most_in_flight: int
    measured: Timeline
    predicted: Timeline
    errors_s: tuple[float, ...]
    left_out: int = 0

    @property
    def t1_s(self) -> float:
        """Typical time to dispatch one operation, in seconds."""
        return self.t1.median

    @property
    def t2_s(self) -> float:
        """Typical time to run one operation, in seconds.

        Raises:
            ValueError: operations of several names ran; `t2` has each of them.
        """
        if len(self.t2) > 1:
            raise ValueError(f"several operations ran: ask t2 for one of {', '.join(self.t2)}")
        return next(iter(self.t2.values())).median

    @property
    def t3_s(self) -> float:
        """Typical time until the host knows, in seconds; 0 if no such wait is seen."""
        return self.t3.median if self.t3 else 0.0

    @property
    def residual(self) -> float:
        """Root mean square of the errors as a share of the measured time, without unit."""
        return float(np.sqrt(np.mean(np.square(self.errors_s)))) / self._measured_s

    @property
    def makespan_ratio(self) -> float:
        """Predicted time to the end of the last run over the measured one."""
        return (self._measured_s + self.errors_s[-1]) / self._measured_s

    @cached_property
    def _measured_s(self) -> float:
        program = Program(self.measured)
        return max(run.end_ns for run in program.runs.values()) / 1e9 - program.begin_ns / 1e9

    @cached_property
    def comparison(self) -> Comparison:
        """Both timelines in one picture."""
        title = f"measured and virtual; residual {self.residual:.1%}"
        return self.measured.against(self.predicted, names=("measured", "virtual"), title=title)

    def pipeline(self, n: int, *, barrier_every: int = 0) -> Machine:
        """Return a virtual machine after `n` operations with these durations; see `virtual.pipeline`."""
        times = (self.t1_s, self.t2_s, self.t3_s)
        return pipeline(n, *times, depth=self.depth, barrier_every=barrier_every)

    def table(self) -> Table:
        """Return the durations with their spread, the depth and the residual."""
        rows = [_row("t₁, dispatching", self.t1)]
        rows += [_row(f"t₂, running {name}", samples) for name, samples in self.t2.items()]
        if self.t3:
            rows.append(_row("t₃, until the host knows", self.t3))
        else:
            rows.append(("t₃, until the host knows", "no wait for a known run", "", ""))
        never = f"never full, {self.most_in_flight} in flight at most"
        rows.append(("depth of the queue", str(self.depth or never), "", ""))
        rows.append(("residual", f"{self.residual:.1%}", "", ""))
        rows.append(("virtual / measured time", f"{self.makespan_ratio:.3f}", "", ""))
        caption = "Durations that explain the timeline, with the middle half of their values"
        if self.left_out:
            known, verb = len(self.errors_s), "is" if self.left_out == 1 else "are"
            caption += (
                f". Of {known + self.left_out} dispatches {self.left_out} {verb} left out: "
                "no run on a device is known to be theirs"
            )
        return table(("", "median", "from", "to"), rows, caption=caption)

    def __repr__(self) -> str:
        return str(self.table())

    def _ipython_display_(self) -> None:
        from IPython.display import display

        display(self.table())
        self.comparison._ipython_display_()


def fit(timeline: Timeline) -> Fit:
    """Find the virtual machine that explains a timeline best, and how well it does.

    t₁ is what a dispatch costs the host, pauses of the usual length included and waits left out. t₂
    of an operation is the time from when it could start (it is dispatched, the device has finished
    the one before) until its end. t₃ is the time from the end of what is waited for until the host
    goes on. All are medians. The same program (dispatches, waits, longer pauses as host work) is then
    run on the virtual machine with these numbers, and compared run by run.

    Args:
        timeline: of a program that dispatches operations to devices, measured or virtual.

    Returns:
        The durations, the prediction and the residual.

    Raises:
        ValueError: the timeline has no dispatch whose run is known, or one that ran on several devices.
    """
    if not isinstance(timeline, Timeline):
        raise TypeError(
            f"expected a timeline, got {type(timeline).__name__}: give a recording or machine.timeline()"
        )
    program = Program(timeline)
    t1, t2, t3 = program.dispatch_s(), program.run_s(), program.notice_s()
    depth = program.depth(t3.median if t3 else 0.0)
    medians = {name: samples.median for name, samples in t2.items()}
    machine, numbers = program.replay(t1.median, medians, t3.median if t3 else 0.0, depth)
    ends = {run.flow: run.end_ns for run in machine.log if run.category == "run"}
    first = machine.log.select(category="dispatch")[0].start_ns
    errors = [
        ((ends[number] - first) - (program.runs[flow].end_ns - program.begin_ns)) / 1e9
        for flow, number in numbers.items()
    ]
    order = np.argsort([program.runs[flow].end_ns for flow in numbers], kind="stable")
    return Fit(
        t1=t1,
        t2=t2,
        t3=t3,
        depth=depth,
        most_in_flight=program.most_in_flight(),
        measured=timeline,
        predicted=machine.timeline(title="the fitted virtual machine"),
        errors_s=tuple(errors[i] for i in order),
        left_out=program.left_out,
    )


def _row(name: str, samples: Samples) -> tuple[str, ...]:
    return name, *(format_seconds(value) for value in (samples.median, *samples.quartiles))
