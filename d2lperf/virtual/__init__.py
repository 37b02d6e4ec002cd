"""The virtual clock: a deterministic machine with a host, devices, links, bounded queues and memory budgets."""

from d2lperf.virtual.handle import Array, peek
from d2lperf.virtual.host import ClockLimit
from d2lperf.virtual.link import Link
from d2lperf.virtual.machine import Machine, refuse_machines
from d2lperf.virtual.memory import OutOfMemory
from d2lperf.virtual.pipeline import pipeline
from d2lperf.virtual.queue import Device

__all__ = [
    "Array",
    "ClockLimit",
    "Device",
    "Link",
    "Machine",
    "OutOfMemory",
    "peek",
    "pipeline",
    "refuse_machines",
]
