"""The static picture of a schedule."""

from __future__ import annotations

import base64
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.events import EventLog
from d2lperf.timeline import picture
from d2lperf.timeline.svg import LANE, RIGHT, TOP, WIDTH
from d2lperf.virtual import pipeline

SVG = "{http://www.w3.org/2000/svg}"


def bars(svg: str, category: str) -> list[ET.Element]:
    """Return the bars of a category, without its key in the legend."""
    rects = ET.fromstring(svg).iter(f"{SVG}rect")
    classes = [(rect, rect.get("class", "").split()) for rect in rects]
    return [rect for rect, names in classes if category in names and "key" not in names]


def test_every_event_is_a_bar_in_its_lane():
    log = pipeline(5, 20e-6, 50e-6).log
    svg = picture(log).svg
    assert len(bars(svg, "dispatch")) == len(bars(svg, "run")) == 5
    assert {float(b.get("y")) for b in bars(svg, "run")} == {TOP + LANE + 4}


@given(st.integers(1, 200), st.integers(1, 50), st.integers(1, 50))
def test_bars_keep_their_length_even_when_they_are_merged(n, t1, t2):
    machine = pipeline(n, t1 * 1e-6, t2 * 1e-6, depth=None)
    svg = picture(machine.log).svg
    (axis,) = {
        float(e.get("x1"))
        for e in ET.fromstring(svg).iter(f"{SVG}line")
        if e.get("class") == "rule"
    }
    width, runs = WIDTH - RIGHT - axis, bars(svg, "run")
    busy = n * t2 * 1000 / machine.now_ns
    # Nothing is drawn thinner than 0.6 pixels, so that a short event can be seen at all.
    assert sum(float(b.get("width")) for b in runs) / width == pytest.approx(
        busy, abs=0.02 + 0.6 * len(runs) / width
    )


def test_merging_is_admitted():
    assert "narrower than a pixel are merged" in picture(pipeline(3000, 1e-6, 1e-6).log).svg
    assert "merged" not in picture(pipeline(3, 1e-6, 1e-6).log).svg


def test_the_alternative_text_says_how_busy_each_lane_is():
    alt = picture(pipeline(10, 10e-6, 90e-6, depth=2).log, title="Ten steps").alt
    assert alt.startswith("Ten steps. ")
    assert re.search(r"host waits \d+% of the time", alt)
    assert re.search(r"device:0 busy \d+%", alt)


def test_a_notebook_gets_an_image_without_scripts_and_plain_words():
    bundle = picture(pipeline(2, 1e-6, 1e-6).log, title='<b>"quoted"</b>')._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    assert "<script" not in bundle["text/html"]
    data = re.search(r"base64,([^\"]+)", bundle["text/html"])[1]
    ET.fromstring(base64.b64decode(data))


def test_several_logs_can_share_one_scale():
    short, long = pipeline(2, 10e-6, 10e-6), pipeline(20, 10e-6, 10e-6)
    end_s = long.perf_counter()
    widths = [
        float(bars(picture(m.log, end_s=end_s).svg, "run")[0].get("width")) for m in (short, long)
    ]
    assert widths[0] == widths[1]


def test_memory_is_a_strip_with_its_peak_and_its_budget():
    machine = pipeline(4, 10e-6, 30e-6)
    svg = picture(machine.log, memory=machine.memory_steps(), budget_bytes=10**6).svg
    classes = [e.get("class") for e in ET.fromstring(svg).iter()]
    assert "memory" in classes and "budget" in classes


def test_an_empty_log_is_drawn_as_nothing():
    assert ET.fromstring(picture(EventLog()).svg) is not None
