"""A virtual machine's log as a timeline: operations with numbers and needs, lanes, memory, marks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.events import Lane, Mark
from d2lperf.virtual import Device, Link, Machine, pipeline

US = 1e-6


def waits(machine: Machine) -> list[tuple[str, int]]:
    return [(e.name, e.flow) for e in machine.log.select(category="wait")]


def test_dispatch_and_run_of_an_operation_have_its_number():
    machine = pipeline(3, 1 * US, 2 * US)
    for category in ("dispatch", "run"):
        assert [e.flow for e in machine.log.select(category=category)] == [0, 1, 2]


def test_inline_work_and_every_hop_of_a_copy_have_the_number_too():
    links = [Link(f"pcie:{i}", ("host", f"device:{i}"), 1e9) for i in range(2)]
    machine = Machine(2, links=links)
    small = machine.op(np.negative, cost_s=1 * US, inline=True)
    y = machine.device_put(small(1.0), machine.devices[1])
    float(y)
    by_category = [(e.category, e.lane, e.flow) for e in machine.log]
    assert by_category == [
        ("dispatch", "host", 0),
        ("run", "host", 0),
        ("dispatch", "host", 1),
        ("copy", "pcie:0 to host", 1),
        ("copy", "pcie:1 to device:1", 1),
        ("dispatch", "host", 2),
        ("copy", "pcie:1 to host", 2),
        ("wait", "host", 2),
    ]
    assert machine.log.needs == ((0, 1), (1, 2))


def test_a_wait_has_the_number_of_what_it_waits_for():
    machine = Machine(2)
    op = machine.op(np.add, cost_s=lambda x, y: x * US, name="op")
    slow, quick = (op(c, 0.0, device=d) for c, d in zip((90.0, 20.0), machine.devices, strict=True))
    quick.block_until_ready()
    float(quick)
    slow.block_until_ready()
    assert waits(machine) == [("block_until_ready", 1), ("float()", 1), ("block_until_ready", 0)]


def test_waiting_for_everything_is_waiting_for_what_is_ready_last():
    machine = Machine(2)
    op = machine.op(np.add, cost_s=lambda x, y: x * US)
    for cost, device in zip((90.0, 20.0), machine.devices, strict=True):
        op(cost, 0.0, device=device)
    machine.wait_all()
    assert waits(machine) == [("wait_all", 0)]
    idle = Machine(1)
    idle.wait_all()
    assert waits(idle) == [("wait_all", -1)]


def test_a_full_queue_waits_for_the_operation_whose_place_comes_back():
    machine = pipeline(6, 1 * US, 10 * US, depth=2)
    assert waits(machine) == [*(("queue full", i) for i in range(4)), ("block_until_ready", 5)]


@given(st.integers(1, 40), st.integers(0, 20), st.integers(0, 20), st.integers(1, 9))
def test_a_wait_for_a_place_ends_when_its_operation_is_known_to_be_finished(n, t2, t3, depth):
    machine = pipeline(n, 1 * US, t2 * US, t3 * US, depth=depth)
    ends = {e.flow: e.end_ns for e in machine.log.select(category="run")}
    for wait in machine.log.select(category="wait", name="queue full"):
        assert wait.end_ns == ends[wait.flow] + 1000 * t3


def test_an_operation_needs_each_operation_whose_results_it_takes_once():
    machine = Machine(1)
    op = machine.op(lambda *args: sum(args), cost_s=US)
    pair = machine.op(lambda: (1.0, 2.0), cost_s=US)
    (x, y), z = pair(), op(1.0)
    op(x, y, z)
    x + z
    assert machine.log.needs == ((0, 2), (1, 2), (0, 3), (1, 3))


def test_lanes_say_what_they_stand_for():
    links = [
        Link("pcie", ("host", "gpu:0"), 1e9),
        Link("bus", ("cpu:0", "gpu:0"), 1e9, duplex="half"),
    ]
    machine = Machine([Device("cpu:0"), Device("gpu:0")], links=links)
    assert machine.timeline().lanes == (
        Lane("host", "host"),
        Lane("cpu:0", "device"),
        Lane("gpu:0", "device"),
        Lane("pcie to gpu:0", "link", "pcie"),
        Lane("pcie to host", "link", "pcie"),
        Lane("bus", "link"),
    )
    assert machine.links == tuple(links)


def two_holding() -> Machine:
    """Return a machine with a full, a fuller and an unused device, all results gone."""
    devices = [Device("a", budget_bytes=5000), Device("b"), Device("c")]
    machine = Machine(devices, dispatch_s=1 * US)
    op = machine.op(np.copy, cost_s=10 * US)
    for device, size in zip(devices, (1000, 2000), strict=False):
        op(np.zeros(size, np.uint8), device=device)
    return machine


def test_memory_is_a_strip_for_each_device_that_held_any():
    machine = two_holding()
    assert machine.timeline().strips == ()
    first, second = machine.timeline(memory=True).strips
    assert (first.name, first.times_ns, first.values) == ("a memory", (1000, 11_000), (2000, 0))
    assert (second.name, second.times_ns, second.values) == ("b memory", (2000, 12_000), (4000, 0))
    assert (first.budget, second.budget) == (5000, None)
    assert first.peak == machine.peak_bytes(machine.devices[0])


def test_memory_can_be_asked_for_by_device_and_with_another_line():
    machine = two_holding()
    strips = machine.timeline(memory=machine.devices[1:], budget=7000).strips
    assert [(s.name, s.budget, s.peak) for s in strips] == [
        ("b memory", 7000, 4000),
        ("c memory", 7000, 0),
    ]
    with pytest.raises(ValueError, match="other is not a device of this machine"):
        machine.timeline(memory=[Device("other")])


def test_title_caption_marks_and_end_are_those_given():
    timeline = pipeline(2, 1 * US, 2 * US).timeline(
        title="two", caption="below", end_s=1e-3, marks=[(2e-6, "later"), Mark(5, "soon")]
    )
    assert (timeline.title, timeline.caption, timeline.axis_end_ns) == ("two", "below", 1_000_000)
    assert timeline.marks == (Mark(5, "soon"), Mark(2000, "later"))
    assert pipeline(2, 1 * US, 2 * US).timeline().axis_end_ns == 5000


def test_a_timeline_has_every_event_of_the_log_and_is_not_changed_by_later_ones():
    machine = pipeline(5, 1 * US, 2 * US, depth=2)
    timeline, events = machine.timeline(), [*machine.log]
    machine.host_work(1.0)
    assert sorted(e[:6] for e in timeline) == sorted(e[:6] for e in events)


def test_latency_that_no_bar_shows_is_noted():
    links = [
        Link("near", ("host", "device:0"), 1e9, 5 * US),
        Link("far", ("host", "device:1"), 1e9, 9 * US),
    ]
    machine = Machine(2, links=links)
    assert machine.timeline().notes == ()
    machine.device_put(np.zeros(10), machine.devices[0])
    (note,) = machine.timeline().notes
    assert "near" in note and "5.00 µs after its end" in note


def test_uses_of_results_count_against_the_limit():
    machine = Machine(1, max_events=100)
    op = machine.op(lambda *args: 0.0, cost_s=0)
    many = [op() for _ in range(40)]
    with pytest.raises(RuntimeError, match="more than 100 things"):
        op(*many)
