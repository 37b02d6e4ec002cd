"""`ch02.overlap`: a training loop in which two minibatches overlap, and never three."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from d2lperf.events import Event
from d2lperf.grading.answer import Answer
from d2lperf.grading.exercise import Case, Criterion, Exercise, Wrong
from d2lperf.grading.values import as_array
from d2lperf.timeline import Timeline
from d2lperf.units import format_seconds
from d2lperf.virtual import Machine

RATE = 0.1


@dataclass
class Seen:
    """One run of the training loop on a virtual machine."""

    machine: Machine
    batches: list[np.ndarray]
    start: np.ndarray
    answer: Any = None
    returned_ns: int = 0
    used: list[int] = field(default_factory=list)

    @cached_property
    def loads(self) -> list[Event]:
        """Loading of each batch, on the host."""
        return self.machine.log.select(category="host", name="load")

    @cached_property
    def dispatches(self) -> list[Event]:
        """Dispatch of each step, on the host."""
        return [e for e in self.machine.log.select(category="dispatch") if "step" in e.name]

    @cached_property
    def runs(self) -> list[Event]:
        """Execution of each step, on the device."""
        return [e for e in self.machine.log.select(category="run") if "step" in e.name]


def cases(rng: np.random.Generator, instances: int) -> Iterator[Case]:
    """Draw loops with steps shorter and longer than loading, of even and uneven length."""
    for i in range(instances + 1):
        n = int(rng.integers(6, 12)) if i < instances else 1
        load = rng.integers(100, 300, n)
        # Steps outlast dispatching and loading, so that a host that does not wait runs ahead.
        cost = rng.integers(700, 1500, n)
        yield Case(
            "loop",
            {
                "load_us": load.tolist(),
                "cost_us": cost.tolist(),
                # Eighths, which single precision holds exactly: batches may go through JAX.
                "batches": (rng.integers(-16, 17, (n, 4, 3)) / 8).tolist(),
                "params": (rng.integers(-16, 17, 3) / 8).tolist(),
            },
            f"with {n} batch{'es' if n > 1 else ''}",
        )


def step_value(params: np.ndarray, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters after a step of gradient descent on a quadratic loss, and the loss before it.

    Args:
        params: shape `(3,)`.
        batch: shape `(4, 3)`.
    """
    residual = batch @ params - 1.0
    return params - RATE * batch.T @ residual / len(batch), np.mean(residual**2)


def observe(answer: Answer, case: Case) -> Seen:
    """Run the loop on a machine whose batches take time to load."""
    data = case.data
    machine = Machine(1, dispatch_s=20e-6, notify_s=5e-6, depth=32)
    batches = [np.array(batch) for batch in data["batches"]]
    start = np.array(data["params"])
    seen = Seen(machine, batches, start)

    def number(batch: np.ndarray) -> int:
        return next((i for i, known in enumerate(batches) if np.array_equal(known, batch)), -1)

    def compute(params: np.ndarray, batch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.used.append(number(batch))
        return step_value(params, batch)

    def cost(params: np.ndarray, batch: np.ndarray) -> float:
        return data["cost_us"][number(batch)] * 1e-6

    def load() -> Iterator[np.ndarray]:
        for batch, us in zip(batches, data["load_us"], strict=True):
            machine.host_work(us * 1e-6, name="load")
            yield batch.copy()

    step = machine.op(compute, cost_s=cost, name="step", numbered=True)
    params = machine.op(np.copy, cost_s=0.0, name="params")(start)
    seen.answer = answer.call(step, params, load())
    seen.returned_ns = machine.now_ns
    return seen


def test_values(seen: Seen) -> None:
    """The parameters are those of taking every batch once, in order."""
    if isinstance(seen.answer, tuple) and len(seen.answer) == 2:
        raise Wrong("train returned a pair; it should return the parameters alone.")
    got = as_array(seen.answer, what="train")
    n = len(seen.batches)
    if len(seen.used) < n:
        raise Wrong(
            f"Only {len(seen.used)} of {n} batches were used in a step: what about the last ones?"
        )
    if seen.used != list(range(n)):
        raise Wrong(
            "Every batch should be used exactly once, in order.", got=f"batches {seen.used}"
        )
    want = seen.start
    for batch in seen.batches:
        want, _ = step_value(want, batch)
    if got.shape != want.shape or not np.allclose(got, want):
        raise Wrong(
            "Every batch was used, but these are not the parameters after the last step.",
            expected=np.array2string(want, precision=4),
            got=np.array2string(got, precision=4),
        )


def test_at_most_two(seen: Seen) -> None:
    """Batch t is finished before the step on batch t+2 is dispatched."""
    for t in range(len(seen.runs) - 2):
        late = seen.runs[t].end_ns - seen.dispatches[t + 2].start_ns
        if late > 0:
            ahead = sum(run.end_ns > seen.dispatches[t + 2].start_ns for run in seen.runs[: t + 2])
            raise Wrong(
                f"The step on batch {t + 2} was dispatched {format_seconds(late / 1e9)} before batch {t} was finished: "
                f"{ahead + 1} batches were in flight, and two are allowed. "
                + (
                    "Nothing in your loop waits, so the host runs ahead."
                    if not _waits(seen)
                    else "Wait for the result of the step before last, not for an older one, before you dispatch."
                )
            )


def test_overlap(seen: Seen) -> None:
    """Batch t+1 is loaded and dispatched while batch t is under way."""
    for t in range(len(seen.runs) - 1):
        load, dispatch, run = seen.loads[t + 1], seen.dispatches[t + 1], seen.runs[t]
        if dispatch.start_ns >= run.end_ns:
            raise Wrong(
                f"Batch {t + 1} was dispatched only after batch {t} had finished: that is one at a time. "
                "Where does your loop wait, and what could be dispatched before it does?"
                + (_culprit(seen, run) or "")
            )
        if t and load.start_ns < seen.dispatches[t - 1].start_ns:
            raise Wrong(
                f"Batch {t + 1} was loaded before the step on batch {t - 1} was "
                "dispatched: loading does not overlap with "
                "computing then, and all loaded batches occupy memory. Take batches from the iterator one by one."
            )


def test_both(seen: Seen) -> None:
    """Neither too few in flight nor too many."""
    test_at_most_two(seen)
    test_overlap(seen)


def test_drained(seen: Seen) -> None:
    """Nothing is under way any more when the loop returns."""
    left = sum(run.end_ns > seen.returned_ns for run in seen.runs)
    if left:
        raise Wrong(
            f"When train returned, {left} step{'s were' if left > 1 else ' was'} still "
            "running: whoever measures the time "
            "of your loop, or stops the process, is deceived. Wait for the last result before you return."
        )


def _waits(seen: Seen) -> bool:
    last = seen.dispatches[-1].start_ns
    return any(
        e.start_ns < last and e.name != "queue full"
        for e in seen.machine.log.select(category="wait")
    )


def _culprit(seen: Seen, run: Event) -> str | None:
    waits = [
        e for e in seen.machine.log.select(category="wait") if e.start_ns < run.end_ns <= e.end_ns
    ]
    if waits and waits[0].name != "block_until_ready":
        return f" What waited here was {waits[0].name}."
    return None


def show(seen: Seen) -> Timeline:
    """Return the run."""
    return seen.machine.timeline(title="your loop on the virtual clock")


EXERCISE = Exercise(
    id="ch02.overlap",
    title="Two minibatches in flight",
    criteria=(
        Criterion(
            "values",
            1,
            "Trains on every batch once, in order, and returns the parameters.",
            test_values,
        ),
        Criterion(
            "at_most_two",
            1,
            "Batch t is finished before the step on batch t + 2 is dispatched.",
            test_at_most_two,
            needs=("values",),
        ),
        Criterion(
            "overlap",
            1,
            "Batch t + 1 is loaded and dispatched while batch t is still running.",
            test_overlap,
            needs=("values",),
        ),
        Criterion(
            "both",
            2,
            "Both at once: two batches overlap, never three.",
            test_both,
            needs=("values",),
        ),
        Criterion(
            "drained",
            1,
            "Nothing is running any more when it returns.",
            test_drained,
            needs=("values",),
        ),
    ),
    cases=cases,
    observe=observe,
    timeline=show,
)
