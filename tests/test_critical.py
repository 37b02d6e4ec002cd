"""The critical path: without gaps, made of true constraints, the same in every view."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from timelines import LANES, edges, events, timeline

from d2lperf.events import Lane
from d2lperf.timeline import Timeline
from d2lperf.timeline.critical import NOTICE, UNKNOWN, CriticalPath, critical_path
from d2lperf.virtual import Machine, pipeline
from d2lperf.virtual.link import Link


def parts(path: CriticalPath) -> list[tuple]:
    return [(s.start_ns, s.end_ns, s.name, s.category) for s in path.segments]


def is_gapless(made: Timeline, path: CriticalPath) -> bool:
    edges = [path.segments[0].start_ns, *(s.end_ns for s in path.segments)]
    starts = [s.start_ns for s in path.segments]
    return (
        edges[:-1] == starts
        and (edges[0], edges[-1]) == (made.first_ns, made.last_ns)
        and all(s.duration_ns > 0 for s in path.segments)
        and path.length_ns == made.last_ns - made.first_ns
        and [*path.events] == sorted(set(path.events))
    )


@given(events, edges)
def test_a_path_has_no_gaps_whatever_was_recorded(rows, needs):
    made = timeline(rows, needs=needs)
    path = critical_path(made)
    if made.first_ns == made.last_ns:
        assert path.segments == ()
        return
    assert is_gapless(made, path)
    for segment in path.segments:
        if segment.event < 0:
            assert (segment.name, segment.category, segment.lane) == (UNKNOWN, UNKNOWN, "")
        elif segment.category != NOTICE:
            event = made.event(segment.event)
            assert event.start_ns <= segment.start_ns < segment.end_ns <= event.end_ns
            assert (event.name, event.lane) == (segment.name, segment.lane)
    assert sum(path.category_shares.values()) == pytest.approx(1)
    assert sum(path.lane_shares.values()) == pytest.approx(1)


micros = st.integers(1, 30)
depths = st.one_of(st.none(), st.integers(1, 6))


def seconds(micros: int) -> float:
    return micros * 1e-6


@given(st.integers(1, 25), micros, micros, st.integers(0, 30), depths, st.integers(0, 4))
def test_in_the_virtual_world_only_the_notice_is_not_an_event(n, t1, t2, t3, depth, every):
    made = pipeline(n, *map(seconds, (t1, t2, t3)), depth=depth, barrier_every=every).timeline()
    path = critical_path(made)
    assert is_gapless(made, path)
    for segment in path.segments:
        assert segment.category in ("dispatch", "run", NOTICE)
        assert (
            segment.duration_ns == 1000 * {"dispatch": t1, "run": t2, NOTICE: t3}[segment.category]
        )


@given(st.integers(1, 25), micros, micros, st.integers(0, 30), depths, st.tuples(micros, micros))
def test_no_change_of_t1_and_t2_makes_the_pipeline_faster_than_its_path(n, t1, t2, t3, depth, new):
    path = critical_path(pipeline(n, *map(seconds, (t1, t2, t3)), depth=depth).timeline())
    counts = dict.fromkeys(("dispatch", "run", NOTICE), 0)
    for segment in path.segments:
        counts[segment.category] += 1
    again = pipeline(n, *map(seconds, (*new, t3)), depth=depth)
    least = counts["dispatch"] * new[0] + counts["run"] * new[1]
    least += path.category_shares.get(NOTICE, 0) * path.length_ns / 1000
    assert again.now_ns >= round(1000 * least)


def test_a_fast_host_leaves_the_path_to_the_device_and_a_slow_one_takes_it():
    path = critical_path(pipeline(10, 1e-6, 30e-6, 2e-6).timeline())
    assert path.summary() == (
        "Of 303 µs, 300 µs are run on device:0, 2.00 µs are notice on host, 1.00 µs are dispatch on host."
    )
    path = critical_path(pipeline(10, 30e-6, 1e-6).timeline())
    assert path.lane_shares == {"host": 300 / 301, "device:0": 1 / 301}


steps = st.one_of(
    st.tuples(st.just("op"), st.integers(0, 1), st.integers(0, 9), micros),
    st.tuples(st.just("put"), st.integers(0, 1), st.integers(0, 9), micros),
    st.tuples(st.just("host"), st.just(0), st.just(0), micros),
    st.tuples(st.just("wait"), st.just(0), st.integers(0, 9), micros),
    st.tuples(st.just("fetch"), st.just(0), st.integers(0, 9), micros),
)
Change = Callable[[str, int, int], int]


def run(program: Sequence[tuple], depth: int | None, change: Change) -> Machine:
    """Run a random program in which the k-th piece of work of a kind takes what `change` makes of it."""
    calls: dict[str, int] = {}

    def perturb(kind: str, duration_ns: int) -> int:
        calls[kind] = calls.get(kind, -1) + 1
        return change(kind, calls[kind], duration_ns)

    links = [
        Link("bus", ("host", "device:0"), 1e9, duplex="half"),
        Link("wire", ("device:0", "device:1"), 5e8),
    ]
    machine = Machine(2, dispatch_s=3e-6, depth=depth, perturb=perturb, links=links)
    made = []
    for what, where, which, micros in program:
        device = machine.devices[where]
        known = made[which % len(made)] if made else None
        if what == "op":
            op = machine.op(
                lambda *x: np.zeros(1000), cost_s=micros * 1e-6, name="op", device=device
            )
            made.append(op(*([known] if known is not None and known.device == device else [])))
        elif what == "host":
            machine.host_work(micros * 1e-6)
        elif known is not None and what == "put":
            made.append(machine.device_put(known, device))
        elif known is not None and what == "wait":
            known.block_until_ready()
        elif known is not None:
            np.asarray(known)
    machine.wait_all()
    return machine


def number_within_kind(made: Timeline, number: int) -> tuple[str, int]:
    """Return the category of an event and which one of these it was, in the order of issue."""
    category = made.event(number).category
    issued = made.matches(category=category)
    issued = issued[np.argsort(made.flow[issued], kind="stable")]
    return category, [*issued].index(number)


def changed(wanted: tuple[str, int], by_ns: int) -> Change:
    return lambda kind, call, duration_ns: duration_ns + by_ns * ((kind, call) == wanted)


@given(st.lists(steps, max_size=10), depths, st.data())
def test_an_event_of_the_path_decides_and_one_beside_it_gains_nothing(program, depth, data):
    program = [("op", 0, 0, 5), *program]
    machine = run(program, depth, lambda kind, call, duration_ns: duration_ns)
    made = machine.timeline()
    path = critical_path(made)
    assert is_gapless(made, path)
    assert UNKNOWN not in path.category_shares and NOTICE not in path.category_shares
    real = [i for i in range(len(made)) if made.event(i).category != "wait"]
    chosen = data.draw(st.sampled_from(real))
    kind = number_within_kind(made, chosen)
    if chosen in path.events:
        later = run(program, depth, changed(kind, 700))
        assert later.now_ns == machine.now_ns + 700
    else:
        sooner = run(program, depth, changed(kind, -int(made.duration_ns[chosen])))
        assert sooner.now_ns == machine.now_ns


def test_a_wait_leads_to_what_it_was_for_and_not_to_what_ended_last():
    made = timeline(
        [
            ("a", 0, 10, "host", "dispatch", 0),
            ("b", 10, 20, "host", "dispatch", 1),
            ("a", 10, 60, "device:0", "run", 0),
            ("b", 20, 61, "device:1", "run", 1),
            ("float()", 20, 65, "host", "wait", 0),
        ]
    )
    assert parts(critical_path(made)) == [
        (0, 10, "a", "dispatch"),
        (10, 60, "a", "run"),
        (60, 65, "float()", NOTICE),
    ]


def test_a_wait_that_does_not_say_for_what_leads_to_what_ended_last():
    made = timeline(
        [
            ("a", 0, 10, "host", "dispatch", 0),
            ("a", 10, 60, "device:0", "run", 0),
            ("b", 15, 62, "device:1", "run", -1),
            ("late", 15, 90, "device:1", "run", -1),
            ("wait", 20, 65, "host", "wait", -1),
            ("work", 65, 100, "host", "host", -1),
        ]
    )
    assert parts(critical_path(made)) == [
        (0, 15, UNKNOWN, UNKNOWN),
        (15, 62, "b", "run"),
        (62, 65, "wait", NOTICE),
        (65, 100, "work", "host"),
    ]


def test_a_wait_for_what_was_long_finished_is_time_of_the_host():
    made = timeline(
        [
            ("a", 0, 10, "host", "dispatch", 0),
            ("a", 10, 20, "device:0", "run", 0),
            ("wait", 10, 22, "host", "wait", 0),
            ("work", 22, 80, "host", "host", -1),
            ("again", 80, 85, "host", "wait", 0),
        ]
    )
    assert parts(critical_path(made))[-2:] == [(22, 80, "work", "host"), (80, 85, "again", "wait")]


def test_a_wait_that_began_after_the_end_but_before_the_notice_is_still_a_notice():
    made = timeline(
        [
            ("a", 0, 10, "host", "dispatch", 0),
            ("a", 10, 20, "device:0", "run", 0),
            ("wait", 10, 30, "host", "wait", 0),
            ("b", 30, 40, "host", "dispatch", 1),
            ("b", 40, 50, "device:0", "run", 1),
            ("work", 40, 55, "host", "host", -1),
            ("wait", 55, 60, "host", "wait", 1),
        ]
    )
    assert parts(critical_path(made))[-3:] == [
        (30, 40, "b", "dispatch"),
        (40, 50, "b", "run"),
        (50, 60, "wait", NOTICE),
    ]


def test_of_causes_at_the_same_time_an_argument_goes_before_the_lane_and_the_lane_before_the_dispatch():
    rows = [
        ("c", 0, 10, "host", "dispatch", 3),
        ("a", 0, 10, "device:0", "run", 1),
        ("b", 0, 10, "device:1", "run", 2),
        ("c", 10, 20, "device:0", "run", 3),
    ]
    assert parts(critical_path(timeline(rows, needs=[(2, 3)])))[0] == (0, 10, "b", "run")
    assert parts(critical_path(timeline(rows)))[0] == (0, 10, "a", "run")
    assert parts(critical_path(timeline([*rows[:1], *rows[2:]])))[0] == (0, 10, "c", "dispatch")


def test_time_between_a_cause_and_its_effect_is_shown_as_not_recorded():
    made = timeline(
        [
            ("a", 5, 10, "host", "dispatch", 0),
            ("a", 14, 60, "device:0", "run", 0),
            ("copy", 64, 70, "link", "copy", 1),
        ],
        needs=[(0, 1)],
    )
    path = critical_path(made)
    assert [(s.start_ns, s.end_ns, s.event) for s in path.segments] == [
        *((5, 10, 0), (10, 14, -1), (14, 60, 1), (60, 64, -1), (64, 70, 2)),
    ]
    assert path.summary() == (
        "Of 65.0 ns, 46.0 ns are run on device:0, 8.00 ns are gaps with nothing recorded, "
        "6.00 ns are copy on link, 5.00 ns are dispatch on host."
    )


def test_a_copy_over_two_links_is_one_chain():
    lanes = [*LANES, Lane("link 2", "link")]
    rows = [
        ("copy", 0, 5, "host", "dispatch", 0),
        ("copy", 5, 20, "link", "copy", 0),
        ("copy", 20, 40, "link 2", "copy", 0),
        ("use", 40, 50, "device:1", "run", 1),
    ]
    path = critical_path(timeline(rows, needs=[(0, 1)], lanes=lanes))
    assert [s.lane for s in path.segments] == ["host", "link", "link 2", "device:1"]


def test_work_that_begins_before_its_dispatch_returns_is_caused_by_it_all_the_same():
    rows = [("a", 0, 30, "host", "dispatch", 0), ("a", 20, 90, "device:0", "run", 0)]
    assert parts(critical_path(timeline(rows))) == [(0, 20, "a", "dispatch"), (20, 90, "a", "run")]


def test_the_innermost_event_counts_and_details_of_the_runtime_do_not():
    rows = [
        ("step", 0, 100, "host", "host", -1),
        ("load", 10, 40, "host", "host", -1),
        ("f", 40, 60, "host", "dispatch", 0),
        ("Execute", 45, 59, "host", "runtime", -1),
        ("f", 60, 90, "device:0", "run", 0),
        ("wait", 70, 92, "host", "wait", 0),
    ]
    path = critical_path(timeline(rows))
    assert parts(path) == [
        (0, 10, "step", "host"),
        (10, 40, "load", "host"),
        (40, 60, "f", "dispatch"),
        (60, 90, "f", "run"),
        (90, 92, "wait", NOTICE),
        (92, 100, "step", "host"),
    ]
    assert path.events == (0, 1, 2, 4, 5)


def test_a_host_does_one_thing_at_a_time_where_rounding_lets_events_overlap():
    rows = [("a", 0, 51, "host", "host", -1), ("b", 50, 80, "host", "host", -1)]
    assert parts(critical_path(timeline(rows))) == [(0, 50, "a", "host"), (50, 80, "b", "host")]


def test_operations_side_by_side_on_a_device_are_not_each_others_cause():
    rows = [
        ("b", 0, 30, "host", "dispatch", 1),
        ("a", 10, 51, "device:0", "run", 0),
        ("b", 30, 80, "device:0", "run", 1),
    ]
    assert parts(critical_path(timeline(rows))) == [(0, 30, "b", "dispatch"), (30, 80, "b", "run")]


def test_events_without_duration_are_links_of_the_chain():
    machine = pipeline(4, 0.0, 5e-6, barrier_every=1)
    path = critical_path(machine.timeline())
    assert {s.category for s in path.segments} == {"run"}
    assert len(path.segments) == 4
    categories = [machine.timeline().event(i).category for i in path.events]
    assert categories == ["dispatch", "run", "run", "run", "run", "wait"]


def test_an_empty_timeline_has_an_empty_path():
    for rows in ([], [("mark", 5, 5, "host", "host", -1)]):
        path = critical_path(timeline(rows))
        assert path.segments == ()
        assert path.length_ns == 0
        assert path.category_shares == path.lane_shares == {}
        assert "nothing that lasts is recorded" in str(path)
        assert "<table>" in path._repr_html_()


def test_the_table_puts_what_follows_one_another_into_a_row():
    path = pipeline(50, 2e-6, 30e-6, depth=None).timeline().critical_path()
    assert [row[:3] for row in path.table().rows] == [
        ("y = x + 1", "dispatch", "host"),
        ("y = x + 1 … y = x + 1 (50 events)", "run", "device:0"),
    ]
    assert path.table().rows[1][3:] == ("2.00 µs", "1.50 ms", "100%")


def test_gaps_between_events_of_a_row_are_added_up_in_it():
    rows = [(f"k{i}", 10 * i, 10 * i + 8, "device:0", "run", i) for i in range(5)]
    (row,) = critical_path(timeline(rows)).table().rows
    assert row == (
        "k0 … k4 (5 events, 8.00 ns between them)",
        "run",
        "device:0",
        "0 s",
        "48.0 ns",
        "100%",
    )


def test_a_long_path_says_how_many_rows_are_left_out():
    path = critical_path(pipeline(30, 3e-6, 5e-6, barrier_every=1).timeline())
    assert len(path.table().rows) == 40
    assert "20 rows of 60 are left out at the end." in str(path)
    assert len(path.table(rows=100).rows) == 60


def test_many_parts_are_summed_up_as_others():
    lanes = [Lane(f"device:{i}", "device") for i in range(7)]
    rows = [(f"k{i}", i, i + 1, f"device:{i}", "run", i) for i in range(7)]
    path = critical_path(timeline(rows, needs=[(i, i + 1) for i in range(6)], lanes=lanes))
    assert path.summary().endswith("are run on device:3, 3.00 ns are others.")
