"""Why a lane has nothing to do, in a sentence."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from d2lperf.events import CATEGORIES, Event
from d2lperf.timeline.analyse import (
    busy_intervals,
    idle_intervals,
    length_ns,
    longest_gap,
    self_ns,
)
from d2lperf.timeline.causes import Cause, Causes
from d2lperf.timeline.columns import Columns
from d2lperf.timeline.moments import moment
from d2lperf.units import format_seconds

_DOES = {
    "dispatch": "dispatches {}",
    "run": "runs {}",
    "host": "works ({})",
    "compile": "compiles ({})",
    "copy": "copies ({})",
    "collective": "exchanges data ({})",
    "runtime": "works for the runtime ({})",
}
_DID = {"run": "ran", "copy": "copied", "collective": "exchanged"}


def why_idle(columns: Columns, lane: str, at_ns: int | None = None) -> str:
    """Say in a sentence why a lane has nothing to do at a moment.

    What belongs together is taken from flow numbers and `needs`; where they are missing, the sentence says that
    the recording does not tell.

    Args:
        columns: the events.
        lane: name of the lane.
        at_ns: the moment in nanoseconds; by default the middle of the lane's longest gap.

    Raises:
        ValueError: no such lane, or a moment outside of the timeline.
    """
    number = columns.lane_number(lane)
    if columns.first_ns == columns.last_ns:
        return "Nothing that lasts is recorded."
    if at_ns is None:
        start, end = longest_gap(columns, lane)
        if start == end:
            return f"{lane} is never idle: it is busy all the time."
        at_ns = (start + end) // 2
    at_ns = _inside(columns, at_ns)
    going = columns.matches(lane=lane, start_ns=at_ns, end_ns=at_ns + 1)
    waits = going[columns.category[going] == CATEGORIES.index("wait")]
    if len(waits):
        return _while_waiting(columns, int(waits[-1]))
    if len(going):
        return _not_idle(columns, int(going[np.argmax(columns.depth[going])]), at_ns)
    gaps = idle_intervals(columns, lane)
    start, end = gaps[np.searchsorted(gaps[:, 0], at_ns, "right") - 1].tolist()
    gap = _Gap(columns, lane, start, end)
    return gap.of_host() if columns.lanes[number].kind == "host" else gap.of_worker()


def _inside(columns: Columns, at_ns: int) -> int:
    first, last = columns.first_ns, columns.last_ns
    if not first <= at_ns <= last:
        here, start, end = (moment(time, (last - first) / 100) for time in (at_ns, first, last))
        raise ValueError(f"{here} is outside of the timeline: give a moment from {start} to {end}")
    # At the very end, the moment just before is meant: no event goes on at its end.
    return min(at_ns, last - 1)


def _not_idle(columns: Columns, number: int, at_ns: int) -> str:
    event = columns.event(number)
    when = moment(at_ns, event.duration_ns / 10)
    return f"{event.lane} is not idle at {when}: it {_DOES[event.category].format(event.name)}."


def _while_waiting(columns: Columns, number: int) -> str:
    """Say for what a lane waits and what that was doing."""
    wait, causes = columns.event(number), Causes(columns)
    gap = _Gap(columns, wait.lane, wait.start_ns, wait.end_ns)
    text = f"{gap.opening}: it waits ({wait.name})"
    work = causes.waited_for(number)
    if wait.flow < 0:
        text += "; the recording does not tell for what"
        if work is None:
            return f"{text}."
        last = columns.event(work)
        return f"{text}. The last work that ended by then was {last.name} on {last.lane}, at {gap.at(last.end_ns)}."
    if work is None:
        sent = causes.dispatch_of(wait.flow, wait.end_ns)
        name = "an operation" if sent is None else columns.event(sent).name
        return f"{text} for {name}; the recording does not tell what ended it."
    return f"{text} for {gap.doing(columns.event(work))}."


class _Activity(NamedTuple):
    """What a lane did most in some time; the category is empty where that is not recorded."""

    category: str
    time_ns: int
    what: str

    def __str__(self) -> str:
        form = {"dispatch": "dispatching {}", "compile": "compiling ({})", "wait": "waiting ({})"}
        return form.get(self.category, "{}").format(self.what)


class _Gap:
    """A time in which a lane has nothing to do, and the sentences about it."""

    def __init__(self, columns: Columns, lane: str, start_ns: int, end_ns: int) -> None:
        self.columns, self.lane = columns, lane
        self.start_ns, self.end_ns = start_ns, end_ns
        self.opening = f"{lane} is idle from {self.at(start_ns)} to {self.at(end_ns)}"
        own = columns.matches(lane=lane)
        self.own = own[columns.duration_ns[own] > 0]

    @cached_property
    def causes(self) -> Causes:
        """The causes of events, which take a while to look through."""
        return Causes(self.columns)

    @property
    def first(self) -> bool:
        """Whether the lane did nothing before."""
        return self.end_ns <= self.columns.start_ns[self.own[0]]

    @property
    def last(self) -> bool:
        """Whether the lane did nothing more."""
        return bool(self.start_ns >= self.columns.end_ns[self.own].max())

    def at(self, time_ns: int) -> str:
        """Write a moment so that the moments of this gap differ."""
        return moment(time_ns, (self.end_ns - self.start_ns) / 10)

    def doing(self, work: Event) -> str:
        """Say when an operation was worked on, and what kept it from beginning before."""
        start, end = self.at(work.start_ns), self.at(work.end_ns)
        text = f"{work.name}, which {work.lane} {_DID[work.category]} from {start} to {end}"
        if work.start_ns <= self.start_ns:
            return text
        other = busy_intervals(
            self.columns, work.lane, start_ns=self.start_ns, end_ns=work.start_ns
        )
        other_ns = length_ns(other)
        return text + (f", after {_length(other_ns)} of other work" if other_ns else "")

    def of_host(self) -> str:
        """Say that nobody knows what a host does while nothing is recorded."""
        unknown = "what it did then, the recording does not tell"
        if not len(self.own):
            return f"{self.opening}: nothing that lasts is recorded on it; {unknown}."
        if self.first:
            return f"{self.opening}, before its first event; {unknown}."
        return f"{self.opening}{', after its last event' if self.last else ''}; {unknown}."

    def of_worker(self) -> str:
        """Say why a device, a link or a thread had nothing to do."""
        if not len(self.own):
            return f"{self.opening}: no work is recorded on it."
        if self.last:
            before = self.columns.event(int(self.own[np.argmax(self.columns.end_ns[self.own])]))
            return f"{self.opening}: its last work, {before.name}, is done, and nothing more is recorded on it."
        ender = int(self.own[np.searchsorted(self.columns.start_ns[self.own], self.end_ns)])
        event, cause = self.columns.event(ender), max(self.causes.handed_over(ender), default=None)
        if cause is None:
            return self._unknown(event)
        late_ns = self.end_ns - cause.time_ns
        # A dispatch explains what was idle before it, and not a longer time after it.
        too_late = cause.how == "dispatch" and late_ns > cause.time_ns - self.start_ns
        if cause.time_ns <= self.start_ns or too_late:
            return self._ready(event, cause)
        why = self._needed if cause.how == "needs" else self._dispatched
        late = f" {event.name} began {_length(late_ns)} after that." if late_ns else ""
        return f"{self.opening}: {why(event, cause)}{late}"

    def _needed(self, event: Event, cause: Cause) -> str:
        """Say that an argument was still computed elsewhere, or on its way."""
        source = self.columns.event(cause.event)
        until = self.at(source.end_ns)
        if source.category == "run":
            return f"{event.name} needs the result of {source.name}, which {source.lane} ran until {until}."
        how = "copying" if source.category == "copy" else "exchanging"
        return (
            f"{source.lane} was still {how} what {event.name} needs ({source.name}), until {until}."
        )

    def _dispatched(self, event: Event, cause: Cause) -> str:
        """Say what kept the host from dispatching earlier."""
        sent = self.columns.event(cause.event)
        wait = self._last_wait(sent)
        if wait is None:
            return self._busy(event, sent.lane, cause.time_ns)
        return self._behind(wait, event, sent)

    def _last_wait(self, sent: Event) -> int | None:
        """Return the last wait of the host that ended in the gap, before the dispatch."""
        columns = self.columns
        waits = columns.matches(lane=sent.lane, category="wait", end_ns=self.end_ns)
        ends = columns.end_ns[waits]
        lasting = columns.duration_ns[waits] > 0
        waits = waits[lasting & (ends >= self.start_ns) & (ends <= sent.start_ns)]
        return int(waits[np.argmax(columns.end_ns[waits])]) if len(waits) else None

    def _behind(self, number: int, event: Event, sent: Event) -> str:
        """Say that the host waited, did what it had to do, and dispatched only then."""
        wait, host = self.columns.event(number), _the(sent.lane)
        work = self.causes.waited_for(number) if wait.flow >= 0 else None
        whom = "" if work is None else f" for {self.columns.event(work).name}"
        between = self._activity(sent.lane, wait.end_ns, sent.start_ns)
        then = f", then needed {_length(between.time_ns)} for {between}" if between.category else ""
        text = f"{host} waited ({wait.name}){whom} until {self.at(wait.end_ns)}{then}"
        text += f" and dispatched {event.name} only then."
        if wait.name == "queue full":
            return f"{text} With a deeper queue it could have done so earlier."
        return f"{text} Without that barrier the two could overlap."

    def _busy(self, event: Event, lane: str, until_ns: int) -> str:
        """Say what the host was busy with until it had dispatched."""
        doing, host = self._activity(lane, self.start_ns, until_ns), _the(lane)
        at = self.at(until_ns)
        # Before the first operation there is nothing that could be slowed down.
        verdict = "" if self.first else ": the host is the bottleneck"
        if not doing.category:
            return f"{host} had not dispatched {event.name} before {at}; what kept it, the recording does not tell."
        if doing.category == "dispatch":
            return f"{host} was still dispatching and had handed over {event.name} only at {at}{verdict}."
        spent = f"{host} spent {_length(doing.time_ns)} of that on {doing}"
        if doing.category in ("wait", "compile"):
            return f"{spent} and dispatched {event.name} only after that."
        return f"{spent} and had dispatched {event.name} only at {at}{verdict}."

    def _ready(self, event: Event, cause: Cause) -> str:
        """Say that nothing recorded explains why an operation did not begin earlier."""
        sent = self.causes.dispatch_of(event.flow, event.start_ns) is not None
        before = cause.time_ns <= self.start_ns
        when = "already dispatched" if before else f"dispatched at {self.at(cause.time_ns)}"
        ready = f"{event.name} was {when}" if sent else f"what {event.name} needs was there"
        return (
            f"{self.opening}, though {ready}: why {event.name} began only at {self.at(self.end_ns)}, "
            "the recording does not tell."
        )

    def _unknown(self, event: Event) -> str:
        """Say that the cause is not recorded, and what hosts did meanwhile, which is."""
        hosts = [lane.name for lane in self.columns.lanes if lane.kind == "host"]
        did = {host: self._activity(host, self.start_ns, self.end_ns) for host in hosts}
        meanwhile = "".join(
            f" Meanwhile {_the(host)} spent {_length(doing.time_ns)} on {doing}."
            for host, doing in did.items()
            if doing.category and host != self.lane
        )
        return (
            f"{self.opening}, until {event.name} began: the recording does not tell when that was dispatched, "
            f"and so not why only then.{meanwhile}"
        )

    def _activity(self, lane: str, start_ns: int, end_ns: int) -> _Activity:
        """Return what a lane spent most of some time on."""
        numbers, times = self_ns(
            self.columns, lane, start_ns=start_ns, end_ns=end_ns, without=["runtime"]
        )
        categories = self.columns.category[numbers]
        sums = np.bincount(categories, weights=times, minlength=len(CATEGORIES))
        most = int(np.argmax(sums))
        if sums[most] <= (end_ns - start_ns) - sums.sum():
            return _Activity("", 0, "")
        same = np.flatnonzero((categories == most) & (times > 0))
        longest = self.columns.event(int(numbers[same[np.argmax(times[same])]])).name
        others = f" and {len(same) - 1} more" if len(same) > 1 else ""
        return _Activity(CATEGORIES[most], int(sums[most]), longest + others)


def _the(lane: str) -> str:
    return "the host" if lane == "host" else lane


def _length(time_ns: int) -> str:
    return format_seconds(time_ns / 1e9)
