"""Profiles written as text, so that tests can have any hardware."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from jax.profiler import ProfileData


class E(NamedTuple):
    """An event: name, start and duration in nanoseconds, attributes."""

    name: str
    start: int
    duration: int
    stats: Mapping[str, Any] = {}


Lines = Iterable[tuple[str, Iterable[E]]]


def serialized(planes: Mapping[str, Lines]) -> bytes:
    """Return a profile as it stands in a file; planes map to lines, which may share names."""
    return ProfileData.text_proto_to_serialized_xspace(
        "".join(_plane(name, lines) for name, lines in planes.items())
    )


def parsed(planes: Mapping[str, Lines]) -> ProfileData:
    """Return a profile as JAX reads it."""
    return ProfileData.from_serialized_xspace(serialized(planes))


def _plane(plane: str, lines: Lines) -> str:
    lines = [(name, list(events)) for name, events in lines]
    events = [event for _, own in lines for event in own]
    names = {name: i for i, name in enumerate(dict.fromkeys(e.name for e in events), 1)}
    keys = {key: i for i, key in enumerate(dict.fromkeys(k for e in events for k in e.stats), 1)}
    body = "".join(_line(number, *line, names, keys) for number, line in enumerate(lines))
    body += "".join(_metadata("event_metadata", i, name) for name, i in names.items())
    body += "".join(_metadata("stat_metadata", i, key) for key, i in keys.items())
    return f"planes {{ name: {_quoted(plane)} {body} }}\n"


def _line(
    number: int, line: str, events: list[E], names: Mapping[str, int], keys: Mapping[str, int]
) -> str:
    body = ""
    for event in events:
        stats = "".join(_stat(keys[key], value) for key, value in event.stats.items())
        body += (
            f"events {{ metadata_id: {names[event.name]} offset_ps: {event.start * 1000} "
            f"duration_ps: {event.duration * 1000} {stats} }}\n"
        )
    return f"lines {{ id: {number} name: {_quoted(line)} {body} }}\n"


def _stat(key: int, value: Any) -> str:
    if isinstance(value, str):
        return f"stats {{ metadata_id: {key} str_value: {_quoted(value)} }} "
    return f"stats {{ metadata_id: {key} int64_value: {value} }} "


def _metadata(kind: str, number: int, name: str) -> str:
    return f"{kind} {{ key: {number} value {{ id: {number} name: {_quoted(name)} }} }}\n"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
