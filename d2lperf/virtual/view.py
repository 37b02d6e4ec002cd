"""A virtual machine's log as a timeline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from d2lperf.events import Mark, Strip
from d2lperf.timeline import Timeline
from d2lperf.units import format_seconds
from d2lperf.virtual.host import to_ns
from d2lperf.virtual.operation import check_device
from d2lperf.virtual.queue import Device

if TYPE_CHECKING:
    from d2lperf.virtual.machine import Machine


def view(
    machine: Machine,
    *,
    memory: bool | Iterable[Device],
    budget: int | None,
    marks: Iterable[Mark | tuple[float, str]],
    **options: Any,
) -> Timeline:
    """Return the timeline of a machine; `Machine.timeline` says what of what."""
    if isinstance(memory, bool):
        memory = [d for d in machine.devices if memory and machine.peak_bytes(d)]
    return Timeline.from_log(
        machine.log,
        strips=[_strip(machine, device, budget) for device in memory],
        marks=[_mark(mark) for mark in marks],
        notes=_notes(machine),
        **options,
    )


def _strip(machine: Machine, device: Device, budget: int | None) -> Strip:
    check_device(machine, device)
    times_ns, held_bytes = machine.memory_steps(device)
    limit = device.budget_bytes if budget is None else budget
    return Strip(f"{device} memory", tuple(times_ns), tuple(held_bytes), limit)


def _mark(mark: Mark | tuple[float, str]) -> Mark:
    return mark if isinstance(mark, Mark) else Mark(to_ns(mark[0]), mark[1])


def _notes(machine: Machine) -> Iterable[str]:
    sent = {frozenset(hop) for hop in machine.sent_bytes()}
    for link in machine.links:
        if link.latency_s and frozenset(link.ends) in sent:
            yield (
                f"A bar of {link.name} is the time in which bytes leave; "
                f"they arrive {format_seconds(link.latency_s)} after its end."
            )
