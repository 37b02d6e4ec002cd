"""Chrome traces of other programs as timelines."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from decimal import Decimal
from typing import Any

from d2lperf.events import CATEGORIES, Lane, Mark, Strip
from d2lperf.timeline.timeline import Timeline

_DEVICE = re.compile(r"/device:|PjRtCpuClient|\b(gpu|tpu)\b|\bstream\b", re.IGNORECASE)
_COPY = re.compile(r"memcpy|copy-(start|done)|\bh2d\b|\bd2h\b|\bd2d\b", re.IGNORECASE)
_COLLECTIVE = re.compile(
    r"all-?reduce|all-?gather|reduce-?scatter|all-?to-?all|nccl", re.IGNORECASE
)
_MAIN = re.compile(r"\b(python3?|main|mainthread|host)\b", re.IGNORECASE)

Record = dict[str, Any]
Track = tuple[Any, Any]


def foreign(records: list[Record]) -> Timeline:
    """Return the events of a Chrome trace, as JAX's profiler and browsers write it.

    Complete events (`X`) and pairs of beginning and end (`B`, `E`) become events, global instants
    marks, counters with one value strips; the first event starts at zero. What is left out is said
    in the notes.

    Args:
        records: the list `traceEvents`, with numbers as numbers or as text.

    Raises:
        ValueError: no events, or times that are missing, not finite or negative durations.
    """
    spans, notes = _spans(records)
    if not spans:
        raise ValueError("the trace has no events: expected records with ph X, or B and E")
    zero = min(start for start, _, _ in spans)
    lanes = _lanes(records, [*dict.fromkeys(_track(record) for _, _, record in spans)])
    numbers = {track: i for i, track in enumerate(lanes)}
    names = {name: i for i, name in enumerate(dict.fromkeys(_name(r) for _, _, r in spans))}
    described = [*lanes.values()]
    columns: dict[str, list[int]] = defaultdict(list)
    for start, duration, record in spans:
        number = numbers[_track(record)]
        columns["start_ns"].append(start - zero)
        columns["duration_ns"].append(duration)
        columns["lane"].append(number)
        columns["name"].append(names[_name(record)])
        columns["category"].append(CATEGORIES.index(_category(record, described[number])))
    return Timeline(
        columns,
        lanes=described,
        names=names,
        marks=_marks(records, zero),
        strips=_strips(records, zero),
        notes=notes,
    )


def _track(record: Record) -> Track:
    return record.get("pid", 0), record.get("tid", 0)


def _name(record: Record) -> str:
    return str(record.get("name", "")) or "(no name)"


def _time_ns(record: Record, key: str) -> int:
    """Return a time of a record in whole nanoseconds.

    Raises:
        ValueError: it is missing or no finite number.
    """
    try:
        value = record[key]
        if not math.isfinite(float(value)):
            raise ValueError(value)
        return round(Decimal(value) * 1000)
    except (KeyError, TypeError, ValueError) as error:
        got = record.get(key, "nothing")
        raise ValueError(
            f"event {_name(record)!r} has {key} = {got}: expected a finite number of microseconds"
        ) from error


def _spans(records: list[Record]) -> tuple[list[tuple[int, int, Record]], list[str]]:
    """Return start, duration and record of every event, and what could not be read."""
    spans: list[tuple[int, int, Record]] = []
    begun: dict[Track, list[Record]] = defaultdict(list)
    unmatched = 0
    for record in records:
        kind = record.get("ph")
        if kind == "X":
            spans.append((_time_ns(record, "ts"), _duration_ns(record), record))
        elif kind == "B":
            begun[_track(record)].append(record)
        elif kind == "E" and begun[_track(record)]:
            first = begun[_track(record)].pop()
            start = _time_ns(first, "ts")
            duration = _duration_ns({**first, "dur": 0}) + _time_ns(record, "ts") - start
            if duration < 0:
                raise ValueError(f"event {_name(first)!r} ends before it begins")
            spans.append((start, duration, first))
        elif kind == "E":
            unmatched += 1
    unmatched += sum(map(len, begun.values()))
    return spans, _notes(records, unmatched)


def _duration_ns(record: Record) -> int:
    duration = _time_ns({"dur": 0} | record, "dur")
    if duration < 0:
        raise ValueError(f"event {_name(record)!r} lasts {duration} ns: a duration is zero or more")
    return duration


def _notes(records: list[Record], unmatched: int) -> list[str]:
    notes = []
    if unmatched:
        notes.append(f"Without a beginning or an end, and so left out: {unmatched:,} events.")
    # JAX ends its list with a record that is empty.
    others = sum(str(r.get("ph")) not in "XBEMCstfiI" or _small(r) for r in records if "ph" in r)
    if others:
        notes.append(
            f"Left out: {others:,} records of other kinds, such as asynchronous events and instants of a thread."
        )
    return notes


def _small(record: Record) -> bool:
    """Return whether this is an instant that concerns one thread only."""
    return record.get("ph") in ("i", "I") and record.get("s") != "g"


def _lanes(records: list[Record], tracks: list[Track]) -> dict[Track, Lane]:
    """Return the tracks with events as lanes, in the order that the trace asks for."""
    process, thread, order = dict[Any, str](), dict[Track, str](), dict[Any, int]()
    for record in records:
        if record.get("ph") != "M":
            continue
        args, (pid, tid) = record.get("args") or {}, _track(record)
        match record.get("name"):
            case "process_name":
                process[pid] = str(args.get("name", ""))
            case "thread_name":
                thread[pid, tid] = str(args.get("name", ""))
            case "process_sort_index":
                order[pid] = int(args.get("sort_index", 0))
            case "thread_sort_index":
                order[pid, tid] = int(args.get("sort_index", 0))
    tracks = sorted(tracks, key=lambda track: (order.get(track[0], 0), order.get(track, 0)))
    short = {track: thread.get(track) or f"thread {track[1]}" for track in tracks}
    often = Counter(short.values())
    lanes: dict[Track, Lane] = {}
    taken: set[str] = set()
    for track in tracks:
        group, name = process.get(track[0], ""), short[track]
        if often[name] > 1:
            name = f"{group or f'process {track[0]}'} · {name}"
        while name in taken:
            name = f"{name} ({track[0]}/{track[1]})"
        taken.add(name)
        lanes[track] = Lane(name, _kind(group, short[track]), group)
    return lanes


def _kind(process: str, thread: str) -> str:
    if _DEVICE.search(process) or _DEVICE.search(thread):
        return "link" if _COPY.search(thread) else "device"
    return "host" if _MAIN.search(thread) else "thread"


def _category(record: Record, lane: Lane) -> str:
    if record.get("cat") in CATEGORIES:
        return str(record["cat"])
    name = _name(record)
    if lane.kind in ("device", "link"):
        if _COLLECTIVE.search(name):
            return "collective"
        return "copy" if lane.kind == "link" or _COPY.search(name) else "run"
    return "host" if lane.kind == "host" else "runtime"


def _marks(records: list[Record], zero: int) -> list[Mark]:
    found = [r for r in records if r.get("ph") in ("i", "I") and not _small(r)]
    return [Mark(_time_ns(record, "ts") - zero, _name(record)) for record in found]


def _strips(records: list[Record], zero: int) -> list[Strip]:
    """Return the counters that have one whole number at each time."""
    series: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for record in records:
        values = [*(record.get("args") or {}).values()] if record.get("ph") == "C" else []
        if len(values) == 1 and isinstance(values[0], int):
            series[_name(record)].append((_time_ns(record, "ts") - zero, values[0]))
    ordered = {name: sorted(points) for name, points in series.items()}
    return [
        Strip(name, tuple(time for time, _ in points), tuple(value for _, value in points))
        for name, points in ordered.items()
    ]
