"""What GPUs did, stream by stream, and which host call launched it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from d2lperf.events import Lane
from d2lperf.recording.bars import Bar, Issue, key_of
from d2lperf.recording.profile import START_REGION, STOP_REGION, Line, Plane, Span

_DEVICE = re.compile(r"/device:(\w+):(\d+)")
_STREAM = re.compile(r"Stream #(\d+)")
_OPERATIONS = "XLA Ops"
_COPY = re.compile(r"mem_?cpy|copyBuffer|memset|fillBuffer", re.IGNORECASE)
_COLLECTIVE = re.compile(
    r"nccl|rccl|all[-_]?reduce|all[-_]?gather|reduce[-_]?scatter|all[-_]?to[-_]?all|collective[-_]?permute"
    r"|collective[-_]?broadcast",
    re.IGNORECASE,
)
_PLACES = {"H": "host", "D": "device", "P": "peer"}
_READABLE = 40
"""A longer kernel name is replaced by that of its operation, if the profile knows it."""


class Launched(NamedTuple):
    """Work on a device, and the number that its launch on the host has, too."""

    bar: Bar
    correlation: int
    module: str


def is_device(plane: Plane) -> bool:
    """Whether the plane is that of an accelerator."""
    return _DEVICE.match(plane.name) is not None


@lru_cache(4096)
def _category(name: str, line: str) -> str:
    if "(Memcpy" in line or "(Memset" in line or _COPY.search(name):
        return "copy"
    return "collective" if _COLLECTIVE.search(name) else "run"


def _kernel_name(span: Span) -> str:
    name = span.name.removesuffix(".kd")
    operation = span.stats.get("hlo_op")
    mangled = len(name) > _READABLE or name.startswith(("_Z", "void "))
    return str(operation) if operation and (mangled or not name) else name or "kernel"


def _copy_name(span: Span, launch: Span | None) -> str:
    """Return the direction of a copy; the launch tells it where the copy itself is just a kernel."""
    for name in (span.name, launch.name if launch else ""):
        if "memset" in name.lower():
            return "fill"
        match = re.search(r"([HDP])(?:to|2)([HDP])", name)
        if match:
            source, target = (_PLACES[place] for place in match.groups())
            return f"copy {source} → {target}"
    return "copy"


def _drawn(plane: Plane) -> list[Line]:
    """Return the lines to draw.

    XLA derives further lines from the streams (modules, operations, steps, name scopes, source lines): they show the
    same time once more. Where a device has no streams, as a TPU, its operations are drawn.
    """
    streams = [line for line in plane.lines if _STREAM.match(line.name)]
    return streams or [line for line in plane.lines if line.name == _OPERATIONS]


def launches_of(lines: Iterable[Line]) -> dict[int, Span]:
    """Return the calls on the host that gave work to a device, by the number that the work has, too."""
    return {
        span.stats["correlation_id"]: span
        for line in lines
        for span in line.spans
        if "correlation_id" in span.stats
    }


def read_device(plane: Plane, launches: dict[int, Span]) -> tuple[list[Lane], list[Launched]]:
    """Return the lanes of one device, and its work."""
    match = _DEVICE.match(plane.name)
    assert match is not None
    device = f"{match[1].lower()}:{match[2]}"
    lanes: list[Lane] = []
    work: list[Launched] = []
    for line in sorted(_drawn(plane), key=_stream_number):
        stream = _STREAM.match(line.name)
        lane = unique(f"{device} stream {stream[1]}" if stream else device, lanes)
        items = [_launched(span, lane, line.name, launches) for span in line.spans]
        copies = all(item.bar.category == "copy" for item in items)
        lanes.append(Lane(lane, "link" if copies else "device", device))
        work += items
    return lanes, work


def _launched(span: Span, lane: str, line: str, launches: dict[int, Span]) -> Launched:
    operation = str(span.stats.get("hlo_op", ""))
    category = _category(f"{span.name} {operation}", line)
    correlation = span.stats.get("correlation_id", -1)
    copy = category == "copy"
    name = _copy_name(span, launches.get(correlation)) if copy else _kernel_name(span)
    bar = Bar(span.start, span.end, lane, name, category)
    return Launched(bar, correlation, str(span.stats.get("hlo_module", "")))


def unique(name: str, taken: Iterable[Lane]) -> str:
    """Return the name, numbered if a lane has it already."""
    names = {lane.name for lane in taken}
    number, wanted = 1, name
    while name in names:
        number += 1
        name = f"{wanted} ({number})"
    return name


class Context(NamedTuple):
    """A span of time in which a thread of the runtime worked on what Python had given away."""

    start: int
    end: int
    flow: int


def contexts(issues: Iterable[Issue], lines: Sequence[Line]) -> list[Context]:
    """Return when threads of the runtime worked for which dispatch, following the numbers that they hand on.

    Of the work that thread pools took, only what they took from inside of a dispatch counts: done with one thing, a
    pool hands on the *next*.
    """
    flows = {producer: i.bar.flow for i in issues for producer in i.producers}
    found = [
        Context(span.start, span.end, flows[link])
        for line in lines
        for span in line.spans
        if (link := (span.stats.get("_ct", 0), span.stats.get("_c"))) in flows
    ]
    taken = {number: i.bar.flow for i in issues for number in i.records}
    return found + [region for line in lines for region in _regions(line, taken)]


def _regions(line: Line, taken: dict[int, int]) -> Iterable[Context]:
    """Return when a thread of a pool worked on what it took from inside of a dispatch."""
    start, flow = 0, -1
    for span in line.spans:
        if span.name in (START_REGION, STOP_REGION):
            if flow >= 0:
                yield Context(start, span.start, flow)
            start, flow = span.start, taken.get(span.stats.get("_c", -1), -1)
    if flow >= 0:
        yield Context(start, line.spans[-1].end, flow)


def by_number(plane: Plane) -> tuple[str, int]:
    """Key to sort devices with."""
    match = _DEVICE.match(plane.name)
    return (match[1], int(match[2])) if match else ("", 0)


def _stream_number(line: Line) -> int:
    match = _STREAM.match(line.name)
    return int(match[1]) if match else 0


def match(
    work: Sequence[Launched],
    launches: dict[int, Span],
    issues: Sequence[Issue],
    found: Sequence[Context],
) -> None:
    """Give work on devices the flow of the dispatch that it comes from, where it can be known.

    A launch inside of a dispatch is the dispatch's own. One on another thread belongs to the dispatch that a thread of
    the runtime worked for at that moment, if there was only one of that name.
    """
    own = {number: issue.bar.flow for issue in issues for number in issue.correlations}
    names = {issue.bar.flow: key_of(issue.bar.name) for issue in issues}
    dispatches = [Context(i.bar.start, i.bar.end, i.bar.flow) for i in issues]
    asked = sorted({w.correlation for w in work if w.correlation in launches})
    moments = [(launches[number].start, number) for number in asked if number not in own]
    inner, outer = _open_at(moments, found), _open_at(moments, dispatches)
    for item in work:
        number = item.correlation
        flows = {own[number]} if number in own else inner.get(number) or outer.get(number, set())
        if item.module:
            flows = {flow for flow in flows if names[flow] == key_of(item.module)}
        if len(flows) == 1:
            item.bar.flow = next(iter(flows))


def _open_at(moments: Iterable[tuple[int, int]], spans: Iterable[Context]) -> dict[int, set[int]]:
    """Return for each numbered moment the flows of the spans that contain it."""
    waiting = sorted(spans, reverse=True)
    active: list[Context] = []
    found = {}
    for moment, number in sorted(moments):
        while waiting and waiting[-1].start <= moment:
            active.append(waiting.pop())
        active = [context for context in active if context.end >= moment]
        found[number] = {context.flow for context in active}
    return found
