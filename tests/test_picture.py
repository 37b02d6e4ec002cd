"""The static picture of a timeline."""

from __future__ import annotations

import base64
import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.events import CATEGORIES, Lane, Mark, Strip
from d2lperf.timeline import Timeline
from d2lperf.timeline.comparison import Comparison
from d2lperf.timeline.furniture import RIGHT, WIDTH, Arrow, Text
from d2lperf.timeline.layout import layout
from d2lperf.timeline.packing import pack
from d2lperf.timeline.rows import Bar
from d2lperf.virtual import pipeline

SVG = "{http://www.w3.org/2000/svg}"


def timeline(*events, lanes=(), **options):
    """Return a timeline of events given as start, duration, lane, name, category and maybe flow."""
    given = {lane.name: lane for lane in lanes}
    names = [*given, *dict.fromkeys(e[2] for e in events if e[2] not in given)]
    called = [*dict.fromkeys(e[3] for e in events)]
    columns = {
        "start_ns": [e[0] for e in events],
        "duration_ns": [e[1] for e in events],
        "lane": [names.index(e[2]) for e in events],
        "name": [called.index(e[3]) for e in events],
        "category": [CATEGORIES.index(e[4]) for e in events],
        "flow": [e[5] if len(e) > 5 else -1 for e in events],
    }
    return Timeline(columns, lanes=[given.get(n, n) for n in names], names=called, **options)


def rects(svg: str, category: str) -> list[ET.Element]:
    """Return the bars of a category, without its key in the legend."""
    found = ET.fromstring(svg).iter(f"{SVG}rect")
    classes = [(rect, rect.get("class", "").split()) for rect in found]
    return [rect for rect, names in classes if category in names and "key" not in names]


def texts(svg: str, role: str) -> list[str]:
    return [
        element.text or ""
        for element in ET.fromstring(svg).iter(f"{SVG}text")
        if role in element.get("class", "").split()
    ]


def notes(svg: str) -> str:
    return " ".join(texts(svg, "note"))


def test_every_event_is_a_bar_in_its_lane():
    svg = pipeline(5, 20e-6, 50e-6).timeline().svg()
    assert len(rects(svg, "dispatch")) == len(rects(svg, "run")) == 5
    heights = {c: {float(r.get("y")) for r in rects(svg, c)} for c in ("dispatch", "wait", "run")}
    assert heights["dispatch"] == heights["wait"]
    assert len(heights["run"]) == 1 and min(heights["run"]) > max(heights["wait"])


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_category_is_drawn_and_explained(category):
    svg = timeline((0, 9, "lane", "it", category)).svg()
    assert len(rects(svg, category)) == 1
    assert f'class="{category} key"' in svg and len(texts(svg, "legend")) == 1


def test_categories_differ_without_colour():
    svg = timeline((0, 9, "lane", "it", "wait")).svg()
    fills = dict(re.findall(r"rect\.(\w+) \{ fill: ([^;]+);", svg))
    assert {*CATEGORIES} <= {*fills} and len({fills[c] for c in CATEGORIES}) == len(CATEGORIES)
    hatched = {c for c in CATEGORIES if fills[c].startswith("url")}
    assert hatched == {"wait", "copy", "collective"}
    for category in hatched:
        assert f'<pattern id="{category}"' in svg


def luminance(colour: str) -> float:
    """Relative luminance after WCAG 2."""
    digits = colour[1:] if len(colour) == 7 else "".join(d + d for d in colour[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("category", CATEGORIES)
def test_text_on_a_bar_has_contrast_enough(category):
    svg = timeline((0, 9, "lane", "it", "wait")).svg()
    fills = dict(re.findall(r"rect\.(\w+) \{ fill: ([^;]+);", svg))
    ink = "#fff" if category == "dispatch" else "#111"
    # On a hatch the letters have a white halo.
    paper = "#fff" if fills[category].startswith("url") else fills[category]
    dark, light = sorted((luminance(ink), luminance(paper)))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


@given(st.integers(1, 200), st.integers(1, 50), st.integers(1, 50))
def test_bars_keep_their_length_even_when_they_are_merged(n, t1, t2):
    machine = pipeline(n, t1 * 1e-6, t2 * 1e-6, depth=None)
    drawn = layout(Timeline.from_log(machine.log))
    width = WIDTH - RIGHT - drawn.axis.left
    runs = [bar for bar in drawn.only(Bar) if bar.category == "run"]
    # Nothing is drawn thinner than 0.6 pixels, so that a short event can be seen at all.
    assert sum(bar.width * bar.share for bar in runs) / width == pytest.approx(
        n * t2 * 1000 / machine.now_ns, abs=1e-6 + 0.6 * len(runs) / width
    )


def test_a_merged_bar_is_as_high_as_its_time_is_busy():
    half = timeline(*[(i * 1000, 500, "device:0", "op", "run") for i in range(20_000)])
    (bar,) = (bar for bar in layout(half).only(Bar))
    (lane,) = layout(half).stack.places
    assert bar.merged == 20_000
    assert bar.share == pytest.approx(0.5, abs=0.001)
    assert bar.height == pytest.approx(lane.bar * bar.share)


def test_merging_is_admitted():
    assert "bars narrower than a pixel are merged" in notes(
        pipeline(3000, 1e-6, 1e-6).timeline().svg()
    )
    assert "merged" not in notes(pipeline(3, 1e-6, 1e-6).timeline().svg())


def test_a_million_events_are_a_small_picture_that_counts_them_all():
    n, rng = 1_000_000, np.random.default_rng(1)
    columns = {
        "start_ns": np.arange(n) * 1000,
        "duration_ns": rng.integers(0, 1000, n),
        "lane": rng.integers(0, 4, n),
        "name": np.zeros(n, int),
        "category": rng.integers(0, 8, n),
    }
    many = Timeline(columns, lanes="abcd", names=["it"])
    assert len(many.svg()) < 300_000
    assert "1,000,000 bars" in notes(many.svg())


def test_the_number_of_bars_is_bounded():
    lanes = [f"lane {i}" for i in range(24)]
    crowd = timeline(*[(k * 10, 9, lane, "x", "run") for lane in lanes for k in range(400)])
    assert len(layout(crowd).only(Bar)) < 3500
    assert "narrower than 2 pixels" in notes(crowd.svg())


def test_nested_events_hang_below_the_ones_around_them():
    nested = timeline((0, 100, "host", "step", "host"), (10, 50, "host", "op", "dispatch"))
    outer, inner = layout(nested).only(Bar)
    assert inner.y >= outer.y + outer.height
    assert layout(nested).stack.places[0].rows == 2


def test_what_lasts_no_time_is_a_thin_bar_without_a_row_of_its_own():
    instant = timeline((0, 100, "host", "step", "host"), (50, 0, "host", "flag", "wait"))
    outer, inner = layout(instant).only(Bar)
    assert inner.y == outer.y and inner.width < 1
    assert layout(instant).stack.places[0].rows == 1


def test_a_folded_lane_is_one_thin_row_that_covers_what_any_of_its_events_covers():
    events = [(0, 100, "t", "a", "run"), (50, 100, "t", "b", "copy"), (60, 20, "t", "c", "run")]
    drawn = layout(timeline(*events, lanes=[Lane("t", "thread", folded=True)]))
    (lane,) = drawn.stack.places
    assert lane.rows == 1 and lane.bar < 10
    assert sum(bar.width for bar in drawn.only(Bar)) == pytest.approx(150 * drawn.axis.scale)


def test_lanes_of_a_group_stand_together_under_one_name():
    lanes = [
        Lane("gpu:0 compute", "device", "gpu:0"),
        Lane("host"),
        Lane("gpu:0 copies", "link", "gpu:0"),
    ]
    svg = timeline((0, 9, "host", "x", "host"), lanes=lanes).svg()
    assert texts(svg, "group") == ["gpu:0"]
    assert texts(svg, "lane") == ["compute", "copies", "host"]


def test_a_group_of_one_lane_is_not_named_beside_it():
    svg = timeline(
        (0, 9, "gpu:0 compute", "x", "run"), lanes=[Lane("gpu:0 compute", "device", "gpu:0")]
    ).svg()
    assert not texts(svg, "group")
    assert texts(svg, "lane") == ["gpu:0 compute"]


def test_threads_of_the_runtime_are_left_out_first_and_this_is_said():
    threads = [Lane(f"thread {i}", "thread") for i in range(30)]
    devices = [Lane(f"device:{i}", "device") for i in range(20)]
    events = [(0, 9, lane.name, "x", "run") for lane in threads + devices]
    svg = timeline(*events, lanes=threads + devices).svg()
    shown = texts(svg, "lane")
    assert {f"device:{i}" for i in range(20)} <= {*shown} and len(shown) == 24
    assert "26 more lanes of the runtime's threads are in the table only." in notes(svg)


def test_a_deep_stack_is_cut_and_this_is_said():
    svg = timeline(*[(i, 100 - 2 * i, "python", "f", "host") for i in range(30)]).svg()
    assert len(rects(svg, "host")) == 8
    assert "22 events nested deeper than the rows shown are in the table only." in notes(svg)


def test_a_long_name_of_a_lane_is_shortened_in_the_middle_and_is_whole_when_pointed_at():
    name = "tf_XLAPjRtCpuClient/" + "7" * 60 + "-end"
    svg = timeline((0, 9, name, "x", "run")).svg()
    (shown,) = texts(svg, "lane")
    assert shown.startswith("tf_XLA") and shown.endswith("-end") and "…" in shown
    assert f"<title>{name}</title>" in svg


def test_arrows_lead_from_the_end_of_a_dispatch_to_the_start_of_its_run():
    drawn = layout(Timeline.from_log(pipeline(4, 20e-6, 50e-6).log))
    bars = drawn.only(Bar)
    dispatches, runs = ([b for b in bars if b.category == c] for c in ("dispatch", "run"))
    for arrow, dispatch, run in zip(drawn.only(Arrow), dispatches, runs, strict=True):
        assert arrow.x1 == pytest.approx(dispatch.x + dispatch.width, abs=3)
        assert arrow.x2 == pytest.approx(run.x, abs=4)
        assert arrow.y1 == dispatch.y + dispatch.height and arrow.y2 == run.y


@pytest.mark.parametrize("n", [41, 500])
def test_arrows_that_nobody_could_follow_are_not_drawn(n):
    assert not layout(Timeline.from_log(pipeline(n, 20e-6, 50e-6).log)).only(Arrow)


def test_arrows_can_be_switched_off():
    four = Timeline.from_log(pipeline(4, 20e-6, 50e-6).log)
    assert 'class="arrow"' in four.picture().svg
    assert 'class="arrow"' not in four.picture(arrows=False).svg


def test_marks_are_flags_with_their_text():
    marked = timeline((0, 900, "host", "x", "host"), marks=[Mark(100, "here"), Mark(890, "there")])
    svg = marked.svg()
    assert texts(svg, "flag") == ["here", "there"]
    lines = [e for e in ET.fromstring(svg).iter(f"{SVG}line") if e.get("class") == "mark"]
    assert len(lines) == 2
    # The last flag flies to the left, or it would leave the picture.
    for flag in (t for t in layout(marked).only(Text) if t.role == "flag"):
        assert (flag.anchor == "end") == (flag.text == "there")


def test_an_arrow_to_a_run_that_begins_during_its_dispatch_does_not_lead_backward():
    one = timeline((0, 100, "host", "f", "dispatch", 0), (20, 60, "gpu", "f", "run", 0))
    (arrow,) = layout(one).only(Arrow)
    assert arrow.x1 == arrow.x2


def test_a_mark_after_the_last_event_is_on_the_axis_unless_the_axis_is_given():
    options = {"marks": [Mark(-5, "early"), Mark(200, "late")]}
    one = timeline((0, 100, "host", "f", "run"), **options)
    assert one.axis_end_ns == 200
    assert texts(one.svg(), "flag") == ["late"]
    short = one.replace(end_ns=150)
    assert texts(short.svg(), "flag") == []
    assert "Marks before or after the axis, and so not drawn: 2." in notes(short.svg())


def test_halves_of_letters_do_not_keep_a_timeline_from_being_written(tmp_path):
    half = "half \ud83d \x00"
    one = timeline(
        (0, 100, half, half, "run"),
        title=half,
        caption=half,
        notes=[half],
        marks=[Mark(5, half)],
        strips=[Strip(half, (0,), (1,))],
    )
    assert one.names == ("half \N{REPLACEMENT CHARACTER} \x00",)
    one.to_html(tmp_path / "page.html")
    one.png(tmp_path / "picture.png")
    ET.fromstring(one.svg(tmp_path / "picture.svg").encode())
    one.to_perfetto(tmp_path / "trace.json")
    json.dumps(pack(one)["meta"], ensure_ascii=False).encode()


def test_marks_without_room_for_their_text_are_counted():
    crowd = [Mark(i, f"mark number {i}") for i in range(50)]
    svg = timeline((0, 5000, "host", "x", "host"), marks=crowd).svg()
    assert len(texts(svg, "flag")) == 3
    assert "47 marks are too close to others for their text." in notes(svg)


def test_strips_have_a_name_a_peak_and_a_budget():
    strips = [Strip("gpu:0", (0, 50), (2**20, 2**21), 2**22), Strip("gpu:1", (10,), (2**10,))]
    svg = timeline((0, 100, "gpu", "x", "run"), strips=strips).svg()
    assert texts(svg, "lane") == ["gpu", "gpu:0", "gpu:1"]
    assert texts(svg, "detail") == ["peak 2.00 MiB", "budget 4.00 MiB", "peak 1.00 KiB"]
    assert svg.count('class="memory"') == 2 and svg.count('class="budget"') == 1


def test_a_strip_of_very_many_steps_keeps_its_peak_and_stays_small():
    times = tuple(range(100_000))
    values = tuple(1000 if t == 77_777 else t % 7 for t in times)
    svg = timeline((0, 100_000, "gpu", "x", "run"), strips=[Strip("held", times, values)]).svg()
    (points,) = re.findall(r'class="memory" points="([^"]+)"', svg)
    heights = [float(point.split(",")[1]) for point in points.split()]
    assert max(heights) - min(heights) == pytest.approx(40)
    assert len(points) < 100_000


def test_the_notes_of_a_timeline_are_printed_below_and_wrapped():
    words = " ".join(f"word{i}" for i in range(60))
    svg = timeline((0, 9, "host", "x", "host"), notes=["Short.", words]).svg()
    lines = texts(svg, "note")
    assert lines[0] == "Short." and len(lines) > 3
    assert " ".join(lines[1:]) == words


def test_one_timeline_over_another_is_drawn_as_outlines():
    a, b = (Timeline.from_log(pipeline(3, 20e-6, t * 1e-6).log) for t in (50, 40))
    both = Comparison.of(a, b, names=("measured", "virtual"), arrange="over")
    drawn = layout(both)
    filled, outlined = ([x for x in drawn.only(Bar) if x.outlined is o] for o in (False, True))
    assert len(filled) == len(a) and len(outlined) == len(b)
    assert {bar.y for bar in outlined} == {bar.y for bar in filled}
    assert texts(both.svg(), "lane") == [*a.lane_names]
    assert texts(both.svg(), "legend")[-2:] == ["measured", "virtual"]


def test_the_alternative_text_says_how_busy_each_lane_is():
    alt = pipeline(10, 10e-6, 90e-6, depth=2).timeline(title="Ten steps").picture().alt
    assert alt.startswith("Ten steps. ")
    assert re.search(r"host waits \d+% of the time", alt)
    assert re.search(r"device:0 busy \d+%", alt)


def test_a_notebook_gets_an_image_without_scripts_and_plain_words():
    named = pipeline(2, 1e-6, 1e-6).timeline(title='<b>"quoted"</b>')
    bundle = named.picture()._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "<script" not in bundle["text/html"]
    data = re.search(r"base64,([^\"]+)", bundle["text/html"])[1]
    ET.fromstring(base64.b64decode(data))


def test_several_timelines_can_share_one_scale():
    short, long = pipeline(2, 10e-6, 10e-6), pipeline(20, 10e-6, 10e-6)
    end_s = long.perf_counter()
    widths = [rects(m.timeline(end_s=end_s).svg(), "run")[0].get("width") for m in (short, long)]
    assert widths[0] == widths[1]


def test_what_comes_after_the_end_of_the_axis_is_cut_and_counted():
    events = [(0, 150, "host", "long", "host"), (200, 50, "gpu", "late", "run")]
    svg = timeline(*events, end_ns=100).svg()
    (bar,) = rects(svg, "host")
    assert float(bar.get("x")) + float(bar.get("width")) == pytest.approx(WIDTH - RIGHT, abs=0.02)
    assert not rects(svg, "run")
    assert "1 events after the end of the axis are not drawn." in notes(svg)


def test_a_machine_is_drawn_with_its_memory_and_its_budget():
    machine = pipeline(4, 10e-6, 30e-6)
    svg = machine.timeline(memory=True, budget=10**6).svg()
    classes = [e.get("class") for e in ET.fromstring(svg).iter()]
    assert "memory" in classes and "budget" in classes


@pytest.mark.parametrize("empty", [timeline(lanes=[Lane("host")]), timeline()])
def test_nothing_is_drawn_as_nothing(empty):
    assert ET.fromstring(empty.svg()) is not None


def test_odd_characters_in_names_do_not_break_the_document():
    name = "a\x00<b>&\"\n\ud800 'ü' 漢"
    svg = timeline((0, 9, name, name, "run"), title=name, marks=[Mark(1, name)]).svg()
    assert texts(svg, "title") == ["a <b>&\" � 'ü' 漢"]
    svg.encode()


def test_the_whole_picture_lies_inside_of_its_card():
    drawn = layout(Timeline.from_log(pipeline(300, 3e-6, 5e-6).log, title="many " * 50))
    for bar in drawn.only(Bar):
        assert drawn.axis.left - 1e-6 <= bar.x and bar.x + bar.width <= drawn.axis.right + 1
    for text in drawn.only(Text):
        assert 0 < text.y < drawn.height


def test_a_late_beginning_moves_the_axis_and_an_early_one_does_not():
    late = timeline((10**10, 5000, "host", "x", "host"))
    assert layout(late).axis.begin_ns == 10**10
    assert layout(timeline((500, 500, "host", "x", "host"))).axis.begin_ns == 0
    assert layout(timeline((-500, 600, "host", "x", "host"))).axis.begin_ns == -500
