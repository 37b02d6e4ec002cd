"""The host thread of a virtual machine: its clock, and the log of everything that happens."""

from __future__ import annotations

from collections.abc import Callable

from d2lperf.events import EventLog

HOST = "host"
"""Name of the host, as a lane and as the end of a link."""


class ClockLimit(RuntimeError):
    """A program did more on a virtual machine than anybody would want to look at."""


def to_ns(seconds: float) -> int:
    """Return whole nanoseconds.

    Raises:
        ValueError: negative or not finite.
    """
    if not 0 <= seconds < 1e9:
        raise ValueError(f"a duration must be at least 0 and below 1e9 seconds, not {seconds!r}")
    return round(seconds * 1e9)


class Host:
    """The one thread that a program runs in.

    Args:
        perturb: called with a kind and nanoseconds, returns nanoseconds.
        max_events: how much may happen before the program is stopped.

    Attributes:
        now_ns: the clock, in nanoseconds.
        log: events in every lane, in the order of issue.
        last: when the host can know that everything is finished, and what will have been the last operation.
    """

    def __init__(self, perturb: Callable[[str, int], int] | None, max_events: int) -> None:
        self.now_ns = 0
        self.log = EventLog()
        self.perturb = perturb or (lambda kind, duration_ns: duration_ns)
        self.last = (0, -1)
        self._flows = self._done = 0
        self._max_events = max_events

    def number(self) -> int:
        """Return the flow number of a new operation."""
        self._flows += 1
        return self._flows - 1

    def spend(self, duration_ns: int, category: str, name: str, flow: int = -1) -> None:
        """Let the host be busy for a while."""
        if category != "run":
            duration_ns = self.perturb(category, duration_ns)
        start_ns = self.now_ns
        self.now_ns = start_ns + duration_ns
        self.record(start_ns, self.now_ns, HOST, name, category, flow)

    def wait_until(self, time_ns: int, reason: str, flow: int = -1, *, always: bool = True) -> None:
        """Let the host wait for operation `flow`; a wait that takes no time is recorded only if `always`."""
        start_ns = self.now_ns
        self.now_ns = max(start_ns, time_ns)
        if always or self.now_ns > start_ns:
            self.record(start_ns, self.now_ns, HOST, reason, "wait", flow)

    def expect(self, ready_ns: int, flow: int) -> None:
        """Note when the host can know that operation `flow` is finished."""
        self.last = max(self.last, (ready_ns, flow))

    def need(self, earlier: set[int], later: int) -> None:
        """Note which operations operation `later` takes results of."""
        for flow in sorted(earlier):
            self._count()
            self.log.need(flow, later)

    def record(
        self, start_ns: int, end_ns: int, lane: str, name: str, category: str, flow: int = -1
    ) -> None:
        """Log something that happens in any lane.

        Raises:
            ClockLimit: too much has happened.
        """
        self._count()
        if name == "is_ready()" and self.log.extend(name, start_ns, end_ns):
            return
        self.log.add(
            start_ns, end_ns - start_ns, lane=lane, name=name, category=category, flow=flow
        )

    def _count(self) -> None:
        self._done += 1
        if self._done > self._max_events:
            raise ClockLimit(
                f"the program did more than {self._max_events} things on the virtual machine: does its loop end?"
            )
