"""What was watched may begin before the first event and end after the last one."""

from __future__ import annotations

import pickle
import time

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from timelines import LANES, events, timeline

from d2lperf import open_timeline, record
from d2lperf.events import Lane
from d2lperf.timeline.analyse import lane_use
from d2lperf.timeline.critical import UNKNOWN, critical_path

SEND = ("f", 100, 110, "host", "dispatch", 0)
RUN = ("f", 110, 160, "device:0", "run", 0)


@given(events, st.integers(0, 9), st.integers(0, 9))
def test_all_of_the_watched_time_is_shared_out_whatever_was_recorded(rows, before, after):
    plain = timeline(rows)
    begin, end = plain.first_ns - before, plain.last_ns + after
    made = timeline(rows, span_ns=(begin, end))
    assert (made.first_ns, made.last_ns) == (begin, end)
    for use, old in zip(lane_use(made), lane_use(plain), strict=True):
        assert (use.busy_s, use.waiting_s) == (old.busy_s, old.waiting_s)
        assert use.busy_s + use.waiting_s + use.idle_s == pytest.approx((end - begin) / 1e9)
    path = critical_path(made)
    assert path.length_ns == end - begin
    if end > plain.last_ns > plain.first_ns:
        assert path.segments[-1][:4] == (plain.last_ns, end, -1, UNKNOWN)


def test_a_device_that_works_for_a_quarter_of_the_watched_time_is_not_called_busy_all_the_time():
    made = timeline([SEND, RUN], span_ns=(0, 200))
    assert made.summary() == "200 ns altogether; host busy 5%; device:0 busy 25%."
    assert made.why_idle("host").startswith("host is idle from 0 s to 100 ns, before its first")
    assert made.why_idle("device:0", 180e-9).startswith("device:0 is idle from 160 ns to 200 ns")
    assert made.axis_end_ns == 200


def test_the_watched_time_survives_selection_files_and_pickling(tmp_path):
    made = timeline([SEND, RUN], span_ns=(0, 200))
    made.to_perfetto(tmp_path / "trace.json")
    copies = (made.only("host"), made.replace(title="x"), pickle.loads(pickle.dumps(made)))
    for copy in (*copies, open_timeline(tmp_path / "trace.json")):
        assert (copy.first_ns, copy.last_ns, copy.axis_end_ns) == (0, 200, 200)


def test_timelines_are_aligned_at_events_and_compared_over_all_that_was_watched():
    late, soon = timeline([SEND, RUN], span_ns=(0, 200)), timeline([SEND, RUN], span_ns=(90, 165))
    both = late.against(soon, align="start")
    assert both.title == "before: 200 ns; after: 75.0 ns"
    assert (both.first_ns, both.last_ns) == (0, 200)
    assert {event.start_ns for event in both.select(category="dispatch")} == {100}
    ends = late.against(timeline([(*SEND[:2], 120, *SEND[3:])]), align="end")
    assert sorted(event.end_ns for event in ends.select(category="dispatch")) == [110, 160]


def test_watched_time_that_ends_before_it_begins_is_refused():
    with pytest.raises(ValueError, match="cannot end at 5 ns and begin at 7 ns"):
        timeline([SEND], span_ns=(7, 5))


def test_a_path_ends_with_what_people_look_at_and_not_with_a_thread_that_tidies_up():
    lanes = (*LANES, Lane("pool", "thread"))
    made = timeline([SEND, RUN, ("tidy", 110, 170, "pool", "runtime", 0)], lanes=lanes)
    assert [segment.name for segment in critical_path(made).segments] == ["f", "f", UNKNOWN]
    alone = timeline([("tidy", 110, 170, "pool", "runtime", -1)], lanes=lanes)
    assert [segment.lane for segment in critical_path(alone).segments] == ["pool"]


def test_a_recording_covers_its_block_also_where_nothing_is_recorded():
    add = jax.jit(lambda x: x + 1)
    x = add(jnp.ones(3)).block_until_ready()
    with record() as trace:
        begin = time.perf_counter_ns()
        time.sleep(0.02)
        add(x).block_until_ready()
        time.sleep(0.02)
        took_ns = time.perf_counter_ns() - begin
    (mark,) = trace.marks
    assert trace.first_ns == 0
    assert took_ns <= mark.time_ns <= trace.last_ns <= trace.axis_end_ns
    assert trace.busy_s("Python") <= took_ns / 1e9 - 0.04
    assert sum(trace.critical_path().category_shares.values()) == pytest.approx(1)
