"""Copies between the host and devices, which run while everybody works on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from d2lperf.virtual.handle import Array, frozen, plain
from d2lperf.virtual.host import HOST
from d2lperf.virtual.memory import Buffer
from d2lperf.virtual.queue import Device

if TYPE_CHECKING:
    from d2lperf.virtual.link import Hop, Via
    from d2lperf.virtual.machine import Machine


@dataclass(frozen=True)
class Source:
    """What is copied: a value, where it is, since when it is there and the host can know."""

    place: str
    value: np.ndarray
    buffer: Buffer
    done_ns: int
    ready_ns: int


def put(machine: Machine, x: Any, device: Device, via: Via, name: str | None) -> Array:
    """Start the copy of one handle or array of the host; `Machine.device_put` says more."""
    if isinstance(x, Array) and x._device == device:
        return x
    source = _source(machine, x)
    label = name or source.buffer.name
    route = machine._network.route(source.place, device.name, via)
    if not machine._network.carries(*route):
        return _share(machine, source, device, label)
    return _copy(machine, source, device, route, label, name or f"copy of {label}")


def fetch(machine: Machine, x: Array) -> tuple[int, int]:
    """Start the copy of a result to the host, if it takes one that has not been started.

    Returns:
        When the host can have the value, in nanoseconds, and the flow number of what brings it.
    """
    route = (x._device.name, HOST)
    if x._fetched is None and machine._network.carries(*route):
        source, bar = _source(machine, x), f"copy of {x._buffer.name}"
        flow = _dispatch(machine, source, bar)
        (hop,) = _carry(machine, source, route, bar, flow)
        x._fetched = hop.arrived_ns + machine._notify_ns, flow
    return x._fetched or (x._ready_ns, x._buffer.flow)


def _source(machine: Machine, x: Any) -> Source:
    if isinstance(x, Array):
        return Source(x._device.name, x._value, x._buffer, x._done_ns, x._ready_ns)
    buffer = Buffer("array of the host", 0, -1)
    return Source(HOST, frozen(plain(x)), buffer, machine.now_ns, machine.now_ns)


def _share(machine: Machine, source: Source, device: Device, label: str) -> Array:
    """Let a device have a value without a link on the way: at once, or when its operation ends."""
    buffer = Buffer(label, source.value.nbytes, source.buffer.flow)
    machine._queues[device].ledger.hold([buffer], machine.now_ns)
    buffer.use_until(source.done_ns)
    return Array(machine, device, source.value, source.done_ns, source.ready_ns, buffer)


def _copy(
    machine: Machine, source: Source, device: Device, route: Sequence[str], label: str, bar: str
) -> Array:
    """Let a device have a value over links; devices in between hold it until it has left them."""
    flow, now_ns = _dispatch(machine, source, bar), machine.now_ns
    buffers = [Buffer(label, source.value.nbytes, flow) for _ in route[1:]]
    ledgers = [machine._ledgers.get(place) for place in route[1:]]
    held = [(ledger, buffer) for ledger, buffer in zip(ledgers, buffers, strict=True) if ledger]
    for ledger, buffer in held:
        ledger.require([buffer], now_ns)
    for ledger, buffer in held:
        ledger.hold([buffer], now_ns)

    hops = _carry(machine, source, route, bar, flow)
    for buffer, into, out in zip(buffers, hops, [*hops[1:], hops[-1]], strict=True):
        buffer.use_until(max(into.arrived_ns, out.left_ns))
    for ledger, buffer in held[:-1]:
        ledger.release(buffer, now_ns)
    done_ns = hops[-1].arrived_ns
    ready_ns = done_ns + machine._notify_ns
    return Array(machine, device, source.value, done_ns, ready_ns, buffers[-1])


def _dispatch(machine: Machine, source: Source, bar: str) -> int:
    """Let the host hand the copy over, and return its flow number."""
    host, flow = machine._host, machine._host.number()
    host.spend(machine._dispatch_ns, "dispatch", bar, flow)
    host.need({source.buffer.flow} - {-1}, flow)
    return flow


def _carry(
    machine: Machine, source: Source, route: Sequence[str], bar: str, flow: int
) -> list[Hop]:
    """Send a value along a route; its memory is in use until it has left."""
    issued_ns = max(machine.now_ns, source.done_ns)
    hops = machine._network.carry(route, source.value.nbytes, issued_ns, bar, flow)
    source.buffer.use_until(hops[0].left_ns)
    machine._host.expect(hops[-1].arrived_ns + machine._notify_ns, flow)
    return hops
