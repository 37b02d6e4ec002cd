"""The virtual machine: exact times, waits with a reason, memory with an account."""

from __future__ import annotations

import math
import subprocess
import sys

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.virtual import (
    Array,
    ClockLimit,
    Device,
    Machine,
    peek,
    pipeline,
    refuse_machines,
)

US = 1e-6
micros = st.integers(0, 60)


def closed_form_us(n: int, t1: int, t2: int, t3: int, depth: int | None) -> int:
    """Total time of n operations: the longest path through dispatches, runs and places that come back."""
    pace, trip = max(t1, t2), t1 + t2 + t3
    if depth is None:
        return trip + (n - 1) * pace
    full = (n - 1) // depth
    return trip + max((n - 1) * pace, full * trip + (n - 1 - full * depth) * pace)


@given(st.integers(1, 50), micros, micros, micros, st.one_of(st.none(), st.integers(1, 40)))
def test_a_pipeline_takes_exactly_the_closed_form(n, t1, t2, t3, depth):
    machine = pipeline(n, t1 * US, t2 * US, t3 * US, depth=depth)
    assert machine.now_ns == 1000 * closed_form_us(n, t1, t2, t3, depth)


@given(st.integers(1, 30), micros, micros, micros)
def test_a_barrier_after_each_operation_adds_everything_up(n, t1, t2, t3):
    machine = pipeline(n, t1 * US, t2 * US, t3 * US, depth=None, barrier_every=1)
    assert machine.now_ns == 1000 * n * (t1 + t2 + t3)


@given(st.integers(1, 50), micros, micros, micros, st.integers(1, 40))
def test_no_more_than_depth_operations_are_ever_in_flight(n, t1, t2, t3, depth):
    machine = pipeline(n, t1 * US, t2 * US, t3 * US, depth=depth)
    dispatches = machine.log.select(category="dispatch")
    known = [e.end_ns + 1000 * t3 for e in machine.log.select(category="run")]
    for i, dispatch in enumerate(dispatches):
        assert sum(time > dispatch.start_ns for time in known[:i]) < depth


def test_the_same_program_gives_the_same_log_twice():
    first, second = (list(pipeline(40, 3e-6, 7e-6, 2e-6, depth=4).log) for _ in range(2))
    assert first == second


def machine_with_one_running() -> tuple[Machine, Array]:
    machine = Machine(1, dispatch_s=10 * US, notify_s=5 * US)
    return machine, machine.op(np.square, cost_s=100 * US, name="square")(3.0)


WAITS = {
    "block_until_ready": lambda x: x.block_until_ready(),
    "jax.block_until_ready": lambda x: jax.block_until_ready([x]),
    "np.asarray": np.asarray,
    "jax.device_get": jax.device_get,
    "float()": float,
    "int()": int,
    "bool()": bool,
    "item()": lambda x: x.item(),
    "tolist()": lambda x: x.tolist(),
    "print": str,
    "repr": repr,
    "format": lambda x: f"{x:.1f}",
}


@pytest.mark.parametrize("ask", WAITS.values(), ids=WAITS)
def test_asking_for_the_value_waits_and_the_log_says_so(ask):
    machine, x = machine_with_one_running()
    ask(x)
    assert machine.now_ns == 115_000
    (wait,) = [e for e in machine.log.select(category="wait") if e.duration_ns]
    assert (wait.lane, wait.start_ns, wait.end_ns) == ("host", 10_000, 115_000)


@pytest.mark.parametrize(
    ("ask", "reason"),
    [
        (float, "float()"),
        (np.asarray, "np.asarray"),
        (str, "print"),
        (bool, "bool()"),
        (lambda x: x.item(), "item()"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_wait_is_recorded_with_what_caused_it(ask, reason):
    machine, x = machine_with_one_running()
    ask(x)
    assert machine.log.select(category="wait")[0].name == reason


def test_shape_type_and_devices_do_not_wait():
    machine, x = machine_with_one_running()
    assert (x.shape, x.dtype, x.ndim, x.size, x.nbytes) == ((), np.float64, 0, 1, 8)
    assert x.devices() == {machine.devices[0]} and x.device is machine.devices[0]
    assert machine.now_ns == 10_000


def test_polling_takes_a_moment_and_ends():
    machine, x = machine_with_one_running()
    polls = 1
    while not x.is_ready():
        polls += 1
    assert machine.now_ns == 115_000 and polls == 105


def test_waiting_for_a_finished_result_takes_no_time():
    machine, x = machine_with_one_running()
    x.block_until_ready()
    machine.host_work(1.0)
    before = machine.now_ns
    assert float(x) == 9.0
    assert machine.now_ns == before


def test_values_are_those_of_numpy_through_operators_and_containers():
    machine = Machine(1)
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 3))
    both = machine.op(lambda p, s: {"sum": p["x"] + s, "pair": (p["x"] @ s, p["x"].T)}, cost_s=US)
    out = both({"x": machine.op(np.copy, cost_s=0)(a)}, b)
    result = (2 * out["sum"] - out["pair"][0] / 4)[0] ** 2
    np.testing.assert_allclose(np.asarray(result), (2 * (a + b) - a @ b / 4)[0] ** 2)
    assert isinstance(out["pair"], tuple) and isinstance(result, Array)


def test_numpy_on_the_left_leaves_the_operation_to_the_device():
    machine, x = machine_with_one_running()
    assert isinstance(np.ones(2) * x, Array) and isinstance(np.float32(1) + x, Array)
    assert not machine.log.select(category="wait")


def test_a_result_cannot_be_changed_and_its_source_stays_as_it_was():
    machine, source = Machine(1), np.ones(3)
    x = machine.op(lambda v: v, cost_s=US)(source)
    source[0] = 5
    np.testing.assert_array_equal(np.asarray(x), np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0] = 1


def test_jnp_functions_refuse_a_virtual_array():
    _, x = machine_with_one_running()
    with pytest.raises(TypeError):
        jax.numpy.add(x, 1)


def test_devices_run_at_the_same_time_and_in_proportion_to_their_speed():
    machine = Machine([Device("slow"), Device("fast", speed=4)], dispatch_s=0)
    op = machine.op(np.square, cost_s=100 * US)
    for device in machine.devices:
        op(2.0, device=device)
    assert [(e.lane, e.start_ns, e.duration_ns) for e in machine.log.select(category="run")] == [
        ("slow", 0, 100_000),
        ("fast", 0, 25_000),
    ]
    machine.wait_all()
    assert machine.now_ns == 100_000


def test_work_follows_its_arguments_and_does_not_mix_devices_silently():
    machine = Machine(2)
    op = machine.op(np.add, cost_s=US)
    here, there = (op(1.0, 1.0, device=d) for d in machine.devices)
    assert op(there, 1.0).device is machine.devices[1]
    with pytest.raises(ValueError, match="several devices"):
        op(here, there)
    with pytest.raises(ValueError, match="another machine"):
        Machine(1).op(np.add, cost_s=US)(here, 1.0)
    with pytest.raises(ValueError, match="not a device of this machine"):
        op(1.0, 1.0, device=Device("other"))


def test_inline_work_runs_in_the_host_unless_its_arguments_are_under_way():
    machine = Machine(1, dispatch_s=10 * US)
    small = machine.op(np.negative, cost_s=3 * US, inline=True, name="small")
    large = machine.op(np.negative, cost_s=50 * US, name="large")
    x = small(1.0)
    assert machine.log.select(name="small", category="run")[0].lane == "host"
    assert machine.now_ns == 13_000
    y = small(large(x))
    assert machine.log.select(name="small", category="run")[1].lane == "device:0"
    assert float(y) == -1.0


def test_inline_work_queues_behind_anything_that_is_pending():
    machine = Machine(1, dispatch_s=10 * US)
    small = machine.op(np.negative, cost_s=3 * US, inline=True, name="small")
    large = machine.op(np.negative, cost_s=500 * US, name="large")
    pending, behind = large(1.0), small(1.0)
    assert not behind.is_ready()
    behind.block_until_ready()
    assert pending.is_ready()
    assert small(1.0).is_ready()


def test_the_first_call_for_each_shape_compiles_on_the_host():
    machine = Machine(1, dispatch_s=0)
    op = machine.op(np.sum, cost_s=US, compile_s=1e-3)
    for shape in (2, 2, 3, 2):
        op(np.ones(shape))
    assert len(machine.log.select(category="compile")) == 2


def test_an_endless_program_is_stopped():
    machine, x = machine_with_one_running()
    slow = Machine(1, max_events=1000, poll_s=0.0)
    y = slow.op(np.square, cost_s=1.0)(2.0)
    with pytest.raises(ClockLimit, match="does its loop end"):
        while not y.is_ready():
            pass
    assert machine is not slow and x.shape == ()


def test_noise_is_a_function_of_the_machine_and_nothing_else():
    machine = Machine(
        1, dispatch_s=10 * US, perturb=lambda kind, ns: 2 * ns if kind == "dispatch" else ns
    )
    machine.op(np.square, cost_s=5 * US)(1.0)
    assert [e.duration_ns for e in machine.log] == [20_000, 5_000]


def test_judges_can_look_at_a_result_without_leaving_a_trace():
    machine, x = machine_with_one_running()
    before = len(machine.log)
    assert peek((x, 1)) == (9.0, 1)
    assert len(machine.log) == before and machine.now_ns == 10_000


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Machine([]), "at least one device"),
        (lambda: Machine(1, dispatch_s=-1.0), "at least 0"),
        (lambda: Machine(1, notify_s=float("nan")), "at least 0"),
        (lambda: Machine(1, depth=0), "at least 1"),
        (lambda: Machine(1, depth=2.5), "whole number"),
        (lambda: Device("x", speed=0), "positive"),
        (lambda: pipeline(0, 1, 1), "n must be at least 1"),
    ],
    ids=range(7),
)
def test_nonsense_is_refused_with_a_reason(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_an_endless_queue_can_be_asked_for_in_two_ways():
    none, endless = (pipeline(40, 1e-6, 5e-6, depth=depth) for depth in (None, math.inf))
    assert list(none.log) == list(endless.log)


def test_machines_can_be_refused_for_a_while():
    with refuse_machines("not now"), pytest.raises(RuntimeError, match="not now"):
        pipeline(1, 1e-6, 1e-6)
    assert pipeline(1, 1e-6, 1e-6).now_ns == 2000


def test_calls_can_be_numbered():
    machine = Machine(1)
    op = machine.op(np.square, cost_s=US, name="step", numbered=True)
    op(op(2.0))
    assert [e.name for e in machine.log.select(category="run")] == ["step 0", "step 1"]


def test_the_virtual_clock_needs_no_jax():
    code = "import sys, d2lperf.virtual; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda x: x.sum(), 6.0),
        (np.sum, 6.0),
        (lambda x: x.T.reshape(4)[1], 1.0),
        (lambda x: round(-x.mean(), 1), -1.5),
        (lambda x: abs(x.astype(np.float32)).max(), 3.0),
        (lambda x: list(x)[1][0], 1.0),
        (lambda x: (x > 2).any(), True),
        (lambda x: +x.ravel()[3], 3.0),
    ],
    ids=range(8),
)
def test_methods_indexing_and_iteration_dispatch_and_do_not_wait(ask, expected):
    machine = Machine(1)
    x = machine.op(lambda: np.arange(4.0).reshape(2, 2).T, cost_s=1e-3)()
    result = ask(x)
    assert isinstance(result, Array)
    assert not machine.log.select(category="wait")
    assert result.item() == expected


def test_comparing_with_none_is_answered_at_once_as_on_a_real_array():
    machine, x = machine_with_one_running()
    real = jax.numpy.ones(())
    for other in (None, "a"):
        assert (x == other) is (real == other) is False
        assert (x != other) is (real != other) is True
    assert not machine.log.select(category="wait")


def test_what_a_handle_cannot_do_it_says():
    _, x = machine_with_one_running()
    with pytest.raises(AttributeError, match="has no 'at'"):
        x.at[0].set(1)
    with pytest.raises(TypeError, match="0-d"):
        iter(x)
    x.copy_to_host_async()
    assert not x.is_deleted()


def test_a_cost_is_computed_from_values_without_a_wait():
    machine = Machine(1, dispatch_s=0)
    op = machine.op(np.add, cost_s=lambda x, y: float(x + y) * US)
    op(op(1.0, 1.0), 3.0)
    assert [e.duration_ns for e in machine.log.select(category="run")] == [2000, 5000]
    assert not machine.log.select(category="wait")


def test_two_devices_need_two_names():
    with pytest.raises(ValueError, match="same name"):
        Machine([Device("a"), Device("a")])


def test_polls_in_a_row_are_one_event():
    machine, x = machine_with_one_running()
    while not x.is_ready():
        pass
    assert len(machine.log.select(name="is_ready()")) == 1
