"""Timings are taken in the right order and described honestly; nothing here must be fast."""

import time
from collections.abc import Iterator
from dataclasses import FrozenInstanceError
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from d2lperf import timing
from d2lperf.barriers import wait
from d2lperf.stats import Samples
from d2lperf.timing import Benchmark, Timer, benchmark, compare


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> "Clock":
    """A clock that only the test moves on, in place of the real one."""
    made = Clock()
    monkeypatch.setattr(timing, "time", made)
    return made


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now

    def sleep(self, duration_s: float) -> None:
        self.now += duration_s


class Later:
    """A result that takes a while on the clock to be ready."""

    def __init__(self, clock: Clock, duration_s: float) -> None:
        self.clock, self.duration_s, self.ready = clock, duration_s, False

    def block_until_ready(self) -> "Later":
        if not self.ready:
            self.clock.sleep(self.duration_s)
        self.ready = True
        return self


def test_the_timer_tells_dispatch_from_total(clock: Clock) -> None:
    with Timer() as t:
        clock.sleep(1)
        y = Later(clock, 4)
        t.dispatched()
        wait(y)
    assert (t.dispatch_s, t.total_s) == (1, 5)
    assert str(t) == "dispatch 1.00 s, total 5.00 s"


def test_timers_nest_and_can_be_used_again(clock: Clock) -> None:
    outer, inner = Timer(), Timer()
    with outer:
        for duration_s in (1, 2):
            with inner:
                clock.sleep(duration_s)
    assert (outer.total_s, inner.total_s) == (3, 2)
    assert str(inner) == "2.00 s"


def test_a_timer_stops_when_its_block_raises(clock: Clock) -> None:
    t = Timer()

    def fail() -> None:
        with t:
            clock.sleep(1)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert t.total_s == 1


def test_a_timer_used_out_of_order_says_what_to_do() -> None:
    t = Timer()
    with pytest.raises(RuntimeError, match="inside the block"):
        t.dispatched()
    with t:
        with pytest.raises(RuntimeError, match="use a second one"):
            t.__enter__()
        with pytest.raises(RuntimeError, match="after the with block"):
            _ = t.total_s
        t.dispatched()
        with pytest.raises(RuntimeError, match="already"):
            t.dispatched()
    with pytest.raises(RuntimeError, match="inside the block"):
        t.dispatched()
    with t:
        pass
    with pytest.raises(RuntimeError, match=r"call t\.dispatched"):
        _ = t.dispatch_s


def test_a_benchmark_takes_first_call_warm_up_and_repetitions_apart(clock: Clock) -> None:
    calls = iter([(9, 1), (2, 3), (2, 2), (1, 3), (1, 4), (1, 5)])

    def work() -> Later:
        dispatch_s, rest_s = next(calls)
        clock.sleep(dispatch_s)
        return Later(clock, rest_s)

    result = benchmark(work, repeats=3, warmup=2)
    assert result.first_s == 10
    assert result.warmup == Samples([5, 4])
    assert result.dispatch == Samples([1, 1, 1])
    assert result.completion == Samples([4, 5, 6])
    assert result.compile_s == 10 - 5
    assert result.name == "work"


def test_a_first_call_within_the_range_of_the_others_compiled_nothing(clock: Clock) -> None:
    durations = iter([5, 4, 5, 6])
    result = benchmark(lambda: clock.sleep(next(durations)), repeats=3, warmup=0)
    assert result.compile_s == 0
    assert result.warmup is None


def test_for_a_numpy_function_dispatch_is_completion() -> None:
    result = benchmark(np.dot, np.eye(20), np.eye(20), repeats=4)
    assert result.dispatch == result.completion
    assert not result.jitted


def test_a_jitted_function_is_compiled_once_in_the_first_call() -> None:
    traces = []

    def double(x: jax.Array) -> jax.Array:
        traces.append(1)
        return 2 * x

    result = benchmark(jax.jit(double), jnp.ones(5), repeats=4)
    assert len(traces) == 1
    assert result.jitted
    assert result.name == "double"
    pairs = zip(result.dispatch.values, result.completion.values, strict=True)
    assert all(0 < dispatch_s <= completion_s for dispatch_s, completion_s in pairs)


def test_every_repetition_ends_in_a_barrier_on_its_own_results(clock: Clock) -> None:
    made: list[Later] = []

    def work() -> dict[str, list[Later]]:
        assert all(later.ready for later in made)
        made.extend(Later(clock, 1) for _ in range(2))
        return {"both": made[-2:]}

    benchmark(work, repeats=3)
    assert all(later.ready for later in made)


def test_arguments_and_set_up_are_outside_the_clock(clock: Clock) -> None:
    def setup() -> tuple[Later]:
        clock.sleep(50)
        return (Later(clock, 70),)

    def work(later: Later) -> None:
        assert later.ready
        clock.sleep(1)

    result = benchmark(work, setup=setup, repeats=3)
    assert set(result.completion.values) == {1}


def test_set_up_serves_a_function_that_donates_its_argument() -> None:
    step = jax.jit(lambda x: x + 1, donate_argnums=0)
    result = benchmark(step, setup=lambda: (jnp.ones(8),), repeats=3)
    assert len(result.completion) == 3


def test_the_budget_ends_a_benchmark_but_not_before_three_repetitions(clock: Clock) -> None:
    assert len(benchmark(lambda: clock.sleep(4), max_time_s=1).completion) == 3
    assert len(benchmark(lambda: clock.sleep(4), max_time_s=18).completion) == 5
    assert len(benchmark(lambda: clock.sleep(4), repeats=2, max_time_s=1).completion) == 2
    assert len(benchmark(lambda: clock.sleep(1), repeats=2, min_time_s=7).completion) == 7


def test_two_functions_are_timed_in_turns_on_the_same_arguments(clock: Clock) -> None:
    order: list[str] = []

    def work(label: str, duration_s: float, argument: str) -> None:
        assert argument == "both"
        order.append(label)
        clock.sleep(duration_s)

    result = compare(
        partial(work, "a", 0.2), partial(work, "b", 0.1), "both", names=("slow", "quick")
    )
    assert "".join(order) == "ab" * 22
    assert (result.first.name, result.second.name) == ("slow", "quick")
    assert result.ratio.median == pytest.approx(2)
    assert (result.verdict, result.slower, result.faster, result.same) == (
        "slower",
        True,
        False,
        False,
    )
    assert str(result).endswith("with 96% confidence): slower")


def test_a_comparison_of_scattered_times_is_too_noisy_to_tell(clock: Clock) -> None:
    def scattered(durations: Iterator[float]) -> None:
        clock.sleep(next(durations))

    a, b = iter([1, 2, 1, 2, 1, 2, 1, 2, 1, 2]), iter([2, 1, 2, 1, 2, 1, 2, 1, 2, 1])
    result = compare(partial(scattered, a), partial(scattered, b), repeats=8)
    assert result.verdict == "too noisy to tell"
    assert result.faster is None


def test_a_partial_is_called_by_the_name_of_its_function(clock: Clock) -> None:
    assert benchmark(partial(clock.sleep, 1), repeats=1).name == "sleep"


def test_results_cannot_be_changed() -> None:
    result = benchmark(lambda: None, repeats=1)
    with pytest.raises(FrozenInstanceError):
        result.name = "other"  # type: ignore[misc]


def test_the_tables_show_the_same_figures_and_escape_names() -> None:
    times = Samples([0.001, 0.001])
    result = Benchmark("<f>", True, 0.5, None, times, Samples([0.002, 0.004]))
    assert "&lt;f&gt;" in result._repr_html_()
    for text in ("1.00 ms", "3.00 ms", "± 17%", "497 ms", "compile"):
        assert text in str(result)
        assert text in result._repr_html_()


def test_mistakes_are_named() -> None:
    with pytest.raises(TypeError, match="not its result"):
        benchmark(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least 1 repetition"):
        benchmark(len, [], repeats=0)
    with pytest.raises(ValueError, match="at least 1 repetition"):
        benchmark(len, [], warmup=-1)


def test_progress_goes_to_stdout_and_only_when_it_takes_long(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark(lambda: None, name="quick", repeats=3)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setattr(timing, "_PROGRESS_AFTER_S", 0.01)
    benchmark(partial(time.sleep, 0.02), name="long", repeats=10)
    out, err = capfd.readouterr()
    assert "timing" in out and "%" in out
    assert err == ""
    benchmark(partial(time.sleep, 0.02), repeats=5, progress=False)
    assert capfd.readouterr() == ("", "")
