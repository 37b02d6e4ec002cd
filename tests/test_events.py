"""Columns of events."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.events import CATEGORIES, EventLog, Lane, Mark, Strip

rows = st.lists(
    st.tuples(
        st.integers(0, 2**53),
        st.integers(0, 2**40),
        st.sampled_from(["host", "gpu:0", "gpu:1"]),
        st.text(max_size=5),
        st.sampled_from(CATEGORIES),
        st.integers(-1, 2**40),
    )
)


@given(rows)
def test_what_goes_in_comes_out_row_by_row_and_column_by_column(events):
    log = EventLog()
    for start, duration, lane, name, category, flow in events:
        log.add(start, duration, lane=lane, name=name, category=category, flow=flow)
    assert [tuple(event) for event in log] == [(*event, -1, 0) for event in events]
    columns = log.columns()
    assert {len(column) for column in columns.values()} == {len(events)}
    assert [log.names[i] for i in columns["name"]] == [event[3] for event in events]
    assert columns["start_ns"].dtype == np.int64
    assert log.end_ns == max((s + d for s, d, *_ in events), default=0)


def test_selection_combines_what_is_asked():
    log = EventLog()
    log.add(0, 5, lane="host", name="a", category="dispatch")
    log.add(5, 5, lane="gpu:0", name="a", category="run")
    assert [e.lane for e in log.select(name="a", category="run")] == ["gpu:0"]
    assert len(log.select()) == 2


def test_columns_are_copies():
    log = EventLog()
    log.add(1, 1, lane="host", name="a", category="run")
    log.columns()["start_ns"][0] = 9
    assert next(iter(log)).start_ns == 1


def test_bad_events_are_refused():
    with pytest.raises(ValueError, match="cannot last -1 ns"):
        EventLog().add(0, -1, lane="host", name="a", category="run")
    with pytest.raises(ValueError, match="unknown category 'walk'"):
        EventLog().add(0, 1, lane="host", name="a", category="walk")


def test_a_lane_is_described_once_and_by_whoever_adds_it():
    log = EventLog()
    assert [log.lane("host"), log.lane("gpu:0", kind="device", group="gpu"), log.lane("host")] == [
        0,
        1,
        0,
    ]
    log.add(0, 1, lane="gpu:0", name="a", category="run")
    log.lane("gpu:0", kind="link")
    assert log.described_lanes == (Lane("host"), Lane("gpu:0", "device", "gpu"))
    with pytest.raises(ValueError, match="unknown kind of lane 'road'"):
        log.lane("road", kind="road")
    assert log.lanes == ("host", "gpu:0")


def test_needs_are_kept_in_order():
    log = EventLog()
    log.need(0, 2)
    log.need(1, 2)
    assert log.needs == ((0, 2), (1, 2))


def test_the_last_event_is_prolonged_only_by_its_own_continuation():
    log = EventLog()
    assert not log.extend("poll", 0, 1)
    log.add(0, 2, lane="host", name="poll", category="host")
    assert log.extend("poll", 2, 5)
    assert not log.extend("poll", 6, 7)
    assert not log.extend("other", 5, 7)
    assert [(e.start_ns, e.end_ns) for e in log] == [(0, 5)]


def test_a_strip_needs_a_value_for_each_time_and_knows_its_peak():
    assert Strip("memory", (0, 5, 9), (3, 8, 0)).peak == 8
    assert Strip("memory", (), ()).peak == 0
    with pytest.raises(ValueError, match="2 times and 1 values"):
        Strip("memory", (0, 5), (3,))


def test_marks_are_plain_records():
    assert Mark(5, "here") == Mark(time_ns=5, text="here")
