"""Operations: where they run, when, and what they hold meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from d2lperf.virtual.handle import Array, frozen, plain
from d2lperf.virtual.host import HOST, to_ns
from d2lperf.virtual.memory import Buffer
from d2lperf.virtual.queue import Device
from d2lperf.virtual.tree import leaves, map_leaves

if TYPE_CHECKING:
    from d2lperf.virtual.machine import Machine


@dataclass(frozen=True)
class Operation:
    """What is computed and how; `Machine.op` says more."""

    label: str
    function: Callable[..., Any]
    inline: bool = False
    workspace_bytes: int = 0


def place(machine: Machine, label: str, args: Any, device: Device | None) -> Device:
    """Return where an operation runs: where its arguments are, or where it is told to.

    Raises:
        ValueError: results of another machine, an unknown device, or several devices.
    """
    handles = own(machine, label, args)
    if device is not None:
        check_device(machine, device)
    at = {leaf._device for leaf in handles} | ({device} if device is not None else set())
    if len(at) > 1:
        raise ValueError(
            f"{label} got arguments on several devices ({', '.join(sorted(map(str, at)))}): "
            "bring them to one with device_put"
        )
    return at.pop() if at else machine.devices[0]


def own(machine: Machine, label: str, args: Any) -> list[Array]:
    """Return the handles in a nest, or refuse those of another machine with a `ValueError`."""
    handles = [leaf for leaf in leaves(args) if isinstance(leaf, Array)]
    if any(leaf._machine is not machine for leaf in handles):
        raise ValueError(f"{label} got the result of another machine: compute it on this one")
    return handles


def check_device(machine: Machine, device: Device) -> None:
    """Refuse a device that the machine has not with a `ValueError`."""
    if device not in machine._queues:
        raise ValueError(
            f"{device} is not a device of this machine: it has {', '.join(map(str, machine.devices))}"
        )


def issue(
    machine: Machine, operation: Operation, bar: str, args: Any, device: Device, cost_s: float
) -> Any:
    """Compute the values, dispatch the operation on the clock, and return handles.

    Args:
        machine: where it happens.
        operation: what is computed.
        bar: what pictures call this call.
        args: a tuple of nests of handles and of values of the host.
        device: where it runs.
        cost_s: time on a device of speed 1, in seconds.

    Raises:
        OutOfMemory: results, workspace and arguments of the host do not fit.
    """
    host, queue = machine._host, machine._queues[device]
    flow, label = host.number(), operation.label
    flat = leaves(args)
    inputs = [leaf for leaf in flat if isinstance(leaf, Array)]
    given = [np.asarray(leaf) for leaf in flat if not isinstance(leaf, Array)]
    value = map_leaves(frozen, operation.function(*map_leaves(plain, args)))
    cost_ns = host.perturb("run", to_ns(cost_s / device.speed))

    place_ns, whose = queue.place_free(host.now_ns)
    host.wait_until(place_ns, "queue full", whose, always=False)
    host.spend(machine._dispatch_ns, "dispatch", bar, flow)
    host.need({leaf._buffer.flow for leaf in inputs} - {-1}, flow)
    results = [Buffer(label, leaf.nbytes, flow) for leaf in leaves(value)]
    passing_bytes = operation.workspace_bytes + sum(leaf.nbytes for leaf in given)
    passing = Buffer(f"arguments of {label}", passing_bytes, flow)
    queue.ledger.hold([*results, passing], host.now_ns)

    there_ns = _bring(machine, device, given, bar, flow)
    known = all(leaf._ready_ns <= host.now_ns for leaf in inputs)
    if operation.inline and known and max(queue.idle_from_ns, there_ns) <= host.now_ns:
        host.spend(cost_ns, "run", bar, flow)
        end_ns = ready_ns = host.now_ns
    else:
        there_ns = max([there_ns, *(leaf._done_ns for leaf in inputs)])
        start_ns, end_ns = queue.run(there_ns, cost_ns, machine._notify_ns, flow)
        ready_ns = end_ns + machine._notify_ns
        host.record(start_ns, end_ns, device.name, bar, "run", flow)
    host.expect(ready_ns, flow)

    for buffer in (*results, passing, *(leaf._buffer for leaf in inputs)):
        buffer.use_until(end_ns)
    queue.ledger.release(passing, host.now_ns)
    buffers = iter(results)
    return map_leaves(
        lambda leaf: Array(machine, device, leaf, end_ns, ready_ns, next(buffers)), value
    )


def _bring(machine: Machine, device: Device, given: list[np.ndarray], bar: str, flow: int) -> int:
    """Copy arrays of the host over its link and return when they are there; single numbers need no copy."""
    host, nbytes = machine._host, sum(leaf.nbytes for leaf in given if leaf.ndim)
    if not nbytes or not machine._network.carries(HOST, device.name):
        return host.now_ns
    name = f"arguments of {bar}"
    (hop,) = machine._network.carry((HOST, device.name), nbytes, host.now_ns, name, flow)
    return hop.arrived_ns
