"""`ch02.queue_depth`: an experiment that finds out how far ahead the host may run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2lperf.grading.answer import Answer
from d2lperf.grading.exercise import Case, Criterion, Exercise, Wrong
from d2lperf.grading.values import as_number
from d2lperf.timeline import Picture, picture
from d2lperf.virtual import Machine

MAX_DEPTH = 48
MAX_SIZE = 2048
SECONDS_PER_FLOP = 1e-11
HELD_UP_NS = 20_000_000


@dataclass(frozen=True)
class Seen:
    """What the experiment said of one machine, and the truth about it."""

    machine: Machine
    depth: int
    inline_below: int
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


def observe(answer: Answer, case: Case) -> Seen:
    """Let the experiment run on a machine that it knows nothing about."""
    data = case.data
    machine = Machine(
        1,
        dispatch_s=15e-6,
        notify_s=5e-6,
        depth=data["depth"],
        perturb=noise(data) if data["noisy"] else None,
        max_events=50_000,
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
                cost_s=2 * int(size) ** 3 * SECONDS_PER_FLOP,
                inline=bool(size < data["inline_below"]),
                name=f"{size}×{size}",
            )
        return ops[size]()

    earlier = machine.op(lambda: np.float64(0), cost_s=0.05, name="earlier work")
    left = [earlier() for _ in range(min(data["queued"], data["depth"] - 1))]
    said = answer.call(run, machine.perf_counter)
    del left
    return Seen(machine, data["depth"], data["inline_below"], said, tuple(sizes))


def test(seen: Seen) -> None:
    """The depth is exact."""
    got = as_number(seen.answer, what="find_depth")
    if got == seen.depth:
        return
    raise Wrong(_diagnose(got, seen), expected=f"{seen.depth}", got=f"{got:g}")


def _diagnose(got: float, seen: Seen) -> str:
    if not seen.sizes:
        return "Your experiment never ran anything on the machine."
    if max(seen.sizes) < seen.inline_below:
        return (
            f"Products up to {max(seen.sizes)}×{max(seen.sizes)} are so small that this "
            "machine computes them inline, in the host's thread: "
            "they never enter the queue. Use larger ones."
        )
    if (
        got < seen.depth
        and seen.machine.log.select(name="earlier work")
        and not _drains_first(seen)
    ):
        return (
            "Work from before your experiment was still in the queue and took places. Wait "
            "until the device is idle, then begin."
        )
    if got == seen.depth + 1:
        return "This is the number of the first dispatch that had to wait; the one before was the last that fitted."
    if got == seen.depth - 1:
        return "One too few. If you count from zero, the first dispatch that waits has the number of the depth itself."
    runs = len(seen.sizes)
    if runs <= seen.depth + 1:
        return f"You dispatched only {runs}, so the queue may never have been full. Dispatch more than {MAX_DEPTH}."
    if got < seen.depth:
        return (
            "Too small. On a noisy machine a single slow dispatch need not be a full "
            "queue: repeat the experiment and combine the "
            "times of each dispatch (their median, say) before you look for the jump."
        )
    return (
        "Too large. Compare each dispatch with the time of an operation: the first that "
        "takes about that long had to wait."
    )


def _drains_first(seen: Seen) -> bool:
    """Return whether the experiment waits for a result of its own before it fills the queue."""
    dispatched = 0
    for event in seen.machine.log:
        if event.category == "wait" and event.name != "queue full":
            return dispatched <= 2
        dispatched += event.category == "dispatch" and event.name != "earlier work"
    return False


def show(seen: Seen) -> Picture:
    """Draw the experiment."""
    return picture(seen.machine.log, title="your experiment on the virtual clock")


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
    picture=show,
)
