"""The raw events of a JAX profile: planes of lines of spans, times in whole nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from jax.profiler import ProfileData

_EMPTY: Mapping[str, Any] = {}
_BARE = ("$", "PjitFunction(", "Handle input", "Wait for ")
_BARE_NAMES = frozenset(
    {
        "ThunkExecutor::Execute",
        "ParseArguments",
        "PythonRefManager::CollectGarbage",
        "ThreadpoolListener::StopRegion",
    }
)
_SKIPPED = "end: "
"""Events that say again what others have said: each operation's end is one more."""
START_REGION = "ThreadpoolListener::StartRegion"
STOP_REGION = "ThreadpoolListener::StopRegion"
WAIT_FOR_COMPLETION = "ThunkExecutor::Execute (wait for completion)"


class Span(NamedTuple):
    """One event as the profiler wrote it, with the attributes that it came with."""

    name: str
    start: int
    end: int
    stats: Mapping[str, Any]


class Line(NamedTuple):
    """Events of one thread or stream, ordered by start, longer ones first."""

    name: str
    spans: list[Span]


class Plane(NamedTuple):
    """Lines of the host or of one device."""

    name: str
    lines: list[Line]


@lru_cache(4096)
def _is_bare(name: str) -> bool:
    """Whether nothing is read from the attributes of such events: reading them costs the most."""
    return name in _BARE_NAMES or name.startswith(_BARE)


def _stats(event: Any) -> Mapping[str, Any]:
    return {key: value for key, value in event.stats if key is not None and value is not None}


class _Loop:
    """Remembers the attributes of operations inside of one operation.

    A loop repeats its operations thousands of times: within it, an event of the same name tells the same run again.
    """

    def __init__(self) -> None:
        self.start = self.end = 0
        self.seen: dict[str, Mapping[str, Any]] = {}

    def stats(self, event: Any, name: str, start: int, end: int) -> Mapping[str, Any]:
        inside = self.start <= start and end <= self.end
        if inside and name in self.seen:
            return self.seen[name]
        stats = _stats(event)
        if "hlo_op" in stats and "device_ordinal" in stats and "correlation_id" not in stats:
            if not inside:
                self.start, self.end, self.seen = start, end, {}
            else:
                self.seen[name] = stats
        return stats


def _spans(line: Any, plane: str) -> list[Span]:
    spans = []
    loop = _Loop()
    for event in line.events:
        name = event.name
        if name.startswith(_SKIPPED):
            continue
        if event.duration_ns < 0:
            raise ValueError(
                f"{name!r} on line {line.name!r} of {plane!r} lasts {event.duration_ns:.0f} ns: "
                "the profile is damaged, record it again"
            )
        # Both ends are rounded alike, so what is nested stays nested.
        start, end = round(event.start_ns), round(event.end_ns)
        stats = _EMPTY if _is_bare(name) else loop.stats(event, name, start, end)
        spans.append(Span(name, start, end, stats))
    if any(later.start <= span.start for span, later in pairwise(spans)):
        spans.sort(key=lambda span: (span.start, -span.end))
    return spans


def read_planes(profile: ProfileData) -> list[Plane]:
    """Return the planes of a profile that hold events, with their events in order of time.

    Raises:
        ValueError: an event of negative duration.
    """
    planes = []
    for plane in profile.planes:
        name = plane.name or ""
        lines = [Line(line.name or "", _spans(line, name)) for line in plane.lines]
        lines = [line for line in lines if line.spans]
        if lines:
            planes.append(Plane(name, lines))
    return planes
