"""Time on the real clock: dispatch and completion apart, with the spread shown.

Every repetition ends in a barrier on its own results: nothing of it runs on into the next.
"""

import html
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import jax

from d2lperf.barriers import wait
from d2lperf.stats import Judged, Ratio, Samples, Verdict, paired_ratio
from d2lperf.units import format_seconds

_PROGRESS_AFTER_S = 2.0
_FEWEST = 3


class Timer:
    """Time a block, and within it how long the host was busy dispatching.

    Use:
        with Timer() as t:
            y = f(x)
            t.dispatched()
            wait(y)
        t.dispatch_s, t.total_s

    It does not wait by itself: a block without a barrier measures dispatch. Timers may nest.
    Used again, a timer forgets what it measured before.
    """

    def __init__(self) -> None:
        self._start: float | None = None
        self._dispatched: float | None = None
        self._stop: float | None = None

    def __enter__(self) -> Self:
        if self._start is not None and self._stop is None:
            raise RuntimeError("this Timer is running already: use a second one inside")
        self._dispatched = self._stop = None
        self._start = time.perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stop = time.perf_counter()

    def dispatched(self) -> None:
        """Mark the point where everything is dispatched; call it once, before the barrier.

        Raises:
            RuntimeError: outside of the block, or a second time within it.
        """
        now = time.perf_counter()
        if self._start is None or self._stop is not None:
            raise RuntimeError("dispatched() belongs inside the block: with Timer() as t: …")
        if self._dispatched is not None:
            raise RuntimeError("dispatched() was called already: mark one point per block")
        self._dispatched = now

    @property
    def dispatch_s(self) -> float:
        """Seconds from the start of the block to `dispatched()`.

        Raises:
            RuntimeError: if `dispatched()` was not called in the block.
        """
        if self._start is None or self._dispatched is None:
            raise RuntimeError("no dispatch time: call t.dispatched() in the block, before wait")
        return self._dispatched - self._start

    @property
    def total_s(self) -> float:
        """Seconds from the start to the end of the block.

        Raises:
            RuntimeError: before the block has ended.
        """
        if self._start is None or self._stop is None:
            raise RuntimeError("no total time yet: read it after the with block has ended")
        return self._stop - self._start

    def __str__(self) -> str:
        if self._stop is None:
            return "Timer, no result yet"
        total = format_seconds(self.total_s)
        if self._dispatched is None:
            return total
        return f"dispatch {format_seconds(self.dispatch_s)}, total {total}"

    __repr__ = __str__


@dataclass(frozen=True)
class Benchmark:
    """Repeated timings of one function.

    Attributes:
        name: what was timed.
        jitted: whether the function is compiled by JAX as a whole (has a `lower` method).
        first_s: the very first call from start to completion, in seconds.
        warmup: completion times in seconds of the calls before the counted ones; may be None.
        dispatch: per repetition, seconds until the call returned.
        completion: per repetition, seconds until its results were ready.
    """

    name: str
    jitted: bool
    first_s: float
    warmup: Samples | None
    dispatch: Samples
    completion: Samples

    @property
    def compile_s(self) -> float:
        """Seconds that the first call took above a typical one.

        For a jitted function this is tracing and compilation as a user meets them (and about 0
        if it had been compiled before); for any other function the cost of cold caches. It is 0
        if the first call was no slower than the slowest repetition.
        """
        slower = self.first_s > self.completion.maximum
        return self.first_s - self.completion.median if slower else 0.0

    def _cells(self) -> list[tuple[str, str, str, str]]:
        rows = [_row("dispatch", self.dispatch), _row("completion", self.completion)]
        if self.warmup is not None:
            rows.append(_row("warm-up (apart)", self.warmup))
        label = "compile (first call)" if self.jitted else "first call (extra)"
        return [*rows, (label, format_seconds(self.compile_s), "", "1")]

    def __str__(self) -> str:
        return _text_table(self.name, self._cells())

    def _repr_html_(self) -> str:
        return _html_table(self.name, self._cells())


@dataclass(frozen=True)
class Comparison(Judged):
    """Two functions that were timed in turns.

    Attributes:
        first: what the first measured by itself; `second` likewise.
        ratio: completion time of the first over that of the second, pair by pair.
    """

    first: Benchmark
    second: Benchmark
    ratio: Ratio

    @property
    def verdict(self) -> Verdict:
        """What can be said of the first, as in `Ratio.verdict`."""
        return self.ratio.verdict

    def _cells(self) -> list[tuple[str, str, str, str]]:
        return [_row(b.name, b.completion) for b in (self.first, self.second)]

    def _sentence(self) -> str:
        bound = self.ratio.interval
        figures = (
            f"{self.first.name} takes {self.ratio.median:.3g} times as long as {self.second.name} "
            f"(between {bound.low:.3g} and {bound.high:.3g} with {bound.coverage:.0%} confidence)"
        )
        return f"{figures}: {self.verdict}"

    def __str__(self) -> str:
        return f"{_text_table('completion', self._cells())}\n{self._sentence()}"

    def _repr_html_(self) -> str:
        return f"{_html_table('completion', self._cells())}<p>{html.escape(self._sentence())}</p>"


def benchmark(
    fn: Callable[..., Any],
    /,
    *args: Any,
    name: str | None = None,
    repeats: int = 20,
    warmup: int = 1,
    min_time_s: float = 0.0,
    max_time_s: float = 10.0,
    setup: Callable[[], Any] | None = None,
    progress: bool = True,
) -> Benchmark:
    """Time a function: first call, warm-up, and repetitions that each end in a barrier.

    Args:
        fn: JAX or NumPy function. For NumPy, dispatch and completion are the same.
        *args: its arguments, waited for before the clock starts.
        name: what to call it in tables; the function's name by default.
        repeats: repetitions, at least 1.
        warmup: calls between the first and the repetitions that do not count.
        min_time_s: repeat for at least this long, in seconds.
        max_time_s: start no repetition after this long, in seconds, once there are three.
        setup: called before every call, outside the clock. A tuple that it returns is used as
            the arguments, which a function that donates its arguments needs.
        progress: show a bar on stdout once it takes more than two seconds.

    Returns:
        The measurements.

    Raises:
        TypeError: if `fn` cannot be called.
        ValueError: for fewer than one repetition or a negative number of warm-up calls.
    """
    subject = _Subject(fn, args, name, setup)
    _run([subject], repeats, warmup, min_time_s, max_time_s, progress)
    return subject.result(warmup)


def compare(
    first: Callable[..., Any],
    second: Callable[..., Any],
    /,
    *args: Any,
    names: tuple[str, str] | None = None,
    repeats: int = 20,
    warmup: int = 1,
    min_time_s: float = 0.0,
    max_time_s: float = 20.0,
    setup: Callable[[], Any] | None = None,
    margin: float = 0.05,
    confidence: float = 0.95,
    progress: bool = True,
) -> Comparison:
    """Time two functions in turns (A B A B …) on the same arguments, and judge their ratio.

    The interval knows the spread within this run only. Two that bring thread pools of their own
    (NumPy and JAX) can get in each other's way in turns: then time them apart as well.

    Args:
        first: a function; bind arguments that differ with `functools.partial`.
        second: the function to compare it with.
        *args: arguments of both.
        names: what to call them; the functions' names by default.
        repeats: how many pairs, at least 1.
        warmup: as in `benchmark`.
        min_time_s: as in `benchmark`, for both together.
        max_time_s: as in `benchmark`, for both together.
        setup: as in `benchmark`.
        margin: the smallest relative difference that matters.
        confidence: coverage of the interval of the ratio (6 pairs at least for 0.95).
        progress: as in `benchmark`.

    Returns:
        Both benchmarks, the ratio with its interval, and a verdict.

    Raises:
        TypeError, ValueError: as in `benchmark`.
    """
    labels = names or (None, None)
    pair = [_Subject(first, args, labels[0], setup), _Subject(second, args, labels[1], setup)]
    _run(pair, repeats, warmup, min_time_s, max_time_s, progress)
    a, b = pair[0].result(warmup), pair[1].result(warmup)
    ratio = paired_ratio(a.completion, b.completion, margin=margin, confidence=confidence)
    return Comparison(a, b, ratio)


class _Subject:
    """One function under the clock, with what has been measured of it so far."""

    def __init__(
        self,
        fn: Callable[..., Any],
        args: tuple[Any, ...],
        name: str | None,
        setup: Callable[[], Any] | None,
    ) -> None:
        if not callable(fn):
            raise TypeError(
                f"expected a function to time, got {type(fn).__name__}: "
                "pass the function and its arguments, not its result"
            )
        self.fn, self.args, self.setup = fn, args, setup
        # A functools.partial has no name of its own.
        known = getattr(getattr(fn, "func", fn), "__name__", type(fn).__name__)
        self.name = name or str(known)
        self.times: list[tuple[float, float]] = []

    def call(self) -> None:
        args = self.args
        if self.setup is not None:
            made = self.setup()
            args = made if isinstance(made, tuple) else args
        if args:
            wait(list(args))
        start = time.perf_counter()
        result = self.fn(*args)
        returned = time.perf_counter()
        # One array, the usual result, without a walk through a tree: that would be measured too.
        barrier = getattr(result, "block_until_ready", None)
        if barrier is not None:
            barrier()
            done = time.perf_counter()
        elif any(hasattr(leaf, "block_until_ready") for leaf in jax.tree.leaves(result)):
            jax.block_until_ready(result)
            done = time.perf_counter()
        else:
            # Nothing to wait for: the result was complete when the call returned.
            done = returned
        self.times.append((returned - start, done - start))

    def result(self, warmups: int) -> Benchmark:
        (_, first_s), *rest = self.times
        warmup, counted = rest[:warmups], rest[warmups:]
        return Benchmark(
            name=self.name,
            jitted=hasattr(self.fn, "lower"),
            first_s=first_s,
            warmup=Samples(done for _, done in warmup) if warmup else None,
            dispatch=Samples(returned for returned, _ in counted),
            completion=Samples(done for _, done in counted),
        )


def _run(
    subjects: list[_Subject],
    repeats: int,
    warmup: int,
    min_time_s: float,
    max_time_s: float,
    progress: bool,
) -> None:
    if repeats < 1 or warmup < 0:
        raise ValueError(
            f"expected at least 1 repetition and 0 warm-up calls, got {repeats} and {warmup}"
        )
    with _bar("timing", 1 + warmup + repeats, show=progress) as bar:
        for _ in range(1 + warmup):
            for subject in subjects:
                subject.call()
            bar.update()
        start, done = time.perf_counter(), 0
        while True:
            elapsed = time.perf_counter() - start
            if done >= repeats and elapsed >= min_time_s:
                break
            if done >= min(repeats, _FEWEST) and elapsed >= max_time_s:
                break
            for subject in subjects:
                subject.call()
            done += 1
            bar.update()


def _bar(label: str, total: int, *, show: bool) -> Any:
    from tqdm import tqdm

    class Bar(tqdm):
        # tqdm's watchdog thread would wake up in the middle of a measurement.
        monitor_interval = 0

    # stdout, because nbgrader takes marks away for anything on stderr.
    options: dict[str, Any] = {
        "file": sys.stdout,
        "delay": _PROGRESS_AFTER_S,
        "leave": False,
        "ncols": 72,
    }
    return Bar(total=total, desc=label, disable=not show, **options)


def _row(label: str, samples: Samples) -> tuple[str, str, str, str]:
    spread = f"± {samples.spread:.0%}" if len(samples) > 1 else ""
    return label, format_seconds(samples.median), spread, str(len(samples))


_HEAD = ("", "median", "spread", "calls")


def _text_table(title: str, rows: list[tuple[str, str, str, str]]) -> str:
    table = [(title, *_HEAD[1:]), *rows]
    width = [max(len(row[i]) for row in table) for i in range(4)]
    return "\n".join(
        "  ".join([row[0].ljust(width[0]), *(row[i].rjust(width[i]) for i in (1, 2, 3))])
        for row in table
    )


def _html_table(title: str, rows: list[tuple[str, str, str, str]]) -> str:
    head = "".join(f'<th scope="col">{cell}</th>' for cell in _HEAD)
    body = "".join(
        f'<tr><th scope="row">{html.escape(row[0])}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f"<table><caption>{html.escape(title)}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
