"""`ch02.pipeline_law`: how long n operations take, for every relation of t₁, t₂, t₃ and every queue depth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from d2lperf.grading.answer import Answer
from d2lperf.grading.exercise import Case, Criterion, Exercise, Wrong
from d2lperf.grading.values import as_number, close
from d2lperf.timeline import Timeline
from d2lperf.units import format_seconds
from d2lperf.virtual import Machine, pipeline

US = 1e-6
EXACT_S = 0.2e-6
"""All times are whole microseconds; less than this is rounding, in single precision too."""


@dataclass(frozen=True)
class Seen:
    """What the answer said about one pipeline, and the pipeline itself."""

    n: int
    t1: float
    t2: float
    t3: float
    depth: float
    answer: Any
    machine: Machine


def cases(rng: np.random.Generator, instances: int) -> Iterator[Case]:
    """Draw n and times (whole microseconds) so that every regime of the law occurs."""
    names = ("n", "t1_us", "t2_us", "t3_us", "depth")

    def case(kind: str, *numbers: Any) -> Case:
        plain = (None if number is None else int(number) for number in numbers)
        return Case(kind, dict(zip(names, plain, strict=True)))

    for _ in range(instances):
        n = rng.integers(5, 60)
        small, large, t3 = rng.integers(1, 50), rng.integers(60, 200), rng.integers(1, 50)
        yield case("compute", n, small, large, t3, None)
        yield case("dispatch", n, large, small, t3, None)
        yield case("synchronous", n, small, large, t3, 1)
        # A slow way back makes the queue the bottleneck; n is no multiple of the depth, so that the ends show.
        depth = int(rng.integers(2, 6))
        slow = depth * large + rng.integers(50, 500)
        n = depth * rng.integers(3, 9) + rng.integers(2, depth + 1)
        yield case("queue", n, *rng.permutation([small, large]), slow, depth)
        yield case("deep", n, *rng.permutation([small, large]), t3, 8)
        yield case("deep", 1, small, large, t3, depth)


def observe(answer: Answer, case: Case) -> Seen:
    """Ask the answer about one pipeline and run that pipeline on the virtual clock."""
    d = case.data
    t1, t2, t3 = d["t1_us"] * US, d["t2_us"] * US, d["t3_us"] * US
    depth = inf if d["depth"] is None else d["depth"]
    said = answer.call(d["n"], t1, t2, t3, depth)
    return Seen(d["n"], t1, t2, t3, depth, said, pipeline(d["n"], t1, t2, t3, depth=d["depth"]))


def test(seen: Seen) -> None:
    """Compare with the virtual clock; name the mistake where the wrong value gives it away."""
    got, want = as_number(seen.answer, what="total_time"), seen.machine.perf_counter()
    if close(got, want, atol=EXACT_S):
        return
    message = next(
        (words for value, words in _mistakes(seen) if close(got, value, atol=EXACT_S)), None
    )
    if message is None:
        times = ", ".join(f"{t * 1e6:.0f}e-6" for t in (seen.t1, seen.t2, seen.t3))
        depth = "math.inf" if seen.depth == inf else f"{seen.depth}"
        message = f"look at virtual.pipeline({seen.n}, {times}, depth={depth}).timeline()."
    situation = (
        f"n={seen.n}, t1={format_seconds(seen.t1)}, t2={format_seconds(seen.t2)}, "
        f"t3={format_seconds(seen.t3)}, depth={seen.depth}"
    )
    raise Wrong(
        f"For {situation}: {message}",
        expected=f"{want * 1e6:.0f} µs",
        got=f"{got * 1e6:.6g} µs",
    )


def _mistakes(seen: Seen) -> list[tuple[float, str]]:
    n, t1, t2, t3 = seen.n, seen.t1, seen.t2, seen.t3
    steady = max(t1, t2, (t1 + t2 + t3) / seen.depth)
    unbounded = t1 + t2 + t3 + (n - 1) * max(t1, t2)

    def with_places(places: float, t3: float) -> float:
        return pipeline(n, t1, t2, t3, depth=places).perf_counter()

    return [
        (
            unbounded if seen.depth < inf else -1.0,
            "this ignores the queue: draw the first operations when there are only `depth` places.",
        ),
        (
            with_places(seen.depth, 0.0) + t3,
            "this gives a place back when an operation ends; it comes back t₃ later, when the host knows.",
        ),
        (with_places(seen.depth + 1, t3), "this counts one place too many."),
        (with_places(max(seen.depth - 1, 1), t3), "this counts one place too few."),
        (
            t1 + n * t2 + t3,
            "this is the book's t₁ + n·t₂ + t₃: it assumes that neither waits for the other before the end.",
        ),
        (
            n * (t1 + t2 + t3),
            "this adds everything up as if the host waited after each operation; here operations overlap.",
        ),
        (
            n * max(t1, t2),
            "the slower stage sets the pace, but the first operation has to get in and the last one out.",
        ),
        (n * max(t1, t2) + t3, "one of the stages of the first or the last operation is missing."),
        (n * t1 + n * t2 + t3, "dispatching and running overlap, so n·t₁ and n·t₂ do not add up."),
        (
            n * steady,
            "this is the pace in the steady state, times n; the ramp at both ends is missing.",
        ),
        (
            t1 + t2 + t3 + (n - 1) * steady,
            "right on average, but places come back in bursts of `depth`: follow the operations one by one.",
        ),
        (seen.machine.perf_counter() * 1e3, "this is in milliseconds; times are in seconds."),
        (seen.machine.perf_counter() * 1e6, "this is in microseconds; times are in seconds."),
    ]


def show(seen: Seen) -> Timeline:
    """Draw the pipeline that the answer was asked about."""
    title = f"n = {seen.n}, depth = {seen.depth}: what the virtual clock does"
    return seen.machine.timeline(title=title)


EXERCISE = Exercise(
    id="ch02.pipeline_law",
    title="The pipeline law",
    criteria=(
        Criterion(
            "compute", 1, "Right when the device is the slower part.", test, kinds=("compute",)
        ),
        Criterion(
            "dispatch", 1, "Right when the host is the slower part.", test, kinds=("dispatch",)
        ),
        Criterion(
            "synchronous", 1, "Right with a queue of one place.", test, kinds=("synchronous",)
        ),
        Criterion(
            "deep",
            1,
            "Right for a single operation, and for a queue that is long enough.",
            test,
            kinds=("deep",),
            needs=("compute", "dispatch"),
        ),
        Criterion("queue", 2, "Right when the queue is the bottleneck.", test, kinds=("queue",)),
    ),
    cases=cases,
    observe=observe,
    timeline=show,
)
