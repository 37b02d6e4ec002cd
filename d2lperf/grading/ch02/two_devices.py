"""`ch02.two_devices`: one loop that keeps two unequal devices busy within their memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2lperf.grading.answer import Answer
from d2lperf.grading.exercise import Case, Criterion, Exercise, Wrong
from d2lperf.grading.values import as_items, as_number
from d2lperf.timeline import Timeline
from d2lperf.units import format_seconds
from d2lperf.virtual import Device, Machine

NEAR = 1.1
"""How far from the best possible time a program may be, as a factor."""
TOGETHER = 0.95
"""How much of the time of the faster device alone a program may take, as a factor."""


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
    """Yield every configuration, with random data: a program that passes once always passes.

    Speeds are far from whole numbers, so that rounds of some fast batches and a slow one leave gaps.
    There are many batches, or so few that the end matters.
    """
    for i, speed in enumerate((2.55, 2.65, 2.75, 3.55, 3.65, 3.75)):
        for kind, counts in (("many", (36, 48)), ("few", _few(speed))):
            for j, n in enumerate(counts):
                yield Case(
                    kind,
                    {
                        "cost_us": 6000,
                        "speed": speed,
                        "fit": 3 + (i + j) % 3,
                        "gpu_first": bool((i + j) % 2),
                        "batches": n,
                        "rows": int(rng.integers(400, 800)),
                        "seed": int(rng.integers(2**31)),
                    },
                )


def _few(speed: float) -> list[int]:
    """Return small numbers of batches for which "whoever is free first" is clearly not the best."""

    def loss(n: int) -> float:
        fast = slow = 0.0
        for _ in range(n):
            if slow <= fast:
                slow += 1.0
            else:
                fast += 1 / speed
        return max(fast, slow) / min(max(k, (n - k) / speed) for k in range(n + 1))

    return [n for n in range(4, 20) if loss(n) > 1.15][:3]


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

    # The answer gets copies: whatever it does to them, the right results stay the right results.
    returned = answer.call(work, [batch.copy() for batch in batches], list(devices))
    return Seen(machine, batches, cost_s, returned)


def test_values(seen: Seen) -> None:
    """One result for every batch, in the order of the batches."""
    n = len(seen.batches)
    items = as_items(seen.answer, n, what="run", each="batch")
    got = [as_number(item, what="an entry of the list") for item in items]
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
    """Both devices together are clearly quicker than the faster one alone."""
    alone_s = min(seen.best_s((device,)) for device in seen.machine.devices)
    if seen.makespan_s > TOGETHER * alone_s:
        raise Wrong(
            f"The faster device alone would need {format_seconds(alone_s)}, your program takes "
            f"{format_seconds(seen.makespan_s)}. {_why(seen)}"
        )


def test_near(seen: Seen) -> None:
    """The makespan is near the least possible."""
    best_s = seen.best_s(seen.machine.devices)
    if seen.makespan_s > NEAR * best_s:
        raise Wrong(
            f"The best possible for {len(seen.batches)} batches is {format_seconds(best_s)}, your "
            f"program takes {format_seconds(seen.makespan_s)}. {_why(seen)}"
        )


def _why(seen: Seen) -> str:
    """Say where the time went."""
    log, n = seen.machine.log, len(seen.batches)
    runs = {d: log.select(category="run", lane=d.name) for d in seen.machine.devices}
    slow, fast = sorted(runs, key=lambda d: d.speed)
    if not runs[slow] or not runs[fast]:
        return f"It never uses {slow if not runs[slow] else fast}."
    if not any(
        a.start_ns < b.end_ns and b.start_ns < a.end_ns for a in runs[slow] for b in runs[fast]
    ):
        return (
            "The two devices never work at the same time: a wait after every batch keeps the host "
            "from giving the other device something to do."
        )
    got, fair = len(runs[slow]), n * slow.speed / (slow.speed + fast.speed)
    share = f"{slow} got {got} of {n} batches"
    if not 0.7 * fair - 1 <= got <= 1.3 * fair + 1:
        return f"{share}, too {'many' if got > fair else 'few'} for its speed."
    ends_ns = {d: runs[d][-1].end_ns for d in runs}
    last, first = (slow, fast) if ends_ns[slow] > ends_ns[fast] else (fast, slow)
    alone_s = (ends_ns[last] - ends_ns[first]) / 1e9
    if alone_s > 0.5 * (seen.makespan_s - seen.best_s(seen.machine.devices)):
        return f"At the end {last} works {format_seconds(alone_s)} alone ({share})."
    return (
        f"There are gaps in the lanes: while the host waits, a device has nothing to do ({share})."
    )


def show(seen: Seen) -> Timeline:
    """Return the run."""
    return seen.machine.timeline(title="your program on the virtual clock")


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
            f"Takes at most {TOGETHER:g} times as long as the faster device alone.",
            test_together,
            kinds=("many",),
            needs=("values",),
        ),
        Criterion(
            "near",
            2,
            f"Takes at most {NEAR:g} times the least possible time, for few batches as well.",
            test_near,
            needs=("values", "together"),
        ),
    ),
    cases=cases,
    observe=observe,
    timeline=show,
)
