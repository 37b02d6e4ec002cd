"""Timelines as Chrome traces and back."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.events import CATEGORIES, LANE_KINDS, Lane, Mark, Strip
from d2lperf.timeline import Timeline
from d2lperf.timeline.perfetto import read, write
from d2lperf.virtual import pipeline

MINUTES_NS = 10 * 60 * 10**9
TIMES = st.integers(-(10**6), MINUTES_NS)


@st.composite
def timelines(draw) -> Timeline:
    """Timelines with everything that they can hold."""
    text = st.text(max_size=8)
    names = draw(st.lists(text, min_size=1, max_size=4))
    kinds, groups = st.sampled_from(LANE_KINDS), st.sampled_from(["", "gpu:0", "gpu:1"])
    lanes = [
        Lane(name, draw(kinds), draw(groups), draw(st.booleans()))
        for name in draw(st.lists(text, min_size=1, max_size=4, unique=True))
    ]
    number = st.integers(-1, 3)
    row = st.tuples(
        TIMES,
        st.integers(0, MINUTES_NS) | st.integers(0, 3),
        st.integers(0, len(lanes) - 1),
        st.integers(0, len(names) - 1),
        st.integers(0, len(CATEGORIES) - 1),
        number,
        number,
    )
    rows = draw(st.lists(row, max_size=12))
    keys = ("start_ns", "duration_ns", "lane", "name", "category", "flow", "step")
    strip = st.lists(st.tuples(TIMES, st.integers(0, 2**50)), max_size=4)
    strips = [
        Strip(name, tuple(sorted(t for t, _ in points)), tuple(v for _, v in points), budget)
        for name, points, budget in draw(
            st.lists(st.tuples(text, strip, st.none() | st.integers(1, 2**50)), max_size=2)
        )
    ]
    return Timeline(
        {key: [r[i] for r in rows] for i, key in enumerate(keys)},
        lanes=lanes,
        names=names,
        title=draw(text),
        caption=draw(text),
        notes=draw(st.lists(text, max_size=2)),
        marks=[Mark(*pair) for pair in draw(st.lists(st.tuples(TIMES, text), max_size=3))],
        strips=strips,
        needs=draw(st.lists(st.tuples(number, number), max_size=3)),
        end_ns=draw(st.none() | st.integers(1, MINUTES_NS)),
    )


@given(timelines(), st.sampled_from(["trace.json", "trace.json.gz"]))
def test_what_was_written_is_read_as_it_was(tmp_path_factory, timeline, name):
    path = write(timeline, tmp_path_factory.mktemp("trace") / name)
    again = read(path)
    assert [*again] == [*timeline]
    for key in ("lanes", "names", "marks", "strips", "title", "caption", "notes", "axis_end_ns"):
        assert getattr(again, key) == getattr(timeline, key), key
    assert again.needs.tolist() == timeline.needs.tolist()


def records(timeline, tmp_path, kind):
    path = timeline.to_perfetto(tmp_path / "trace.json")
    trace = json.loads(path.read_text(), parse_float=Decimal)
    return [record for record in trace["traceEvents"] if record["ph"] == kind]


def simple(*spans, lanes=("host",), **options):
    """Return a timeline of events given as start, duration and number of the lane."""
    columns = {
        "start_ns": [s[0] for s in spans],
        "duration_ns": [s[1] for s in spans],
        "lane": [s[2] if len(s) > 2 else 0 for s in spans],
        "name": [0] * len(spans),
        "category": [0] * len(spans),
    }
    return Timeline(columns, lanes=lanes, names=["op"], **options)


@pytest.mark.parametrize("time_ns", [0, 1, 999, 1000, 123_456_789_012_345, 2**53 - 2, -1, -1001])
def test_times_are_written_with_every_nanosecond(tmp_path, time_ns):
    (span,) = records(simple((time_ns, 1)), tmp_path, "X")
    assert Decimal(span["ts"]) * 1000 == time_ns
    assert span["dur"] == Decimal("0.001")


def test_lanes_are_named_and_in_order_and_groups_are_processes(tmp_path):
    lanes = [Lane("host"), Lane("compute", "device", "gpu:0"), Lane("copies", "link", "gpu:0")]
    named = records(simple((0, 1), lanes=lanes), tmp_path, "M")
    told = {(r["name"], r["pid"], r.get("tid")): next(iter(r["args"].values())) for r in named}
    assert told["process_name", 2, None] == "gpu:0"
    assert [told["thread_name", 1 + (i > 0), i + 1] for i in range(3)] == [
        "host",
        "compute",
        "copies",
    ]
    assert [told["thread_sort_index", 1 + (i > 0), i + 1] for i in range(3)] == [0, 1, 2]


def test_an_operation_is_joined_by_arrows_that_begin_inside_of_its_events(tmp_path):
    timeline = Timeline.from_log(pipeline(3, 10e-6, 30e-6).log)
    starts, ends = (records(timeline, tmp_path, kind) for kind in "sf")
    assert [r["id"] for r in starts] == [r["id"] for r in ends] == [0, 1, 2]
    dispatches = timeline.select(category="dispatch")
    assert [r["ts"] * 1000 for r in starts] == [event.start_ns for event in dispatches]
    assert [r["ts"] * 1000 for r in ends] == [e.start_ns for e in timeline.select(category="run")]


def test_in_a_track_of_the_trace_events_nest_or_do_not_touch(tmp_path):
    timeline = simple((0, 10), (5, 10), (6, 2), (7, 30), (12, 40), (100, 1))
    spans = records(timeline, tmp_path, "X")
    tracks = {span["tid"] for span in spans}
    assert len(tracks) > 1
    for track in tracks:
        own = [(s["ts"], s["ts"] + s["dur"]) for s in spans if s["tid"] == track]
        for i, (a, b) in enumerate(own):
            assert all(
                d <= a or b <= c or (a <= c and d <= b) or (c <= a and b <= d) for c, d in own[:i]
            )
    assert [*read(tmp_path / "trace.json")] == [*timeline]


def test_the_same_timeline_is_the_same_compressed_file(tmp_path):
    paths = [write(simple((0, 5)), tmp_path / name) for name in ("a.json.gz", "b.json.gz")]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].read_bytes()[:2] == b"\x1f\x8b"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = write(simple((0, 5)), tmp_path / "trace.json")
    before = path.read_bytes()

    def fail(self, target):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write(simple((0, 7)), path)
    assert path.read_bytes() == before
    assert [*tmp_path.iterdir()] == [path]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere.* make it first"):
        write(simple((0, 5)), tmp_path / "nowhere" / "trace.json")


def foreign(tmp_path, events, *, bare=False):
    path = tmp_path / "foreign.json"
    path.write_text(json.dumps(events if bare else {"traceEvents": events}))
    return read(path)


NAMED = [
    {"ph": "M", "name": "process_name", "pid": 7, "args": {"name": "/device:GPU:0"}},
    {"ph": "M", "name": "process_name", "pid": 9, "args": {"name": "/host:CPU"}},
    {"ph": "M", "name": "process_sort_index", "pid": 7, "args": {"sort_index": 2}},
    {"ph": "M", "name": "process_sort_index", "pid": 9, "args": {"sort_index": 1}},
    {"ph": "M", "name": "thread_name", "pid": 7, "tid": 1, "args": {"name": "Stream #1(Compute)"}},
    {
        "ph": "M",
        "name": "thread_name",
        "pid": 7,
        "tid": 2,
        "args": {"name": "Stream #2(MemcpyD2H)"},
    },
    {"ph": "M", "name": "thread_name", "pid": 9, "tid": 1, "args": {"name": "python"}},
]


@pytest.mark.parametrize("bare", [True, False])
def test_a_trace_of_another_program_is_read_with_its_lanes(tmp_path, bare):
    timeline = foreign(
        tmp_path,
        [
            *NAMED,
            {"ph": "X", "name": "fusion", "pid": 7, "tid": 1, "ts": 1000000.5, "dur": 2.25},
            {"ph": "X", "name": "all-reduce.1", "pid": 7, "tid": 1, "ts": 1000003, "dur": 1},
            {"ph": "X", "name": "MemcpyD2H", "pid": 7, "tid": 2, "ts": 1000004, "dur": 1},
            {"ph": "B", "name": "step", "pid": 9, "tid": 1, "ts": 1000000},
            {"ph": "B", "name": "inner", "pid": 9, "tid": 1, "ts": 1000001},
            {"ph": "E", "pid": 9, "tid": 1, "ts": 1000002},
            {"ph": "E", "pid": 9, "tid": 1, "ts": 1000010},
            {"ph": "i", "s": "g", "name": "now", "pid": 9, "tid": 1, "ts": 1000001},
            {"ph": "C", "name": "bytes", "pid": 9, "ts": 1000002, "args": {"held": 12}},
        ],
        bare=bare,
    )
    assert [(lane.name, lane.kind, lane.group) for lane in timeline.lanes] == [
        ("python", "host", "/host:CPU"),
        ("Stream #1(Compute)", "device", "/device:GPU:0"),
        ("Stream #2(MemcpyD2H)", "link", "/device:GPU:0"),
    ]
    assert [(e.name, e.start_ns, e.duration_ns, e.category, e.depth) for e in timeline] == [
        ("step", 0, 10_000, "host", 0),
        ("fusion", 500, 2250, "run", 0),
        ("inner", 1000, 1000, "host", 1),
        ("all-reduce.1", 3000, 1000, "collective", 0),
        ("MemcpyD2H", 4000, 1000, "copy", 0),
    ]
    assert timeline.marks == (Mark(1000, "now"),)
    assert timeline.strips == (Strip("bytes", (2000,), (12,)),)
    assert not timeline.notes


def test_what_is_left_out_of_a_foreign_trace_is_said(tmp_path):
    events = [
        {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1},
        {"ph": "E", "pid": 1, "tid": 1, "ts": 3},
        {"ph": "B", "name": "b", "pid": 1, "tid": 1, "ts": 3},
        {"ph": "b", "id": 1, "pid": 1, "tid": 1, "ts": 3},
        {},
    ]
    first, second = foreign(tmp_path, events).notes
    assert "2 events" in first and "1 records of other kinds" in second


def test_threads_of_the_same_name_get_names_of_their_own(tmp_path):
    events = [
        {"ph": "X", "name": "a", "pid": p, "tid": t, "ts": 1, "dur": 1}
        for p in (1, 2)
        for t in (1, 2)
    ]
    names = [
        {"ph": "M", "name": "thread_name", "pid": p, "tid": 1, "args": {"name": "worker"}}
        for p in (1, 2)
    ]
    assert len({*foreign(tmp_path, names + events).lane_names}) == 4


SPAN = '{"ph":"X","name":"matmul","pid":1,"tid":1,"ts":%s,"dur":%s}'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON, or it is truncated"),
        ("hello", "not JSON"),
        ('{"traceEvents": [{"ph":"X","na', "truncated"),
        ("[]", "has no events"),
        ('{"traceEvents": []}', "has no events"),
        ('{"events": 3}', "expected a list of events in `traceEvents`"),
        ("[1, 2]", "expected a list of events"),
        (f"[{SPAN % ('NaN', 1)}]", "'matmul' has ts = nan: expected a finite number"),
        (f"[{SPAN % ('1', 'Infinity')}]", "'matmul' has dur = inf"),
        (f"[{SPAN % ('1', '-2.5')}]", "'matmul' lasts -2500 ns"),
        (f"[{SPAN % ('null', 1)}]", "'matmul' has ts = None"),
        ('{"otherData": {"d2lperf": {"format": 99}}, "traceEvents": []}', "format 99, expected 1"),
        ('{"otherData": {"d2lperf": {"format": 1}}, "traceEvents": []}', "damaged"),
    ],
)
def test_what_is_no_trace_is_refused_with_a_reason(tmp_path, content, message):
    path = tmp_path / "trace.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message) as error:
        read(path)
    assert "trace.json" in str(error.value)


def test_a_broken_or_false_compressed_file_is_refused(tmp_path):
    path = write(simple((0, 5)), tmp_path / "trace.json.gz")
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(ValueError, match="truncated or damaged"):
        read(path)
    path.write_bytes(gzip.decompress(whole))
    with pytest.raises(ValueError, match="is not compressed by gzip"):
        read(path)
    path.write_bytes(whole[:12] + bytes(20) + whole[32:])
    with pytest.raises(ValueError, match="truncated or damaged"):
        read(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        read(tmp_path / "nothing.json")
