"""Recordings of real programs on the CPU devices that all tests have."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from d2lperf import open_timeline, record, step, wait, wait_all
from d2lperf.events import Event
from d2lperf.recording import Recording
from d2lperf.recording.runs import IN_FLIGHT

SIZE = 400


@jax.jit
def work(x: jax.Array) -> jax.Array:
    for _ in range(3):
        x = x @ x / SIZE
    return x


@jax.jit
def other(x: jax.Array) -> jax.Array:
    return x @ x @ x / SIZE**2


@jax.jit
def tiny(x: jax.Array) -> jax.Array:
    return x + 1


@pytest.fixture(scope="module")
def first() -> jax.Array:
    """A matrix on the first device; what works on it is compiled."""
    x = jax.device_put(jnp.ones((SIZE, SIZE)), jax.devices()[0])
    wait(work(x), other(x), tiny(jnp.ones(3)))
    return x


@pytest.fixture(scope="module")
def second() -> jax.Array:
    """A matrix on the second device."""
    x = jax.device_put(jnp.ones((SIZE, SIZE)), jax.devices()[1])
    wait(work(x), other(x))
    return x


def program(trace: Recording) -> list[tuple[str, str]]:
    """Return category and name of what the Python lane shows."""
    return [(e.category, e.name) for e in trace.select(lane="Python")]


def by_flow(events: list[Event]) -> dict[int, Event]:
    found = {event.flow: event for event in events}
    assert len(found) == len(events)
    assert -1 not in found
    return found


def test_n_dispatches_are_n_runs_in_their_order_and_each_run_starts_after_its_dispatch(first):
    with record(title="a loop") as trace:
        results = [work(first) for _ in range(10)]
        wait(results)
    dispatches, runs = (by_flow(trace.select(category=c)) for c in ("dispatch", "run"))
    assert trace.title == "a loop"
    assert [e.name for e in dispatches.values()] == ["work"] * 10
    assert [(e.lane, e.name) for e in runs.values()] == [("cpu:0", "work")] * 10
    assert [*dispatches] == [*runs]
    assert all(dispatches[flow].start_ns < runs[flow].start_ns for flow in runs)
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(runs.values()))
    (waited,) = trace.select(category="wait")
    assert waited.name == "wait"
    assert waited.end_ns >= max(e.end_ns for e in runs.values())
    assert not trace.notes


def test_two_devices_are_two_lanes(first, second):
    with record() as trace:
        for _ in range(3):
            results = work(first), other(second)
        wait(results)
    lanes = [(lane.name, lane.kind, lane.group) for lane in trace.lanes if not lane.folded]
    assert lanes == [
        ("Python", "host", ""),
        ("cpu:0", "device", "cpu:0"),
        ("cpu:1", "device", "cpu:1"),
    ]
    dispatches = by_flow(trace.select(category="dispatch"))
    for lane, name in (("cpu:0", "work"), ("cpu:1", "other")):
        runs = by_flow(trace.select(lane=lane))
        assert [e.name for e in runs.values()] == [name] * 3
        assert [flow for flow, e in dispatches.items() if e.name == name] == [*runs]


def test_one_dispatch_over_several_devices_leads_to_a_run_on_each():
    mesh = Mesh(np.array(jax.devices()[:4]), ("d",))
    x = jax.device_put(jnp.ones((SIZE, SIZE)), NamedSharding(mesh, PartitionSpec("d")))
    wait(work(x))
    with record() as trace:
        wait(work(work(x)))
    flows = [e.flow for e in trace.select(category="dispatch")]
    for device in range(4):
        assert [e.flow for e in trace.select(lane=f"cpu:{device}")] == flows


def test_a_first_call_is_traced_lowered_and_compiled_inside_of_its_dispatch(first):
    def fresh(x: jax.Array) -> jax.Array:
        return jnp.matmul(x, x) - 1

    with record() as trace:
        jax.jit(fresh)(first)
    (dispatch,) = trace.select(category="dispatch")
    stages = trace.select(category="compile", lane="Python")
    assert [e.name for e in stages] == ["trace fresh", "lower fresh", "compile fresh"]
    assert all(a.end_ns <= b.start_ns for a, b in pairwise(stages))
    assert all(e.start_ns >= dispatch.start_ns and e.end_ns <= dispatch.end_ns for e in stages)
    assert [e.name for e in trace.select(lane="cpu:0")] == ["fresh"]


def test_what_the_host_computes_itself_is_a_run_inside_of_its_dispatch(first):
    x = jax.device_put(jnp.ones(3), jax.devices()[0])
    tiny(x)
    with record() as trace:
        tiny(x)
    dispatch, run = trace.select(lane="Python")
    assert (dispatch.category, run.category) == ("dispatch", "run")
    assert (run.name, run.flow, run.depth) == ("tiny", dispatch.flow, 1)
    assert dispatch.start_ns <= run.start_ns <= run.end_ns <= dispatch.end_ns


def test_the_host_waits_where_as_many_computations_are_in_flight_as_jax_allows(first):
    with record() as trace:
        results = [work(first) for _ in range(IN_FLIGHT + 8)]
        wait(results)
    runs = by_flow(trace.select(category="run"))
    blocked = trace.select(name="queue full")
    assert blocked
    for event in blocked:
        given = [e for e in trace.select(category="dispatch") if e.start_ns < event.start_ns][:-1]
        pending = [e for e in given if runs[e.flow].end_ns > event.start_ns]
        assert len(pending) >= IN_FLIGHT
        assert event.start_ns < runs[event.flow].end_ns <= event.end_ns
        assert (event.category, event.lane, event.depth) == ("wait", "Python", 1)


@pytest.mark.parametrize(
    ("name", "wait_for"),
    [
        ("wait", wait),
        ("block_until_ready", lambda x: x.block_until_ready()),
        ("wait", lambda x: wait_all()),
        ("block_until_ready", lambda x: jax.block_until_ready([x, x])),
        ("np.asarray", lambda x: jax.device_get(x)),
        ("float()", lambda x: float(x.sum())),
        ("bool()", lambda x: bool(x[0, 0])),
        ("int()", lambda x: int(x.sum())),
        ("print", lambda x: print(x.sum())),
        ("print", lambda x: f"{x.sum():.3f}"),
        ("tolist()", lambda x: x.tolist()),
        ("np.asarray", lambda x: np.asarray(x)),
        ("np.array", lambda x: np.array(x)),
        ("item()", lambda x: x[0, 0].item()),
    ],
)
def test_every_way_to_wait_is_seen(first, name: str, wait_for):
    wait_for(work(first))
    with record() as trace:
        x = first
        for _ in range(8):  # more than a busy machine finishes before the wait begins
            x = work(x)
        wait_for(x)
    waits = [(e.name.removesuffix("_all"), e) for e in trace.select(category="wait")]
    assert name in [n for n, _ in waits]
    runs = trace.select(lane="cpu:0", name="work")
    assert max(e.end_ns for _, e in waits) >= runs[-1].end_ns


def test_waiting_for_everything_shows_one_wait_and_none_of_its_own_work(first):
    with record() as trace:
        work(first)
        wait_all()
    assert program(trace) == [("dispatch", "work"), ("wait", "wait_all")]
    assert [e.name for e in trace.select(category="run")] == ["work"]


def test_what_was_dropped_is_recorded_to_its_end_and_the_wait_for_it_is_not_shown(first):
    with record() as trace:
        for _ in range(4):
            work(first)
    assert program(trace) == [("dispatch", "work")] * 4
    assert len(trace.select(lane="cpu:0")) == 4
    (mark,) = trace.marks
    assert mark.text == "end of the block"
    assert trace.select(lane="Python")[-1].end_ns <= mark.time_ns
    assert trace.first_ns >= 0


def test_what_went_on_before_is_not_in_the_recording(first):
    for _ in range(5):
        other(first)
    with record() as trace:
        wait(work(first))
    assert [e.name for e in trace.select(category="run")] == ["work"]


def test_steps_are_bars_and_their_numbers_follow_the_work_to_the_device(first):
    with record() as trace:
        for i in (4, 5):
            with step("train", i):
                x = work(first)
                with step("inner"):
                    x = other(x)
        work(first)
        for _ in range(2):
            with step("eval"):
                wait(other(first))
    bars = [(e.name, e.step) for e in trace.select(lane="Python", category="host")]
    assert bars == [
        ("train 4", 4), ("inner", 4), ("train 5", 5), ("inner", 5), ("eval", 0), ("eval", 1),
    ]  # fmt: skip
    runs = [(e.name, e.step) for e in trace.select(lane="cpu:0")]
    assert runs == [
        ("work", 4), ("other", 4), ("work", 5), ("other", 5), ("work", -1), ("other", 0),
        ("other", 1),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "number", "words"),
    [("", None, "name of a step"), ("a#b", 1, "'a#b'"), ("x", -1, "from 0"), ("x", 2**31, "from 0")],
)  # fmt: skip
def test_a_step_needs_a_name_and_a_number_that_counts(name, number, words):
    with pytest.raises(ValueError, match=words):
        step(name, number)


def test_inside_of_its_block_a_recording_says_that_it_goes_on(first):
    with record() as trace:
        assert repr(trace) == "<Recording that goes on>"
        for use in (len, Recording.summary, list, lambda t: t.select(), lambda t: t.lanes):
            with pytest.raises(RuntimeError, match="goes on until its block ends"):
                use(trace)
        assert not hasattr(trace, "_repr_html_")
        work(first)
    assert len(trace)
    with pytest.raises(AttributeError, match="no 'lanse'"):
        _ = trace.lanse


def test_a_block_without_work_is_an_empty_recording():
    with record() as trace:
        pass
    assert len(trace) == 0
    assert len(trace.marks) == 1


def test_an_error_in_the_block_ends_the_recording_and_passes_through(first):
    with pytest.raises(ZeroDivisionError), record() as trace:
        wait(work(first))
        _ = 1 / 0
    assert program(trace) == [("dispatch", "work"), ("wait", "wait")]
    with record() as again:
        wait(work(first))
    assert program(again) == program(trace)


def test_recordings_do_not_nest(first):
    with record() as trace:
        with pytest.raises(RuntimeError, match="going on already"), record():
            pass
        wait(work(first))
    assert program(trace) == [("dispatch", "work"), ("wait", "wait")]


def test_a_profile_that_somebody_else_records_is_left_alone(tmp_path: Path, first):
    with jax.profiler.trace(tmp_path):
        with pytest.raises(RuntimeError, match="going on already"), record():
            pass
        wait(work(first))
    assert open_timeline(tmp_path).select(category="run", name="work")


def test_nothing_is_left_behind_or_changed(tmp_path: Path, monkeypatch, capfd, first):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    array = type(first)

    def calls() -> list[object]:
        return [jax.block_until_ready, jax.effects_barrier, np.asarray, np.array, array.item]

    before = calls()
    with record():
        assert not any(a is b for a, b in zip(calls(), before, strict=True))
        jax.block_until_ready(work(first))
    assert calls() == before
    assert not [*tmp_path.iterdir()]
    assert capfd.readouterr() == ("", "")


def test_the_profile_can_be_kept_and_opened_again(tmp_path: Path, first):
    with record(keep=tmp_path) as trace:
        wait(work(first))
    assert list(open_timeline(tmp_path)) == list(trace)


def test_threads_and_details_are_a_matter_of_choice(first):
    with record(threads=False, details=True) as trace:
        wait(work(first))
    assert trace.lane_names == ("Python", "cpu:0")
    assert trace.select(lane="Python", category="runtime")


def test_without_waiting_the_block_ends_the_recording(first):
    with record(wait=False) as trace:
        wait(work(first))
    assert program(trace) == [("dispatch", "work"), ("wait", "wait")]


def test_the_number_of_a_step_is_any_whole_number_and_nothing_else(first):
    with record() as trace, step("train", np.int64(3)):
        wait(tiny(first))
    assert trace.select(category="host")[0].step == 3
    with pytest.raises(TypeError):
        step("train", 1.5)
