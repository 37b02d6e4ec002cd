"""The picture of a timeline as a PNG image."""

from __future__ import annotations

import io
import sys

import matplotlib.image
import numpy as np
import pytest

from d2lperf.events import CATEGORIES, Lane, Mark, Strip
from d2lperf.timeline import Timeline
from d2lperf.timeline.furniture import WIDTH
from d2lperf.timeline.layout import layout
from d2lperf.timeline.png import SCALE
from d2lperf.timeline.rows import Bar
from d2lperf.virtual import pipeline


def pixels(timeline) -> np.ndarray:
    """Return the image as red, green and blue between 0 and 1."""
    return matplotlib.image.imread(io.BytesIO(timeline.png()))[:, :, :3]


def inside(image: np.ndarray, bar: Bar) -> np.ndarray:
    """Return the pixels of a bar without its edge."""
    x, y, right, low = bar.x + 1, bar.y + 1, bar.x + bar.width - 1, bar.y + bar.height - 1
    rows, columns = (slice(round(a * SCALE), round(b * SCALE)) for a, b in ((y, low), (x, right)))
    return image[rows, columns].reshape(-1, 3)


@pytest.fixture(scope="module")
def everything() -> Timeline:
    """A lane for each category, and all that can stand around them."""
    return Timeline(
        {
            "start_ns": [0] * len(CATEGORIES),
            "duration_ns": [1000] * len(CATEGORIES),
            "lane": range(len(CATEGORIES)),
            "name": [0] * len(CATEGORIES),
            "category": range(len(CATEGORIES)),
        },
        lanes=[Lane(f"lane {i}", group="group" if i > 3 else "") for i in range(len(CATEGORIES))],
        names=[""],
        title="Everything",
        marks=[Mark(500, "here")],
        strips=[Strip("memory", (0, 500), (10, 20), 15)],
        notes=["A note."],
    )


def test_it_has_twice_the_pixels_of_the_document(everything):
    height, width, _ = pixels(everything).shape
    assert width == SCALE * WIDTH
    assert height == pytest.approx(SCALE * layout(everything).height, abs=1)


def test_every_bar_is_painted_in_its_place(everything):
    image = pixels(everything)
    for bar in layout(everything).only(Bar):
        painted = inside(image, bar)
        assert (painted.min(axis=1) < 0.97).mean() > 0.2, bar.category


def test_hatched_bars_have_paper_and_ink_and_plain_ones_one_colour(everything):
    image = pixels(everything)
    for bar in layout(everything).only(Bar):
        # Half of the bar, beside the flag's pole and away from it.
        half = bar._replace(width=bar.width / 3)
        spread = inside(image, half).std(axis=0).max()
        assert (spread > 0.05) == (bar.category in ("wait", "copy", "collective")), bar.category


def test_between_the_bars_it_is_white():
    gaps = Timeline(
        {
            "start_ns": [0, 900],
            "duration_ns": [100, 100],
            "lane": [0, 0],
            "name": [0, 0],
            "category": [1, 1],
        },
        lanes=["gpu"],
        names=["op"],
    )
    first, last = layout(gaps).only(Bar)
    middle = first._replace(x=first.x + first.width + 20, width=30)
    assert last.x > middle.x + middle.width
    assert inside(pixels(gaps), middle).min() == 1


def test_names_of_lanes_are_written_at_the_left(everything):
    drawn, image = layout(everything), pixels(everything)
    for place in drawn.stack.places:
        rows = slice(round(place.y * SCALE), round((place.y + place.height) * SCALE))
        assert (image[rows, : round(drawn.axis.left - 8) * SCALE] < 0.5).any()


def test_odd_letters_and_signs_of_formulas_are_written_without_a_warning():
    odd = Timeline.from_log(pipeline(1, 1e-6, 1e-6).log, title="$\\frac{$ 漢字 🎉 \x07 ü_^")
    assert pixels(odd).shape[2] == 3


def test_the_same_timeline_gives_the_same_image(everything):
    assert everything.png() == everything.png()


def test_the_image_says_what_it_shows(everything):
    assert b"Description\x00Everything. " in everything.png()


def test_no_window_and_no_figure_is_left_behind(everything, monkeypatch):
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    everything.png()
    assert "matplotlib.pyplot" not in sys.modules


def test_importing_the_timeline_does_not_import_matplotlib():
    import subprocess

    code = "import sys, d2lperf.timeline; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_crowd_of_events_is_an_image_too():
    assert pixels(Timeline.from_log(pipeline(20_000, 1e-6, 1e-6).log)).min() < 1
