"""Calling a student's code so that nothing it does stops the check."""

from __future__ import annotations

import io
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from d2lperf.virtual import ClockLimit, OutOfMemory, peek, refuse_machines

CALL_LIMIT_S = 10.0
"""Wall-clock seconds that one call may take; far more than a slow right answer needs."""
CHECK_LIMIT_S = 40.0
"""Wall-clock seconds for all calls of one check."""

PRINTED_LINES = 8
PRINTED_WIDTH = 200


class StudentError(Exception):
    """The student's code did not deliver; `status` says how: `missing`, `crashed`, `timeout`, `out of memory`."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class OutOfTime(BaseException):
    """Raised inside the student's code when its time is up; no `except Exception` there catches it."""


class Answer:
    """What a student handed in, called with plain data or virtual machines.

    A subclass may call functions that live elsewhere, in another process, say.

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
            kind = "nothing" if answer is None else f"something of type {type(answer).__name__}"
            raise StudentError(
                "missing",
                f"Hand in the function itself, not {kind}: write its name without brackets.",
            )
        self._functions: Mapping[str, Any] = answer if parts else {"": answer}
        self._output = _Output()
        self._left_s = CHECK_LIMIT_S
        self._gave_up = ""

    @property
    def printed(self) -> str:
        """What the code printed or warned about, shortened."""
        return self._output.shortened()

    def call(self, *args: Any, part: str = "") -> Any:
        """Call the answer, or one of its parts, and return what it returns, handles as values.

        Raises:
            StudentError: it raised, ran out of time or memory, or is still the stub. After it ran
                out of time it is not called again.
        """
        function = self._functions.get(part)
        if not callable(function):
            if function is not None and not args:
                return function
            raise StudentError("missing", f"Your dictionary has no function for {part!r}.")
        if self._gave_up:
            raise StudentError("timeout", self._gave_up)
        start = time.monotonic()
        try:
            with _guarded(self._output, min(CALL_LIMIT_S, self._left_s)):
                return peek(function(*args))
        except StudentError as error:
            self._gave_up = error.message if error.status == "timeout" else ""
            raise
        finally:
            self._left_s = max(self._left_s - (time.monotonic() - start), 0.1)


class _Output(io.TextIOBase):
    """Keeps the first lines of what is written and counts the rest."""

    def __init__(self) -> None:
        self._kept: list[str] = [""]
        self._lines = 0

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        first, *others = text.split("\n")
        self._extend(first)
        for line in others:
            self._lines += 1
            if len(self._kept) < PRINTED_LINES:
                self._kept.append("")
            self._extend(line)
        return len(text)

    def _extend(self, text: str) -> None:
        if self._lines < PRINTED_LINES:
            self._kept[-1] = (self._kept[-1] + text[: PRINTED_WIDTH + 1])[: PRINTED_WIDTH + 1]

    def shortened(self) -> str:
        lines = [k if len(k) <= PRINTED_WIDTH else f"{k[:PRINTED_WIDTH]}…" for k in self._kept]
        more = self._lines - PRINTED_LINES
        return "\n".join([*lines, f"… and {more} more lines"] if more > 0 else lines).rstrip("\n")


@contextmanager
def _guarded(output: _Output, seconds: float) -> Iterator[None]:
    """Keep output apart and turn every way to fail into a `StudentError`."""
    try:
        with quiet(output), time_limit(seconds), refuse_machines(ONLY_GIVEN):
            yield
    except (StudentError, KeyboardInterrupt):
        raise
    except NotImplementedError as error:
        # The stub says nothing; a library that cannot do something says what.
        if _words(error):
            raise StudentError("crashed", _one_line(error) + _where(error)) from None
        raise StudentError("missing", "There is no answer yet: replace the stub.") from None
    except OutOfMemory as error:
        raise StudentError("out of memory", str(error)) from None
    except (OutOfTime, ClockLimit) as error:
        raise StudentError("timeout", _words(error) + _where(error)) from None
    except BaseException as error:
        raise StudentError("crashed", _one_line(error) + _where(error)) from None


ONLY_GIVEN = "while it is checked, an answer may not run a virtual machine of its own"


@contextmanager
def quiet(output: io.TextIOBase) -> Iterator[None]:
    """Send everything that would be printed or warned about to `output`.

    nbgrader gives no points to a cell that writes to stderr, and a warning is no mistake.
    """

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        output.write(f"{category.__name__}: {message}\n")

    with redirect_stdout(output), redirect_stderr(output), warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = show
        yield


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTime` after wall-clock seconds: in the main thread, where there are POSIX signals."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or not hasattr(signal, "setitimer"):
        yield
        return

    def expire(signum: int, frame: FrameType | None) -> None:
        raise OutOfTime(f"no answer after {seconds:.0f} seconds: is there an endless loop?")

    before = signal.signal(signal.SIGALRM, expire)
    # Again and again, for code that catches everything.
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _words(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "its message cannot be shown"


def _one_line(error: BaseException) -> str:
    words = _words(error)
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _where(error: BaseException) -> str:
    """Say which line of the student's own code it was: the last frame that is not inside this package."""
    trace: TracebackType | None = error.__traceback__
    package = Path(__file__).parents[1]
    own = [
        frame
        for frame in traceback.extract_tb(trace)
        if not Path(frame.filename).is_relative_to(package)
        and "site-packages" not in frame.filename
        and not frame.filename.endswith("contextlib.py")
        and frame.line
    ]
    return f"  (line {own[-1].lineno}, in {own[-1].name}: {own[-1].line})" if own else ""
