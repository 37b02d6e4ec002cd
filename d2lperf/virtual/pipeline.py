"""The simplest program there is: one operation, n times."""

from __future__ import annotations

import numpy as np

from d2lperf.virtual.machine import Machine


def pipeline(
    n: int,
    t1_s: float,
    t2_s: float,
    t3_s: float = 0.0,
    *,
    depth: float | None = 32,
    barrier_every: int = 0,
) -> Machine:
    """Run `n` operations one after another on a fresh virtual machine, wait for the end and return the machine.

    Args:
        n: number of operations, at least 1.
        t1_s: host time for dispatching one, in seconds.
        t2_s: device time for running one, in seconds.
        t3_s: from the end of one until the host can know, in seconds.
        depth: operations that may be in flight; `None` or `math.inf` for no limit.
        barrier_every: wait for the result after every so many operations; 0 waits at the end only.

    Returns:
        The machine after the run: `.log` is its schedule, `.perf_counter()` the total time in seconds.

    Raises:
        ValueError: `n` below 1.
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    machine = Machine(1, dispatch_s=t1_s, notify_s=t3_s, depth=depth)
    increment = machine.op(np.add, cost_s=t2_s, name="y = x + 1")
    for i in range(1, n + 1):
        y = increment(0.0, 1.0)
        if i == n or (barrier_every and i % barrier_every == 0):
            y.block_until_ready()
    return machine
