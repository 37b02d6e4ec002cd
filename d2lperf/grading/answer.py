"""Calling a student's code so that nothing it does stops the check."""

from __future__ import annotations

import io
import signal
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from d2lperf.virtual import ClockLimit, OutOfMemory, refuse_machines

TIME_LIMIT_S = 20.0
"""Wall-clock seconds that one call may take; a hundred times what a slow right answer needs."""

PRINTED_LINES = 8


class StudentError(Exception):
    """The student's code did not deliver; `status` says how: `missing`, `crashed`, `timeout`, `out of memory`."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class Answer:
    """What a student handed in, called with plain data or virtual machines.

    Anything that calls functions elsewhere (in another process, say) can stand in its place, if it has `call`.

    Args:
        answer: a function, or a dictionary of functions where the exercise asks for several.
        parts: the names in that dictionary; empty for a single function.

    Raises:
        StudentError: neither a function nor, with parts, a dictionary.
    """

    def __init__(self, answer: Any, parts: tuple[str, ...] = ()) -> None:
        if parts and not isinstance(answer, dict):
            raise StudentError("missing", f"Hand in a dictionary with {', '.join(parts)}.")
        if not parts and not callable(answer):
            raise StudentError(
                "missing",
                f"Hand in the function itself, not {_kind(answer)}: write its name without brackets.",
            )
        self._functions: Mapping[str, Any] = answer if parts else {"": answer}
        self._printed = io.StringIO()

    @property
    def printed(self) -> str:
        """What the code printed or warned about, shortened."""
        lines = self._printed.getvalue().splitlines()
        more = len(lines) - PRINTED_LINES
        return "\n".join(lines[:PRINTED_LINES] + ([f"… and {more} more lines"] if more > 0 else []))

    def call(self, *args: Any, part: str = "") -> Any:
        """Call the answer, or one of its parts, and return what it returns.

        Raises:
            StudentError: it raised, ran out of time or memory, or is still the stub.
        """
        function = self._functions.get(part)
        if not callable(function):
            if function is not None and not args:
                return function
            raise StudentError("missing", f"Your dictionary has no function for {part!r}.")
        with _guarded(self._printed):
            return function(*args)


@contextmanager
def _guarded(printed: io.StringIO) -> Iterator[None]:
    """Keep output apart and turn every way to fail into a `StudentError`."""
    try:
        # nbgrader gives no points to a cell that writes to stderr, and a warning is no mistake.
        with (
            redirect_stdout(printed),
            redirect_stderr(printed),
            warnings.catch_warnings(),
            time_limit(TIME_LIMIT_S),
            refuse_machines(
                "while it is checked, an answer may not run a virtual machine of its own"
            ),
        ):
            warnings.simplefilter("always")
            warnings.showwarning = _show_in(printed)
            yield
    except StudentError:
        raise
    except NotImplementedError as error:
        # The stub says nothing; a library that cannot do something says what.
        if str(error):
            raise StudentError("crashed", _one_line(error) + _where(error.__traceback__)) from error
        raise StudentError("missing", "There is no answer yet: replace the stub.") from error
    except OutOfMemory as error:
        raise StudentError("out of memory", str(error)) from error
    except (TimeoutError, ClockLimit, RecursionError) as error:
        raise StudentError("timeout", _one_line(error)) from error
    except (Exception, SystemExit) as error:
        raise StudentError("crashed", f"{_one_line(error)}{_where(error.__traceback__)}") from error


def _show_in(printed: io.StringIO) -> Callable[..., None]:
    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        printed.write(f"{category.__name__}: {message}\n")

    return show


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TimeoutError` after wall-clock seconds: in the main thread, where there are POSIX signals."""
    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
        yield
        return

    def expire(signum: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"no answer after {seconds:.0f} seconds: is there an endless loop?")

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _one_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _where(trace: TracebackType | None) -> str:
    """Say which line of the student's own code it was: the last frame that is not inside this package."""
    package = str(Path(__file__).parents[1])
    frames = [
        f
        for f in traceback.extract_tb(trace)
        if not f.filename.startswith(package) and "contextlib" not in f.filename
    ]
    own = [f for f in frames if "site-packages" not in f.filename and f.line]
    if not own:
        return ""
    return f"  (line {own[-1].lineno}, in {own[-1].name}: {own[-1].line})"


def _kind(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"
