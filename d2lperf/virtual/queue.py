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
    """

    def __init__(self, device: Device, depth: int | None) -> None:
        self.device = device
        self.depth = depth
        self.ledger = Ledger(device.name, device.budget_bytes)
        self.idle_from_ns = 0
        self._noticed_ns: deque[int] = deque()

    def slot_free_ns(self, now_ns: int) -> int:
        """Return when the host may dispatch one more computation, `now_ns` at the earliest."""
        while self._noticed_ns and self._noticed_ns[0] <= now_ns:
            self._noticed_ns.popleft()
        if self.depth is None or len(self._noticed_ns) < self.depth:
            return now_ns
        return self._noticed_ns[len(self._noticed_ns) - self.depth]

    def run(self, earliest_ns: int, cost_ns: int, notify_ns: int) -> tuple[int, int]:
        """Append a computation and return its start and end; the host notices the end `notify_ns` later."""
        start_ns = max(self.idle_from_ns, earliest_ns)
        self.idle_from_ns = end_ns = start_ns + cost_ns
        self._noticed_ns.append(end_ns + notify_ns)
        return start_ns, end_ns

    @property
    def drained_ns(self) -> int:
        """When the host will have noticed the end of everything that was issued."""
        return self._noticed_ns[-1] if self._noticed_ns else 0
