"""Profiles of every kind of hardware, written as text."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles.gpus import TWO_GPUS, call, driver, kernels, thread
from profiles.text import E, parsed

from d2lperf import Timeline
from d2lperf.events import Event
from d2lperf.recording.dealing import deal
from d2lperf.recording.reading import timeline_from


def host(*events: E, **lines: list[E]) -> Timeline:
    """Return the timeline of one Python thread, and of further lines of the host."""
    others = [(name.replace("__", "/"), own) for name, own in lines.items()]
    return timeline_from(parsed({"/host:CPU": [("python", events), *others]}))


def rows(timeline: Timeline, **criteria: str) -> list[tuple[int, int, str]]:
    return [(e.start_ns, e.end_ns, e.name) for e in timeline.select(**criteria)]


@pytest.fixture(scope="module")
def two_gpus() -> Timeline:
    return timeline_from(parsed(TWO_GPUS))


# --- several GPUs, in text ---------------------------------------------------------------------


def test_each_stream_is_a_lane_of_its_device_in_order_of_number(two_gpus: Timeline):
    drawn = [(lane.name, lane.kind, lane.group) for lane in two_gpus.lanes if not lane.folded]
    assert drawn == [
        ("Python", "host", ""),
        ("gpu:0 stream 16", "device", "gpu:0"),
        ("gpu:0 stream 18", "link", "gpu:0"),
        ("gpu:0 stream 20", "link", "gpu:0"),
        ("gpu:1 stream 2", "device", "gpu:1"),
        ("gpu:1 stream 26", "device", "gpu:1"),
    ]


def test_threads_of_the_runtime_are_folded_lanes_with_readable_names(two_gpus: Timeline):
    folded = [lane.name for lane in two_gpus.lanes if lane.folded]
    assert folded == ["XLA launch 1", "XLA launch 2", "GPU calls 1", "GPU calls 2"]
    assert {lane.kind for lane in two_gpus.lanes if lane.folded} == {"thread"}


def test_kernels_run_copies_copy_and_collectives_exchange(two_gpus: Timeline):
    origin = 10  # the first event starts there
    assert rows(two_gpus, lane="gpu:0 stream 16") == [
        (250 - origin, 450 - origin, "dot.3"),
        (450 - origin, 500 - origin, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
        (510 - origin, 710 - origin, "dot.3"),
        (710 - origin, 760 - origin, "ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
    ]
    kinds = [e.category for e in two_gpus.select(lane="gpu:0 stream 16")]
    assert kinds == ["run", "collective"] * 2
    assert rows(two_gpus, lane="gpu:0 stream 18") == [(30, 60, "copy host → device")]
    assert rows(two_gpus, lane="gpu:0 stream 20") == [(760, 780, "copy device → host")]


def test_lines_that_xla_derives_are_not_drawn_a_second_time(two_gpus: Timeline):
    assert len(two_gpus.select(lane="gpu:1 stream 26")) == 4
    assert not two_gpus.select(name="jit_train(1)")


def test_an_event_without_a_name_gets_one(two_gpus: Timeline):
    assert rows(two_gpus, lane="gpu:1 stream 2") == [(890, 900, "kernel")]


def test_python_shows_one_bar_for_each_call_copy_and_wait(two_gpus: Timeline):
    python = [(e.start_ns, e.end_ns, e.category, e.name) for e in two_gpus.select(lane="Python")]
    assert python == [
        (0, 20, "copy", "device_put"),
        (90, 190, "dispatch", "train"),
        (290, 390, "dispatch", "train"),
        (410, 810, "wait", "np.asarray"),
    ]


def test_arrows_lead_from_the_call_over_the_threads_to_the_kernels_of_all_gpus(two_gpus: Timeline):
    put, first, second, _ = (e.flow for e in two_gpus.select(lane="Python"))
    assert len({put, first, second}) == 3
    for lane in ("gpu:0 stream 16", "gpu:1 stream 26"):
        assert [e.flow for e in two_gpus.select(lane=lane)] == [first, first, second, second]
    assert [e.flow for e in two_gpus.select(lane="gpu:0 stream 18")] == [put]
    assert [e.flow for e in two_gpus.select(lane="gpu:1 stream 2")] == [-1]
    assert [e.flow for e in two_gpus.select(lane="GPU calls 2")] == [first, first, second, second]


def test_two_calls_at_once_from_one_function_get_no_arrow_that_could_be_wrong():
    planes = {
        "/device:GPU:0": [("Stream #16(Compute)", kernels((10, 250)))],
        "/host:CPU": [
            ("python", [*call(7, 100), *call(8, 210)]),
            ("py_xla_execute/1", [*thread((7, 200))]),
            ("py_xla_execute/2", [*thread((8, 220))]),
            ("Host Threads/1", driver((10, 230), (11, 235))),
        ],
    }
    timeline = timeline_from(parsed(planes))
    assert [e.flow for e in timeline.select(lane="gpu:0 stream 16")] == [-1, -1]


def test_a_launch_inside_of_the_call_itself_is_the_calls_own():
    planes = {
        "/device:GPU:0": [("Stream #16(Compute)", kernels((10, 250)))],
        "/host:CPU": [("python", [*call(7, 100), *driver((10, 120), (11, 130))])],
    }
    timeline = timeline_from(parsed(planes))
    assert {e.flow for e in timeline.select(lane="gpu:0 stream 16")} == {0}


def test_a_launch_by_a_pool_that_took_the_work_from_the_call_is_the_calls_own():
    took = [
        E("ThreadpoolListener::StartRegion", 125, 0, {"_ct": 15, "_c": 3}),
        *driver((10, 130), (11, 140)),
        E("ThreadpoolListener::StopRegion", 150, 0),
        E("ThreadpoolListener::StartRegion", 151, 0, {"_ct": 15, "_c": 4}),
        *driver((20, 160), (21, 170)),
    ]
    record = E("ThreadpoolListener::Record", 115, 0, {"_pt": 15, "_p": 3})
    planes = {
        "/device:GPU:0": [("Stream #16(Compute)", kernels((10, 250), (20, 600)))],
        "/host:CPU": [
            ("python", [E("PjitFunction(train)", 100, 20), record]),
            ("tf_pjrt_thread_pool/1", took),
        ],
    }
    timeline = timeline_from(parsed(planes))
    assert [e.flow for e in timeline.select(lane="gpu:0 stream 16")] == [0, 0, -1, -1]


def test_a_device_without_streams_shows_its_operations():
    ops = [E("fusion", 10, 5), E("all-reduce.2", 15, 5)]
    lines = [("XLA Modules", [E("jit_f(1)", 10, 10)]), ("XLA Ops", ops)]
    timeline = timeline_from(parsed({"/device:TPU:0": lines}))
    assert [(e.lane, e.name, e.category) for e in timeline] == [
        ("tpu:0", "fusion", "run"),
        ("tpu:0", "all-reduce.2", "collective"),
    ]


def test_lines_of_one_name_become_lanes_of_two():
    stream = ("Stream #4(Compute)", [E("k", 0, 1)])
    timeline = timeline_from(parsed({"/device:GPU:0": [stream, stream]}))
    assert timeline.lane_names == ("gpu:0 stream 4", "gpu:0 stream 4 (2)")


@pytest.mark.parametrize(
    ("name", "line", "launch", "shown"),
    [
        ("MemcpyP2P", "MemcpyP2P", "", "copy peer → peer"),
        ("MemcpyD2D", "Compute", "", "copy device → device"),
        ("__amd_rocclr_copyBuffer.kd", "Kernel", "hipMemcpyDtoDAsync", "copy device → device"),
        ("Memset", "Memset", "", "fill"),
        ("odd", "MemcpyOther", "", "copy"),
    ],
)
def test_copies_say_their_direction(name: str, line: str, launch: str, shown: str):
    planes = {
        "/device:GPU:0": [(f"Stream #1({line})", [E(name, 9, 1, {"correlation_id": 5})])],
        "/host:CPU": [("Host Threads/1", [E(launch or "x", 0, 1, {"correlation_id": 5})])],
    }
    (event,) = timeline_from(parsed(planes)).select(lane="gpu:0 stream 1")
    assert (event.name, event.category) == (shown, "copy")


# --- the Python thread, in text ----------------------------------------------------------------


def test_calls_inside_of_a_call_are_traced_not_dispatched():
    timeline = host(
        E("PjitFunction(f)", 0, 100),
        E("PjitFunction(f)", 1, 98),
        E("PjitFunction(matmul)", 10, 5),
        E("lower_sharding_computation", 20, 10),
        E("backend_compile_and_load", 40, 30),
        E("PjRtClient::Compile", 41, 20),
    )
    assert [(*row, e.category) for row, e in zip(rows(timeline), timeline, strict=True)] == [
        (0, 100, "f", "dispatch"),
        (0, 20, "trace f", "compile"),
        (20, 30, "lower f", "compile"),
        (40, 70, "compile f", "compile"),
    ]


def test_an_await_lasts_from_its_first_event_to_its_second():
    timeline = host(
        E("CommonPjRtBuffer::Await", 0, 1, {"_pt": 0, "_p": 5}),
        E("CommonPjRtBuffer::Await", 90, 2, {"_ct": 0, "_c": 5}),
    )
    assert rows(timeline, category="wait") == [(0, 92, "wait")]


def test_fetching_is_a_wait_only_if_the_result_was_not_there():
    timeline = host(
        E("np.asarray(jax.Array)", 0, 10),
        E("np.asarray(jax.Array)", 20, 50),
        E("CommonPjRtBuffer::Await", 25, 1, {"_pt": 0, "_p": 5}),
        E("CommonPjRtBuffer::Await", 60, 1, {"_ct": 0, "_c": 5}),
    )
    assert [(e.name, e.category) for e in timeline] == [
        ("np.asarray", "copy"),
        ("np.asarray", "wait"),
    ]


def test_annotations_of_the_reader_stay_and_noise_goes():
    timeline = host(
        E("my epoch", 0, 100), E("my batch", 10, 20), E("$file.py:3 f", 12, 5),
        E("Wait for usage holds", 50, 1), E("PythonRefManager::CollectGarbage", 60, 1),
    )  # fmt: skip
    assert [(e.name, e.category, e.depth) for e in timeline] == [
        ("my epoch", "host", 0),
        ("my batch", "host", 1),
    ]


def test_steps_are_numbered_by_the_reader_or_by_repetition():
    mine = {"d2lperf_step": 1}
    timeline = host(
        E("train", 0, 50, {"step_num": 7}), E("load", 10, 5, mine), E("note", 11, 1),
        E("load", 60, 5, mine), E("load", 70, 5, mine),
    )  # fmt: skip
    assert [(e.name, e.step) for e in timeline] == [
        ("train 7", 7), ("load", 7), ("note", 7), ("load", 0), ("load", 1),
    ]  # fmt: skip


def operation(run_id: int, start: int, duration: int, *, device: int = 0) -> E:
    stats = {"hlo_op": "dot", "hlo_module": "jit_f", "run_id": run_id, "device_ordinal": device}
    return E("dot", start, duration, stats)


def pool(number: int, start: int) -> E:
    return E("ThreadpoolListener::StartRegion", start, 0, {"_ct": 15, "_c": number})


def given_away(start: int, number: int | None = None) -> list[E]:
    events = [E("PjitFunction(f)", start, 10)]
    if number is not None:
        events.append(E("ThreadpoolListener::Record", start + 5, 0, {"_pt": 15, "_p": number}))
    return events


def test_a_run_lasts_from_its_first_operation_to_its_last_and_follows_the_order_of_dispatch():
    timeline = host(
        *given_away(0), *given_away(20), *given_away(40),
        tf_XLAPjRtCpuClient__1=[operation(3, 15, 30), operation(5, 70, 5)],
        tf_XLAEigen__2=[operation(3, 40, 10), operation(4, 55, 10)],
    )  # fmt: skip
    runs = timeline.select(lane="cpu:0")
    assert [(e.start_ns, e.end_ns, e.name) for e in runs] == [
        (15, 50, "f"), (55, 65, "f"), (70, 75, "f"),
    ]  # fmt: skip
    assert [e.flow for e in runs] == [0, 1, 2]


def test_the_thread_pool_tells_which_device_a_dispatch_went_to():
    timeline = host(
        *given_away(0, 1), *given_away(20), *given_away(40, 2), *given_away(60),
        tf_XLAPjRtCpuClient__1=[pool(1, 9), operation(1, 10, 80), operation(2, 90, 10)],
        tf_XLAPjRtCpuClient__2=[
            pool(2, 49), operation(8, 50, 40, device=1), operation(9, 95, 10, device=1),
        ],
    )  # fmt: skip
    assert [e.flow for e in timeline.select(lane="cpu:0")] == [0, 1]
    assert [e.flow for e in timeline.select(lane="cpu:1")] == [2, 3]


def test_two_python_threads_are_two_lanes_and_their_simultaneous_dispatches_stay_without_arrow():
    planes = {
        "/host:CPU": [
            ("python", [E("PjitFunction(f)", 0, 10), E("PjitFunction(g)", 60, 10)]),
            ("python", [E("PjitFunction(f)", 5, 10)]),
            ("tf_XLAPjRtCpuClient/1", [operation(1, 20, 10), operation(2, 30, 10)]),
        ]
    }
    timeline = timeline_from(parsed(planes))
    assert timeline.lane_names == ("Python", "Python 2", "cpu:0", "XLA client 1")
    assert [e.flow for e in timeline.select(lane="cpu:0")] == [-1, -1]


def test_what_the_profile_does_not_tell_gets_no_arrow_and_a_note():
    timeline = host(
        *given_away(0, 1), *given_away(20, 2), *given_away(40), *given_away(60),
        tf_XLAPjRtCpuClient__1=[pool(1, 9), operation(1, 10, 80), operation(2, 90, 10)],
        tf_XLAPjRtCpuClient__2=[
            pool(2, 29), operation(8, 30, 40, device=1), operation(9, 95, 10, device=1),
        ],
    )  # fmt: skip
    assert [e.flow for e in timeline.select(lane="cpu:0")] == [0, -1]
    assert [e.flow for e in timeline.select(lane="cpu:1")] == [1, -1]
    assert timeline.notes[0].startswith("2 runs without an arrow")


def test_an_operation_in_the_python_thread_is_a_run_there():
    run = {"run_id": 5, "device_ordinal": 0}
    timeline = host(
        E("PjitFunction(f)", 0, 100),
        operation(5, 20, 10),
        E("ThunkExecutor::Execute (wait for completion)", 30, 1, run),
    )
    assert [(e.lane, e.name, e.category, e.flow, e.depth) for e in timeline] == [
        ("Python", "f", "dispatch", 0, 0),
        ("Python", "f", "run", 0, 1),
    ]


def fitting(fixed: list[list[int]]) -> list[dict[int, tuple[int, int]]]:
    """Return all ways to merge two queues that put the items with a known place there."""
    places = range(len(fixed[0]) + len(fixed[1]))
    found = []
    for chosen in combinations(places, len(fixed[0])):
        rest = [place for place in places if place not in chosen]
        pairs = [(0, *item) for item in enumerate(chosen)] + [
            (1, *item) for item in enumerate(rest)
        ]
        if all(fixed[queue][k] in (-1, place) for queue, k, place in pairs):
            found.append({place: (queue, k) for queue, k, place in pairs})
    return found


@given(st.lists(st.tuples(st.integers(0, 1), st.booleans()), max_size=10))
def test_runs_are_dealt_to_dispatches_exactly_where_every_order_that_fits_agrees(truth):
    fixed: list[list[int]] = [[], []]
    for place, (queue, known) in enumerate(truth):
        fixed[queue].append(place if known else -1)
    limits = [[len(truth)] * len(queue) for queue in fixed]
    dealt = deal(len(truth), fixed, limits)
    first, *others = fitting(fixed)
    agreed = {p: item for p, item in first.items() if all(o[p] == item for o in others)}
    assert dealt == agreed


def test_an_item_goes_to_no_place_after_its_limit():
    # Three runs on two devices; the second device's first ran before the second dispatch began.
    assert deal(3, [[-1, -1], [-1]], [[2, 2], [0]]) == {0: (1, 0), 1: (0, 0), 2: (0, 1)}


def test_places_without_items_are_the_last_and_contradictions_leave_what_is_known():
    assert deal(4, [[-1, -1]], [[9, 9]]) == {0: (0, 0), 1: (0, 1)}
    assert deal(1, [[-1, -1]], [[9, 9]]) == {0: (0, 0)}
    assert deal(3, [[1, 0], [-1]], [[9, 9], [9]]) == {1: (0, 0), 0: (0, 1)}
    assert deal(0, [], []) == {}


# --- there and back --------------------------------------------------------------------------------

LANES = ("Python", "gpu:0 stream 3", "gpu:1 stream 3", "gpu:1 stream 14")
events = st.tuples(
    st.integers(0, 10**13), st.integers(0, 10**12), st.sampled_from(LANES),
    st.text("abcxyz äß0", min_size=1, max_size=8).filter(str.strip),
)  # fmt: skip


@given(st.lists(events, min_size=1, max_size=30))
def test_lanes_names_and_times_come_back_as_they_were_written(drawn):
    lines = {lane: [E(n, s, d) for s, d, home, n in drawn if home == lane] for lane in LANES}
    planes = {
        "/host:CPU": [("python", lines["Python"])],
        "/device:GPU:0": [("Stream #3(Compute)", lines[LANES[1]])],
        "/device:GPU:1": [("Stream #14", lines[LANES[3]]), ("Stream #3", lines[LANES[2]])],
    }
    timeline = timeline_from(parsed(planes))
    first = min(start for start, *_ in drawn)
    assert Counter((e.start_ns, e.duration_ns, e.lane, e.name) for e in timeline) == Counter(
        (start - first, duration, lane, name) for start, duration, lane, name in drawn
    )
    assert all(isinstance(e, Event) and e.flow == -1 for e in timeline)
