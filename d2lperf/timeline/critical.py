"""The critical path: the chain of events that the total time consists of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

from d2lperf.events import CATEGORIES
from d2lperf.tables import Table, table
from d2lperf.timeline.causes import Causes
from d2lperf.timeline.columns import Columns
from d2lperf.timeline.moments import moment
from d2lperf.units import format_seconds

NOTICE = "notice"
"""From the end of an operation until the host that waits for it knows."""

UNKNOWN = "nothing recorded"
"""Between the end of a cause and the start of its effect: latency, or what was not recorded."""

ROWS = 40
"""Parts of a path that are shown; more would not be read."""


NAMED = 4
"""Parts that a summary names."""

_Key = TypeVar("_Key", bound=Hashable)


class Segment(NamedTuple):
    """A part of a critical path.

    Attributes:
        start_ns: start in nanoseconds.
        end_ns: end in nanoseconds.
        event: number of the event; -1 for none.
        name: name of the event.
        category: one of `CATEGORIES`, `notice` for the end of a wait, or `nothing recorded`.
        lane: where; empty if nothing is recorded.
    """

    start_ns: int
    end_ns: int
    event: int
    name: str
    category: str
    lane: str

    @property
    def duration_ns(self) -> int:
        """How long it is, in nanoseconds."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class CriticalPath:
    """The chain of events that the total time consists of, each of which began when the one before ended.

    Only what is on it can make the program faster, and only until another chain is as long.

    Attributes:
        events: numbers of the events, ascending, waits that it passes at their end included.
        segments: parts without gaps, from the beginning to the end of the timeline.
    """

    events: tuple[int, ...]
    segments: tuple[Segment, ...]

    @property
    def length_ns(self) -> int:
        """Total time in nanoseconds."""
        return sum(segment.duration_ns for segment in self.segments)

    @property
    def category_shares(self) -> dict[str, float]:
        """What part of the time is of each category, the largest first; they add up to 1."""
        return self._shares(lambda segment: segment.category)

    @property
    def lane_shares(self) -> dict[str, float]:
        """What part of the time is in each lane, the largest first; the empty name is for nothing recorded."""
        return self._shares(lambda segment: segment.lane)

    def summary(self) -> str:
        """Return one sentence: what the total time consists of, the largest parts first."""
        if not self.length_ns:
            return "The critical path is empty: nothing that lasts is recorded."
        sums = self._sums(lambda segment: (segment.category, segment.lane))
        parts = [f"{_time(ns)} are {_place(*key)}" for key, ns in islice(sums.items(), NAMED)]
        rest = sum([*sums.values()][NAMED:])
        parts += [f"{_time(rest)} are others"] if rest else []
        return f"Of {_time(self.length_ns)}, {', '.join(parts)}."

    def table(self, *, rows: int = ROWS) -> Table:
        """Return the parts of the path in order, what follows one another in a lane and category being one row.

        Args:
            rows: the most to show; the caption says how many are left out.
        """
        groups = _in_rows(self.segments)
        more = f" {len(groups) - rows} rows of {len(groups)} are left out at the end."
        header = ("what", "category", "lane", "from", "duration", "share")
        total_ns = self.length_ns
        return table(
            header,
            [_row(segments, total_ns) for segments in groups[:rows]],
            caption=self.summary() + more * (len(groups) > rows),
        )

    def _sums(self, key: Callable[[Segment], _Key]) -> dict[_Key, int]:
        sums: Counter[_Key] = Counter()
        for segment in self.segments:
            sums[key(segment)] += segment.duration_ns
        return dict(sums.most_common())

    def _shares(self, key: Callable[[Segment], str]) -> dict[str, float]:
        total_ns = self.length_ns
        return {name: ns / total_ns for name, ns in self._sums(key).items()}

    def __str__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def critical_path(columns: Columns) -> CriticalPath:
    """Return the chain of events that the total time consists of.

    It is walked back from the event that ends last; what the runtime's threads do counts only where nothing else is
    recorded. A wait leads to what ended it. Other work leads to
    what it had to wait for last: its arguments, the event before in the same lane, or its dispatch,
    whichever ended last, and in this order if they ended together. Links between operations are
    taken from flow numbers and `needs`; a wait that does not say for what leads to what ended last.

    Args:
        columns: the events.

    Returns:
        The path; without events an empty one.
    """
    if not len(columns):
        return CriticalPath((), ())
    steps = [*_walk(Causes(columns), columns.first_ns, columns.last_ns)]
    events = sorted({step.event for step in steps if step.event >= 0})
    return CriticalPath(tuple(events), tuple(_named(columns, step) for step in _merged(steps)))


class _Step(NamedTuple):
    start_ns: int
    end_ns: int
    event: int
    category: str


def _walk(causes: Causes, first_ns: int, time_ns: int) -> Iterator[_Step]:
    """Yield the parts of the path, the last one first; events that are passed without duration as well."""
    event, seen = causes.last_event(), set[int]()
    if causes.end[event] < time_ns:
        yield _Step(causes.end[event], time_ns, -1, UNKNOWN)
        time_ns = causes.end[event]
    while True:
        seen.add(event)
        before_ns, category = time_ns, ""
        ended = causes.is_wait(event) and time_ns == causes.end[event]
        following = causes.waited_for(event) if ended else None
        if following is not None:
            category = NOTICE
        else:
            following = causes.inside(event, time_ns, seen)
        time_ns = causes.start[event] if following is None else causes.end[following]
        yield _Step(time_ns, before_ns, event, category)
        seen = seen if time_ns == before_ns else {event}
        if following is None:
            cause = causes.of(event, seen)
            if cause is None:
                break
            if cause.time_ns < time_ns:
                yield _Step(cause.time_ns, time_ns, -1, UNKNOWN)
                seen = set()
            following, time_ns = cause.event, cause.time_ns
        event = following
    yield _Step(first_ns, time_ns, -1, UNKNOWN)


def _merged(steps: list[_Step]) -> list[_Step]:
    """Return the steps that last, from first to last; an event that others interrupt for no time is one step."""
    merged: list[_Step] = []
    for step in reversed(steps):
        if step.start_ns == step.end_ns:
            continue
        if merged and merged[-1].event == step.event and merged[-1].category == step.category:
            step = merged.pop()._replace(end_ns=step.end_ns)
        merged.append(step)
    return merged


def _named(columns: Columns, step: _Step) -> Segment:
    start, end, number, category = step
    if number < 0:
        return Segment(start, end, number, UNKNOWN, UNKNOWN, "")
    category = category or CATEGORIES[columns.category[number]]
    name, lane = columns.names[columns.name[number]], columns.lanes[columns.lane[number]].name
    return Segment(start, end, number, name, category, lane)


def _in_rows(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Put segments of one lane and category together, also where moments between them are not recorded."""
    groups: list[list[Segment]] = []
    for segment in segments:
        # A gap waits in a row of its own until something follows that belongs to the row before it.
        gap = len(groups) > 1 and groups[-1][-1].event < 0
        into = groups[-2:-1] if gap else groups[-1:]
        if into and (into[0][-1].category, into[0][-1].lane) == (segment.category, segment.lane):
            into[0] += [*(groups.pop() if gap else []), segment]
        else:
            groups.append([segment])
    return groups


def _row(segments: list[Segment], total_ns: int) -> tuple[str, ...]:
    first, last = segments[0], segments[-1]
    between_ns = sum(segment.duration_ns for segment in segments if segment.event < 0)
    events = len({segment.event for segment in segments if segment.event >= 0})
    name, length_ns = first.name, last.end_ns - first.start_ns
    if events > 1:
        between = f", {_time(between_ns)} between them" if between_ns else ""
        name = f"{first.name} … {last.name} ({events} events{between})"
    share = f"{length_ns / total_ns:.0%}"
    begins = moment(first.start_ns, length_ns)
    return name, first.category, first.lane, begins, _time(length_ns), share


def _place(category: str, lane: str) -> str:
    if not lane:
        return f"gaps with {category}"
    return f"{'of the runtime' if category == 'runtime' else category} on {lane}"


def _time(time_ns: int) -> str:
    return format_seconds(time_ns / 1e9)
