"""From the raw events of a profile to a timeline."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from d2lperf.events import CATEGORIES, Lane, Mark
from d2lperf.recording import gpu, runs
from d2lperf.recording.bars import FETCHES, Bar, Issue, Run
from d2lperf.recording.host import Thread, read_thread
from d2lperf.recording.profile import Line, Plane, Span, read_planes
from d2lperf.timeline.timeline import Timeline

if TYPE_CHECKING:
    from jax.profiler import ProfileData

END_OF_BLOCK = "end of the block"

_NUMBERED = re.compile(r"(.*)/-?\d+$")
_THREADS = {
    "tf_XLAPjRtCpuClient": "XLA client",
    "tf_XLAEigen": "Eigen",
    "tf_PjRtCompilerThreadPool": "compiler",
    "tf_xla-cpu-codegen": "code generator",
    "py_xla_execute": "XLA launch",
    "tf_pjrt_thread_pool": "PJRT pool",
    "Host Threads": "GPU calls",
}
_COMPILERS = ("compiler", "code generator")
_UNDRAWN = "ThreadpoolListener::"
_UNKNOWN = (
    "{} without an arrow: the profile does not say which of the dispatches of that name led to "
    "which run, as with several devices or threads. Functions of different names can be told apart."
)


def timeline_from(
    profile: ProfileData, *, title: str = "", threads: bool = True, details: bool = False
) -> Timeline:
    """Turn a profile into a timeline.

    Args:
        profile: as `jax.profiler` reads it.
        title: a line above the lanes.
        threads: keep the runtime's threads, folded.
        details: keep what happens inside of dispatches.

    Raises:
        ValueError: the profile holds no event, or damaged ones.
    """
    planes = read_planes(profile)
    host = [line for plane in planes if not gpu.is_device(plane) for line in plane.lines]
    python, others = _sorted_lines(host)
    read = _read_python(python, details)
    issues = _numbered(read)
    bars = [bar for thread in read for bar in thread.bars]
    lanes = [Lane(thread.lane) for thread in sorted(read, key=lambda t: t.number)]
    found = _find_runs(python, read, others)
    unknown = runs.match(issues, found)
    executed = _draw_runs(lanes, bars, issues, found)
    work = _draw_devices(lanes, bars, issues, planes, host)
    _credit_waits(bars)
    _spread_steps(bars, issues)
    block = next((thread.block for thread in read if thread.block), None)
    if threads:
        # What follows in a recording is the wait after its block.
        until = max((bar.end for bar in bars), default=0) if block else None
        _draw_threads(lanes, bars, others, _Flows(executed, work), until)
    notes = [_UNKNOWN.format("1 run" if unknown == 1 else f"{unknown} runs")] if unknown else []
    return _timeline(bars, lanes, block, title=title, notes=notes)


def _sorted_lines(host: Iterable[Line]) -> tuple[list[Line], list[Line]]:
    """Tell Python's threads, which bear the program's name, from the runtime's, which are numbered."""
    python: list[Line] = []
    others: list[Line] = []
    for line in host:
        (others if _is_runtime(line) else python).append(line)
    return python, others


def _is_runtime(line: Line) -> bool:
    match = _NUMBERED.match(line.name)
    if match is None or match[1] in _THREADS or match[1].startswith("tf_"):
        return match is not None
    return not any(span.name.startswith("PjitFunction(") for span in line.spans)


def _read_python(lines: Sequence[Line], details: bool) -> list[Thread]:
    threads = [read_thread(line.spans, details=details) for line in lines]
    # The thread that recorded is the reader's own; else the one that gave most away.
    order = sorted(threads, key=lambda t: (t.block is None, -len(t.issues)))
    for number, thread in enumerate(order, 1):
        thread.number = number
        thread.lane = "Python" if number == 1 else f"Python {number}"
        for bar in thread.bars:
            bar.lane = thread.lane
    return threads


def _find_runs(python: Sequence[Line], read: Sequence[Thread], others: Sequence[Line]) -> runs.Runs:
    found = runs.Runs()
    for line, thread in zip(python, read, strict=True):
        found.read(line, thread.lane)
    for line in others:
        found.read(line)
    return found


def _numbered(threads: Iterable[Thread]) -> list[Issue]:
    issues = sorted((i for thread in threads for i in thread.issues), key=lambda i: i.bar.start)
    for flow, issue in enumerate(issues):
        issue.bar.flow = flow
    return issues


def _draw_runs(
    lanes: list[Lane], bars: list[Bar], issues: Sequence[Issue], found: runs.Runs
) -> list[Run]:
    """Add CPU devices with what ran there."""
    executed = found.of_the_reader()
    bars += runs.draw(executed, {issue.bar.flow: issue.bar.name for issue in issues})
    bars += runs.queue_full(issues, executed)
    ordinals = sorted({run.ordinal for run in executed if not run.lane})
    lanes += [Lane(f"cpu:{n}", "device", f"cpu:{n}") for n in ordinals]
    return executed


def _draw_devices(
    lanes: list[Lane],
    bars: list[Bar],
    issues: Sequence[Issue],
    planes: Iterable[Plane],
    host: Sequence[Line],
) -> list[gpu.Launched]:
    """Add accelerators, stream by stream."""
    launches = gpu.launches_of(host)
    work: list[gpu.Launched] = []
    for plane in sorted(filter(gpu.is_device, planes), key=gpu.by_number):
        more, items = gpu.read_device(plane, launches)
        lanes += more
        work += items
    gpu.match(work, launches, issues, gpu.contexts(issues, host))
    bars += [item.bar for item in work]
    return work


def _credit_waits(bars: Iterable[Bar]) -> None:
    """Give a wait the flow of what it waited for, if only one can have ended it.

    That is inference: what ended last before the wait did, unless something else ended about as late. Work whose
    dispatch is not known counts: it can have ended a wait as well.
    """
    bars = [*bars]
    work = sorted((b for b in bars if b.category in ("run", "copy", "collective")
                   and not b.lane.startswith("Python")), key=lambda b: b.end)  # fmt: skip
    ends = [bar.end for bar in work]
    fetches = {*FETCHES.values()}
    for wait in bars:
        if wait.flow >= 0 or not (wait.category == "wait" or wait.name in fetches):
            continue
        last = bisect_right(ends, wait.end) - 1
        if last < 0 or ends[last] <= wait.start:
            continue
        wait.category = "wait"
        lag = wait.end - ends[last]
        rivals = work[bisect_left(ends, ends[last] - lag) : last]
        if all(rival.flow == work[last].flow for rival in rivals):
            wait.flow = work[last].flow


def _spread_steps(bars: Iterable[Bar], issues: Iterable[Issue]) -> None:
    steps = {issue.bar.flow: issue.bar.step for issue in issues if issue.bar.step >= 0}
    for bar in bars:
        if bar.step < 0 and bar.flow >= 0:
            bar.step = steps.get(bar.flow, -1)


class _Flows:
    """Finds the flow of what a thread of the runtime does, by the numbers that it shares with a run or a kernel."""

    def __init__(self, executed: Iterable[Run], work: Iterable[gpu.Launched]) -> None:
        self.runs = {(run.run_id, run.ordinal): run.flow for run in executed}
        self.launches = {item.correlation: item.bar.flow for item in work}

    def of(self, span: Span) -> int:
        stats = span.stats
        if "run_id" in stats:
            return self.runs.get((stats["run_id"], stats.get("device_ordinal", -1)), -1)
        return self.launches.get(stats["correlation_id"], -1) if "correlation_id" in stats else -1


def _draw_threads(
    lanes: list[Lane], bars: list[Bar], others: Iterable[Line], flows: _Flows, until: int | None
) -> None:
    """Add the threads of the runtime up to a moment, numbered in the order in which they began."""
    count: Counter[str] = Counter()
    for line in sorted(others, key=lambda line: line.spans[0].start):
        match = _NUMBERED.match(line.name)
        kind = match[1] if match else line.name
        label = _THREADS.get(kind, kind.removeprefix("tf_"))
        lane = gpu.unique(f"{label} {count[label] + 1}", lanes)
        category = "compile" if label in _COMPILERS else "runtime"
        drawn = [
            Bar(span.start, span.end, lane, span.name or "unnamed", category, flows.of(span))
            for span in line.spans
            if not span.name.startswith(_UNDRAWN) and (until is None or span.start < until)
        ]
        if drawn:
            count[label] += 1
            lanes.append(Lane(lane, "thread", "runtime", folded=True))
            bars += drawn


def _timeline(
    bars: list[Bar],
    lanes: Sequence[Lane],
    block: tuple[int, int] | None,
    *,
    title: str,
    notes: Sequence[str],
) -> Timeline:
    if not bars and block is None:
        raise ValueError(
            "the profile holds no events: record it around code that does something, "
            "`with record() as trace:` or `with jax.profiler.trace(folder):`"
        )
    origin = block[0] if block else min(bar.start for bar in bars)
    used = {bar.lane for bar in bars}
    lanes = [lane for lane in lanes if lane.name in used]
    lane_number = {lane.name: i for i, lane in enumerate(lanes)}
    names = {name: i for i, name in enumerate(dict.fromkeys(bar.name for bar in bars))}
    category = {name: i for i, name in enumerate(CATEGORIES)}
    columns = {
        "start_ns": [bar.start - origin for bar in bars],
        "duration_ns": [bar.end - bar.start for bar in bars],
        "lane": [lane_number[bar.lane] for bar in bars],
        "name": [names[bar.name] for bar in bars],
        "category": [category[bar.category] for bar in bars],
        "flow": [bar.flow for bar in bars],
        "step": [bar.step for bar in bars],
    }
    marks = [Mark(block[1] - origin, END_OF_BLOCK)] if block else []
    span_ns = (0, block[1] - origin) if block else None
    return Timeline(
        columns,
        lanes=lanes,
        names=names,
        title=title,
        marks=marks,
        notes=notes,
        span_ns=span_ns,
    )
