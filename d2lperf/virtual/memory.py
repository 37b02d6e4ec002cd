"""Who holds which bytes of a virtual device, and when."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict

from d2lperf.units import format_bytes


class OutOfMemory(MemoryError):
    """A virtual device's budget was exceeded; the message says who holds what."""


class Buffer:
    """Bytes on one device: held from issue until nobody refers to them and their last use has ended.

    Args:
        name: what wrote them, for messages.
        nbytes: how many.
        flow: number of the operation that wrote them; -1 for none.
    """

    __slots__ = ("busy_until_ns", "flow", "name", "nbytes", "ticket")

    def __init__(self, name: str, nbytes: int, flow: int) -> None:
        self.name = name
        self.nbytes = nbytes
        self.flow = flow
        self.busy_until_ns = 0
        self.ticket = -1

    def use_until(self, time_ns: int) -> None:
        """Note that an operation that ends at `time_ns` reads or writes the buffer."""
        self.busy_until_ns = max(self.busy_until_ns, time_ns)


class Ledger:
    """The memory of one device under a budget.

    Args:
        device: name of the device, for messages.
        budget_bytes: the most that may be held at once; `None` for no limit.
    """

    def __init__(self, device: str, budget_bytes: int | None) -> None:
        self.device = device
        self.budget_bytes = budget_bytes
        self.held_bytes = 0
        self.peak_bytes = 0
        self._steps: list[tuple[int, int]] = []
        self._leaving: list[tuple[int, int, Buffer]] = []
        self._held: dict[int, Buffer] = {}
        self._tickets = 0

    def hold(self, buffers: list[Buffer], now_ns: int) -> None:
        """Take memory for one operation at the moment of issue.

        Raises:
            OutOfMemory: the buffers do not fit beside what is held; nothing is taken then.
        """
        wanted = self.require(buffers, now_ns)
        for buffer in buffers:
            buffer.ticket = self._tickets
            self._held[self._tickets] = buffer
            self._tickets += 1
        self.held_bytes += wanted
        self.peak_bytes = max(self.peak_bytes, self.held_bytes)
        if wanted:
            self._steps.append((now_ns, wanted))

    def require(self, buffers: list[Buffer], now_ns: int) -> int:
        """Return how many bytes these are, without taking any.

        Raises:
            OutOfMemory: they do not fit beside what is held.
        """
        self._settle(now_ns)
        wanted = sum(buffer.nbytes for buffer in buffers)
        if self.budget_bytes is not None and self.held_bytes + wanted > self.budget_bytes:
            raise OutOfMemory(self._complaint(buffers[0].name, wanted, now_ns))
        return wanted

    def release(self, buffer: Buffer, now_ns: int) -> None:
        """Give memory back once its last use has ended, `now_ns` at the earliest."""
        free_ns = max(now_ns, buffer.busy_until_ns)
        heapq.heappush(self._leaving, (free_ns, buffer.ticket, buffer))

    def steps(self) -> tuple[list[int], list[int]]:
        """Return the times (ns) at which the amount changes and the bytes held from there on."""
        gone = [(free_ns, -buffer.nbytes) for free_ns, _, buffer in self._leaving if buffer.nbytes]
        times: list[int] = []
        held: list[int] = []
        for time_ns, change in sorted(self._steps + gone):
            held_bytes = (held[-1] if held else 0) + change
            if times and times[-1] == time_ns:
                held[-1] = held_bytes
            else:
                times.append(time_ns)
                held.append(held_bytes)
        return times, held

    def _settle(self, now_ns: int) -> None:
        while self._leaving and self._leaving[0][0] <= now_ns:
            free_ns, ticket, buffer = heapq.heappop(self._leaving)
            del self._held[ticket]
            self.held_bytes -= buffer.nbytes
            if buffer.nbytes:
                self._steps.append((free_ns, -buffer.nbytes))

    def _complaint(self, name: str, wanted: int, now_ns: int) -> str:
        assert self.budget_bytes is not None
        ops: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        size: Counter[tuple[str, str]] = Counter()
        for buffer in self._held.values():
            state = "in flight" if buffer.busy_until_ns > now_ns else "finished, kept by Python"
            ops[buffer.name, state].add(buffer.flow)
            size[buffer.name, state] += buffer.nbytes
        holders = "; ".join(
            f"{len(ops[key])} × {key[0]} ({key[1]}): {format_bytes(nbytes)}"
            for key, nbytes in size.most_common(4)
            if nbytes
        )
        return (
            f"{self.device} is out of memory: {name} asks for {format_bytes(wanted)}, "
            f"{format_bytes(self.budget_bytes - self.held_bytes)} of "
            f"{format_bytes(self.budget_bytes)} are free. Held by: {holders or 'nothing'}. "
            "Wait for earlier results before you issue more, or keep fewer of them."
        )
