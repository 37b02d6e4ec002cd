"""What a profile is turned into: bars with readable names, and the work that Python gave away."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

BLOCK = "d2lperf.record"
"""Annotation around the reader's block; its start is the recording's time zero."""
END = "d2lperf.end"
"""Annotation around the wait after the block."""
WAITS = {
    "d2lperf.wait": "wait",
    "d2lperf.wait_all": "wait_all",
    "d2lperf.block_until_ready": "block_until_ready",
    "d2lperf.effects_barrier": "effects_barrier",
}
"""Annotations around calls that wait, and the names that readers know them by."""
READERS = {
    "item": "item()",
    "tolist": "tolist()",
    "__float__": "float()",
    "__int__": "int()",
    "__bool__": "bool()",
    "__complex__": "complex()",
    "__index__": "int()",
    "__repr__": "print",
    "__str__": "print",
    "__format__": "print",
}
"""Methods of an array that need its numbers, and the names that readers know them by: those of the virtual clock."""
FETCHES = {
    "np.asarray(jax.Array)": "np.asarray",
    "d2lperf.asarray": "np.asarray",
    "d2lperf.array": "np.array",
    **{f"d2lperf.{method}": name for method, name in READERS.items()},
}
"""Events around calls that bring a result to the host, and wait if it is not there yet."""
MARKER = "d2lperf_marker"
"""The computation that `wait_all` sends to the devices; it is no work of the reader's."""


@dataclass(slots=True)
class Bar:
    """One event of the timeline to be; times in nanoseconds."""

    start: int
    end: int
    lane: str
    name: str
    category: str
    flow: int = -1
    step: int = -1


@dataclass(slots=True)
class Issue:
    """Work that Python gave away: a dispatch, or a copy.

    Attributes:
        bar: how it is drawn; carries its flow number.
        records: numbers under which a thread pool took work from inside of it.
        producers: pairs under which other threads or streams refer to it.
        run_ids: runs that name themselves inside of it.
        correlations: numbers of the device calls inside of it.
        blocked: a long pause between preparing and handing over, in which the host may have waited.
    """

    bar: Bar
    records: list[int] = field(default_factory=list)
    producers: list[tuple[int, int]] = field(default_factory=list)
    run_ids: list[int] = field(default_factory=list)
    correlations: list[int] = field(default_factory=list)
    blocked: tuple[int, int] | None = None


@dataclass(slots=True)
class Run:
    """One execution of a compiled program on one device, as XLA names it."""

    run_id: int
    ordinal: int
    start: int
    end: int
    module: str = ""
    lane: str = ""
    """The Python lane that it ran in, if the host computed it itself."""
    flow: int = -1


@lru_cache(4096)
def key_of(name: str) -> str:
    """Return what the names of a function and of the program compiled from it have in common.

    `PjitFunction(<lambda>)` becomes the module `jit__lambda`: XLA allows letters, digits, `_`, `.` and `-`.
    """
    return re.sub(r"[^\w.-]", "_", name.removeprefix("jit_")).strip("_")


def readable_module(module: str) -> str:
    """Return the name of a compiled program as its author wrote it, as far as that is known."""
    name = module.removeprefix("jit_")
    return {"_lambda": "<lambda>", "_unnamed_function": "<unnamed function>"}.get(name, name)
