"""The timeline's widget: what comes back to Python, and what a notebook gets to show."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from d2lperf.timeline import Timeline
from d2lperf.timeline.widget import TimelineWidget, show, show_in_place
from d2lperf.virtual import pipeline


def example(n: int = 6, **options: Any) -> Timeline:
    return Timeline.from_log(pipeline(n, 10e-6, 20e-6, 5e-6).log, title="Six", **options)


@pytest.fixture
def displayed(monkeypatch) -> list[dict[str, Any]]:
    outputs: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, **options: outputs.append(bundle))
    return outputs


def test_a_region_comes_back_as_the_events_that_overlap_it():
    timeline = example()
    widget = TimelineWidget(timeline)
    assert widget.selection == []
    for start, end, lanes in [(0, 10**9, ["host"]), (15_000, 35_000, ["host", "device:0"])]:
        widget.region = [start, end, lanes]
        expected = [
            e for e in timeline if e.lane in lanes and e.end_ns > start and e.start_ns < end
        ]
        assert widget.selection == expected
        assert [*widget.selected] == expected


def test_what_is_selected_is_a_timeline_on_the_same_axis():
    timeline = example()
    widget = TimelineWidget(timeline)
    widget.region = [0, 30_000, ["device:0"]]
    selected = widget.selected
    assert selected.axis_end_ns == timeline.axis_end_ns
    assert selected.lane_names == timeline.lane_names
    assert 0 < len(selected) < len(timeline)


def test_without_a_region_the_chosen_event_is_the_selection():
    timeline = example()
    widget = TimelineWidget(timeline)
    widget.chosen = 3
    assert widget.selection == [timeline.event(3)]
    widget.chosen = 999
    assert widget.selection == []


def test_a_region_with_lanes_that_are_gone_selects_what_is_left():
    widget = TimelineWidget(example())
    widget.region = [0, 10**9, ["host", "no such lane"]]
    assert {event.lane for event in widget.selection} == {"host"}


def test_new_events_take_the_place_of_the_old_ones_in_one_message():
    widget = TimelineWidget(example())
    widget.zoom(10e-6, 50e-6)
    widget.chosen = 2
    seen: list[str] = []
    widget.observe(lambda change: seen.append(change["name"]))
    widget.timeline = example().replace(title="Again")
    assert widget.data["meta"]["title"] == "Again"
    assert widget.view == [pytest.approx(10_000), pytest.approx(50_000)]
    assert widget.chosen == -1
    assert "view" not in seen


def test_another_time_axis_is_shown_as_a_whole():
    widget = TimelineWidget(example())
    widget.zoom(10e-6, 50e-6)
    widget.timeline = example(12)
    assert widget.view == []


def test_zooming_and_arranging_refuse_nonsense():
    widget = TimelineWidget(example())
    with pytest.raises(ValueError, match="an end after the start, got 2 to 1 s"):
        widget.zoom(2, 1)
    with pytest.raises(ValueError, match="'under' or 'over', not 'beside'"):
        TimelineWidget(example(), arrange="beside")
    with pytest.raises(ValueError, match="at least 60 pixels, not 10"):
        TimelineWidget(example(), height=10)


def test_a_comparison_is_arranged_as_it_says_unless_the_widget_is_told_otherwise():
    over = example().against(example(12), arrange="over")
    assert TimelineWidget(over).arrange == "over"
    assert TimelineWidget(over, arrange="under").arrange == "under"
    assert TimelineWidget(over).data["meta"]["overlay"]


def test_lanes_begin_folded_if_they_say_so():
    lanes = [lane.__class__(lane.name, lane.kind, folded=True) for lane in example().lanes[:1]]
    timeline = example().replace(lanes=[*lanes, *example().lanes[1:]])
    assert TimelineWidget(timeline).folded == ["host"]
    assert TimelineWidget(timeline, folded=[]).folded == []


def test_the_static_picture_comes_first_and_the_widget_hides_it(displayed):
    widget = show(example())
    static, live = displayed
    key = re.search(r'<div id="(d2lperf-[0-9a-f]{12})"><figure', static["text/html"])
    assert key and widget.twin == key[1]
    assert "<img" in static["text/html"]
    assert static["text/plain"] == example().picture().alt
    assert live["text/plain"] == ""
    assert live["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.model_id


def test_two_pictures_of_one_notebook_have_different_keys(displayed):
    assert show(example()).twin != show(example()).twin


def test_any_html_may_stand_in_for_any_widget(displayed):
    import ipywidgets

    key = show_in_place("<p>What happens?</p>", ipywidgets.Label("live"), plain="What happens?")
    assert displayed[0]["text/html"] == f'<div id="{key}"><p>What happens?</p></div>'
    assert displayed[1]["text/plain"] == ""


def test_above_the_cap_the_selection_is_still_exact():
    columns = {
        "start_ns": np.arange(1000) * 10,
        "duration_ns": np.full(1000, 5),
        "lane": np.zeros(1000, int),
        "name": np.zeros(1000, int),
        "category": np.ones(1000, int),
    }
    widget = TimelineWidget(Timeline(columns, lanes=["gpu"], names=["f"]), most_events=50)
    assert len(np.frombuffer(widget.data["start"])) <= 50
    widget.region = [0, 1000, ["gpu"]]
    assert len(widget.selection) == 100
