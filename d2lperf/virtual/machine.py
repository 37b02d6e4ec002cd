"""A host, its devices and one exact clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from math import inf
from typing import Any

import numpy as np

from d2lperf.events import EventLog
from d2lperf.virtual.handle import Array, peek
from d2lperf.virtual.memory import Buffer
from d2lperf.virtual.queue import Device, Queue
from d2lperf.virtual.tree import leaves, map_leaves

HOST = "host"


class ClockLimit(RuntimeError):
    """A program did more on a virtual machine than anybody would want to look at."""


_refused: ContextVar[str] = ContextVar("refused", default="")


@contextmanager
def refuse_machines(reason: str) -> Iterator[None]:
    """Let nobody make a machine in this block; whoever tries gets a `RuntimeError` with the reason."""
    token = _refused.set(reason)
    try:
        yield
    finally:
        _refused.reset(token)


def to_ns(seconds: float) -> int:
    """Return whole nanoseconds.

    Raises:
        ValueError: negative or not finite.
    """
    if not 0 <= seconds < 1e9:
        raise ValueError(f"a duration must be at least 0 and below 1e9 seconds, not {seconds!r}")
    return round(seconds * 1e9)


class Machine:
    """One host thread that dispatches operations to devices on a deterministic clock.

    The host pays `dispatch_s` (the book's t₁) for an operation and has a handle at once. The device
    runs its operations in order, each for its cost (t₂). The host can know of a result `notify_s`
    (t₃) after it is finished; until then the operation occupies one of the `depth` places of the
    device's queue, and a full queue makes the host wait before it dispatches. Memory for results,
    workspace and host arguments is held from issue to last use. Values are computed for real, with
    NumPy, so a program's result and its schedule are judged in one run. A result that only a
    reference cycle still refers to counts as held until Python collects it.

    Args:
        devices: how many, or what they are; a number gives `device:0`, `device:1`, … of speed 1.
        dispatch_s: host time for handing over one operation, in seconds.
        notify_s: from the end of an operation until the host can know, in seconds.
        depth: computations that may be in flight on each device; the host waits before it dispatches
            one more. JAX's own limit is 32; `None` or `math.inf` for no limit.
        budget_bytes: memory of each device given by number; `None` for no limit.
        poll_s: host time that one `is_ready()` costs, in seconds.
        elementwise_s: device time of Python operators on handles, in seconds.
        perturb: called with a kind (`dispatch`, `run`, `compile`, `host`) and nanoseconds, returns nanoseconds: noise.
        max_events: how much a program may do, polls included, before it is stopped.
    """

    def __init__(
        self,
        devices: int | Iterable[Device] = 1,
        *,
        dispatch_s: float = 10e-6,
        notify_s: float = 0.0,
        depth: float | None = 32,
        budget_bytes: int | None = None,
        poll_s: float = 1e-6,
        elementwise_s: float = 5e-6,
        perturb: Callable[[str, int], int] | None = None,
        max_events: int = 200_000,
    ) -> None:
        if _refused.get():
            raise RuntimeError(_refused.get())
        if isinstance(devices, int):
            devices = [Device(f"device:{i}", budget_bytes=budget_bytes) for i in range(devices)]
        devices, places = list(devices), _places(depth)
        if len({device.name for device in devices}) < len(devices):
            raise ValueError("two devices have the same name: give each its own")
        self._queues = {device: Queue(device, places) for device in devices}
        if not self._queues:
            raise ValueError("a machine needs at least one device")
        self.log = EventLog()
        for lane in (HOST, *(device.name for device in self._queues)):
            self.log.lane(lane)
        self._now_ns = 0
        self._ops = self._done = 0
        self._dispatch_ns = to_ns(dispatch_s)
        self._notify_ns = to_ns(notify_s)
        self._poll_ns = to_ns(poll_s)
        self._elementwise_s = elementwise_s
        self._perturb = perturb or (lambda kind, duration_ns: duration_ns)
        self._max_events = max_events

    @property
    def devices(self) -> tuple[Device, ...]:
        """The machine's devices."""
        return tuple(self._queues)

    @property
    def now_ns(self) -> int:
        """The host's clock in nanoseconds."""
        return self._now_ns

    def perf_counter(self) -> float:
        """Return the host's clock in seconds; reading it costs nothing."""
        return self._now_ns / 1e9

    @property
    def busy_until_ns(self) -> int:
        """When the host could know that everything issued so far is finished, in nanoseconds."""
        return max(self._now_ns, *(queue.drained_ns for queue in self._queues.values()))

    def op(
        self,
        function: Callable[..., Any],
        *,
        cost_s: float | Callable[..., float],
        name: str | None = None,
        device: Device | None = None,
        inline: bool = False,
        workspace_bytes: int = 0,
        compile_s: float = 0.0,
        numbered: bool = False,
    ) -> Callable[..., Any]:
        """Return `function` as an operation of this machine, called like a jitted function.

        Args:
            function: NumPy code; gets arrays, returns an array or a nest of them.
            cost_s: seconds on a device of speed 1, or a function of the arguments' values that
                returns them.
            name: what pictures and messages call it.
            device: where it runs; by default where its arguments are, else on the first device. A call's own `device=`
                goes before.
            inline: the host computes it itself when its arguments are there and the device has
                nothing left to do, as XLA's CPU client does with small work.
            workspace_bytes: memory beside arguments and results, from issue to the end.
            compile_s: host time of the first call for each combination of argument shapes and types.
            numbered: call the first call "name 0", the next one "name 1", and so on.
        """
        label = name or str(getattr(function, "__name__", "operation"))
        home, compiled, calls = device, set[Any](), count()

        def call(*args: Any, device: Device | None = None) -> Any:
            where = self._place(label, args, device or home)
            key = tuple((np.shape(x), str(getattr(x, "dtype", type(x)))) for x in leaves(args))
            if compile_s and (where, key) not in compiled:
                compiled.add((where, key))
                self._spend(to_ns(compile_s), "compile", f"compile {label}")
            seconds = cost_s(*peek(args)) if callable(cost_s) else cost_s
            bar = f"{label} {next(calls)}" if numbered else label
            return self._issue(label, bar, function, args, where, seconds, inline, workspace_bytes)

        call.__name__ = call.__qualname__ = label
        return call

    def host_work(self, seconds: float, *, name: str = "host work") -> None:
        """Let the host compute for a while, as a Python loop or a data loader would."""
        self._spend(to_ns(seconds), "host", name)

    def wait_all(self) -> None:
        """Wait until everything that was issued on any device is finished."""
        self._wait_until(self.busy_until_ns, "wait_all")

    def peak_bytes(self, device: Device | None = None) -> int:
        """Return the most bytes that were held at once, on one device or on the fullest."""
        queues = self._queues.values() if device is None else [self._queues[device]]
        return max(queue.ledger.peak_bytes for queue in queues)

    def memory_steps(self, device: Device | None = None) -> tuple[Sequence[int], Sequence[int]]:
        """Return times (ns) and the bytes held on a device (by default the first) from each of them on."""
        return self._queues[device or self.devices[0]].ledger.steps()

    def _place(self, label: str, args: Any, device: Device | None) -> Device:
        at = {leaf._device for leaf in leaves(args) if isinstance(leaf, Array)}
        if any(leaf._machine is not self for leaf in leaves(args) if isinstance(leaf, Array)):
            raise ValueError(f"{label} got the result of another machine: compute it on this one")
        if device is not None and device not in self._queues:
            raise ValueError(
                f"{device} is not a device of this machine: it has {', '.join(map(str, self._queues))}"
            )
        at |= {device} if device is not None else set()
        if len(at) > 1:
            raise ValueError(
                f"{label} got arguments on several devices ({', '.join(sorted(map(str, at)))}): bring them to one"
            )
        return at.pop() if at else self.devices[0]

    def _issue(
        self,
        label: str,
        bar: str,
        function: Callable[..., Any],
        args: Any,
        device: Device,
        cost_s: float,
        inline: bool,
        workspace_bytes: int,
    ) -> Any:
        queue, number = self._queues[device], self._ops
        self._ops += 1
        inputs = [leaf for leaf in leaves(args) if isinstance(leaf, Array)]
        value = function(*map_leaves(_plain, peek(args)))
        value = map_leaves(_frozen, value)
        cost_ns = self._perturb("run", to_ns(cost_s / device.speed))

        self._wait_until(queue.slot_free_ns(self._now_ns), "queue full", always=False)
        self._spend(self._dispatch_ns, "dispatch", bar, number)
        results = [Buffer(label, leaf.nbytes, number) for leaf in leaves(value)]
        passing_bytes = workspace_bytes + sum(
            np.asarray(leaf).nbytes for leaf in leaves(args) if not isinstance(leaf, Array)
        )
        passing = Buffer(f"arguments of {label}", passing_bytes, number)
        queue.ledger.hold([*results, passing], self._now_ns)

        idle = queue.idle_from_ns <= self._now_ns
        if inline and idle and all(leaf._ready_ns <= self._now_ns for leaf in inputs):
            start_ns = self._now_ns
            self._spend(cost_ns, "run", bar, number)
            end_ns = ready_ns = self._now_ns
        else:
            start_ns, end_ns = queue.run(self._now_ns, cost_ns, self._notify_ns)
            ready_ns = end_ns + self._notify_ns
            self._record(start_ns, end_ns, device.name, bar, "run", number)
        for buffer in (*results, passing, *(leaf._buffer for leaf in inputs)):
            buffer.use_until(end_ns)
        queue.ledger.release(passing, self._now_ns)
        buffers = iter(results)
        return map_leaves(lambda leaf: Array(self, device, leaf, ready_ns, next(buffers)), value)

    def _elementwise(
        self, name: str, function: Callable[..., Any], args: Any, device: Device
    ) -> Any:
        device = self._place(name, args, device)
        return self._issue(name, name, function, args, device, self._elementwise_s, False, 0)

    def _spend(self, duration_ns: int, category: str, name: str, op: int = -1) -> None:
        if category != "run":
            duration_ns = self._perturb(category, duration_ns)
        start_ns, self._now_ns = self._now_ns, self._now_ns + duration_ns
        self._record(start_ns, self._now_ns, HOST, name, category, op)

    def _wait_until(self, time_ns: int, reason: str, *, always: bool = True) -> None:
        start_ns, self._now_ns = self._now_ns, max(self._now_ns, time_ns)
        if always or self._now_ns > start_ns:
            self._record(start_ns, self._now_ns, HOST, reason, "wait")

    def _poll(self, ready_ns: int) -> bool:
        self._spend(self._poll_ns, "host", "is_ready()")
        return ready_ns <= self._now_ns

    def _release(self, device: Device, buffer: Buffer) -> None:
        self._queues[device].ledger.release(buffer, self._now_ns)

    def _record(
        self, start_ns: int, end_ns: int, lane: str, name: str, category: str, op: int = -1
    ) -> None:
        self._done += 1
        if self._done > self._max_events:
            raise ClockLimit(
                f"the program did more than {self._max_events} things on the virtual machine: does its loop end?"
            )
        if name == "is_ready()" and self.log.extend(name, start_ns, end_ns):
            return
        self.log.add(start_ns, end_ns - start_ns, lane=lane, name=name, category=category, flow=op)


def _places(depth: float | None) -> int | None:
    if depth is None or depth == inf:
        return None
    if depth < 1 or depth != int(depth):
        raise ValueError(
            f"depth must be a whole number of at least 1, not {depth}; None means no limit"
        )
    return int(depth)


def _plain(leaf: Any) -> Any:
    # A real jax.Array among the arguments would make NumPy code run on the real device.
    return np.asarray(leaf) if hasattr(leaf, "__array__") else leaf


def _frozen(leaf: Any) -> np.ndarray:
    # A view is copied, so that freezing the result does not freeze somebody else's array.
    value = np.array(leaf)
    value.flags.writeable = False
    return value
