"""A timeline as a table."""

from __future__ import annotations

from statistics import median

import pytest
from hypothesis import given
from timelines import LANES, events, timeline

from d2lperf.timeline import Timeline
from d2lperf.timeline.listing import listing
from d2lperf.units import format_seconds
from d2lperf.virtual import pipeline


def test_lanes_have_a_row_each_with_what_they_did():
    made = timeline(
        [
            ("step", 0, 100, "host", "dispatch", 0),
            ("float()", 100, 400, "host", "wait", 0),
            ("step", 100, 360, "device:0", "run", 0),
            ("next", 390, 400, "device:0", "run", 1),
        ]
    )
    table = made.table()
    assert table.caption == made.summary()
    assert table.header[:6] == ("lane", "kind", "events", "busy", "waiting", "idle")
    assert table.rows[0] == ("host", "host", "2", "100 ns", "300 ns", "0 s", "300 ns", "")
    assert table.rows[1][:6] == ("device:0", "device", "2", "270 ns", "0 s", "130 ns")
    assert table.rows[1][6:] == ("100 ns", "step")
    assert table.rows[3][2:] == ("0", "0 s", "0 s", "400 ns", "400 ns", "")


def test_events_have_a_row_each_in_the_order_of_their_start_and_nested_ones_are_indented():
    made = timeline(
        [
            ("step 7", 2_000_000, 2_000_100, "host", "host", -1),
            ("f", 2_000_050, 2_000_060, "host", "dispatch", 3),
        ]
    )
    assert made.table("events").rows == (
        ("step 7", "host", "host", "2.00000 ms", "100 ns", "", ""),
        ("· f", "dispatch", "host", "2.00005 ms", "10.0 ns", "", "3"),
    )


@given(events)
def test_names_are_counted_and_added_up_for_each_category(rows):
    columns = timeline(rows)._columns() | {"name": [0] * len(rows)}
    made = Timeline(columns, lanes=LANES, names=["same"])
    found = {row[1]: row[2:] for row in listing(made, "names").rows}
    for category in {row[4] for row in rows}:
        lasted = [row[2] - row[1] for row in rows if row[4] == category]
        seconds = [ns / 1e9 for ns in (sum(lasted), median(lasted), max(lasted))]
        assert found.pop(category) == (str(len(lasted)), *map(format_seconds, seconds))
    assert not found


def test_the_name_that_takes_longest_stands_first():
    table = pipeline(10, 1e-6, 9e-6, depth=2).timeline().table("names")
    assert [row[:3] for row in table.rows] == [
        ("y = x + 1", "run", "10"),
        ("queue full", "wait", "8"),
        ("block_until_ready", "wait", "1"),
        ("y = x + 1", "dispatch", "10"),
    ]


def test_a_table_that_leaves_rows_out_says_how_many():
    made = pipeline(300, 1e-6, 1e-6).timeline()
    assert len(made.table("events").rows) == 200
    assert "401 of 601 rows are left out: ask for more with rows=" in made.table("events").caption
    assert len(made.table("events", rows=1000).rows) == 601
    assert "left out" not in made.table("events", rows=1000).caption
    assert made.table("lanes", rows=0).rows == ()


def test_an_empty_timeline_is_an_empty_table():
    empty = timeline([], lanes=[])
    for what in ("lanes", "events", "names"):
        table = listing(empty, what)
        assert table.rows == ()
        assert table.caption == "Nothing is recorded."
        assert str(table)


def test_unknown_tables_and_negative_rows_are_refused():
    made = timeline([])
    with pytest.raises(
        ValueError, match="no table of 'kernels': ask for one of lanes, events, names"
    ):
        made.table("kernels")
    with pytest.raises(ValueError, match="rows must be zero or more, not -1"):
        made.table(rows=-1)
