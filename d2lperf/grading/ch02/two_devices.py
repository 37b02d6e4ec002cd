"""`ch02.two_devices`: one loop that keeps two unequal devices busy within their memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2lperf.grading.answer import Answer
from d2lperf.grading.exercise import Case, Criterion, Exercise, Wrong
from d2lperf.grading.values import as_number
from d2lperf.timeline import Picture, picture
from d2lperf.units import format_seconds
from d2lperf.virtual import Device, Machine, peek

NEAR = 1.1
"""How far from the best possible time a program may be, as a factor."""


@dataclass(frozen=True)
class Seen:
    """One run of the program on a virtual machine with a CPU and a GPU."""

    machine: Machine
    batches: list[np.ndarray]
    cost_s: float
    answer: Any

    @property
    def makespan_s(self) -> float:
        """Until everything that was issued is finished, in seconds."""
        return self.machine.busy_until_ns / 1e9

    def best_s(self, devices: tuple[Device, ...]) -> float:
        """Return the least time for all batches on these devices, by trying every split, without any overhead."""
        n = len(self.batches)
        first, *rest = (self.cost_s / device.speed for device in devices)
        return (
            min(max(k * first, *((n - k) * r for r in rest)) for k in range(n + 1))
            if rest
            else n * first
        )


def cases(rng: np.random.Generator, instances: int) -> Iterator[Case]:
    """Draw the speeds, the memory and the batches."""
    for _ in range(instances):
        yield Case(
            "machine",
            {
                "cost_us": int(rng.integers(4000, 8000)),
                # Far from a whole number: rounds of one slow and some fast batches leave a gap in every round.
                "speed": int(rng.integers(2, 4)) + round(float(rng.uniform(0.55, 0.75)), 2),
                "fit": int(rng.integers(3, 6)),
                "gpu_first": bool(rng.integers(2)),
                "batches": int(rng.choice([36, 48])),
                "rows": int(rng.integers(400, 800)),
                "seed": int(rng.integers(2**31)),
            },
        )


def value(batch: np.ndarray) -> np.ndarray:
    """Return what is computed of a batch: its mean square."""
    return np.mean(batch**2)


def observe(answer: Answer, case: Case) -> Seen:
    """Run the program on a machine with little memory."""
    data = case.data
    drawn = np.random.default_rng(data["seed"])
    batches = list(drawn.normal(size=(data["batches"], data["rows"])))
    # Results are scalars; a quarter of a batch leaves room for keeping all of them.
    budget_bytes = int((data["fit"] + 0.25) * batches[0].nbytes)
    cpu = Device("cpu:0", speed=1.0, budget_bytes=budget_bytes)
    gpu = Device("gpu:0", speed=data["speed"], budget_bytes=budget_bytes)
    devices = [gpu, cpu] if data["gpu_first"] else [cpu, gpu]
    machine = Machine(devices, dispatch_s=20e-6, notify_s=5e-6, poll_s=50e-6)
    cost_s = data["cost_us"] * 1e-6
    compute = machine.op(value, cost_s=cost_s, name="work")

    def work(batch: np.ndarray, device: Device) -> Any:
        return compute(batch, device=device)

    returned = answer.call(work, batches, devices)
    return Seen(machine, batches, cost_s, peek(returned))


def test_values(seen: Seen) -> None:
    """One result for every batch, in the order of the batches."""
    answer, n = seen.answer, len(seen.batches)
    if not isinstance(answer, (list, tuple)):
        raise Wrong(
            "run should return a list with one result for each batch.", got=type(answer).__name__
        )
    if len(answer) != n:
        raise Wrong(
            f"run should return {n} results, one for each batch.", got=f"{len(answer)} results"
        )
    got = [as_number(item, what="an entry of the list") for item in answer]
    want = [float(value(batch)) for batch in seen.batches]
    if not np.allclose(got, want):
        if np.allclose(sorted(got), sorted(want)):
            raise Wrong(
                "All results are there, but not in the order of the batches: the order "
                "in which they are finished is another."
            )
        raise Wrong("Some results are not those of their batches.")
    extra = len(seen.machine.log.select(category="run", name="work")) - n
    if extra:
        raise Wrong(f"Every batch should be computed once; {extra} computations were done again.")


def test_together(seen: Seen) -> None:
    """Both devices together are quicker than the faster one alone."""
    alone_s = min(seen.best_s((device,)) for device in seen.machine.devices)
    if seen.makespan_s < 0.97 * alone_s:
        return
    raise Wrong(
        f"The faster device alone would need {format_seconds(alone_s)}, your program "
        f"takes {format_seconds(seen.makespan_s)}. " + _why(seen)
    )


def _why(seen: Seen) -> str:
    runs = {d: seen.machine.log.select(category="run", lane=d.name) for d in seen.machine.devices}
    slow, fast = sorted(runs, key=lambda d: d.speed)
    if not runs[slow] or not runs[fast]:
        return f"It never uses {slow if not runs[slow] else fast}."
    if not any(
        a.start_ns < b.end_ns and b.start_ns < a.end_ns for a in runs[slow] for b in runs[fast]
    ):
        return (
            "The two devices never work at the same time: a wait after every batch keeps the host from giving "
            "the other device something to do."
        )
    if len(runs[slow]) * 3 > len(seen.batches):
        return (
            f"{slow} got {len(runs[slow])} of {len(seen.batches)} batches, too many for its "
            "speed: everybody waits for it."
        )
    return "While the host waits for one device, the other one runs out of work: look for gaps in its lane."


def test_near(seen: Seen) -> None:
    """The makespan is near the least possible."""
    best_s = seen.best_s(seen.machine.devices)
    if seen.makespan_s <= NEAR * best_s:
        return
    ends = {
        d: max(e.end_ns for e in seen.machine.log.select(category="run", lane=d.name))
        for d in seen.machine.devices
    }
    last = max(ends, key=lambda d: ends[d])
    idle_s = (ends[last] - min(ends.values())) / 1e9
    raise Wrong(
        f"The best possible is {format_seconds(best_s)}, your program takes "
        f"{format_seconds(seen.makespan_s)}. At the end, {last} works "
        f"{format_seconds(idle_s)} alone"
        + (
            ": give a batch to the device that will finish it first, not to the one that is free first."
            if idle_s > 0.5 * (seen.makespan_s - best_s)
            else ", but most is lost before: look for gaps in the lanes."
        )
    )


def show(seen: Seen) -> Picture:
    """Draw the run."""
    return picture(seen.machine.log, title="your program on the virtual clock")


EXERCISE = Exercise(
    id="ch02.two_devices",
    title="A CPU and a GPU at once",
    criteria=(
        Criterion(
            "values",
            1,
            "Delivers every result, in order, within the memory of both devices.",
            test_values,
        ),
        Criterion(
            "together",
            2,
            "Is faster than the faster device alone.",
            test_together,
            needs=("values",),
        ),
        Criterion(
            "near",
            2,
            f"Takes at most {NEAR:g} times the least possible time.",
            test_near,
            needs=("values", "together"),
        ),
    ),
    cases=cases,
    observe=observe,
    picture=show,
)
