"""What lanes did with their time, against painting it nanosecond by nanosecond."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.events import CATEGORIES, Lane
from d2lperf.timeline import Timeline, analyse
from d2lperf.timeline.intervals import clipped, difference, intersection, length_ns, union
from d2lperf.virtual import pipeline

END = 40
LANES = (Lane("host"), Lane("device:0", "device"), Lane("link", "link"))

intervals = st.lists(
    st.tuples(st.integers(-5, END), st.integers(0, 12)).map(lambda pair: (pair[0], sum(pair)))
)
events = st.lists(
    st.tuples(
        st.integers(0, END - 12),
        st.integers(0, 12),
        st.sampled_from([lane.name for lane in LANES]),
        st.sampled_from(["dispatch", "run", "wait", "host", "copy"]),
        st.integers(-1, 4),
    ),
    max_size=12,
)


def timeline(
    rows: Sequence[tuple], *, lanes: Sequence[Lane] = LANES, names: Sequence[str] = ("event",)
) -> Timeline:
    """Make a timeline of (start, duration, lane, category, flow)."""
    numbers = {lane.name: i for i, lane in enumerate(lanes)}
    columns = {
        "start_ns": [row[0] for row in rows],
        "duration_ns": [row[1] for row in rows],
        "lane": [numbers[row[2]] for row in rows],
        "name": [0 for _ in rows],
        "category": [CATEGORIES.index(row[3]) for row in rows],
        "flow": [row[4] for row in rows],
    }
    return Timeline(columns, lanes=lanes, names=names)


def union_of(pairs: Sequence[tuple[int, int]]) -> np.ndarray:
    starts, ends = np.array([*pairs], np.int64).reshape(-1, 2).T
    return union(starts, ends)


def painted(pairs: Sequence[tuple[int, int]] | np.ndarray) -> set[int]:
    return {ns for start, end in pairs for ns in range(start, end)}


def paint(rows: Sequence[tuple], lane: str, *categories: str) -> set[int]:
    return painted(
        [(s, s + d) for s, d, where, what, _ in rows if where == lane and what in categories]
    )


def busy(rows: Sequence[tuple], lane: str) -> set[int]:
    return paint(rows, lane, "dispatch", "run", "host", "copy") - paint(rows, lane, "wait")


def is_in_order(found: np.ndarray) -> bool:
    return bool(np.all(found[:, 0] < found[:, 1]) and np.all(found[1:, 0] > found[:-1, 1]))


@given(intervals)
def test_a_union_is_disjoint_ascending_and_covers_the_same_moments(pairs):
    found = union_of(pairs)
    assert is_in_order(found)
    assert painted(found) == painted(pairs)
    assert length_ns(found) == len(painted(pairs))


@given(st.lists(intervals, min_size=1, max_size=4))
def test_an_intersection_is_what_lies_in_all(sets):
    found = intersection(*map(union_of, sets))
    assert is_in_order(found)
    assert painted(found) == set.intersection(*map(painted, sets))


@given(intervals, intervals)
def test_a_difference_is_what_lies_in_one_and_not_in_the_other(kept, removed):
    found = difference(union_of(kept), union_of(removed))
    assert is_in_order(found)
    assert painted(found) == painted(kept) - painted(removed)


sides = st.one_of(st.none(), st.integers(-6, END + 6))


@given(intervals, sides, sides)
def test_a_window_cuts_intervals_off(pairs, start, end):
    window = set(range(-9 if start is None else start, END + 20 if end is None else end))
    assert painted(clipped(union_of(pairs), start, end)) == painted(pairs) & window


@given(events, st.sampled_from(LANES))
def test_a_lane_is_busy_when_it_has_an_event_and_does_not_wait(rows, lane):
    found = analyse.busy_intervals(timeline(rows), lane.name)
    assert is_in_order(found)
    assert painted(found) == busy(rows, lane.name)


@given(events, st.sampled_from(LANES))
def test_chosen_categories_are_all_that_counts(rows, lane):
    found = analyse.busy_intervals(timeline(rows), lane.name, categories=["wait", "run"])
    assert painted(found) == paint(rows, lane.name, "wait", "run")


@given(events, st.sampled_from(LANES))
def test_every_moment_of_a_lane_is_busy_or_waiting_or_idle_and_never_two_of_them(rows, lane):
    made = timeline(rows)
    parts = [
        painted(function(made, lane.name))
        for function in (analyse.busy_intervals, analyse.wait_intervals, analyse.idle_intervals)
    ]
    span = set(range(made.first_ns, made.last_ns))
    assert set.union(*parts) == span
    assert sum(map(len, parts)) == len(span)
    assert painted(analyse.gap_intervals(made, lane.name)) == parts[1] | parts[2]


@given(events)
def test_overlap_is_when_all_the_lanes_are_busy(rows):
    names = [lane.name for lane in LANES]
    for some in (names[:2], names):
        found = painted(analyse.overlap(timeline(rows), *some))
        assert found == set.intersection(*(busy(rows, lane) for lane in some))


@given(events, st.sampled_from(LANES), st.lists(st.integers(-5, END + 5), min_size=2))
def test_each_bin_gets_the_busy_time_within_it(rows, lane, edges):
    edges = sorted(edges)
    found = analyse.binned(timeline(rows), lane.name, edges)
    moments = busy(rows, lane.name)
    assert found.tolist() == [
        len(moments & set(range(start, end))) for start, end in pairwise(edges)
    ]


@given(events, st.sampled_from(LANES), st.integers(1, 30))
def test_bins_over_everything_add_up_to_the_length_of_the_union(rows, lane, bins):
    made = timeline(rows)
    edges = np.linspace(made.first_ns, made.last_ns, bins + 1).astype(np.int64)
    assert analyse.binned(made, lane.name, edges).sum() == length_ns(
        analyse.busy_intervals(made, lane.name)
    )


def test_a_hundred_days_are_added_without_rounding():
    day = 86_400 * 10**9
    rows = [(0, 100 * day + 1, "host", "host", -1), (3, 100 * day + 4, "device:0", "run", -1)]
    made = timeline(rows)
    assert length_ns(analyse.overlap(made, "host", "device:0")) == 100 * day - 2
    assert analyse.binned(made, "host", [1, 100 * day]).tolist() == [100 * day - 1]


@given(events)
def test_operations_are_in_flight_from_their_dispatch_to_their_end(rows):
    times, counts = analyse.in_flight(timeline(rows))
    spans = []
    for flow in {row[4] for row in rows} - {-1}:
        own = [row for row in rows if row[4] == flow]
        works = [row for row in own if row[3] in analyse.WORK]
        sent = [row[0] + row[1] for row in own if row[3] == "dispatch"]
        if works:
            end = max(row[0] + row[1] for row in works)
            spans.append((min(sent) if sent else min(row[0] for row in works), end))
    assert np.all(np.diff(times) > 0)
    for ns in range(END + 1):
        at = np.searchsorted(times, ns, "right") - 1
        assert (counts[at] if at >= 0 else 0) == sum(a <= ns < b for a, b in spans)


@given(events, st.sampled_from(LANES), st.integers(-2, 20), st.integers(20, END + 2))
def test_each_moment_belongs_to_the_innermost_event(rows, lane, start, end):
    made = timeline(rows)
    numbers, times = analyse.self_ns(made, lane.name, start_ns=start, end_ns=end, without=["copy"])
    expected = dict.fromkeys(numbers.tolist(), 0)
    for ns in range(start, end):
        going = [
            (made.depth[i], i)
            for i in made.matches(lane=lane.name, start_ns=ns, end_ns=ns + 1)
            if made.event(i).category != "copy" and made.start_ns[i] <= ns < made.end_ns[i]
        ]
        if going:
            expected[max(going)[1]] += 1
    assert dict(zip(numbers.tolist(), times.tolist(), strict=True)) == expected


@given(st.integers(1, 40), st.integers(0, 20), st.integers(0, 20), st.integers(1, 6))
def test_a_virtual_queue_never_holds_more_than_its_depth(n, t1, t2, depth):
    made = Timeline.from_log(pipeline(n, t1 * 1e-6, t2 * 1e-6, depth=depth).log)
    _, counts = analyse.in_flight(made)
    assert counts.max() <= depth
    assert counts[-1] == 0


@given(events)
def test_exposed_copies_are_those_that_no_run_hides(rows):
    names = [lane.name for lane in LANES]
    copies, runs = (set().union(*(paint(rows, x, what) for x in names)) for what in ("copy", "run"))
    assert analyse.exposed_s(timeline(rows)) == len(copies - runs) / 1e9


@given(events, st.sampled_from(LANES))
def test_the_longest_gap_is_the_longest_time_without_work(rows, lane):
    made = timeline(rows)
    (use,) = (use for use in analyse.lane_use(made) if use.lane == lane.name)
    moments, longest, run = busy(rows, lane.name), 0, 0
    for ns in range(made.first_ns, made.last_ns):
        run = 0 if ns in moments else run + 1
        longest = max(longest, run)
    assert round(use.gap_s * 1e9) == longest
    assert use.events == sum(row[2] == lane.name for row in rows)


@given(events, st.sampled_from(LANES))
def test_a_gap_is_ended_by_an_event_that_works_right_after_it(rows, lane):
    made = timeline(rows)
    (use,) = (use for use in analyse.lane_use(made) if use.lane == lane.name)
    end = round((use.gap_start_s + use.gap_s) * 1e9)
    if use.gap_s == 0 or end == made.last_ns:
        assert use.gap_ended_by == -1
    else:
        event = made.event(use.gap_ended_by)
        assert event.lane == lane.name
        assert event.category != "wait"
        assert event.start_ns <= end < event.end_ns


def test_of_nested_events_the_one_that_begins_there_ended_the_gap():
    rows = [(0, 100, "host", "host", -1), (10, 50, "host", "wait", -1), (60, 20, "host", "run", -1)]
    use = analyse.lane_use(timeline([*rows, (60, 30, "host", "host", -1)]))[0]
    assert (use.gap_start_s, use.gap_s) == (10e-9, 50e-9)
    assert use.gap_ended_by == 2
    assert (use.busy_s, use.waiting_s, use.idle_s) == (50e-9, 50e-9, 0)


@given(st.integers(1, 40), st.integers(1, 30), st.integers(1, 30))
def test_a_virtual_pipeline_is_as_busy_as_its_closed_form_says(n, t1, t2):
    made = Timeline.from_log(pipeline(n, t1 * 1e-6, t2 * 1e-6, depth=None).log)
    host, device = analyse.lane_use(made)
    assert host.busy_s == pytest.approx(n * t1 * 1e-6)
    assert device.busy_s == pytest.approx(n * t2 * 1e-6)
    assert host.waiting_s == pytest.approx((t2 + (n - 1) * max(t2 - t1, 0)) * 1e-6)
    overlap = length_ns(analyse.overlap(made, "host", "device:0"))
    assert overlap == 1000 * (n - 1) * min(t1, t2)


def test_the_summary_says_how_long_the_host_waited_and_each_device_was_busy():
    made = timeline(
        [
            (0, 100, "host", "dispatch", 0),
            (100, 300, "host", "wait", 0),
            (100, 260, "device:0", "run", 0),
            (120, 40, "link", "copy", 1),
        ]
    )
    assert analyse.summarise(made) == (
        "400 ns altogether; host waits 75% of the time; device:0 busy 65%; link busy 10%."
    )


def test_the_summary_of_a_log_without_kinds_has_the_same_words():
    made = Timeline.from_log(pipeline(10, 10e-6, 90e-6, depth=2).log)
    assert re.search(r"host waits \d+% of the time", analyse.summarise(made))
    assert re.search(r"device:0 busy \d+%", analyse.summarise(made))


def test_a_host_that_runs_operations_itself_is_as_busy_as_a_device():
    rows = [(0, 20, "host", "dispatch", 0), (20, 30, "host", "run", 0), (50, 50, "host", "wait", 1)]
    assert analyse.summarise(timeline(rows)) == (
        "100 ns altogether; host waits 50% of the time; host busy 50%."
    )
    assert analyse.summarise(timeline(rows[:2])) == "50.0 ns altogether; host busy 100%."


def test_the_summary_counts_threads_instead_of_naming_them():
    lanes = [Lane("host"), *(Lane(f"pool/{i}", "thread") for i in range(3))]
    rows = [(0, 100, "host", "host", -1)]
    one = timeline([*rows, (0, 10, "pool/1", "runtime", -1)], lanes=lanes)
    assert analyse.summarise(one) == "100 ns altogether; host busy 100%; 1 thread busy 10%."
    many = [(0, 10 * (i + 1), f"pool/{i}", "runtime", -1) for i in range(3)]
    assert analyse.summarise(timeline(rows + many, lanes=lanes)).endswith(
        "; 3 threads busy 20% on average, 30% at most."
    )


def test_the_summary_of_many_devices_stays_short():
    lanes = [Lane(f"device:{i}", "device") for i in range(64)]
    made = timeline([(0, i + 1, f"device:{i}", "run", -1) for i in range(64)], lanes=lanes)
    assert analyse.summarise(made) == (
        "64.0 ns altogether; 64 device lanes busy 51% on average, 100% at most."
    )


def test_the_bottleneck_is_the_busiest_lane_and_bounds_what_others_gain():
    made = timeline([(0, 10, "host", "dispatch", 0), (10, 90, "device:0", "run", 0)])
    assert analyse.bottleneck(made) == (
        "device:0 is busy 90% of the time: a faster host would gain 10% at most."
    )
    made = timeline([(0, 100, "host", "host", -1), (10, 9, "device:0", "run", 0)])
    assert analyse.bottleneck(made) == (
        "host is busy 100% of the time: a faster device would gain nothing."
    )


def test_an_empty_timeline_has_an_answer_to_everything():
    empty = timeline([])
    assert analyse.summarise(empty) == "Nothing is recorded."
    assert analyse.bottleneck(empty) == "No lane did any work."
    assert [use.busy_s + use.gap_s for use in analyse.lane_use(empty)] == [0, 0, 0]
    assert analyse.binned(empty, "host", [0, 10]).tolist() == [0]
    assert [len(part) for part in analyse.in_flight(empty)] == [0, 0]
    assert analyse.exposed_s(empty) == 0
    assert (
        analyse.lane_use(
            Timeline(
                {"start_ns": [], "duration_ns": [], "lane": [], "name": [], "category": []},
                lanes=[],
                names=[],
            )
        )
        == ()
    )


def test_events_that_last_no_time_cover_none():
    made = timeline([(5, 0, "host", "wait", 0), (5, 0, "device:0", "run", 0)])
    assert analyse.summarise(made) == "0 s altogether; host busy 0%; device:0 busy 0%."
    assert [use.gap_ended_by for use in analyse.lane_use(made)] == [-1, -1, -1]


def test_bad_questions_are_refused_with_what_to_do():
    made = timeline([(0, 5, "host", "host", -1)])
    with pytest.raises(ValueError, match="no lane 'gpu': there are 'host'"):
        analyse.busy_intervals(made, "gpu")
    with pytest.raises(ValueError, match="unknown category 'sleep': give one of"):
        analyse.busy_intervals(made, "host", categories=["sleep"])
    with pytest.raises(ValueError, match="unknown category 'allreduce'"):
        analyse.exposed_s(made, "allreduce")
    with pytest.raises(ValueError, match="at least two lanes that may overlap, got 1"):
        analyse.overlap(made, "host")
    for edges in ([0], [3, 2], [[0, 1], [2, 3]]):
        with pytest.raises(ValueError, match="two or more ascending"):
            analyse.binned(made, "host", edges)
