"""What a host did, read off a timeline, and the same once more on a virtual machine."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from d2lperf.events import Event
from d2lperf.stats import Samples
from d2lperf.timeline import Timeline
from d2lperf.virtual import Array, Device, Machine

QUEUE_FULL = "queue full"
LONG_GAP = 5
"""A pause of the host this many times as long as a dispatch counts as work of its own."""


class Action(NamedTuple):
    """What the host did next: dispatched `flow`, waited for it, or was busy for `duration_ns` with something else."""

    kind: str
    flow: int
    duration_ns: int


class Program:
    """What a host did, read off its lane."""

    def __init__(self, timeline: Timeline) -> None:
        devices = {
            lane.name: lane.group or lane.name for lane in timeline.lanes if lane.kind == "device"
        }
        events = list(timeline)
        names = {e.flow: e.name for e in events if e.category == "dispatch" and e.flow >= 0}
        kernels = [e for e in events if e.category == "run" and e.lane in devices]
        self.ended = sorted(kernels, key=lambda e: e.end_ns)
        _refuse_several({(e.flow, devices[e.lane]) for e in kernels if e.flow in names}, names)
        self.runs = _whole([e for e in kernels if e.flow in names], names)
        dispatches = [e for e in events if e.category == "dispatch" and e.flow in self.runs]
        if not dispatches:
            raise ValueError(
                "no dispatch in this timeline has a run on a device that belongs to it: record a program that "
                "calls jitted functions on arrays large enough to be dispatched asynchronously"
            )
        host = dispatches[0].lane
        self.dispatches = {e.flow: e for e in dispatches if e.lane == host}
        given = [e for e in events if e.category == "dispatch" and e.lane == host]
        self.left_out = len(given) - len(self.dispatches)
        self.runs = {flow: run for flow, run in self.runs.items() if flow in self.dispatches}
        self.begin_ns = dispatches[0].start_ns
        ended = {e.flow: e.end_ns for e in events if e.category in ("run", "copy")}
        self.arrived_ns = dict.fromkeys(self.runs, 0)
        for earlier, later in timeline.needs.tolist():
            if earlier in ended and later in self.runs:
                self.arrived_ns[later] = max(self.arrived_ns[later], ended[earlier])
        own = [e for e in events if e.lane == host and e.end_ns > self.begin_ns]
        self.full = [e for e in own if e.category == "wait" and e.name == QUEUE_FULL]
        acts = [e for e in own if self._is_act(e)]
        # A step around a dispatch is no work of its own; loading a batch is.
        starts = np.array([e.start_ns for e in acts])
        for e in own:
            inside = np.count_nonzero((starts >= e.start_ns) & (starts < e.end_ns))
            if e.category == "host" and not inside:
                acts.append(e)
        self.acts = sorted(acts, key=lambda e: (e.start_ns, e.end_ns))

    def _is_act(self, event: Event) -> bool:
        if event.category == "dispatch":
            return event.flow in self.dispatches
        return event.category in ("wait", "compile") and event.name != QUEUE_FULL

    def _blocked_ns(self, start_ns: int, end_ns: int) -> int:
        """Return how long the host stood before a full queue in a stretch of time."""
        return sum(max(0, min(e.end_ns, end_ns) - max(e.start_ns, start_ns)) for e in self.full)

    def pauses_ns(self) -> list[int]:
        """Return the time between one act of the host and the next."""
        return [
            max(0, after.start_ns - before.end_ns - self._blocked_ns(before.end_ns, after.start_ns))
            for before, after in pairwise(self.acts)
        ]

    @property
    def _dispatch_ns(self) -> float:
        return float(np.median([e.duration_ns for e in self.dispatches.values()]))

    def usual_pause_ns(self) -> float:
        """Return the pause that Python makes between two dispatches."""
        between = [
            pause
            for pause, (before, after) in zip(self.pauses_ns(), pairwise(self.acts), strict=True)
            if before.category == after.category == "dispatch"
            if pause <= LONG_GAP * self._dispatch_ns
        ]
        return float(np.median(between)) if between else 0.0

    def dispatch_s(self) -> Samples:
        """Return the host's time for each dispatch, the usual pause included, in seconds.

        A dispatch that stood before a full queue takes longer, even without that wait: it counts only if all did.
        """
        usual_ns = self.usual_pause_ns()
        taken = [(e, self._blocked_ns(e.start_ns, e.end_ns)) for e in self.dispatches.values()]
        free = [(e, blocked) for e, blocked in taken if not blocked]
        return Samples((e.duration_ns - blocked + usual_ns) / 1e9 for e, blocked in free or taken)

    def run_s(self) -> dict[str, Samples]:
        """Return the device's time for each run by name, in seconds."""
        durations: dict[str, list[float]] = {}
        free_ns: dict[str, int] = {}
        for run in sorted(self.runs.values(), key=lambda run: run.end_ns):
            # A run may begin before its dispatch has quite returned.
            could_ns = min(
                max(self.arrived_ns[run.flow], self.dispatches[run.flow].end_ns), run.start_ns
            )
            begin_ns = max(could_ns, free_ns.get(run.lane, could_ns))
            durations.setdefault(run.name, []).append((run.end_ns - begin_ns) / 1e9)
            free_ns[run.lane] = run.end_ns
        return {name: Samples(values) for name, values in durations.items()}

    def notice_s(self) -> Samples | None:
        """Return the time from the end of each awaited run until the host went on, in seconds."""
        late = [
            (wait.end_ns - run.end_ns) / 1e9
            for wait in self.acts
            if wait.category == "wait" and (run := self._awaited(wait)) is not None
            if wait.start_ns < run.end_ns <= wait.end_ns
        ]
        return Samples(late) if late else None

    def _awaited(self, wait: Event) -> Event | None:
        if wait.flow in self.runs:
            return self.runs[wait.flow]
        place = bisect_right(self.ended, wait.end_ns, key=lambda run: run.end_ns)
        # If what ended last is of no known dispatch, nobody knows either for what the host waited.
        return self.runs.get(self.ended[place - 1].flow) if place else None

    def _in_flight(self, time_ns: int, notice_ns: int, lane: str) -> int:
        return sum(
            self.dispatches[flow].start_ns < time_ns < run.end_ns + notice_ns
            for flow, run in self.runs.items()
            if run.lane == lane
        )

    def most_in_flight(self) -> int:
        """Return the most operations of one device that were dispatched and not finished."""
        return max(
            1 + self._in_flight(e.start_ns, 0, self.runs[flow].lane)
            for flow, e in self.dispatches.items()
        )

    def depth(self, notice_s: float) -> int | None:
        """Return how many operations were in flight whenever the queue was full; `None` if it never was."""
        notice_ns = round(notice_s * 1e9)
        counts = []
        for wait in self.full:
            # The dispatch that had to wait: it contains the wait, or follows it.
            after = [e for e in self.dispatches.values() if e.end_ns >= wait.end_ns]
            if after:
                held = min(after, key=lambda e: e.start_ns)
                at_ns, lane = min(wait.start_ns, held.start_ns), self.runs[held.flow].lane
                counts.append(self._in_flight(at_ns, notice_ns, lane))
        return max(1, round(float(np.median(counts)))) if counts else None

    def actions(self) -> list[Action]:
        """Return what the host did, long pauses and compilation as work of their own."""
        usual_ns = self.usual_pause_ns()
        found: list[Action] = []
        for act, pause_ns in zip(self.acts, [*self.pauses_ns(), 0], strict=True):
            if act.category == "dispatch":
                found.append(Action("dispatch", act.flow, 0))
            elif act.category in ("compile", "host"):
                found.append(Action("host", -1, act.duration_ns))
            elif (run := self._awaited(act)) is not None:
                found.append(Action("wait", run.flow, 0))
            if pause_ns > LONG_GAP * max(usual_ns, self._dispatch_ns):
                found.append(Action("host", -1, round(pause_ns - usual_ns)))
        return found

    def replay(
        self, t1_s: float, t2_s: dict[str, float], t3_s: float, depth: int | None
    ) -> tuple[Machine, dict[int, int]]:
        """Run the program on a virtual machine; return it and its operations' numbers by measured flow."""
        names = dict.fromkeys(run.lane for run in self.runs.values())
        devices = {name: Device(name) for name in names}
        machine = Machine(devices.values(), dispatch_s=t1_s, notify_s=t3_s, depth=depth)
        ops = {name: machine.op(lambda: np.zeros(0), cost_s=t2_s[name], name=name) for name in t2_s}
        handles: dict[int, Array] = {}
        numbers: dict[int, int] = {}
        for action in self.actions():
            if action.kind == "host":
                machine.host_work(action.duration_ns / 1e9)
            elif action.kind == "dispatch":
                run = self.runs[action.flow]
                handles[action.flow] = ops[run.name](device=devices[run.lane])
                numbers[action.flow] = len(numbers)
            elif action.flow in handles:
                handles[action.flow].block_until_ready()
        return machine, numbers


def _refuse_several(places: set[tuple[int, str]], names: dict[int, str]) -> None:
    """Refuse operations that ran on several devices, which the virtual machine has not."""
    flow, count = Counter(flow for flow, _ in places).most_common(1)[0] if places else (-1, 0)
    if count > 1:
        where = ", ".join(sorted(device for other, device in places if other == flow))
        raise ValueError(
            f"one dispatch of {names[flow]} ran on {count} devices ({where}): fit a program whose operations have all "
            "of their arguments on one device"
        )


def _kinds(names: Iterable[str]) -> dict[str, str]:
    """Return the names without the number of the step, where names differ in nothing else."""
    bare = {name: re.sub(r" \d+$", "", name) for name in names}
    several = Counter(bare.values())
    return {name: kind if several[kind] > 1 else name for name, kind in bare.items()}


def _whole(kernels: list[Event], names: dict[int, str]) -> dict[int, Event]:
    """Return one run for each operation: on a GPU it may consist of several kernels.

    It bears the operation's name without a number at its end, so that all steps of a loop are one kind.
    """
    kinds = _kinds(names.values())
    parts: dict[int, list[Event]] = {}
    for kernel in kernels:
        parts.setdefault(kernel.flow, []).append(kernel)
    runs = {}
    for flow, own in parts.items():
        first, end_ns = own[0], max(kernel.end_ns for kernel in own)
        runs[flow] = first._replace(duration_ns=end_ns - first.start_ns, name=kinds[names[flow]])
    return runs
