"""Profiles in files: one that was recorded elsewhere, and every kind of damage."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pytest
from profiles.text import E, serialized

from d2lperf import open_timeline

CPU_LOOP = Path(__file__).parent / "profiles" / "cpu_loop.xplane.pb"


def test_a_profile_recorded_elsewhere_opens_and_shows_the_program_that_made_it():
    timeline = open_timeline(CPU_LOOP, title="elsewhere")
    assert timeline.title == "elsewhere"
    assert [e.name for e in timeline.select(lane="Python", category="host")] == [
        "train 0", "train 1", "train 2",
    ]  # fmt: skip
    dispatches = timeline.select(category="dispatch")
    assert [e.name for e in dispatches] == ["square", "cube"] * 3
    assert [e.name for e in timeline.select(category="wait")] == ["wait"] * 3
    for lane, name in (("cpu:0", "square"), ("cpu:1", "cube")):
        runs = timeline.select(lane=lane)
        assert [(e.name, e.step) for e in runs] == [(name, 0), (name, 1), (name, 2)]
        starts = {e.flow: e.start_ns for e in dispatches if e.name == name}
        assert [*starts] == [e.flow for e in runs]
        assert all(starts[e.flow] < e.start_ns for e in runs)
    assert [mark.text for mark in timeline.marks] == ["end of the block"]


def test_the_recorded_profile_names_no_machine():
    data = CPU_LOOP.read_bytes()
    assert len(data) < 100_000
    for word in (b"/home", b"/root", b"/work", b"/tmp", os.uname().nodename.encode() + b"."):
        assert word not in data


def test_threads_can_be_left_out_and_details_be_added():
    lanes = open_timeline(CPU_LOOP, threads=False).lanes
    assert [lane.name for lane in lanes] == ["Python", "cpu:0", "cpu:1"]
    detailed = open_timeline(CPU_LOOP, details=True)
    assert detailed.select(lane="Python", name="ParseArguments", category="runtime")


# --- files ---------------------------------------------------------------------------------------


def written(folder: Path, run: str, name: str = "host.xplane.pb") -> Path:
    path = folder / "plugins" / "profile" / run / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(serialized({"/host:CPU": [("python", [E(run, 0, 5)])]}))
    return path


def test_of_the_runs_in_a_folder_the_newest_is_opened(tmp_path: Path):
    for age, run in enumerate(("2026_b", "2026_a", "2026_c")):
        path = written(tmp_path, run)
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert [e.name for e in open_timeline(tmp_path)] == ["2026_b"]
    assert [e.name for e in open_timeline(str(tmp_path / "plugins/profile/2026_a"))] == ["2026_a"]


def test_profiles_of_several_hosts_have_to_be_opened_one_by_one(tmp_path: Path):
    written(tmp_path, "run", "one.xplane.pb")
    written(tmp_path, "run", "two.xplane.pb")
    with pytest.raises(ValueError, match=r"one\.xplane\.pb, two\.xplane\.pb"):
        open_timeline(tmp_path)


def test_missing_files_and_folders_without_a_profile_say_what_was_expected(tmp_path: Path):
    with pytest.raises(FileNotFoundError, match="no profile in the folder"):
        open_timeline(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        open_timeline(tmp_path / "nothing.xplane.pb")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b"hello, I am a text", "no JAX profile, or only a part"),
        (gzip.compress(b"something"), "no JAX profile, or only a part"),
        (serialized({}), "is empty"),
        (serialized({"/host:CPU": [], "/device:GPU:0": [("Stream #1", [])]}), "holds no events"),
        (serialized({"/host:CPU": [("python", [E("x", 5, -1)])]}), "lasts -1 ns"),
        (serialized({"/host:CPU": [("p", [E("x", 0, 1), E("y", 2**62 // 1000, 1)])]}), None),
    ],
)
def test_what_is_no_good_profile_is_refused_in_plain_words(tmp_path: Path, data, words):
    path = tmp_path / "p.xplane.pb"
    path.write_bytes(data)
    if words is None:
        assert len(open_timeline(path)) == 2
    else:
        with pytest.raises(ValueError, match=words) as caught:
            open_timeline(path)
        assert "p.xplane.pb" in str(caught.value)


def test_a_truncated_or_damaged_profile_never_fails_in_another_way(tmp_path: Path, capfd):
    whole, path = CPU_LOOP.read_bytes(), tmp_path / "p.xplane.pb"
    opened: Counter[bool] = Counter()
    for end in range(0, len(whole), 17):
        path.write_bytes(whole[:end])
        opened[_opens(path)] += 1
    assert capfd.readouterr().err == ""
    for place in range(5, len(whole), 23):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        opened[_opens(path)] += 1
    assert opened[False] > opened[True] > 0


def _opens(path: Path) -> bool:
    try:
        open_timeline(path)
    except ValueError:
        return False
    return True


def test_a_trace_in_the_format_of_chrome_is_opened_as_one(tmp_path: Path):
    event = {"ph": "X", "pid": 1, "tid": 1, "ts": 3, "dur": 2, "name": "work"}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [event]}), "utf-8")
    assert [(e.name, e.duration_ns) for e in open_timeline(path)] == [("work", 2000)]
