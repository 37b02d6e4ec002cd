"""Executions on CPU devices, and which dispatch each of them belongs to."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from d2lperf.recording.bars import MARKER, Bar, Issue, Run, key_of, readable_module
from d2lperf.recording.dealing import deal
from d2lperf.recording.profile import START_REGION, WAIT_FOR_COMPLETION, Line

IN_FLIGHT = 32
"""Computations that JAX lets a device owe before the host has to wait; the same on CPU and GPU."""


@dataclass
class Runs:
    """Executions found in the lines of the host.

    Attributes:
        runs: by the number of the run and of the device.
        first_in_region: the run that a thread pool began with, by the number under which it took the work.
    """

    runs: dict[tuple[int, int], Run] = field(default_factory=dict)
    first_in_region: dict[int, Run] = field(default_factory=dict)

    def read(self, line: Line, python_lane: str = "") -> None:
        """Add what a line tells; `python_lane` names the lane if it is a Python thread."""
        region = None
        for span in line.spans:
            stats = span.stats
            if not stats:
                continue
            if "_c" in stats and span.name == START_REGION:
                region = stats["_c"]
            elif "device_ordinal" in stats and "run_id" in stats:
                run = self._extend(stats["run_id"], stats["device_ordinal"], span.start, span.end)
                run.module = stats.get("hlo_module", run.module)
                if python_lane and span.name == WAIT_FOR_COMPLETION:
                    run.lane = python_lane
                if region is not None:
                    self.first_in_region[region] = run
                    region = None

    def _extend(self, run_id: int, ordinal: int, start: int, end: int) -> Run:
        run = self.runs.get((run_id, ordinal))
        if run is None:
            run = self.runs[run_id, ordinal] = Run(run_id, ordinal, start, end)
        run.start, run.end = min(run.start, start), max(run.end, end)
        return run

    def of_the_reader(self) -> list[Run]:
        """Return the runs in order of start, without those that are part of a barrier or have no name."""
        runs = [run for run in self.runs.values() if run.module and MARKER not in run.module]
        return sorted(runs, key=lambda run: (run.start, run.ordinal))


def match(issues: Sequence[Issue], found: Runs) -> int:
    """Give runs the flow of their dispatch, where it can be known.

    A run is known by its number, if the dispatch tells it; by the thread pool that took the work from inside
    of the dispatch; and by order: a device runs the work of one thread in the order in which it was given.

    Args:
        issues: what Python gave away, in order, with flow numbers.
        found: the runs.

    Returns:
        How many runs of recorded dispatches stay without one.
    """
    runs = found.of_the_reader()
    numbered = _match_numbers(issues, runs)
    issues = [i for i in issues if i.bar.flow not in numbered and i.bar.category == "dispatch"]
    runs = [run for run in runs if run.flow < 0]
    for issue in issues:
        taken = (found.first_in_region.get(number) for number in issue.records)
        for run in taken:
            if run and run.flow < 0 and key_of(run.module) == key_of(issue.bar.name):
                run.flow = issue.bar.flow
                break
    return _match_in_order(issues, runs)


def _match_numbers(issues: Iterable[Issue], runs: Iterable[Run]) -> set[int]:
    """Match the runs that name themselves inside of their dispatch: on several devices, or on the host."""
    by_number = defaultdict(list)
    for run in runs:
        by_number[run.run_id].append(run)
    matched = set()
    for issue in issues:
        for run in (run for number in issue.run_ids for run in by_number.get(number, ())):
            run.flow = issue.bar.flow
            matched.add(run.flow)
    return matched


def _match_in_order(issues: Iterable[Issue], runs: Iterable[Run]) -> int:
    dispatches: dict[str, list[Issue]] = defaultdict(list)
    for issue in issues:
        dispatches[key_of(issue.bar.name)].append(issue)
    queues: dict[str, dict[int, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        queues[key_of(run.module)][run.ordinal].append(run)
    return sum(_deal(given, [*queues[key].values()]) for key, given in dispatches.items())


def _deal(given: list[Issue], queues: list[list[Run]]) -> int:
    """Deal the runs of one function, queued by device, out to its dispatches."""
    # What ran before the first dispatch was given away before the recording began.
    first = given[0].bar.start
    queues = [[run for run in queue if run.start >= first] for queue in queues]
    if _overlap(given):
        return _unknown(queues)
    starts = [issue.bar.start for issue in given]
    places = {issue.bar.flow: i for i, issue in enumerate(given)}
    fixed = [[places.get(run.flow, -1) for run in queue] for queue in queues]
    limits = [[bisect_right(starts, run.start) - 1 for run in queue] for queue in queues]
    dealt = deal(len(given), fixed, limits)
    for place, (queue, k) in dealt.items():
        if queues[queue][k].flow < 0:
            queues[queue][k].flow = given[place].bar.flow
    return _unknown(queues)


def _unknown(queues: list[list[Run]]) -> int:
    return sum(run.flow < 0 for queue in queues for run in queue)


def _overlap(given: list[Issue]) -> bool:
    """Whether two threads dispatched at the same time: then nobody knows whose work came first."""
    return any(
        later.bar.lane != issue.bar.lane and later.bar.start < issue.bar.end
        for issue, later in pairwise(given)
    )


def draw(runs: Iterable[Run], flows: dict[int, str]) -> list[Bar]:
    """Return the bars of runs: on the lane of their device, or of Python where the host computed it itself.

    Args:
        runs: what ran.
        flows: names of dispatches by flow.
    """
    return [
        Bar(
            run.start,
            run.end,
            run.lane or f"cpu:{run.ordinal}",
            flows.get(run.flow) or readable_module(run.module),
            "run",
            run.flow,
        )
        for run in runs
    ]


def queue_full(issues: Iterable[Issue], runs: Sequence[Run]) -> list[Bar]:
    """Return the waits inside of dispatches that found as many computations in flight as JAX allows.

    No event tells it. A dispatch that pauses while its device owes `IN_FLIGHT` computations, until one
    of these ends, is taken for it.
    """
    on_device = {run.flow: run for run in runs if run.flow >= 0}
    ended: dict[int, list[Run]] = defaultdict(list)
    for run in sorted(on_device.values(), key=lambda run: run.end):
        ended[run.ordinal].append(run)
    bars = []
    given: Counter[int] = Counter()
    for issue in issues:
        if issue.bar.flow not in on_device:
            continue
        ordinal = on_device[issue.bar.flow].ordinal
        if issue.blocked:
            start, end = issue.blocked
            done, freed = (bisect_right(ended[ordinal], t, key=_end) for t in (start, end))
            if given[ordinal] - done >= IN_FLIGHT and freed > done:
                flow = ended[ordinal][freed - 1].flow
                bars.append(Bar(start, end, issue.bar.lane, "queue full", "wait", flow))
        given[ordinal] += 1
    return bars


def _end(run: Run) -> int:
    return run.end
