"""The benchmark: that it measures what it says, not that anything is fast."""

from __future__ import annotations

import json

import pytest

from d2lperf import cli
from d2lperf.bench import Figure, run, table_of, timeline
from d2lperf.bench.browser import BrowserMissing, chromium_path
from d2lperf.bench.figures import in_turns
from d2lperf.stats import Samples
from d2lperf.timeline.analyse import busy_intervals, length_ns


def test_many_events_are_as_many_as_asked_for_and_the_plain_loop_finds_the_same_busy_time():
    events = timeline.many_events(1003)
    assert len(events) == 1003
    for lane in events.lane_names:
        plain = timeline._busy_by_hand(list(events), lane)
        assert plain == length_ns(busy_intervals(events, lane)) > 0


def test_two_ways_are_timed_in_turns_after_a_round_that_does_not_count():
    calls: list[str] = []
    ours, plain = in_turns(lambda: calls.append("a"), lambda: calls.append("b"), repeats=3)
    assert calls == ["a", "b"] * 4
    assert len(ours) == len(plain) == 3


def test_the_ratio_is_that_of_the_pairs():
    figure = Figure("f", Samples([1.0, 10.0]), Samples([3.0, 30.0]), "slowly", goal_s=2.0)
    assert figure.ratio == 3.0
    text = str(table_of([figure], "title"))
    assert "slowly" in text and "≤ 2.00 s" in text
    assert Figure("f", Samples([1.0])).ratio is None


def test_what_is_not_timed_is_said():
    with pytest.raises(ValueError, match="no benchmark 'grading'"):
        next(run("grading"))


def test_the_command_prints_figures_as_json(monkeypatch, capsys):
    few = timeline.in_python((500,))
    monkeypatch.setattr(timeline, "in_python", lambda: few)
    assert cli.main(["bench", "--no-browser", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["machine"]["logical_cores"] >= 1
    assert [figure["plain"] for figure in said["figures"] if figure["ratio"]] == [
        "a loop over events"
    ]


def test_without_a_browser_the_command_says_what_to_do(monkeypatch, capsys):
    monkeypatch.setattr(timeline, "in_python", lambda: iter(()))
    monkeypatch.setattr("d2lperf.bench.browser.chromium_path", lambda: None)
    with pytest.raises(BrowserMissing, match="found no Chromium: install it"):
        list(timeline.in_browser((10,)))
    assert cli.main(["bench"]) == 2
    assert "--no-browser" in capsys.readouterr().err


@pytest.mark.browser
@pytest.mark.skipif(chromium_path() is None, reason="no Chromium: install the package `chromium`")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_frames_are_timed_in_a_browser_beside_the_naive_way():
    # In a process of its own: playwright has one loop in each.
    import subprocess
    import sys

    code = (
        "from d2lperf.bench import timeline; "
        "print([f.name for f in timeline.in_browser((600,))], [f.ratio for f in timeline.in_browser((600,))][-1])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for words in (
        "first paint",
        "a frame of pan and zoom",
        "from frame to frame",
        "the same views",
    ):
        assert words in done.stdout
    assert float(done.stdout.split()[-1]) > 0
