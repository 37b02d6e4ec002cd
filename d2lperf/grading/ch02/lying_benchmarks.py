"""`ch02.lying_benchmarks`: five benchmarks that are wrong, each in its own way, and one that is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2lperf.grading.answer import Answer
from d2lperf.grading.exercise import Case, Criterion, Exercise, Wrong
from d2lperf.grading.values import as_number, close
from d2lperf.timeline import Timeline
from d2lperf.units import format_seconds
from d2lperf.virtual import Device, Machine

TOLERANCE = 0.02
FAULTS = {
    "a": "no barrier",
    "b": "compile time inside",
    "c": "same input again",
    "d": "waits for the last only",
    "e": "waits on the wrong device",
    "f": "honest",
}
"""What is the matter with each benchmark of the notebook."""

LABELS = (*FAULTS.values(), "inputs made inside", "one call too many", "too few calls")
"""What one may say of a benchmark; some of it is true of none."""

SUBJECTS = {"a": (0,), "b": (0,), "c": (0,), "d": (0, 1), "e": (1,)}
"""Which of the two devices each benchmark claims to measure."""


@dataclass(frozen=True)
class Seen:
    """What one repaired benchmark said about one machine, and the truth."""

    name: str
    answer: Any
    truth_s: float
    data: Any
    machine: Machine | None
    left_running: tuple[str, ...] = ()


def cases(rng: np.random.Generator, instances: int) -> Iterator[Case]:
    """Yield machines on which every fault shows: known proportions, on a random scale of time.

    Proportions decide what is within the tolerance, so a repair that passes once always passes.
    """
    for name in SUBJECTS:
        for n, costs_us, speed in (
            (6, (400, 900), 3.2),
            (9, (880, 500), 5.6),
            (14, (610, 730), 4.1),
        ):
            yield Case(
                name,
                {
                    "n": n,
                    "cost_us": list(costs_us),
                    # The first device is quick: waiting on it tells nothing about the second.
                    "speed": speed,
                    "compile_us": 40_000,
                    "scale": round(float(rng.uniform(0.5, 2.0)), 3),
                },
            )
    yield Case("diagnosis")


def build(data: Any) -> tuple[Machine, list[Callable[[Any], Any]], Callable[[], np.ndarray]]:
    """Return a fresh machine, the function under test on each device, and a source of new inputs."""
    us = data["scale"] * 1e-6
    machine = Machine(
        [Device("device:0", speed=data["speed"]), Device("device:1")],
        dispatch_s=20 * us,
        notify_s=10 * us,
    )
    drawn = np.random.default_rng(0)

    def function_on(device: Device, cost_us: int) -> Callable[[Any], Any]:
        last: list[bytes] = [b""]

        def cost(x: Any) -> float:
            key = np.asarray(x).tobytes()
            again, last[0] = key == last[0], key
            return us if again else cost_us * us

        op = machine.op(
            np.sum, cost_s=cost, compile_s=data["compile_us"] * us, name="f", device=device
        )
        return lambda x: op(x)

    def fresh() -> np.ndarray:
        machine.host_work(300 * us, name="make an input")
        return drawn.normal(size=8)

    devices = machine.devices
    return (
        machine,
        [function_on(d, c) for d, c in zip(devices, data["cost_us"], strict=True)],
        fresh,
    )


def truth(name: str, data: Any, *, warm: bool = True, barrier: str = "end") -> float:
    """Return seconds per call as it should be measured, or with one fault left in."""
    machine, functions, fresh = build(data)
    subjects = [functions[i] for i in SUBJECTS[name]]
    inputs = [fresh() for _ in range(data["n"])]
    if warm:
        for f in subjects:
            f(fresh())
        machine.wait_all()
    start_s = machine.perf_counter()
    for i, x in enumerate(inputs):
        result = subjects[i % len(subjects)](x)
        if barrier == "each":
            result.block_until_ready()
    if barrier == "end":
        machine.wait_all()
    return (machine.perf_counter() - start_s) / data["n"]


def observe(answer: Answer, case: Case) -> Seen:
    """Let one repaired benchmark measure a machine, or ask for the diagnosis."""
    if case.kind == "diagnosis":
        return Seen("diagnosis", answer.call(part="diagnosis"), 0.0, {}, None)
    machine, functions, fresh = build(case.data)
    stopped_ns = 0

    def clock() -> float:
        nonlocal stopped_ns
        stopped_ns = machine.now_ns
        return machine.perf_counter()

    said = answer.call(functions, fresh, clock, case.data["n"], part=case.kind)
    left = {e.lane for e in machine.log.select(category="run") if e.end_ns > stopped_ns}
    lanes = tuple(sorted(left))
    return Seen(case.kind, said, truth(case.kind, case.data), case.data, machine, lanes)


def test(seen: Seen) -> None:
    """The benchmark says what a careful measurement says."""
    got, want = as_number(seen.answer, what=f"bench_{seen.name}"), seen.truth_s
    if close(got, want, rtol=TOLERANCE):
        return
    expected, yours = f"{want * 1e6:.1f} µs per call", f"{got * 1e6:.1f} µs per call"
    raise Wrong(_diagnose(got, seen), expected=expected, got=yours)


def _diagnose(got: float, seen: Seen) -> str:
    assert seen.machine is not None
    n, want, log = seen.data["n"], seen.truth_s, seen.machine.log
    runs = log.select(category="run")
    if not runs:
        return "It never calls the function that it should measure."
    lanes = [seen.machine.devices[i].name for i in SUBJECTS[seen.name]]
    used = {run.lane for run in runs[-n:]}
    if not set(lanes) <= used:
        return f"In the timed part, nothing runs on {' and '.join(sorted({*lanes} - used))}."
    for factor, words in (
        (n, "This is the time of all calls together; divide by their number."),
        (1e3, "This is in milliseconds; give seconds."),
        (1e6, "This is in microseconds; give seconds."),
        ((n + 1) / n, "The time of n + 1 calls is divided by n."),
    ):
        if close(got, factor * want, rtol=TOLERANCE):
            return words
    if close(got, truth(seen.name, seen.data, barrier="none"), rtol=TOLERANCE):
        return "This is the time of dispatching. Wait for the results before you stop the clock."
    if close(got, truth(seen.name, seen.data, barrier="each"), rtol=TOLERANCE):
        return (
            "It waits after every call: that measures one call at a time, not calls that follow "
            "each other."
        )
    if want + 0.5e-6 * seen.data["scale"] * seen.data["compile_us"] / n < got:
        return (
            "The first call compiles, and it is inside the timed part: call once before, and wait "
            "for that, too."
        )
    if any(run.duration_ns < 5000 for run in runs):
        return (
            "A call with the same input as the call before is answered from memory on this "
            "machine: give every call an input of its own."
        )
    timed = [e for e in log.select(name="make an input") if e.start_ns > runs[0].start_ns]
    if len(timed) > 1 and got > want:
        return (
            f"Making an input takes the host {format_seconds(timed[0].duration_ns / 1e9)}; make all "
            "of them before the clock starts."
        )
    if seen.left_running:
        return (
            f"Work was still running on {' and '.join(seen.left_running)} when the clock was "
            "stopped. Wait for all results."
        )
    if len(runs) > 2 * n:
        return f"It makes {len(runs)} calls. Measure one row of exactly n = {n}, as the text says."
    if got < want:
        return "Too short: is all work of the n calls inside the timed part?"
    return "Too long: something else is timed, too, or work from before was still running."


def test_diagnosis(seen: Seen) -> None:
    """Every fault is called by its name."""
    answer = seen.answer
    if not isinstance(answer, dict):
        raise Wrong("diagnosis should be a dictionary: letter → fault.", got=type(answer).__name__)
    missing = [letter for letter in FAULTS if letter not in answer]
    if missing:
        raise Wrong(f"The keys are the letters a to f; missing: {', '.join(missing)}.")
    unknown = sorted({str(label) for label in answer.values()} - set(LABELS))
    if unknown:
        raise Wrong(f"Unknown: {', '.join(unknown)}. Choose from: {', '.join(sorted(LABELS))}.")
    wrong = [letter for letter in FAULTS if answer[letter] != FAULTS[letter]]
    if wrong:
        raise Wrong(
            f"{len(FAULTS) - len(wrong)} of {len(FAULTS)} are right. Look again at {wrong[0]}: what "
            "is inside the timed part that should not be, or missing that should be?"
        )


def show(seen: Seen) -> Timeline | None:
    """Draw the benchmark's run."""
    if seen.machine is None:
        return None
    return seen.machine.timeline(title=f"your bench_{seen.name} on the virtual clock")


SENTENCES = {
    "a": "Benchmark a is right on machines that compute while the host goes on.",
    "b": "Benchmark b is right on machines that compile at the first call.",
    "c": "Benchmark c is right on machines that remember their last input.",
    "d": "Benchmark d is right on machines with two unequal devices.",
    "e": "Benchmark e is right about the second device.",
}

EXERCISE = Exercise(
    id="ch02.lying_benchmarks",
    title="Lying benchmarks",
    criteria=(
        *(Criterion(name, 1, SENTENCES[name], test, kinds=(name,)) for name in SUBJECTS),
        Criterion(
            "diagnosis",
            1,
            "Every fault is called by its name, and the honest one honest.",
            test_diagnosis,
            kinds=("diagnosis",),
        ),
    ),
    cases=cases,
    observe=observe,
    timeline=show,
    parts=(*SUBJECTS, "diagnosis"),
)
