"""Recording a program with JAX's profiler."""

from __future__ import annotations

import functools
import operator
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from d2lperf.recording.bars import BLOCK, END, READERS
from d2lperf.recording.files import find_profile, open_timeline
from d2lperf.timeline.timeline import Timeline

_HOST_LEVEL = 2
"""What the profiler keeps of the host: the runtime's own events, without the verbose ones."""
_BUSY = (
    "a recording or a profile is going on already, and JAX can only make one at a time: "
    "end that one first"
)


class Recording(Timeline):
    """A timeline that is filled in when the block of `record` ends."""

    def __init__(self) -> None:
        self._goes_on = True

    def _fill(self, timeline: Timeline) -> None:
        vars(self).update(vars(timeline))
        self._goes_on = False

    def __getattr__(self, name: str) -> Any:
        # Python asks objects for names of its own; those are absent, not early.
        if name.startswith("_"):
            raise AttributeError(name)
        if vars(self).get("_goes_on"):
            raise RuntimeError(
                "the recording goes on until its block ends: use it after the `with` block"
            )
        raise AttributeError(f"a timeline has no {name!r}")

    def __repr__(self) -> str:
        return "<Recording that goes on>" if self._goes_on else super().__repr__()


@contextmanager
def record(
    *,
    title: str = "",
    wait: bool = True,
    threads: bool = True,
    details: bool = False,
    keep: str | Path | None = None,
) -> Iterator[Recording]:
    """Record what Python, the runtime and the devices do in a `with` block.

    Before the block, work that is still going on is waited for, so that the devices begin idle. Time zero is the
    beginning of the block, and all of the block counts, also where nothing is recorded. Each dispatch and each
    conversion to NumPy takes somewhat longer while it goes on: measure speed without it. In the recording

    - a dispatch bears the name of the function, and an arrow leads to its run, where the profile tells which it is;
    - `trace f`, `lower f` and `compile f` are what a first call does more (tracing is what precedes lowering);
    - `wait`, `block_until_ready`, `np.asarray`, `float()`, `bool()`, `print` and the like are waits. The profiler does
      not see all of these: while it goes on, `jax.block_until_ready`, `jax.effects_barrier`, `np.asarray`, `np.array`
      and the methods of an array that need its numbers announce themselves to it. Copies of these names made by
      `from jax import …` do not, nor does a `memoryview` of an array;
    - `queue full` is the wait inside of a dispatch that finds 32 computations in flight.

    Args:
        title: a line above the lanes.
        wait: wait after the block for everything that it dispatched, so that it is recorded to its end. That wait
            is not shown: a mark says where the block ends.
        threads: keep the runtime's threads, folded.
        details: keep what happens inside of dispatches.
        keep: a folder to keep the profile in; by default it is removed.

    Yields:
        The recording, a timeline once the block has ended.

    Raises:
        RuntimeError: another recording or profile is going on.
    """
    from d2lperf.barriers import wait_all

    trace = Recording()
    with _only_one(), _folder(keep) as folder, _announcing():
        if wait:
            wait_all()
        _start(folder)
        try:
            with _stopped():
                with _annotation(BLOCK):
                    yield trace
                if wait:
                    with _annotation(END):
                        wait_all()
        except BaseException:
            # What happened before an error is worth seeing; the error is worth more.
            with suppress(Exception):
                trace._fill(_read(folder, title=title, threads=threads, details=details))
            raise
        trace._fill(_read(folder, title=title, threads=threads, details=details))


def _read(folder: Path, **options: Any) -> Timeline:
    return open_timeline(find_profile(folder), **options)


_lock = threading.Lock()


@contextmanager
def _only_one() -> Iterator[None]:
    if not _lock.acquire(blocking=False):
        raise RuntimeError(_BUSY)
    try:
        yield
    finally:
        _lock.release()


@contextmanager
def _folder(keep: str | Path | None) -> Iterator[Path]:
    if keep is not None:
        yield Path(keep)
    else:
        with tempfile.TemporaryDirectory(prefix="d2lperf-", ignore_cleanup_errors=True) as folder:
            yield Path(folder)


def _start(folder: Path) -> None:
    import jax

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    options.host_tracer_level = _HOST_LEVEL
    options.enable_hlo_proto = False
    try:
        jax.profiler.start_trace(folder, profiler_options=options)
    except RuntimeError as error:
        raise RuntimeError(_BUSY) from error


@contextmanager
def _stopped() -> Iterator[None]:
    import jax

    try:
        yield
    finally:
        jax.profiler.stop_trace()


def _annotation(name: str, **attributes: Any) -> AbstractContextManager[Any]:
    import jax

    return jax.profiler.TraceAnnotation(name, **attributes)


def _announced(name: str, function: Callable[..., Any], kind: type | None) -> Callable[..., Any]:
    """Return a function that annotates itself, if its first argument is of the kind that is given."""

    # The qualified name of a method that is written in C++ is not always a string.
    @functools.wraps(function, assigned=("__name__", "__doc__"))
    def announced(*args: Any, **kwargs: Any) -> Any:
        if kind is not None and not (args and isinstance(args[0], kind)):
            return function(*args, **kwargs)
        with _annotation(f"d2lperf.{name}"):
            return function(*args, **kwargs)

    return announced


@contextmanager
def _announcing() -> Iterator[None]:
    """Let the public calls that wait, and that the profiler does not see, annotate themselves."""
    import jax
    import numpy as np

    array = type(jax.numpy.zeros(()))
    calls: list[tuple[Any, str, type | None]] = [
        (jax, "block_until_ready", None),
        (jax, "effects_barrier", None),
        (np, "asarray", array),
        (np, "array", array),
        (array, "block_until_ready", array),
        *((array, method, array) for method in READERS if hasattr(array, method)),
    ]
    silent = [getattr(owner, name) for owner, name, _ in calls]
    try:
        for (owner, name, kind), function in zip(calls, silent, strict=True):
            setattr(owner, name, _announced(name, function, kind))
        yield
    finally:
        for (owner, name, _), function in zip(calls, silent, strict=True):
            setattr(owner, name, function)


def step(name: str, number: int | None = None) -> AbstractContextManager[Any]:
    """Mark a part of a program, to find it again in a recording.

    Write `with step("load"):` or `with step("train", 3):`. What happens in the block, and what that leads to on
    the devices, gets the number of the step. Without a recording it costs next to nothing.

    Args:
        name: what the part is called.
        number: which repetition it is; by default parts of one name are numbered from 0, and parts inside of a
            numbered part take its number.

    Raises:
        ValueError: no name, one with `#` in it (the profiler's sign for what follows a name), or a number that does not
            fit into 31 bits.
        TypeError: a number that is not whole.
    """
    if not name or "#" in name:
        raise ValueError(f"expected the name of a step, without '#', got {name!r}")
    if number is None:
        return _annotation(name, d2lperf_step=1)
    number = operator.index(number)
    if not 0 <= number < 2**31:
        raise ValueError(f"expected a number from 0 to 2³¹ - 1 for step {name!r}, got {number}")
    return _annotation(name, step_num=number)
