"""Links and copies of the virtual machine: exact times, order, ways, memory."""

from __future__ import annotations

import gc

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.virtual import Array, ClockLimit, Device, Link, Machine, OutOfMemory

US = 1e-6
GB = 1e9
"""One byte per nanosecond."""


def zeros(nbytes: int) -> np.ndarray:
    return np.zeros(nbytes, np.uint8)


def linked(
    *, latency_us: float = 0, duplex: str = "full", dispatch_us: float = 0, **options
) -> Machine:
    """Two devices behind a link of 1 GB/s each, and one of 4 GB/s between them."""
    links = [
        Link("pcie:0", ("host", "device:0"), GB, latency_us * US, duplex),
        Link("pcie:1", ("host", "device:1"), GB, latency_us * US, duplex),
        Link("nvlink", ("device:0", "device:1"), 4 * GB, latency_us * US, duplex),
    ]
    return Machine(2, links=links, dispatch_s=dispatch_us * US, **options)


def copies(machine: Machine) -> list[tuple[str, int, int]]:
    return [(e.lane, e.start_ns, e.end_ns) for e in machine.log.select(category="copy")]


@given(st.integers(1, 20), st.integers(0, 9000), st.integers(0, 5000), st.sampled_from((1, 3, 7)))
def test_copies_over_one_link_take_one_latency_and_each_its_bytes(n, nbytes, latency_ns, gb_per_s):
    link = Link("pcie", ("host", "device:0"), gb_per_s * GB, latency_ns / 1e9)
    machine = Machine(1, links=[link], dispatch_s=0)
    for _ in range(n):
        machine.device_put(zeros(nbytes), machine.devices[0])
    machine.wait_all()
    assert machine.now_ns == latency_ns + n * round(nbytes / gb_per_s)


@given(*[st.integers(1, 12)] + [st.integers(0, 90)] * 3)
def test_copying_and_computing_in_chunks_overlap(chunks, copy_us, run_us, latency_us):
    machine = linked(latency_us=latency_us, depth=None)
    step = machine.op(np.size, cost_s=run_us * US)
    for _ in range(chunks):
        step(machine.device_put(zeros(1000 * copy_us), machine.devices[0]))
    machine.wait_all()
    copied = ran = 0
    for _ in range(chunks):
        copied += copy_us
        ran = max(ran, copied + latency_us) + run_us
    assert machine.now_ns == 1000 * ran


@pytest.mark.parametrize(("duplex", "end_ns"), [("full", 5_000), ("half", 8_000)])
def test_directions_are_independent_or_share_the_link(duplex, end_ns):
    machine = linked(duplex=duplex)
    first, second = machine.devices
    x = machine.op(lambda: zeros(20_000), cost_s=0)(device=first)
    y = machine.op(lambda: zeros(12_000), cost_s=0)(device=second)
    machine.device_put(x, second)
    machine.device_put(y, first)
    assert machine.busy_until_ns == end_ns
    lanes = [lane for lane in machine.log.described_lanes if lane.name.startswith("nvlink")]
    assert [lane.name for lane in lanes] == {
        "full": ["nvlink to device:1", "nvlink to device:0"],
        "half": ["nvlink"],
    }[duplex]
    assert {lane.kind for lane in lanes} == {"link"}


def test_the_way_over_the_host_stores_and_forwards():
    def way(**options) -> list[tuple[str, int, int]]:
        machine = linked(latency_us=2)
        x = machine.op(lambda: zeros(8000), cost_s=5 * US)()
        y = machine.device_put(x, machine.devices[1], **options)
        machine.op(np.mean, cost_s=1 * US, name="use")(y)
        (use,) = machine.log.select(category="run", name="use")
        return [*copies(machine), ("use", use.start_ns, use.end_ns)]

    assert way() == [("nvlink to device:1", 5_000, 7_000), ("use", 9_000, 10_000)]
    # The first link is left at 13 µs and the second one entered 2 µs later.
    by_host = [
        ("pcie:0 to host", 5_000, 13_000),
        ("pcie:1 to device:1", 15_000, 23_000),
        ("use", 25_000, 26_000),
    ]
    assert way(via="host") == way(via=["host"]) == by_host


def test_without_a_direct_link_copies_pass_the_host():
    links = [Link(f"pcie:{i}", ("host", f"device:{i}"), GB) for i in range(2)]
    machine = Machine(2, links=links, dispatch_s=0)
    x = machine.op(lambda: zeros(1000), cost_s=0)()
    machine.device_put(x, machine.devices[1])
    assert copies(machine) == [("pcie:0 to host", 0, 1000), ("pcie:1 to device:1", 1000, 2000)]


def test_a_device_without_a_link_shares_the_memory_of_the_host():
    cpu, gpu = Device("cpu:0"), Device("gpu:0")
    machine = Machine([cpu, gpu], links=[Link("pcie", (gpu, "host"), GB)], dispatch_s=0)
    x = machine.device_put(zeros(1000), cpu)
    assert not copies(machine) and x.device is cpu
    y = machine.device_put(machine.device_put(x, gpu), cpu)
    assert copies(machine) == [("pcie to gpu:0", 0, 1000), ("pcie to host", 1000, 2000)]
    y.block_until_ready()
    assert machine.now_ns == 2000


def test_without_links_everything_is_placed_for_free():
    machine = Machine(2, dispatch_s=10 * US, notify_s=3 * US)
    second = machine.devices[1]
    x = machine.op(lambda: zeros(1000), cost_s=50 * US)()
    before = len(machine.log)
    y, z = machine.device_put((x, zeros(500)), second)
    assert len(machine.log) == before and {y.device, z.device} == {second}
    assert z.is_ready() and not y.is_ready()
    machine.op(np.add, cost_s=7 * US, name="use")(y, y)
    (use,) = machine.log.select(category="run", name="use")
    assert (use.lane, use.start_ns) == ("device:1", 60_000)
    assert machine.log.needs == ((0, 1),)
    assert machine.peak_bytes(second) == 1000 + 500 + 1000


def test_what_is_there_already_comes_back_as_it_is():
    machine = linked(dispatch_us=10)
    x = machine.op(np.copy, cost_s=0)(1.0)
    assert machine.device_put(x, x.device) is x
    assert machine.now_ns == 10_000


def test_values_and_containers_survive_a_copy():
    machine = linked()
    source = np.arange(4.0)
    there = machine.device_put({"a": [source, 2.0], "b": None}, machine.devices[1])
    source[:] = 9
    assert isinstance(there["a"][1], Array) and there["b"] is None
    back = machine.device_put(there["a"][0], machine.devices[0])
    np.testing.assert_array_equal(np.asarray(back), np.arange(4.0))


def test_a_result_behind_a_link_is_copied_to_the_host_once_and_waited_for():
    machine = linked(latency_us=5, dispatch_us=10, notify_s=1 * US)
    x = machine.op(lambda: zeros(20_000), cost_s=100 * US, name="make")()
    np.asarray(x)
    # Dispatch until 10, run until 110, copy until 130, arrival at 135, known at 136.
    assert copies(machine) == [("pcie:0 to host", 110_000, 130_000)]
    (wait,) = machine.log.select(category="wait")
    assert (wait.name, wait.start_ns, wait.end_ns, wait.flow) == ("np.asarray", 20_000, 136_000, 1)
    assert [e.end_ns for e in machine.log.select(category="dispatch")] == [10_000, 20_000]
    x.tolist()
    assert machine.now_ns == 136_000 and len(copies(machine)) == 1


def test_the_copy_to_the_host_can_be_started_early():
    machine = linked(dispatch_us=10)
    x = machine.op(lambda: zeros(20_000), cost_s=0)()
    x.copy_to_host_async()
    assert machine.now_ns == 20_000
    machine.host_work(15 * US)
    np.asarray(x)
    assert machine.now_ns == 40_000
    assert copies(machine) == [("pcie:0 to host", 20_000, 40_000)]


def test_device_get_starts_all_copies_before_it_waits():
    machine = linked(dispatch_us=1)
    make = machine.op(lambda: zeros(50_000), cost_s=0)
    jax.device_get([make(device=device) for device in machine.devices])
    assert machine.now_ns == 4_000 + 50_000


def test_waiting_for_a_device_copies_nothing():
    machine = linked()
    machine.op(lambda: zeros(100), cost_s=US)().block_until_ready()
    assert not copies(machine)


def test_arrays_of_the_host_reach_an_operation_over_the_link_and_numbers_for_free():
    machine = linked(latency_us=1, dispatch_us=10)
    add = machine.op(lambda x, y: x.sum() + y, cost_s=3 * US, name="add")
    assert float(add(np.ones(500), 1.0)) == 501
    add(3.0 * add(zeros(8), 1.0), 1.0)
    first, second = machine.log.select(category="copy", name="arguments of add")
    assert (first.start_ns, first.end_ns, first.flow) == (10_000, 14_000, 0)
    assert second.duration_ns == 8
    assert machine.log.select(category="run", name="add")[0].start_ns == 15_000


def test_inline_work_waits_for_its_arguments_on_the_device():
    machine = linked(dispatch_us=10)
    small = machine.op(np.sum, cost_s=US, inline=True, name="small")
    small(zeros(100))
    small(1.0)
    # The array is still on its way when the first is dispatched; the second has nothing to wait for.
    assert [e.lane for e in machine.log.select(category="run")] == ["device:0", "host"]


def test_a_device_is_held_up_by_an_argument_on_its_way():
    machine = linked()
    use = machine.op(np.mean, cost_s=1 * US, name="use")
    use(machine.device_put(zeros(9000), machine.devices[0]))
    use(1.0)
    assert [e.start_ns for e in machine.log.select(category="run")] == [9_000, 10_000]


def test_a_link_is_held_up_by_a_copy_whose_value_is_not_there():
    machine = linked()
    slow = machine.op(lambda: zeros(1000), cost_s=20 * US)()
    quick = machine.device_put(zeros(8), machine.devices[0])
    for x in (slow, quick):
        machine.device_put(x, machine.devices[1])
    assert copies(machine)[1:] == [
        ("nvlink to device:1", 20_000, 20_250),
        ("nvlink to device:1", 20_250, 20_252),
    ]


def test_copies_take_no_place_in_the_queue():
    machine = linked(depth=1, dispatch_us=1)
    for _ in range(5):
        machine.device_put(zeros(50_000), machine.devices[0])
    assert machine.now_ns == 5_000
    machine.op(np.copy, cost_s=US)(1.0)
    assert not machine.log.select(category="wait")


def test_a_copy_is_held_at_both_ends_and_on_the_way():
    machine = linked(latency_us=2, dispatch_us=1)
    first, second = machine.devices
    x = machine.device_put(zeros(8000), second, via=first)
    del x
    gc.collect()
    # Dispatched at 1, left the host at 9, arrived at 11, left device:0 at 13, arrived at 15.
    assert [list(column) for column in machine.memory_steps(first)] == [[1000, 13_000], [8000, 0]]
    assert [list(column) for column in machine.memory_steps(second)] == [[1000, 15_000], [8000, 0]]


def test_a_source_is_in_use_until_its_bytes_have_left():
    machine = linked(latency_us=2)
    x = machine.op(lambda: zeros(8000), cost_s=1 * US)()
    y = machine.device_put(x, machine.devices[1])
    del x
    assert [list(column) for column in machine.memory_steps()] == [[0, 3000], [8000, 0]]
    assert y.nbytes == 8000


def test_no_room_on_the_way_takes_no_memory_anywhere():
    first, second = Device("a"), Device("b", budget_bytes=500)
    links = [Link("up", ("host", first), GB), Link("over", (first, second), GB)]
    machine = Machine([first, second], links=links)
    with pytest.raises(OutOfMemory, match="b is out of memory: array of the host asks for 1000 B"):
        machine.device_put(zeros(1000), second, via=[first])
    assert machine.peak_bytes() == 0 and not copies(machine)


def test_a_copy_can_be_given_a_name():
    machine = Machine(1, links=[Link("l", ENDS, GB)], budget_bytes=500)
    (device,) = machine.devices
    x = machine.device_put(zeros(400), device, name="batch 0")
    np.asarray(x)
    names = [e.name for e in machine.log.select(category="copy")]
    assert names == ["batch 0", "copy of batch 0"]
    with pytest.raises(OutOfMemory, match=r"batch 1 asks for 400 B.*1 × batch 0"):
        machine.device_put(zeros(400), device, name="batch 1")


def test_bytes_are_counted_for_each_way():
    machine = linked()
    x = machine.device_put(zeros(1000), machine.devices[0])
    machine.device_put(x, machine.devices[1], via="host")
    np.asarray(x)
    assert machine.sent_bytes() == {
        ("host", "device:0"): 1000,
        ("device:0", "host"): 2000,
        ("host", "device:1"): 1000,
    }


def test_noise_reaches_copies_too():
    machine = linked(perturb=lambda kind, ns: 3 * ns if kind == "copy" else ns)
    machine.device_put(zeros(1000), machine.devices[0])
    assert copies(machine) == [("pcie:0 to device:0", 0, 3000)]


def test_endless_copying_is_stopped():
    machine = linked(max_events=1000)
    with pytest.raises(ClockLimit, match="does its loop end"):
        while True:
            machine.device_put(zeros(1), machine.devices[0])


NOWHERE = "no link for a copy device:0 → device:1: this machine has up \\(host – device:2\\)"


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda m, x: m.device_put(x, m.devices[1]), NOWHERE),
        (lambda m, x: m.device_put(x, m.devices[1], via="host"), "device:0 → host → device:1"),
        (lambda m, x: m.device_put(x, m.devices[1], via="device:2"), "no link for a copy"),
        (lambda m, x: m.device_put(x, m.devices[1], via="moon"), "'moon' is no place .*: .*host"),
        (lambda m, x: m.device_put(x, m.devices[2], via=["host", "host"]), "each place once"),
        (lambda m, x: m.device_put(x, Device("other")), "other is not a device of this machine"),
        (
            lambda m, x: Machine(1).device_put(x, m.devices[0]),
            "device_put got the result of another",
        ),
        (lambda m, x: m.op(np.add, cost_s=0)(x, 1, device=m.devices[1]), "with device_put"),
    ],
    ids=range(8),
)
def test_copies_that_cannot_be_are_refused_with_a_reason(attempt, words):
    machine = Machine(3, links=[Link("up", ("host", "device:2"), GB)])
    x = machine.op(np.copy, cost_s=0)(1.0)
    with pytest.raises(ValueError, match=words):
        attempt(machine, x)


ENDS = ("host", "device:0")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Link("l", ENDS, 0), "link l: bandwidth must be positive, not 0"),
        (lambda: Link("l", ENDS, -1e9), "positive"),
        (lambda: Link("l", ENDS, float("nan")), "positive"),
        (lambda: Link("l", ENDS, GB, -1e-6), "link l: latency must be at least 0"),
        (lambda: Link("l", ENDS, GB, float("inf")), "latency"),
        (lambda: Link("l", ENDS, GB, duplex="both"), "full or half, not 'both'"),
        (lambda: Link("l", ("host", "host"), GB), "two different places"),
        (lambda: Machine(1, links=[Link("l", ("host", "gpu"), GB)]), "'gpu' is no place"),
        (
            lambda: Machine(2, links=[Link("l", ENDS, GB), Link("l", ("host", "device:1"), GB)]),
            "same",
        ),
        (lambda: Machine(1, links=[Link("l", ENDS, GB), Link("m", ENDS, GB)]), "two links join"),
        (lambda: Machine(1, links=[Link("l", ENDS, GB), Link("m", ENDS[::-1], GB)]), "two links"),
        (lambda: Machine(1, links=[Link("host", ENDS, GB)]), "'host' is taken"),
        (lambda: Machine([Device("host")]), "'host' is taken"),
    ],
    ids=range(13),
)
def test_bad_links_are_refused_with_a_reason(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_link_may_have_no_limit():
    machine = Machine(1, links=[Link("l", ENDS, float("inf"), 3 * US)], dispatch_s=0)
    machine.device_put(zeros(1000), machine.devices[0]).block_until_ready()
    assert machine.now_ns == 3_000
