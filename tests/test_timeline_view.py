"""The timeline's view: what Python sends, what JavaScript makes of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.events import CATEGORIES, Lane, Mark, Strip
from d2lperf.timeline import Timeline
from d2lperf.timeline.bundle import bundle
from d2lperf.timeline.packing import pack
from d2lperf.units import format_bytes, format_seconds

SCRIPTS = Path(__file__).parent / "js"
NODE = shutil.which("node")

needs_node = pytest.mark.skipif(NODE is None, reason="no node: install Node.js 18 or newer")


def node(*arguments: str, given: str = "", **variables: str) -> str:
    assert NODE
    done = subprocess.run(
        [NODE, *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | variables,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def unpacked(data: dict[str, Any]) -> dict[str, np.ndarray]:
    return {key: np.frombuffer(data[key], kind) for key, kind in data["meta"]["types"].items()}


def timeline(events: list[tuple[int, ...]], lanes: int = 2, **options: Any) -> Timeline:
    keys = ("start_ns", "duration_ns", "lane", "name", "category", "flow", "step")
    columns = {key: [event[i] for event in events] for i, key in enumerate(keys)}
    names = [f"lane {i}" for i in range(lanes)]
    return Timeline(columns, lanes=names, names=["a", "b", "</script>"], **options)


events = st.lists(
    st.tuples(
        st.integers(0, 10_000),
        st.integers(0, 500),
        st.integers(0, 1),
        st.integers(0, 2),
        st.integers(0, len(CATEGORIES) - 1),
        st.sampled_from([-1, 0, 1, 7, 10**12]),
        st.integers(-1, 3),
    ),
    max_size=60,
)


@needs_node
def test_the_modules_and_the_joined_module_behave_as_their_own_tests_say(tmp_path: Path):
    joined = tmp_path / "bundle.mjs"
    joined.write_text(bundle(), "utf-8")
    tests = sorted(map(str, SCRIPTS.glob("*.test.mjs")))
    assert tests
    node("--test", *tests, D2LPERF_BUNDLE=joined.as_uri())


@needs_node
def test_times_and_bytes_read_as_in_python():
    random = np.random.default_rng(1)
    seconds = [*(random.random(3000) * 10.0 ** random.integers(-12, 6, 3000))]
    # Halves that are exact are rounded to even in one language and away from zero in the other.
    seconds += [k / 8 * 10.0**e for k in range(400) for e in (-9, -6, -3, 0)]
    seconds += [59.95, 59.949, 60.0, 0.0009995, -0.0011, 3.3e-14]
    sizes = [int(2**p) for p in random.uniform(0, 60, 3000)] + [0, 1023, 1024, -5000]
    given = json.dumps({"seconds": [float(s) for s in seconds], "bytes": sizes})
    written = json.loads(node(str(SCRIPTS / "format.mjs"), given=given))
    assert written["seconds"] == [format_seconds(s) for s in seconds]
    assert written["bytes"] == [format_bytes(b) for b in sizes]


@given(events)
def test_packed_columns_hold_every_event_exactly(chosen):
    whole = timeline(chosen)
    data = pack(whole)
    columns, meta = unpacked(data), data["meta"]
    ids, offsets = columns["id"], columns["offsets"]
    assert sorted(ids) == list(range(len(whole)))
    assert offsets[0] == 0 and offsets[-1] == len(whole)
    for row, (lane, depth) in enumerate(meta["rows"]):
        for i in range(offsets[row], offsets[row + 1]):
            event = whole.event(int(ids[i]))
            assert (event.lane, event.depth) == (meta["lanes"][lane]["name"], depth)
            assert (event.start_ns, event.duration_ns) == (
                columns["start"][i],
                columns["duration"][i],
            )
            assert event.name == meta["names"][columns["name"][i]]
            assert event.category == meta["categories"][columns["category"][i]]
            assert event.step == (columns["step"][i] if "step" in columns else -1)


@given(events)
def test_within_a_row_events_are_in_order_and_do_not_overlap(chosen):
    columns = unpacked(pack(timeline(chosen)))
    ends = columns["start"] + columns["duration"]
    for first, last in zip(columns["offsets"], columns["offsets"][1:], strict=False):
        assert (columns["start"][first:last][1:] >= ends[first:last][:-1]).all()


@given(events)
def test_flows_keep_their_partners_whatever_their_numbers(chosen):
    whole = timeline(chosen)
    columns = unpacked(pack(whole))
    flow = columns.get("flow", np.full(len(whole), -1))
    own = whole.flow[columns["id"]]
    assert ((flow == -1) == (own == -1)).all()
    assert ((flow[:, None] == flow) == (own[:, None] == own)).all()
    assert flow.max(initial=-1) < 4 * len(whole) + 16


def test_what_an_operation_needs_is_sent_with_the_new_numbers_of_flows():
    chosen = [(0, 1, 0, 0, 1, 10**12, -1), (1, 1, 0, 0, 1, 5, -1)]
    columns = unpacked(pack(timeline(chosen, needs=[(10**12, 5), (5, 99)])))
    of = dict(zip(columns["id"], columns["flow"], strict=True))
    assert columns["needs"].tolist() == [of[0], of[1]]


def test_long_times_stay_exact():
    far = 2**53 - 2
    columns = unpacked(pack(timeline([(1, far - 1, 0, 0, 1, -1, -1), (0, 1, 1, 0, 1, -1, -1)])))
    assert columns["duration"].tolist() == [far - 1, 1]


@given(events.filter(lambda chosen: len(chosen) > 3), st.integers(1, 20))
def test_above_the_cap_every_event_and_every_nanosecond_is_still_counted(chosen, most):
    whole = timeline(chosen)
    data = pack(whole, most_events=most)
    columns = unpacked(data)
    if len(whole) <= most:
        assert "count" not in columns
        return
    rows = len(data["meta"]["rows"])
    assert len(columns["start"]) <= max(most, rows)
    assert columns["count"].sum() == len(whole)
    assert columns["busy"].sum() == whole.duration_ns.sum()
    assert (columns["busy"] <= columns["duration"]).all()
    assert "are one bar" in data["meta"]["notes"][-1]


def test_the_note_names_how_many_events_were_merged():
    whole = timeline([(10 * i, 5, 0, 0, 1, -1, -1) for i in range(1234)])
    note = pack(whole, most_events=100)["meta"]["notes"][-1]
    assert note.startswith("1\N{NO-BREAK SPACE}234 events are more than can be shown one by one")
    with pytest.raises(ValueError, match="at least 1, not 0"):
        pack(whole, most_events=0)


def test_the_description_is_json_and_has_lanes_marks_and_strips():
    whole = timeline(
        [(0, 10, 0, 2, 1, -1, -1)],
        title="Title",
        marks=[Mark(5, "here")],
        strips=[Strip("bytes", (0, 4), (1, 2), budget=3)],
        notes=["left out"],
    ).replace(lanes=[Lane("lane 0", "device", "gpu", folded=True), Lane("lane 1")])
    data = pack(whole)
    meta = json.loads(json.dumps(data["meta"]))
    assert meta["lanes"][0] == {"name": "lane 0", "kind": "device", "group": "gpu", "folded": True}
    assert (meta["marks"], meta["notes"]) == ([[5, "here"]], ["left out"])
    assert meta["strips"] == [{"name": "bytes", "budget": 3, "peak": 2}]
    assert np.frombuffer(data["strips"][0]["values"]).tolist() == [1, 2]
    assert meta["alt"].startswith("Title. ")


def test_lanes_to_lay_upon_each_other_may_be_given_by_name_or_number():
    whole = timeline([(0, 10, 0, 2, 1, -1, -1)])
    whole.overlay = [("lane 0", 1)]  # type: ignore[attr-defined]
    assert pack(whole)["meta"]["overlay"] == [[0, 1]]


def test_the_joined_module_imports_nothing_and_exports_what_anywidget_asks_for():
    text = bundle()
    assert not re.search(r"^import\b", text, re.MULTILINE)
    assert re.findall(r"^export\b.*", text, re.MULTILINE) == ["export default { render };"]
    assert "drawEverything" not in text


def test_modules_with_the_same_name_twice_are_refused(monkeypatch):
    files = {
        "main.js": 'import { a } from "./one.js";\nfunction b() {}\n',
        "one.js": "export const b = 1;\n",
    }
    monkeypatch.setattr("d2lperf.timeline.bundle._read", files.__getitem__)
    with pytest.raises(ValueError, match=r"main\.js and one\.js both declare 'b'"):
        bundle.__wrapped__()
    files["one.js"] = 'export * from "./two.js";\n'
    with pytest.raises(ValueError, match=r"one\.js: cannot join 'export \* from"):
        bundle.__wrapped__()


def test_importing_the_timeline_imports_no_widget():
    code = "import sys, d2lperf.timeline; print([m for m in ('anywidget', 'ipywidgets') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
