"""Two timelines in one picture."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.events import EventLog, Lane, Mark, Strip
from d2lperf.timeline import Timeline
from d2lperf.timeline.comparison import Comparison
from d2lperf.virtual import pipeline

US = 1e-6


def simulated(n: int = 3, **options) -> Timeline:
    return Timeline.from_log(pipeline(n, 10 * US, 30 * US, **options).log)


def measured(start_ns: int = 500) -> Timeline:
    """Two dispatches and two runs, in lanes as a profile calls them, with a thread nobody has twice."""
    log = EventLog()
    log.lane("Python")
    log.lane("cpu:0", kind="device")
    log.lane("XLA client 1", kind="thread")
    for i in (0, 1):
        log.add(start_ns + 10 * i, 10, lane="Python", name="f", category="dispatch", flow=i)
        log.add(start_ns + 50 + 40 * i, 40, lane="cpu:0", name="f", category="run", flow=i)
        log.add(start_ns + 50, 4, lane="XLA client 1", name="thunk", category="runtime")
    return Timeline.from_log(log, marks=[Mark(start_ns, "go")])


def test_lanes_of_one_program_stand_together_and_are_paired_with_those_of_the_other():
    both = simulated().against(simulated(barrier_every=1))
    assert both.lane_names == (
        *("before · host", "before · device:0"),
        *("after · host", "after · device:0"),
    )
    assert [lane.group for lane in both.lanes] == ["before", "before", "after", "after"]
    assert both.overlay == (
        ("before · host", "after · host"),
        ("before · device:0", "after · device:0"),
    )


def test_each_program_is_summed_up_over_its_own_time():
    short, long = simulated(2), simulated(20)
    both = short.against(long)
    assert both.summary() == f"before: {short.summary()} after: {long.summary()}"
    assert both.replace(title="x").picture().alt == f"x. {both.summary()}"


def test_a_mark_at_the_end_of_a_program_is_left_out():
    first = measured()
    ended = first.replace(marks=[Mark(first.last_ns, "end"), Mark(first.first_ns, "go")])
    assert [mark.text for mark in ended.against(first.replace(marks=[])).marks] == ["before · go"]


def test_nothing_is_lost_and_no_arrow_leads_from_one_to_the_other():
    first, second = simulated(3), simulated(5)
    both = first.against(second)
    assert len(both) == len(first) + len(second)
    lanes = {}
    for event in both:
        if event.flow >= 0:
            lanes.setdefault(event.flow, set()).add(event.lane.split(" · ")[0])
    assert all(len(variants) == 1 for variants in lanes.values())
    assert len(lanes) == 8


def test_lanes_of_different_names_are_paired_by_what_they_are():
    log = pipeline(2, 10e-9, 40e-9).log
    lanes = [Lane("host"), Lane("device:0", "device")]
    both = measured().against(Timeline.from_log(log, lanes=lanes), names=("measured", "virtual"))
    assert both.overlay == (
        ("measured · Python", "virtual · host"),
        ("measured · cpu:0", "virtual · device:0"),
    )
    assert "measured · XLA client 1" not in both.lane_names


@given(st.integers(0, 10**12), st.integers(0, 10**12), st.sampled_from(["start", "end", "f"]))
def test_the_chosen_events_come_to_one_moment_and_durations_stay(one_ns, other_ns, align):
    first, second = measured(one_ns), measured(other_ns)
    both = first.against(second, align=align)
    for a, b in both.matched():
        assert (a.start_ns, a.duration_ns, a.name) == (b.start_ns, b.duration_ns, b.name)
    assert len(both.matched()) == 6
    assert min(both.start_ns) >= 0


def test_marks_and_strips_move_with_their_events():
    late = measured(900).replace(strips=[Strip("bytes", (900, 950), (4, 0))])
    both = measured(500).against(late)
    assert {mark.time_ns for mark in both.marks} == {900}
    assert [mark.text for mark in both.marks] == ["before · go", "after · go"]
    assert both.strips == (Strip("after · bytes", (900, 950), (4, 0)),)
    assert measured(900).replace(strips=late.strips).against(measured(950)).strips[0].times_ns == (
        *(950, 1000),
    )


def test_a_comparison_stays_one_when_it_is_changed():
    both = simulated().against(simulated(), arrange="over").replace(title="twice")
    assert isinstance(both, Comparison) and both.title == "twice" and both.arrange == "over"
    hosts = both.only("before · host", "after · host")
    assert hosts.overlay == (("before · host", "after · host"),)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"names": ("a", "a")}, "give two names"),
        ({"align": "nobody"}, "no event called 'nobody'"),
        ({"arrange": "beside"}, "one of under, over"),
    ],
)
def test_what_cannot_be_compared_is_said(options, words):
    with pytest.raises(ValueError, match=words):
        simulated().against(simulated(), **options)


def test_timelines_without_a_lane_in_common_stand_one_below_the_other():
    log = EventLog()
    log.lane("nic", kind="link")
    log.add(0, 5, lane="nic", name="send", category="copy")
    both = simulated(1).against(Timeline.from_log(log))
    assert both.overlay == ()
    assert both.lane_names == ("before · host", "before · device:0", "after · nic")


def test_a_machine_in_place_of_its_timeline_is_refused_with_the_way_out():
    with pytest.raises(TypeError, match=r"got Machine: .* machine\.timeline\(\)"):
        simulated().against(pipeline(2, 1e-6, 1e-6))
