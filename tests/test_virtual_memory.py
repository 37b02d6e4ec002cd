"""The memory of a virtual device: held from issue to last use, under a budget, with an account."""

from __future__ import annotations

import numpy as np
import pytest

from d2lperf.virtual import Device, Machine, OutOfMemory

US = 1e-6


def test_memory_is_held_from_issue_to_last_use():
    machine = Machine(1, dispatch_s=1 * US)
    op = machine.op(lambda x: x + 1, cost_s=10 * US)
    x = op(np.zeros(1000))
    y = op(x)
    del x
    y.block_until_ready()
    del y
    times, held = machine.memory_steps()
    # The argument of the first goes when it ends (11 µs), its result when its reader ends (21 µs).
    assert list(zip(times, held, strict=True)) == [
        (1_000, 16_000),
        (2_000, 24_000),
        (11_000, 16_000),
        (21_000, 0),
    ]
    assert machine.peak_bytes() == 24_000


def test_running_ahead_fills_the_memory_and_a_barrier_keeps_it_low():
    def peak(*, barrier: bool) -> int:
        machine = Machine(1, dispatch_s=1 * US, depth=32)
        step = machine.op(np.sum, cost_s=100 * US)
        for _ in range(50):
            loss = step(np.zeros(1000))
            if barrier:
                loss.block_until_ready()
        return machine.peak_bytes()

    assert 8_000 <= peak(barrier=True) < 8_100
    assert 32 * 8_000 <= peak(barrier=False) < 33 * 8_100


def test_running_out_of_memory_says_who_holds_what():
    machine = Machine([Device("gpu:0", budget_bytes=100_000)])
    step = machine.op(np.copy, cost_s=1e-3, name="step")
    kept = [step(np.zeros(2000))]
    kept[0].block_until_ready()
    with pytest.raises(OutOfMemory) as error:
        for _ in range(10):
            kept.append(step(np.zeros(2000)))
    words = str(error.value)
    assert "gpu:0 is out of memory: step asks for 31.2 KiB" in words
    # A finished copy of 16 kB is kept; two more are in flight, each with an argument of 16 kB.
    assert "2 × step (in flight): 31.2 KiB; 2 × arguments of step (in flight): 31.2 KiB" in words
    assert "1 × step (finished, kept by Python): 15.6 KiB" in words
    assert "Wait for earlier results" in words


def test_memory_that_does_not_fit_is_not_taken():
    machine = Machine(1, budget_bytes=20_000)
    step = machine.op(np.copy, cost_s=1e-3)
    with pytest.raises(OutOfMemory):
        step(np.zeros(2000))
    assert machine.peak_bytes() == 0
    step(np.zeros(1000))
