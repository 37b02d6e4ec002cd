"""A host, its devices and one exact clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from math import inf
from typing import Any

import numpy as np

from d2lperf.events import EventLog, Mark
from d2lperf.timeline import Timeline
from d2lperf.virtual.copying import fetch, put
from d2lperf.virtual.handle import Array, peek
from d2lperf.virtual.host import HOST, Host, to_ns
from d2lperf.virtual.link import Link, Network, Via
from d2lperf.virtual.memory import Buffer
from d2lperf.virtual.operation import Operation, check_device, issue, own, place
from d2lperf.virtual.queue import Device, Queue
from d2lperf.virtual.tree import leaves, map_leaves
from d2lperf.virtual.view import view

_refused: ContextVar[str] = ContextVar("refused", default="")


@contextmanager
def refuse_machines(reason: str) -> Iterator[None]:
    """Let nobody make a machine in this block; whoever tries gets a `RuntimeError` with the reason."""
    token = _refused.set(reason)
    try:
        yield
    finally:
        _refused.reset(token)


class Machine:
    """One host thread that dispatches operations to devices on a deterministic clock.

    The host pays `dispatch_s` (the book's t₁) for an operation and has a handle at once. The device
    runs its operations in order, each for its cost (t₂). The host can know of a result `notify_s`
    (t₃) after it is finished; until then the operation occupies one of the `depth` places of the
    device's queue, and a full queue makes the host wait before it dispatches. Memory for results,
    workspace and host arguments is held from issue to last use. Values are computed for real, with
    NumPy, so a program's result and its schedule are judged in one run. A result that only a
    reference cycle still refers to counts as held until Python collects it.

    Links (see `Link`) make bytes take time. Each carries its copies in the order of issue while
    devices and host work on; copies take no place in a device's queue. A device runs its operations
    in the order of issue as well: one whose argument is still on its way holds up those behind it.
    With a link between host and device, arrays of the host (not single numbers) that an operation
    gets are copied over it first, and asking for a value copies it back, once for each result. A
    device that no link joins to the host shares the host's memory.

    Args:
        devices: how many, or what they are; a number gives `device:0`, `device:1`, … of speed 1.
        dispatch_s: host time for handing over one operation, in seconds.
        notify_s: from the end of an operation or the arrival of a copy until the host can know, in seconds.
        depth: computations that may be in flight on each device; the host waits before it dispatches
            one more. JAX's own limit is 32; `None` or `math.inf` for no limit.
        budget_bytes: memory of each device given by number; `None` for no limit.
        poll_s: host time that one `is_ready()` costs, in seconds.
        elementwise_s: device time of Python operators on handles, in seconds.
        perturb: called with a kind (`dispatch`, `run`, `compile`, `host`, `copy`) and nanoseconds, returns
            nanoseconds: noise.
        max_events: how much a program may do, polls and uses of results included, before it is stopped.
        links: what joins devices with each other and with the host; none if moving bytes takes no time.

    Raises:
        ValueError: no device, names that are taken, links to unknown places, numbers that make no sense.
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
        links: Iterable[Link] = (),
    ) -> None:
        if _refused.get():
            raise RuntimeError(_refused.get())
        if isinstance(devices, int):
            devices = [Device(f"device:{i}", budget_bytes=budget_bytes) for i in range(devices)]
        devices, places = list(devices), _places(depth)
        if len({device.name for device in devices}) < len(devices):
            raise ValueError("two devices have the same name: give each its own")
        if any(device.name == HOST for device in devices):
            raise ValueError(f"{HOST!r} is taken: give the device another name")
        self._queues = {device: Queue(device, places) for device in devices}
        if not self._queues:
            raise ValueError("a machine needs at least one device")
        self._ledgers = {device.name: queue.ledger for device, queue in self._queues.items()}
        self._host = Host(perturb, max_events)
        self.log.lane(HOST, kind="host")
        for name in self._ledgers:
            self.log.lane(name, kind="device")
        self._network = Network(links, [*self._ledgers], self._host)
        self._dispatch_ns = to_ns(dispatch_s)
        self._notify_ns = to_ns(notify_s)
        self._poll_ns = to_ns(poll_s)
        self._elementwise_s = elementwise_s

    @property
    def devices(self) -> tuple[Device, ...]:
        """The machine's devices."""
        return tuple(self._queues)

    @property
    def links(self) -> tuple[Link, ...]:
        """The machine's links."""
        return self._network.links

    @property
    def log(self) -> EventLog:
        """Everything that happened, in the order of issue."""
        return self._host.log

    @property
    def now_ns(self) -> int:
        """The host's clock in nanoseconds."""
        return self._host.now_ns

    def perf_counter(self) -> float:
        """Return the host's clock in seconds; reading it costs nothing."""
        return self._host.now_ns / 1e9

    @property
    def busy_until_ns(self) -> int:
        """When the host could know that everything issued so far is finished, in nanoseconds."""
        return max(self._host.now_ns, self._host.last[0])

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
        operation = Operation(label, function, inline, workspace_bytes)
        home, compiled, calls = device, set[Any](), count()

        def call(*args: Any, device: Device | None = None) -> Any:
            where = place(self, label, args, device or home)
            if compile_s and (key := (where, *_signature(args))) not in compiled:
                compiled.add(key)
                self._host.spend(to_ns(compile_s), "compile", f"compile {label}")
            seconds = cost_s(*peek(args)) if callable(cost_s) else cost_s
            bar = f"{label} {next(calls)}" if numbered else label
            return issue(self, operation, bar, args, where, seconds)

        call.__name__ = call.__qualname__ = label
        return call

    def device_put(
        self, x: Any, device: Device, *, via: Via = None, name: str | None = None
    ) -> Any:
        """Start copying to a device and return handles at once, as `jax.device_put` does.

        The host pays `dispatch_s` for each handle or array. A copy begins when its value is there and
        the link is free. What is on the device already comes back as it is, at no cost, and so does
        what needs no link to get there, as a new handle: between the host and a device that shares
        its memory, and everywhere on a machine without links. Memory at the destination is held
        from issue on, and at the source until the bytes have left.

        Args:
            x: a handle, an array of the host, or a nest of them.
            device: where to.
            via: `"host"`, devices or a sequence of them to pass on the way, each of which passes the bytes on when it
                has all of them; by default the direct link, or the host if there is none.
            name: what pictures and messages call it.

        Returns:
            Handles on the device, in the same containers.

        Raises:
            ValueError: an unknown device, another machine's result, or no link on the way.
            OutOfMemory: a device on the way has no room.
        """
        own(self, "device_put", x)
        check_device(self, device)
        return map_leaves(lambda leaf: put(self, leaf, device, via, name), x)

    def host_work(self, seconds: float, *, name: str = "host work") -> None:
        """Let the host compute for a while, as a Python loop or a data loader would."""
        self._host.spend(to_ns(seconds), "host", name)

    def wait_all(self) -> None:
        """Wait until everything that was issued is finished, on devices and on links."""
        self._wait(self.busy_until_ns, "wait_all", self._host.last[1])

    def peak_bytes(self, device: Device | None = None) -> int:
        """Return the most bytes that were held at once, on one device or on the fullest."""
        queues = self._queues.values() if device is None else [self._queues[device]]
        return max(queue.ledger.peak_bytes for queue in queues)

    def memory_steps(self, device: Device | None = None) -> tuple[Sequence[int], Sequence[int]]:
        """Return times (ns) and the bytes held on a device (by default the first) from each of them on."""
        return self._queues[device or self.devices[0]].ledger.steps()

    def sent_bytes(self) -> dict[tuple[str, str], int]:
        """Return the bytes sent so far over links, by the names of the places that they left and went to."""
        return dict(self._network.sent_bytes)

    def timeline(
        self,
        *,
        title: str = "",
        caption: str = "",
        memory: bool | Iterable[Device] = False,
        budget: int | None = None,
        end_s: float | None = None,
        marks: Iterable[Mark | tuple[float, str]] = (),
    ) -> Timeline:
        """Return what has been issued so far as a timeline.

        Args:
            title: a line above the lanes.
            caption: a line below; by default a summary of the lanes.
            memory: devices whose bytes are shown under the lanes; `True` for all that ever held any.
            budget: where to draw the line across these, in bytes; by default each device's own budget.
            end_s: right end of the time axis, to draw several timelines on one scale, in seconds.
            marks: notes, as `Mark` or as a pair of seconds and text.

        Raises:
            ValueError: a device that is not of this machine.
        """
        return view(
            self,
            memory=memory,
            budget=budget,
            marks=marks,
            title=title,
            caption=caption,
            end_ns=None if end_s is None else to_ns(end_s),
        )

    def _elementwise(
        self, name: str, function: Callable[..., Any], args: Any, device: Device
    ) -> Any:
        operation = Operation(name, function)
        return issue(
            self, operation, name, args, place(self, name, args, device), self._elementwise_s
        )

    def _wait(self, ready_ns: int, reason: str, flow: int) -> None:
        self._host.wait_until(ready_ns, reason, flow)

    def _fetch(self, array: Array) -> tuple[int, int]:
        return fetch(self, array)

    def _poll(self, ready_ns: int) -> bool:
        self._host.spend(self._poll_ns, "host", "is_ready()")
        return ready_ns <= self._host.now_ns

    def _release(self, device: Device, buffer: Buffer) -> None:
        self._queues[device].ledger.release(buffer, self._host.now_ns)


def _places(depth: float | None) -> int | None:
    if depth is None or depth == inf:
        return None
    if depth < 1 or depth != int(depth):
        raise ValueError(
            f"depth must be a whole number of at least 1, not {depth}; None means no limit"
        )
    return int(depth)


def _signature(args: Any) -> tuple:
    return tuple((np.shape(x), str(getattr(x, "dtype", type(x)))) for x in leaves(args))
