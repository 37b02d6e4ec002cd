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
    {"ThunkExecutor::Execute", "ParseArguments", "PythonRefManager::CollectGarbage"}
)
_SKIPPED = ("end: ", "ThreadpoolListener::StopRegion")
"""Events that say again what others have said."""
_LISTENER = "ThreadpoolListener::"
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


class _Reading(NamedTuple):
    """What to do with the events of one name."""

    skipped: bool
    bare: bool
    """Nothing is read from their attributes, which costs the most."""
    turning: bool
    """A thread may go over to another run there."""


@lru_cache(4096)
def _reading(name: str) -> _Reading:
    return _Reading(
        skipped=name.startswith(_SKIPPED),
        bare=name in _BARE_NAMES or name.startswith(_BARE),
        turning=name == WAIT_FOR_COMPLETION or name.startswith((_LISTENER, "PjitFunction(")),
    )


def _stats(event: Any) -> Mapping[str, Any]:
    return {key: value for key, value in event.stats if key is not None and value is not None}


def _spans(line: Any, plane: str) -> list[Span]:
    spans = []
    operations: dict[str, Mapping[str, Any]] = {}
    for event in line.events:
        name = event.name
        reading = _reading(name)
        if reading.skipped:
            continue
        start, duration = event.start_ns, event.duration_ns
        if duration < 0:
            raise ValueError(
                f"{name!r} on line {line.name!r} of {plane!r} lasts {duration:.0f} ns: "
                "the profile is damaged, record it again"
            )
        if reading.turning:
            operations = {}
        stats = _EMPTY if reading.bare else operations.get(name)
        if stats is None:
            stats = _stats(event)
            if "device_ordinal" in stats and "correlation_id" not in stats:
                # A loop repeats its operations thousands of times: they tell the same run again.
                operations[name] = stats
        # Both ends are rounded alike, so what is nested stays nested.
        spans.append(Span(name, round(start), round(start + duration), stats))
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
