"""The virtual machine that explains a timeline."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.events import EventLog
from d2lperf.fitting import Fit, fit
from d2lperf.timeline import Timeline
from d2lperf.virtual import Device, Machine, pipeline

US = 1e-6
whole = st.integers(1, 80)


@given(st.integers(2, 50), whole, whole, st.integers(0, 80), st.integers(1, 40), st.integers(0, 4))
def test_a_virtual_pipeline_is_recognised_exactly(n, t1, t2, t3, depth, barrier_every):
    machine = pipeline(n, t1 * US, t2 * US, t3 * US, depth=depth, barrier_every=barrier_every)
    found = fit(machine.timeline())
    assert found.t1_s == pytest.approx(t1 * US)
    assert found.t2_s == pytest.approx(t2 * US)
    # A host that comes late to a finished result waits for nothing, and t₃ is not seen then.
    assert found.t3 is None or found.t3_s == pytest.approx(t3 * US)
    full = machine.log.select(category="wait", name="queue full")
    assert found.depth == (depth if full else None)
    if found.t3 is not None or not t3:
        assert found.residual == pytest.approx(0, abs=1e-6)
        assert found.makespan_ratio == pytest.approx(1)


def noisy(seed: int, n: int = 40) -> Timeline:
    """A loop whose durations vary by a tenth or so, with loading between the steps."""
    random = np.random.default_rng(seed)
    machine = Machine(
        1,
        dispatch_s=10 * US,
        notify_s=5 * US,
        perturb=lambda kind, ns: round(ns * random.lognormal(0, 0.1)),
    )
    step = machine.op(lambda: np.zeros(1), cost_s=100 * US, name="step")
    for _ in range(n):
        machine.host_work(80 * US, name="load")
        last = step()
    last.block_until_ready()
    return machine.timeline()


@pytest.mark.parametrize("seed", range(5))
def test_a_noisy_loop_is_explained_up_to_its_noise(seed):
    found = fit(noisy(seed))
    assert found.t1_s == pytest.approx(10 * US, rel=0.1)
    assert found.t2_s == pytest.approx(100 * US, rel=0.1)
    assert 0 < found.residual < 0.05
    assert found.makespan_ratio == pytest.approx(1, rel=0.1)


def test_operations_of_two_names_on_two_devices_have_their_own_durations():
    machine = Machine([Device("gpu:0"), Device("gpu:1", speed=2)], dispatch_s=5 * US)
    long = machine.op(lambda: np.zeros(1), cost_s=90 * US, name="long", device=machine.devices[0])
    short = machine.op(lambda: np.zeros(1), cost_s=20 * US, name="short", device=machine.devices[1])
    for _ in range(4):
        long(), short()
    machine.wait_all()
    found = fit(machine.timeline())
    assert {name: t2.median for name, t2 in found.t2.items()} == pytest.approx(
        {"long": 90 * US, "short": 10 * US}
    )
    assert found.residual == pytest.approx(0, abs=1e-6)
    with pytest.raises(ValueError, match="several operations ran"):
        _ = found.t2_s


def test_the_kernels_of_one_operation_are_one_run():
    log = EventLog()
    log.lane("Python")
    log.lane("gpu:0 stream 7", kind="device")
    for i in range(4):
        log.add(100 * i, 10, lane="Python", name=f"step {i}", category="dispatch", flow=i)
        for k, name in enumerate(("matmul", "add", "copy")):
            start_ns = 20 + 100 * i + 30 * k
            log.add(start_ns, 25, lane="gpu:0 stream 7", name=name, category="run", flow=i)
    found = fit(Timeline.from_log(log))
    assert list(found.t2) == ["step"]
    # From the end of the dispatch, 10, to the end of the last kernel, 105.
    assert found.t2["step"].values == pytest.approx([95e-9] * 4)
    assert len(found.errors_s) == 4


def test_what_the_model_cannot_explain_is_in_the_residual():
    machine = Machine(1, dispatch_s=1 * US)
    costs = iter([10, 10, 10, 10, 200, 10])
    step = machine.op(lambda: np.zeros(1), cost_s=lambda: next(costs) * US, name="step")
    for _ in range(6):
        step()
    machine.wait_all()
    found = fit(machine.timeline())
    assert found.t2_s == pytest.approx(10 * US)
    assert found.residual > 0.3
    assert found.makespan_ratio < 0.5


def test_a_fit_predicts_other_lengths():
    found = fit(pipeline(10, 10 * US, 40 * US, 20 * US).timeline())
    assert found.pipeline(25).now_ns == pipeline(25, 10 * US, 40 * US, 20 * US).now_ns


def test_a_fit_says_its_numbers_and_shows_both_timelines():
    found: Fit = fit(pipeline(50, 10 * US, 40 * US, 20 * US, depth=8).timeline())
    text = str(found)
    for words in ("t₁, dispatching", "10.0 µs", "40.0 µs", "20.0 µs", "residual", " 8 "):
        assert words in text
    assert found.comparison.variants == ("measured", "virtual")
    unsaturated = fit(pipeline(5, 10 * US, 40 * US).timeline())
    assert "never full" in str(unsaturated)


def test_an_operation_keeps_a_number_that_belongs_to_its_name():
    assert list(fit(pipeline(5, 10 * US, 40 * US).timeline()).t2) == ["y = x + 1"]


def two_devices(*runs: tuple[int, int, str, int]) -> Timeline:
    """Two dispatches, runs (start, end, device, flow), and a wait for nobody knows what."""
    log = EventLog()
    log.lane("Python")
    for flow in (0, 1):
        log.add(10 * flow, 10, lane="Python", name="f", category="dispatch", flow=flow)
    for start, end, lane, flow in runs:
        log.lane(lane, kind="device")
        log.add(start, end - start, lane=lane, name="f", category="run", flow=flow)
    log.add(20, 180, lane="Python", name="block_until_ready", category="wait")
    return Timeline.from_log(log)


def test_a_wait_that_an_unknown_run_may_have_ended_says_nothing_about_t3():
    known = fit(two_devices((10, 90, "cpu:0", 0), (20, 195, "cpu:1", 1)))
    assert (known.t3_s, known.left_out) == (pytest.approx(5e-9), 0)
    assert "left out" not in str(known)
    found = fit(two_devices((10, 90, "cpu:0", 0), (20, 195, "cpu:1", -1)))
    assert (found.t3, found.left_out) == (None, 1)
    assert "no wait for a known run" in str(found)
    assert "Of 2 dispatches 1 is left out: no run on a device is known to be theirs" in str(found)


def test_a_dispatch_that_ran_on_several_devices_is_refused():
    with pytest.raises(ValueError, match=r"one dispatch of f ran on 2 devices \(cpu:0, cpu:1\)"):
        fit(two_devices((10, 90, "cpu:0", 0), (20, 195, "cpu:1", 0)))


def test_a_timeline_without_asynchronous_work_is_refused():
    log = EventLog()
    log.lane("Python")
    log.add(0, 10, lane="Python", name="f", category="dispatch", flow=0)
    with pytest.raises(ValueError, match="no dispatch in this timeline has a run"):
        fit(Timeline.from_log(log))


def test_a_machine_in_place_of_its_timeline_is_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"got Machine: .* machine\.timeline\(\)"):
        fit(pipeline(2, 1 * US, 1 * US))
