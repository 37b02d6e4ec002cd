"""Why a lane is idle: sentences that are true, and no more than the recording tells."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timelines import LANES, edges, events, timeline

from d2lperf.events import Lane
from d2lperf.timeline.idle import why_idle
from d2lperf.timeline.moments import moment
from d2lperf.virtual import Machine

BARRIER = [
    ("step 2", 0, 100, "host", "dispatch", 2),
    ("step 2", 100, 1200, "device:0", "run", 2),
    ("block_until_ready", 100, 1400, "host", "wait", 2),
    ("step 3", 1400, 1600, "host", "dispatch", 3),
    ("step 3", 1600, 2000, "device:0", "run", 3),
]
LOADING = [
    ("step 3", 0, 100, "host", "dispatch", 3),
    ("load 4", 100, 700, "host", "host", -1),
    ("step 3", 100, 400, "device:0", "run", 3),
    ("step 4", 700, 720, "host", "dispatch", 4),
    ("step 4", 720, 900, "device:0", "run", 4),
]


def test_a_device_that_works_is_not_idle():
    made = timeline(BARRIER)
    assert why_idle(made, "device:0", 600) == "device:0 is not idle at 600 ns: it runs step 2."
    assert why_idle(made, "host", 1500) == "host is not idle at 1.50 µs: it dispatches step 3."


@pytest.mark.parametrize(
    ("category", "does"),
    [
        ("host", "works (x)"),
        ("compile", "compiles (x)"),
        ("copy", "copies (x)"),
        ("collective", "exchanges data (x)"),
        ("runtime", "works for the runtime (x)"),
    ],
)
def test_each_kind_of_work_has_its_verb(category, does):
    made = timeline([("x", 0, 9, "link", category, -1)])
    assert why_idle(made, "link", 5) == f"link is not idle at 5 ns: it {does}."


def test_of_nested_events_the_innermost_says_what_a_lane_does():
    made = timeline([("step", 0, 9, "host", "host", -1), ("f", 2, 5, "host", "dispatch", 0)])
    assert "it dispatches f." in why_idle(made, "host", 3)
    assert "it works (step)." in why_idle(made, "host", 5)


def test_a_device_is_idle_behind_a_barrier_of_the_host():
    assert why_idle(timeline(BARRIER), "device:0", 1300) == (
        "device:0 is idle from 1.20 µs to 1.60 µs: the host waited (block_until_ready) for step 2 until 1.40 µs "
        "and dispatched step 3 only then. Without that barrier the two could overlap."
    )


def test_what_the_host_did_between_barrier_and_dispatch_is_told_as_well():
    rows = [*BARRIER[:3], ("load 3", 1400, 1500, "host", "host", -1)]
    rows += [("step 3", 1500, 1600, "host", "dispatch", 3), BARRIER[4]]
    assert (
        "until 1.40 µs, then needed 100 ns for load 3 and dispatched step 3 only then."
        in why_idle(timeline(rows), "device:0", 1300)
    )


def test_a_barrier_that_does_not_say_for_what_is_named_without_a_guess():
    rows = [row if row[4] != "wait" else (*row[:5], -1) for row in BARRIER]
    text = why_idle(timeline(rows), "device:0", 1300)
    assert "the host waited (block_until_ready) until 1.40 µs" in text


def test_a_full_queue_is_no_barrier():
    rows = [row if row[4] != "wait" else ("queue full", *row[1:]) for row in BARRIER]
    text = why_idle(timeline(rows), "device:0", 1300)
    assert text.endswith("With a deeper queue it could have done so earlier.")


def test_a_wait_that_was_over_before_the_device_ran_dry_is_not_the_reason():
    rows = [("old", 0, 50, "host", "wait", 9), *(LOADING[i] for i in range(1, 5))]
    text = why_idle(timeline(rows), "device:0", 500)
    assert "load 4" in text and "wait" not in text


def test_a_host_that_loads_is_the_bottleneck():
    assert why_idle(timeline(LOADING), "device:0") == (
        "device:0 is idle from 400 ns to 720 ns: the host spent 300 ns of that on load 4 and had dispatched "
        "step 4 only at 720 ns: the host is the bottleneck."
    )


def test_a_host_that_dispatches_slowly_is_the_bottleneck():
    rows = [row for row in LOADING if row[0] != "load 4"]
    rows[1:1] = [("step 4", 100, 720, "host", "dispatch", 4)]
    del rows[3]
    assert why_idle(timeline(rows), "device:0", 500) == (
        "device:0 is idle from 400 ns to 720 ns: the host was still dispatching and had handed over step 4 only "
        "at 720 ns: the host is the bottleneck."
    )


def test_before_the_first_operation_nobody_is_a_bottleneck():
    assert why_idle(timeline(LOADING), "device:0", 0) == (
        "device:0 is idle from 0 s to 100 ns: the host was still dispatching and had handed over step 3 only "
        "at 100 ns."
    )


def test_a_host_that_compiles_is_said_to_compile():
    rows = [LOADING[0], ("compile g", 100, 700, "host", "compile", -1), *LOADING[2:]]
    assert why_idle(timeline(rows), "device:0") == (
        "device:0 is idle from 400 ns to 720 ns: the host spent 300 ns of that on compiling (compile g) and "
        "dispatched step 4 only after that."
    )


def test_several_things_that_the_host_did_are_counted_and_the_longest_is_named():
    rows = [LOADING[0], *LOADING[2:], ("read", 100, 450, "host", "host", -1)]
    rows += [("crop", 450, 600, "host", "host", -1), ("flip", 600, 700, "host", "host", -1)]
    assert "on crop and 2 more" in why_idle(timeline(rows), "device:0", 500)


def test_a_host_of_which_nothing_is_recorded_is_not_accused():
    rows = [LOADING[0], *LOADING[2:]]
    assert why_idle(timeline(rows), "device:0", 500) == (
        "device:0 is idle from 400 ns to 720 ns: the host had not dispatched step 4 before 720 ns; what kept it, "
        "the recording does not tell."
    )


def test_a_dispatch_that_waits_inside_is_told_as_a_wait():
    rows = [*LOADING[:1], LOADING[2], ("step 4", 100, 720, "host", "dispatch", 4), LOADING[4]]
    rows.append(("throttle", 120, 700, "host", "wait", -1))
    assert "the host spent 300 ns of that on waiting (throttle)" in why_idle(
        timeline(rows), "device:0", 500
    )


def test_an_operation_that_begins_long_after_its_dispatch_has_that_told_too():
    rows = [*LOADING[:4], ("step 4", 760, 900, "device:0", "run", 4)]
    assert why_idle(timeline(rows), "device:0", 500).endswith(
        "the host is the bottleneck. step 4 began 40.0 ns after that."
    )


def test_a_dispatch_early_in_a_gap_is_not_given_as_the_reason_for_the_rest_of_it():
    rows = [*LOADING[:3], ("step 4", 430, 450, "host", "dispatch", 4), LOADING[4]]
    assert why_idle(timeline(rows), "device:0", 500) == (
        "device:0 is idle from 400 ns to 720 ns, though step 4 was dispatched at 450 ns: why step 4 began only "
        "at 720 ns, the recording does not tell."
    )


NEEDS = [
    ("a", 0, 10, "host", "dispatch", 0),
    ("b", 10, 20, "host", "dispatch", 1),
    ("a", 10, 300, "device:1", "run", 0),
    ("b", 300, 400, "device:0", "run", 1),
]


def test_a_device_waits_for_a_result_of_another_device():
    assert why_idle(timeline(NEEDS, needs=[(0, 1)]), "device:0") == (
        "device:0 is idle from 0 s to 300 ns: b needs the result of a, which device:1 ran until 300 ns."
    )


@pytest.mark.parametrize(("category", "how"), [("copy", "copying"), ("collective", "exchanging")])
def test_a_device_waits_for_an_argument_on_its_way(category, how):
    rows = [*NEEDS[:2], ("copy of a", 10, 290, "link", category, 0), NEEDS[3]]
    assert why_idle(timeline(rows, needs=[(0, 1)]), "device:0") == (
        f"device:0 is idle from 0 s to 300 ns: link was still {how} what b needs (copy of a), until 290 ns. "
        "b began 10.0 ns after that."
    )


def test_a_link_waits_for_the_result_that_it_is_to_copy():
    rows = [*NEEDS[:3], ("copy of a", 300, 400, "link", "copy", 1)]
    assert why_idle(timeline(rows, needs=[(0, 1)]), "link") == (
        "link is idle from 0 s to 300 ns: copy of a needs the result of a, which device:1 ran until 300 ns."
    )


def test_an_operation_that_was_ready_and_did_not_begin_stays_a_riddle():
    rows = [*NEEDS, ("c", 20, 30, "host", "dispatch", 2), ("c", 450, 500, "device:0", "run", 2)]
    assert why_idle(timeline(rows), "device:0", 420) == (
        "device:0 is idle from 400 ns to 450 ns, though c was already dispatched: why c began only at 450 ns, the "
        "recording does not tell."
    )
    rows = [*NEEDS, ("c", 450, 500, "device:0", "run", 2)]
    assert "though what c needs was there" in why_idle(
        timeline(rows, needs=[(0, 2)]), "device:0", 420
    )


def test_without_flow_numbers_only_what_went_on_meanwhile_is_told():
    rows = [(*row[:5], -1) for row in LOADING]
    assert why_idle(timeline(rows), "device:0", 500) == (
        "device:0 is idle from 400 ns to 720 ns, until step 4 began: the recording does not tell when that was "
        "dispatched, and so not why only then. Meanwhile the host spent 300 ns on load 4."
    )
    alone = why_idle(timeline([rows[2], rows[4]]), "device:0", 500)
    assert alone.endswith("and so not why only then.")


def test_a_device_after_its_last_operation_and_one_without_any():
    made = timeline([*BARRIER, ("save", 2000, 3000, "host", "host", -1)])
    assert why_idle(made, "device:0", 2500) == (
        "device:0 is idle from 2.00 µs to 3.00 µs: its last work, step 3, is done, and nothing more is recorded on it."
    )
    assert why_idle(made, "device:1") == (
        "device:1 is idle from 0 s to 3.00 µs: no work is recorded on it."
    )


def test_a_host_that_waits_says_for_whom_and_what_that_was_doing():
    assert why_idle(timeline(BARRIER), "host") == (
        "host is idle from 100 ns to 1.40 µs: it waits (block_until_ready) for step 2, which device:0 ran "
        "from 100 ns to 1.20 µs."
    )
    rows = [*BARRIER[:1], ("step 1", 0, 500, "device:0", "run", 1)]
    rows += [("step 2", 500, 1400, "device:0", "run", 2), *BARRIER[2:]]
    assert why_idle(timeline(rows), "host").endswith(
        "for step 2, which device:0 ran from 500 ns to 1.40 µs, after 400 ns of other work."
    )


def test_a_host_that_waits_for_something_unknown_hears_what_ended_last():
    rows = [row if row[4] != "wait" else (*row[:5], -1) for row in BARRIER]
    assert why_idle(timeline(rows), "host") == (
        "host is idle from 100 ns to 1.40 µs: it waits (block_until_ready); the recording does not tell for what. "
        "The last work that ended by then was step 2 on device:0, at 1.20 µs."
    )
    assert why_idle(timeline([("sleep", 0, 10, "host", "wait", -1)]), "host") == (
        "host is idle from 0 s to 10 ns: it waits (sleep); the recording does not tell for what."
    )


def test_a_wait_whose_work_is_not_recorded_is_named_after_its_dispatch():
    rows = [BARRIER[0], BARRIER[2]]
    assert why_idle(timeline(rows), "host").endswith(
        "it waits (block_until_ready) for step 2; the recording does not tell what ended it."
    )
    assert "for an operation;" in why_idle(timeline(rows[1:]), "host")


def test_a_host_of_which_nothing_is_recorded_may_have_done_anything():
    unknown = "what it did then, the recording does not tell."
    made = timeline(
        [
            ("k", 0, 99, "device:0", "run", -1),
            ("a", 10, 20, "host", "host", -1),
            ("b", 60, 70, "host", "host", -1),
        ]
    )
    assert why_idle(made, "host", 5) == (
        f"host is idle from 0 s to 10 ns, before its first event; {unknown}"
    )
    assert why_idle(made, "host", 40) == f"host is idle from 20 ns to 60 ns; {unknown}"
    assert why_idle(made, "host", 80) == (
        f"host is idle from 70 ns to 99 ns, after its last event; {unknown}"
    )
    empty = timeline([("k", 0, 99, "device:0", "run", -1)])
    assert "nothing that lasts is recorded on it" in why_idle(empty, "host")


def test_by_default_the_longest_gap_is_explained():
    made = timeline(BARRIER)
    assert made.why_idle("device:0") == why_idle(made, "device:0", 1400)
    assert made.why_idle("device:0", 0.6e-6) == why_idle(made, "device:0", 600)


def test_a_lane_that_never_rests_and_a_timeline_without_time():
    assert why_idle(timeline([("k", 0, 99, "device:0", "run", -1)]), "device:0") == (
        "device:0 is never idle: it is busy all the time."
    )
    assert why_idle(timeline([]), "host") == "Nothing that lasts is recorded."


def test_the_last_moment_belongs_to_the_event_that_ends_there():
    assert "it runs step 3" in why_idle(timeline(BARRIER), "device:0", 2000)


def test_other_lanes_and_moments_are_refused():
    made = timeline(BARRIER)
    with pytest.raises(ValueError, match="no lane 'gpu'"):
        why_idle(made, "gpu")
    for outside in (-1, 2001):
        with pytest.raises(ValueError, match=r"outside of the timeline: give a moment from 0 s to"):
            why_idle(made, "device:0", outside)


def test_a_program_on_the_virtual_machine_gets_the_right_reason():
    machine = Machine(2, dispatch_s=10e-6, notify_s=5e-6)
    step = machine.op(lambda *x: 0.0, cost_s=100e-6, name="step", numbered=True)
    step().block_until_ready()
    machine.host_work(200e-6, name="load")
    step()
    step(device=machine.devices[1])
    machine.wait_all()
    made = machine.timeline()
    text = why_idle(made, "device:0")
    assert "the host waited (block_until_ready) for step 0 until 115 µs" in text
    assert "then needed 200 µs for load and dispatched step 1 only then" in text
    # Nothing held the host back but its own work in the first 10 µs of the second device's gap.
    assert "waited (block_until_ready) for step 0" in why_idle(made, "device:1")


@given(events, edges, st.integers(0, 32))
def test_every_moment_of_anything_has_a_sentence(rows, needs, at):
    made = timeline(rows, needs=needs)
    for lane in LANES:
        if made.first_ns <= at <= made.last_ns:
            text = why_idle(made, lane.name, at)
            assert text.endswith(".")
            assert "nan" not in text
            idle = f"{lane.name} is idle from" in text
            working = f"{lane.name} is not idle at" in text
            assert idle + working == (made.first_ns < made.last_ns)
        assert why_idle(made, lane.name).endswith(".")


@given(events, st.integers(0, 32))
def test_what_is_said_of_busy_and_idle_agrees_with_the_intervals(rows, at):
    made = timeline(rows)
    if not made.first_ns <= at < made.last_ns:
        return
    for lane in LANES:
        own = [row for row in rows if row[3] == lane.name and row[1] <= at < row[2]]
        busy = bool(own) and all(row[4] != "wait" for row in own)
        assert ("is not idle" in why_idle(made, lane.name, at)) == busy


@given(st.integers(-(10**12), 10**12), st.integers(1, 10**6))
def test_a_moment_is_written_so_that_its_neighbours_are_not(time, resolution):
    text = moment(time, resolution)
    value, unit = text.split()
    scale = {"s": 10**9, "ms": 10**6, "µs": 10**3, "ns": 1}[unit]
    assert abs(float(value) * scale - time) <= resolution / 2 + 1e-3 * scale
    assert moment(time + resolution, resolution) != text
    assert len(re.sub(r"\D", "", value)) >= 1


@pytest.mark.parametrize(
    ("time", "resolution", "text"),
    [
        (0, 1, "0 s"),
        (1_200_000, 40_000, "1.20 ms"),
        (12_345_678_000, 1000, "12.345678 s"),
        (400, 1, "400 ns"),
        (-1500, 100, "-1.50 µs"),
        (90_000_000_000, 10**9, "90.0 s"),
    ],
)
def test_moments_as_they_are_read(time, resolution, text):
    assert moment(time, resolution) == text


def test_lanes_that_are_neither_host_nor_device_get_sentences_too():
    lanes = [*LANES, Lane("pool/1", "thread")]
    made = timeline([("op", 5, 9, "pool/1", "runtime", -1), *BARRIER], lanes=lanes)
    assert "the recording does not tell" in why_idle(made, "pool/1", 2)
