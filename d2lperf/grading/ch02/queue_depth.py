"""`ch02.queue_depth`: an experiment that finds out how far ahead the host may run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2lperf.grading.answer import Answer
from d2lperf.grading.exercise import Case, Criterion, Exercise, Wrong
from d2lperf.grading.values import as_number
from d2lperf.timeline import Timeline
from d2lperf.virtual import Machine

MAX_DEPTH = 48
MAX_SIZE = 2048
SECONDS_PER_FLOP = 1e-11
DISPATCH_S = 15e-6
HELD_UP_NS = 20_000_000


@dataclass(frozen=True)
class Seen:
    """What the experiment said of one machine, and the truth about it."""

    machine: Machine
    data: Mapping[str, Any]
    answer: Any
    sizes: tuple[int, ...]


def cases(rng: np.random.Generator, instances: int) -> Iterator[Case]:
    """Draw machines: quiet ones, some that compute much inline, some that are busy at the start, noisy ones."""
    for _ in range(instances):
        for kind in ("quiet", "inline", "busy", "noisy"):
            yield Case(
                kind,
                {
                    "depth": int(rng.integers(4, MAX_DEPTH)),
                    "inline_below": int(rng.integers(600, 1000)) if kind == "inline" else 16,
                    "queued": int(rng.integers(1, 4)) if kind == "busy" else 0,
                    "noisy": kind == "noisy",
                    "seed": int(rng.integers(2**31)),
                },
            )


def noise(data: Any) -> Callable[[str, int], int]:
    """Return a deterministic disturbance: jitter on everything, and now and then the host is held up for long.

    The first time is before the queue can be full, so that one careless run is always misled; then
    at least 150 dispatches pass between two of them, so that the median of a few runs never is.
    """
    rng = np.random.default_rng(data["seed"])
    next_held_up = int(rng.integers(2, max(3, data["depth"] + 1)))
    dispatches = 0

    def perturb(kind: str, duration_ns: int) -> int:
        nonlocal dispatches, next_held_up
        if kind != "dispatch":
            return int(duration_ns * (1 + 0.1 * rng.random()))
        dispatches += 1
        duration_ns = int(duration_ns * (1 + 0.3 * rng.random()))
        if dispatches == next_held_up:
            next_held_up += int(rng.integers(150, 300))
            duration_ns += HELD_UP_NS
        return duration_ns

    return perturb


def _seconds(size: int) -> float:
    """Return how long a product of two square matrices takes, in seconds."""
    return 2 * size**3 * SECONDS_PER_FLOP


def observe(answer: Answer, case: Case) -> Seen:
    """Let the experiment run on a machine that it knows nothing about."""
    data = case.data
    machine = Machine(
        1,
        dispatch_s=DISPATCH_S,
        notify_s=5e-6,
        depth=data["depth"],
        perturb=noise(data) if data["noisy"] else None,
        # Asking whether a result is ready takes long, so that draining by asking is possible.
        poll_s=50e-6,
        max_events=1_000_000,
    )
    ops: dict[int, Callable[[], Any]] = {}
    sizes: list[int] = []

    def run(size: int) -> Any:
        if not isinstance(size, (int, np.integer)) or not 1 <= size <= MAX_SIZE:
            raise ValueError(f"size must be a whole number from 1 to {MAX_SIZE}, not {size!r}")
        sizes.append(int(size))
        if size not in ops:
            ops[size] = machine.op(
                lambda: np.float64(size),
                cost_s=_seconds(int(size)),
                inline=bool(size < data["inline_below"]),
                name=f"{size}×{size}",
            )
        return ops[size]()

    earlier = machine.op(lambda: np.float64(0), cost_s=0.05, name="earlier work")
    for _ in range(min(data["queued"], data["depth"] - 1)):
        earlier()
    said = answer.call(run, machine.perf_counter)
    return Seen(machine, data, said, tuple(sizes))


def test(seen: Seen) -> None:
    """The depth is exact."""
    if seen.answer is None:
        raise Wrong(
            "find_depth returned None: is a `return` missing, or did your search find no slow dispatch?"
        )
    got, depth = as_number(seen.answer, what="find_depth"), seen.data["depth"]
    if got != depth:
        raise Wrong(_diagnose(got, depth, seen), expected=f"{depth}", got=f"{got:g}")


def _diagnose(got: float, depth: int, seen: Seen) -> str:
    sizes, data = seen.sizes, seen.data
    if not sizes:
        return "Your experiment never ran anything on the machine."
    largest = f"{max(sizes)}×{max(sizes)}"
    if max(sizes) < data["inline_below"]:
        return (
            f"Products up to {largest} are so small that this machine computes them inline, in "
            "the host's thread: they never enter the queue. Use larger ones."
        )
    if _seconds(max(sizes)) < 2 * depth * DISPATCH_S:
        return (
            f"Products of {largest} are finished before enough of them are dispatched: the queue "
            "never fills. Use larger ones."
        )
    if len(sizes) <= depth + 1:
        return (
            f"You dispatched only {len(sizes)}, so the queue may never have been full. "
            f"Dispatch more than {MAX_DEPTH} in a row."
        )
    if got < depth and data["queued"] and not _drains_first(seen):
        return (
            "Work from before your experiment was still in the queue and took places. Wait until "
            "the device is idle, then begin."
        )
    if (
        got < depth
        and seen.machine.log.select(category="wait", name="queue full")
        and not _drains(seen)
    ):
        return (
            "Work of your own earlier row was still in the queue: wait for the last result of a "
            "row before you begin the next."
        )
    if data["noisy"] and got < depth:
        return (
            "Too small, and only here: a single slow dispatch need not be a full queue. Choose "
            "products that take much longer than a hold-up, or repeat the row and combine (their "
            "median, say) the times at each position before you look for the jump."
        )
    if data["noisy"] and got > depth:
        return (
            "Too large, and only here: while the host is held up, the device empties the queue. "
            "Use longer products, or the median of several rows."
        )
    if got == depth + 1:
        return (
            "This is the number of the first dispatch that had to wait; the one before was the "
            "last that fitted."
        )
    if got == depth - 1:
        return (
            "One too few. If you count from zero, the first dispatch that waits has the number of "
            "the depth itself."
        )
    if got < depth:
        return "Too small: that dispatch did not wait. How long does one take that does?"
    return "Too large: an earlier dispatch had to wait already. How long does one take that does?"


def _drains(seen: Seen) -> bool:
    """Return whether the experiment waits for anything by itself between two rows."""
    waits = seen.machine.log.select(category="wait")
    return len(seen.sizes) < 2 * MAX_DEPTH or any(e.name != "queue full" for e in waits)


def _drains_first(seen: Seen) -> bool:
    """Return whether the experiment waits for a result of its own before it fills the queue."""
    dispatched = 0
    for event in seen.machine.log:
        if event.category == "wait" and event.name != "queue full":
            return dispatched <= 2
        dispatched += event.category == "dispatch" and event.name != "earlier work"
    return False


def show(seen: Seen) -> Timeline:
    """Draw the experiment."""
    return seen.machine.timeline(title="your experiment on the virtual clock")


EXERCISE = Exercise(
    id="ch02.queue_depth",
    title="How far ahead may the host run?",
    criteria=(
        Criterion("quiet", 1, "Finds the depth of a quiet machine.", test, kinds=("quiet",)),
        Criterion(
            "inline",
            1,
            "Is not misled by work that the host computes inline.",
            test,
            kinds=("inline",),
        ),
        Criterion(
            "busy",
            1,
            "Is right when the device is still busy with earlier work.",
            test,
            kinds=("busy",),
        ),
        Criterion(
            "noisy",
            2,
            "Is right on machines whose host is held up now and then.",
            test,
            kinds=("noisy",),
        ),
    ),
    cases=cases,
    observe=observe,
    timeline=show,
    instances=6,
)
