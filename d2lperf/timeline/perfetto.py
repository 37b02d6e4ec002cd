"""Timelines as Chrome traces, which Perfetto and chrome://tracing open, and back."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from d2lperf.events import CATEGORIES, Lane, Mark, Strip
from d2lperf.timeline.foreign import foreign
from d2lperf.timeline.timeline import Timeline

FORMAT = 1
KEY = "d2lperf"
PROCESSES = {"host": "host", "device": "devices", "link": "links", "thread": "runtime threads"}


def write(timeline: Timeline, path: str | Path) -> Path:
    """Write a timeline as a Chrome trace, whole or not at all.

    Args:
        timeline: what to write; every nanosecond is kept.
        path: the file; compressed if its name ends in `.gz`.

    Returns:
        The path.

    Raises:
        ValueError: a name that ends in neither `.json` nor `.json.gz`, by which it is known again.
        FileNotFoundError: the folder does not exist.
    """
    path = Path(path).expanduser()
    if not path.name.endswith((".json", ".json.gz")):
        raise ValueError(f"expected a name that ends in .json or .json.gz, got {path.name!r}")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {path.parent} to write {path.name} into: make it first"
        )
    tracks = _tracks(timeline)
    head = json.dumps({"displayTimeUnit": "ns", "otherData": {KEY: _own(timeline, tracks)}})
    data = f'{head[:-1]}, "traceEvents": [\n{_joined(_records(timeline, tracks))}\n]}}\n'.encode()
    if path.suffix == ".gz":
        # Without the time of writing, so that the same timeline is the same file.
        data = gzip.compress(data, compresslevel=6, mtime=0)
    _replace(path, data)
    return path


def read(path: str | Path) -> Timeline:
    """Read a Chrome trace: one that `write` wrote comes back as it was, one of another program as well as it can be.

    Args:
        path: a JSON file, compressed or not.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: not a trace, a truncated one, one without events, or one with impossible times.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}: give a trace as .json or .json.gz")
    trace = _parsed(path)
    records = trace.get("traceEvents") if isinstance(trace, dict) else trace
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise ValueError(f"{path.name} is no trace: expected a list of events in `traceEvents`")
    other = trace.get("otherData") if isinstance(trace, dict) else None
    own = other.get(KEY) if isinstance(other, dict) else None
    try:
        return foreign(records) if own is None else _from_own(own, records)
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(f"{path.name} is damaged: {error!r} while reading its events") from error


def _replace(path: Path, data: bytes) -> None:
    """Write a file beside the old one and put it in its place."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _own(timeline: Timeline, tracks: Tracks) -> dict[str, Any]:
    """Return what a Chrome trace has no place for."""
    return {
        "format": FORMAT,
        "title": timeline.title,
        "caption": timeline.caption,
        "notes": timeline.notes,
        "end_ns": timeline.axis_end_ns,
        "span_ns": timeline.span_ns,
        "names": timeline.names,
        "lanes": [[lane.name, lane.kind, lane.group, lane.folded] for lane in timeline.lanes],
        "tracks": [lane for lane, _ in tracks.parts],
        "marks": [[int(mark.time_ns), mark.text] for mark in timeline.marks],
        "strips": [
            [one.name, [*map(int, one.times_ns)], [*map(int, one.values)], one.budget]
            for one in timeline.strips
        ],
        "needs": timeline.needs.tolist(),
    }


def _from_own(own: dict[str, Any], records: list[dict[str, Any]]) -> Timeline:
    if own["format"] != FORMAT:
        raise ValueError(
            f"this trace has format {own['format']}, expected {FORMAT}: update d2lperf or write it again"
        )
    spans = [record for record in records if record["ph"] == "X"]
    place = {name: number for number, name in reversed([*enumerate(own["names"])])}
    category = {name: number for number, name in enumerate(CATEGORIES)}
    columns = {
        "start_ns": [_nanoseconds(record["ts"]) for record in spans],
        "duration_ns": [_nanoseconds(record["dur"]) for record in spans],
        "lane": [own["tracks"][record["tid"] - 1] for record in spans],
        "name": [place[record["name"]] for record in spans],
        "category": [category[record["cat"]] for record in spans],
        "flow": [record["args"].get("flow", -1) for record in spans],
        "step": [record["args"].get("step", -1) for record in spans],
    }
    return Timeline(
        columns,
        lanes=[Lane(*lane) for lane in own["lanes"]],
        names=own["names"],
        title=own["title"],
        caption=own["caption"],
        notes=own["notes"],
        end_ns=own["end_ns"],
        marks=[Mark(*mark) for mark in own["marks"]],
        strips=[Strip(name, tuple(times), tuple(v), b) for name, times, v, b in own["strips"]],
        needs=[(earlier, later) for earlier, later in own["needs"]],
        span_ns=own.get("span_ns"),
    )


def _parsed(path: Path) -> Any:
    data = path.read_bytes()
    try:
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        elif path.suffix == ".gz":
            raise ValueError(f"{path.name} is not compressed by gzip: is it a renamed .json file?")
        # Digits are kept as text: a float has no room for the nanoseconds of a long trace.
        return json.loads(data, parse_float=str)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path.name} is truncated or damaged: {error}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path.name} is not JSON, or it is truncated: {error}; expected a Chrome trace"
        ) from error


def _nanoseconds(microseconds: Any) -> int:
    """Return whole nanoseconds from digits as `_microseconds` writes them."""
    whole, _, part = str(microseconds).partition(".")
    return int(whole + part.ljust(3, "0"))


def _microseconds(time_ns: int) -> str:
    """Write nanoseconds as microseconds, exactly."""
    sign, size = "-" if time_ns < 0 else "", abs(time_ns)
    return f"{sign}{size // 1000}.{size % 1000:03d}"


def _joined(records: Iterator[str]) -> str:
    return ",\n".join(records)


def _records(timeline: Timeline, tracks: Tracks) -> Iterator[str]:
    processes = _processes(timeline)
    yield from _names(timeline, tracks.parts, processes)
    pids = [processes[_process(timeline.lanes[lane])] for lane, _ in tracks.parts]
    yield from _spans(timeline, tracks.track, pids)
    yield from _flows(timeline, tracks.track, pids)
    for mark in timeline.marks:
        name, at = json.dumps(mark.text), _microseconds(mark.time_ns)
        yield f'{{"ph":"i","s":"g","name":{name},"pid":1,"tid":1,"ts":{at}}}'
    for one in timeline.strips:
        name = json.dumps(one.name)
        for time_ns, value in zip(one.times_ns, one.values, strict=True):
            at, args = _microseconds(time_ns), f'{{"bytes":{value}}}'
            yield f'{{"ph":"C","name":{name},"pid":1,"ts":{at},"args":{args}}}'


def _process(lane: Lane) -> str:
    return lane.group or PROCESSES[lane.kind]


def _processes(timeline: Timeline) -> dict[str, int]:
    """Return numbers of processes, a process being a group of lanes or all lanes of a kind."""
    names = dict.fromkeys(_process(lane) for lane in timeline.lanes)
    return {name: number for number, name in enumerate(names, 1)}


def _names(
    timeline: Timeline, tracks: list[tuple[int, int]], processes: dict[str, int]
) -> Iterator[str]:
    for name, pid in processes.items():
        yield _named("process", {"pid": pid}, name, pid)
    for tid, (lane, part) in enumerate(tracks, 1):
        described = timeline.lanes[lane]
        at = {"pid": processes[_process(described)], "tid": tid}
        name = f"{described.name} ({part + 1})" if part else described.name
        yield _named("thread", at, name, lane)


def _named(what: str, at: dict[str, int], name: str, index: int) -> str:
    records = (
        {"ph": "M", "name": f"{what}_name", **at, "args": {"name": name}},
        {"ph": "M", "name": f"{what}_sort_index", **at, "args": {"sort_index": index}},
    )
    return _joined(map(json.dumps, records))


def _spans(timeline: Timeline, track: np.ndarray, pids: list[int]) -> Iterator[str]:
    names = [json.dumps(name) for name in timeline.names]
    columns = (timeline.start_ns, timeline.duration_ns, timeline.name, timeline.category)
    rows = (*columns, timeline.flow, timeline.step, track)
    for start, duration, name, category, flow, step, row in zip(
        *(column.tolist() for column in rows), strict=True
    ):
        args = ([f'"flow":{flow}'] if flow != -1 else []) + (
            [f'"step":{step}'] if step != -1 else []
        )
        yield (
            f'{{"ph":"X","name":{names[name]},"cat":"{CATEGORIES[category]}","pid":{pids[row]},'
            f'"tid":{row + 1},"ts":{_microseconds(start)},"dur":{_microseconds(duration)},'
            f'"args":{{{",".join(args)}}}}}'
        )


def _flows(timeline: Timeline, track: np.ndarray, pids: list[int]) -> Iterator[str]:
    """Join the events of an operation with an arrow from each to the next."""
    own = np.flatnonzero(timeline.flow >= 0)
    own = own[np.argsort(timeline.flow[own], kind="stable")]
    flows, heads = np.unique(timeline.flow[own], return_index=True)
    bounds = pairwise([*heads.tolist(), len(own)])
    for flow, (first, last) in zip(flows.tolist(), bounds, strict=True):
        events = own[first:last].tolist() if last - first > 1 else []
        for i, event in enumerate(events):
            kind = "s" if not i else ("t" if i < len(events) - 1 else "f")
            # An arrow belongs to the event around its moment, and the end of one is the start of another.
            at, row = _microseconds(int(timeline.start_ns[event])), int(track[event])
            bound = ',"bp":"e"' if i else ""
            yield (
                f'{{"ph":"{kind}","id":{flow},"name":"operation","cat":"flow","pid":{pids[row]},'
                f'"tid":{row + 1},"ts":{at}{bound}}}'
            )


class Tracks(NamedTuple):
    """The rows of a trace: lanes, and parts of those whose events overlap without nesting.

    Attributes:
        track: number of the track of each event.
        parts: lane and part of each track; the first tracks are the lanes.
    """

    track: np.ndarray
    parts: list[tuple[int, int]]


def _tracks(timeline: Timeline) -> Tracks:
    """Split lanes whose events overlap without nesting, which Perfetto would draw wrongly."""
    part = np.zeros(len(timeline), np.int64)
    for lane in range(len(timeline.lanes)):
        own = np.flatnonzero(timeline.lane == lane)
        if timeline.depth[own].any():
            ends = timeline.end_ns[own].tolist()
            part[own] = _parts(timeline.start_ns[own].tolist(), ends)
    tracks = [(lane, 0) for lane in range(len(timeline.lanes))]
    pairs = zip(timeline.lane[part > 0].tolist(), part[part > 0].tolist(), strict=True)
    tracks += sorted(set(pairs))
    number = {pair: i for i, pair in enumerate(tracks)}
    track = timeline.lane.astype(np.int64)
    for i in np.flatnonzero(part).tolist():
        track[i] = number[int(track[i]), int(part[i])]
    return Tracks(track, tracks)


def _parts(starts: list[int], ends: list[int]) -> list[int]:
    """Return for each event the first part of its lane in which it lies wholly inside or outside of the others."""
    open_: list[list[int]] = []
    parts = []
    for start, end in zip(starts, ends, strict=True):
        for stack in open_:
            while stack and stack[-1] <= start:
                stack.pop()
        fits = (i for i, stack in enumerate(open_) if not stack or end <= stack[-1])
        part = next(fits, len(open_))
        if part == len(open_):
            open_.append([])
        open_[part].append(end)
        parts.append(part)
    return parts
