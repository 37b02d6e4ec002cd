"""`ch02.wait_one_wait_all`: how long until one result is there, how long until all are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2lperf.grading.answer import Answer
from d2lperf.grading.exercise import Case, Criterion, Exercise, Wrong
from d2lperf.grading.values import as_items, as_number, close
from d2lperf.timeline import Timeline
from d2lperf.virtual import Machine

DISPATCH_S = 40e-6


@dataclass(frozen=True)
class Truth:
    """Both times of one machine, and what careless measurements of it give, in seconds."""

    one_s: float
    all_s: float
    dispatch_s: float
    last_s: float
    before_k_s: float
    cold_one_s: float
    cold_all_s: float


@dataclass(frozen=True)
class Seen:
    """What the experiment said of one machine, and the truth about it."""

    machine: Machine
    programs: int
    truth: Truth
    answer: Any


def cases(rng: np.random.Generator, instances: int) -> Iterator[Case]:
    """Draw machines: one device, several devices, several devices that compile at the first call."""
    for _ in range(instances):
        for kind, devices in (("one device", 1), ("several devices", 3), ("compiles", 1)):
            n = int(rng.integers(8, 16))
            where = np.concatenate([np.arange(devices), rng.integers(devices, size=n - devices)])
            cost = rng.integers(500, 3000, n)
            # The last one dispatched is short and its device has little else to do: it is not the last one finished.
            where[-1], cost[-1] = devices - 1, 15
            if devices > 1:
                cost[devices - 1] = 200
                where[devices:-1] = rng.integers(devices - 1, size=n - devices - 1)
            yield Case(
                kind,
                {
                    "devices": devices,
                    "where": where.tolist(),
                    "cost_us": cost.tolist(),
                    "compile_us": rng.integers(5000, 20000, n).tolist()
                    if kind == "compiles"
                    else [0] * n,
                    "k": int(rng.integers(1, n // 2)),
                },
            )


def build(data: Any) -> tuple[Machine, list[Callable[[], Any]]]:
    """Return a fresh machine and its programs."""
    machine = Machine(data["devices"], dispatch_s=DISPATCH_S, notify_s=10e-6, poll_s=1e-6)
    programs = []
    for i, (where, cost, compile_us) in enumerate(
        zip(data["where"], data["cost_us"], data["compile_us"], strict=True)
    ):
        op = machine.op(
            lambda i=i: np.float64(i),
            cost_s=cost * 1e-6,
            compile_s=compile_us * 1e-6,
            name=f"program {i}",
            device=machine.devices[where],
        )
        programs.append(op)
    return machine, programs


def truth(data: Any) -> Truth:
    """Measure a fresh copy of the machine as it should be done, and as it should not."""

    def once(k: int, *, warm: bool) -> tuple[float, float, float]:
        machine, programs = build(data)
        if warm:
            for program in programs:
                program()
            machine.wait_all()
        start_s = machine.perf_counter()
        results = [program() for program in programs]
        dispatch_s = machine.perf_counter() - start_s
        results[k].block_until_ready()
        one_s = machine.perf_counter() - start_s
        machine.wait_all()
        return dispatch_s, one_s, machine.perf_counter() - start_s

    dispatch_s, one_s, all_s = once(data["k"], warm=True)
    _, last_s, _ = once(-1, warm=True)
    _, cold_one_s, cold_all_s = once(data["k"], warm=False)
    before_k_s = data["k"] * DISPATCH_S
    return Truth(one_s, all_s, dispatch_s, last_s, before_k_s, cold_one_s, cold_all_s)


def observe(answer: Answer, case: Case) -> Seen:
    """Let the experiment run on a machine that it knows nothing about."""
    machine, programs = build(case.data)
    said = answer.call(list(programs), case.data["k"], machine.perf_counter)
    return Seen(machine, len(programs), truth(case.data), said)


def _pair(seen: Seen) -> tuple[float, float]:
    one, everything = as_items(seen.answer, 2, what="measure", each="of the two waits")
    return as_number(one, what="the first entry"), as_number(everything, what="the second entry")


def _right(got: float, want: float) -> bool:
    # A few polls with is_ready() are no mistake.
    return close(got, want, rtol=1e-3, atol=18e-6)


def test_one(seen: Seen) -> None:
    """The first number is the time until result k."""
    got, t = _pair(seen)[0], seen.truth
    if _right(got, t.one_s):
        return
    mistakes = (
        (t.dispatch_s, "this is the time of dispatching: nothing waited for the result."),
        (t.all_s, "this is the time until all are there: wait for result k first, and alone."),
        (
            t.one_s - t.dispatch_s,
            "the clock was started after dispatching; start it before the first dispatch.",
        ),
        (t.one_s - t.before_k_s, "this counts from the dispatch of program k, not of the first."),
        (0.0, "the result was there already when you began to wait: wait for one, then for all."),
    )
    _fail(seen, "one result", got, t.one_s, t.cold_one_s, mistakes)


def test_all(seen: Seen) -> None:
    """The second number is the time until everything is finished."""
    got, t = _pair(seen)[1], seen.truth
    if _right(got, t.all_s):
        return
    mistakes = (
        (t.dispatch_s, "this is the time of dispatching: nothing waited for the results."),
        (
            t.last_s,
            "this is when the result dispatched last was there; another device was still working.",
        ),
        (t.all_s - t.one_s, "this counts from the end of the first wait, not the first dispatch."),
        (
            t.all_s - t.dispatch_s,
            "the clock was started after dispatching; start it before the first dispatch.",
        ),
    )
    _fail(seen, "all results", got, t.all_s, t.cold_all_s, mistakes)


def _fail(
    seen: Seen,
    what: str,
    got: float,
    want: float,
    cold: float,
    mistakes: tuple[tuple[float, str], ...],
) -> None:
    words = next((w for value, w in mistakes if _right(got, value)), None)
    if words is None and _right(got, 1000 * want):
        words = "this is in milliseconds; give seconds."
    if words is None and got > want and got - want > 0.2 * (cold - want) > 1e-4:
        words = "this contains compiling: call every program once before the clock starts."
    if words is None and _waits_between(seen):
        words = "your program waits between two dispatches: dispatch all, then wait."
    if words is None:
        words = (
            "too long: does something from before the start still run (the warm-up, say)?"
            if got > want
            else "too short: not everything that should count does. Is it measured with `clock`?"
        )
    raise Wrong(
        f"Time until {what}: {words}", expected=f"{want * 1e3:.3f} ms", got=f"{got * 1e3:.3f} ms"
    )


def _waits_between(seen: Seen) -> bool:
    """Return whether the host waited in the middle of a row of dispatches."""
    host = [e.category for e in seen.machine.log if e.category in ("dispatch", "wait")]
    rows = "".join("w" if category == "wait" else "d" for category in host).split("w")
    return any(len(row) % seen.programs > 0 for row in rows)


def test_both(seen: Seen) -> None:
    """Both numbers are right."""
    test_one(seen)
    test_all(seen)


def show(seen: Seen) -> Timeline:
    """Draw the experiment."""
    return seen.machine.timeline(title="your experiment on the virtual clock")


EXERCISE = Exercise(
    id="ch02.wait_one_wait_all",
    title="Waiting for one, waiting for all",
    criteria=(
        Criterion(
            "one",
            1,
            "The time until one result is right on a single device.",
            test_one,
            kinds=("one device",),
        ),
        Criterion(
            "all",
            1,
            "The time until all results is right on a single device.",
            test_all,
            kinds=("one device",),
        ),
        Criterion(
            "devices",
            1,
            "Both are right on several devices.",
            test_both,
            kinds=("several devices",),
        ),
        Criterion(
            "warm",
            1,
            "Both are right where the first call compiles.",
            test_both,
            kinds=("compiles",),
        ),
    ),
    cases=cases,
    observe=observe,
    timeline=show,
)
