"""A virtual device and its in-order queue of bounded depth."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from d2lperf.virtual.memory import Ledger


@dataclass(frozen=True)
class Device:
    """What a virtual device is.

    Attributes:
        name: lane in pictures, such as `gpu:0`.
        speed: operations take their stated cost divided by this.
        budget_bytes: memory; `None` for no limit.
    """

    name: str
    speed: float = 1.0
    budget_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.speed <= 0:
            raise ValueError(f"{self.name}: speed must be positive, not {self.speed}")

    def __str__(self) -> str:
        return self.name


class Queue:
    """State of one device: what is in flight and when it will be idle again.

    Args:
        device: whose queue it is.
        depth: computations that may be in flight; `None` for no limit.

    Attributes:
        ledger: who holds which bytes.
        idle_from_ns: when everything that was issued is finished, in nanoseconds.
    """

    def __init__(self, device: Device, depth: int | None) -> None:
        self.device = device
        self.depth = depth
        self.ledger = Ledger(device.name, device.budget_bytes)
        self.idle_from_ns = 0
        self._noticed: deque[tuple[int, int]] = deque()

    def place_free(self, now_ns: int) -> tuple[int, int]:
        """Return when the host may dispatch one more computation, and whose place that is (-1 for a free one)."""
        noticed = self._noticed
        while noticed and noticed[0][0] <= now_ns:
            noticed.popleft()
        if self.depth is None or len(noticed) < self.depth:
            return now_ns, -1
        return noticed[len(noticed) - self.depth]

    def run(self, earliest_ns: int, cost_ns: int, notify_ns: int, flow: int) -> tuple[int, int]:
        """Append a computation and return its start and end; the host notices the end `notify_ns` later."""
        start_ns = max(self.idle_from_ns, earliest_ns)
        self.idle_from_ns = end_ns = start_ns + cost_ns
        self._noticed.append((end_ns + notify_ns, flow))
        return start_ns, end_ns
