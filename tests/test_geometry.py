"""What the pictures are made of: merged bars, round ticks, text that fits."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.timeline.axis import Axis
from d2lperf.timeline.bars import Spans, place
from d2lperf.timeline.lettering import cleaned, shorten, width_of, wrap


@st.composite
def rows_of_events(draw):
    """Events that do not overlap in their rows: gaps and widths in pixels, narrow ones above all."""
    lengths = st.one_of(st.floats(0, 2), st.floats(0, 40))
    pairs = draw(st.lists(st.tuples(lengths, lengths, st.integers(0, 7)), max_size=60))
    row = draw(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs)))
    ends = [0.0] * 4
    spans = []
    for (gap, width, category), number in zip(pairs, row, strict=True):
        spans.append((number, ends[number] + gap, width, category))
        ends[number] += gap + width
    columns = np.array(spans, float).reshape(-1, 4).T
    return Spans(columns[0].astype(int), columns[1], columns[2], columns[3].astype(int))


@given(rows_of_events(), st.integers(1, 40))
def test_merging_keeps_what_every_category_covers_in_every_row(spans, most):
    placed = place(spans, most=most)
    assert len(placed.alone) + placed.merged == len(spans.row)
    assert sum(run.events for run in placed.runs) == placed.merged
    assert len(placed.alone) <= max(most, 4)  # the four rows are never merged
    for row in range(4):
        for category in range(8):
            own = (spans.row == row) & (spans.category == category)
            alone = placed.alone[own[placed.alone]]
            merged = sum(r.width * r.share[category] for r in placed.runs if r.row == row)
            assert spans.width[alone].sum() + merged == pytest.approx(
                spans.width[own].sum(), abs=1e-6
            )


@given(rows_of_events())
def test_merged_stretches_do_not_overlap_and_stay_where_their_events_are(spans):
    runs = place(spans).runs
    for row in range(4):
        own = sorted((run.x, run.x + run.width) for run in runs if run.row == row)
        assert all(a[1] <= b[0] + 1e-6 for a, b in pairwise(own))
        if own:
            mine = spans.row == row
            assert own[0][0] >= spans.x[mine].min() - 1e-6
            assert own[-1][1] <= (spans.x + spans.width)[mine].max() + 1e-6


@pytest.mark.parametrize(
    ("begin", "end", "labels"),
    [
        (
            0,
            430_000,
            ["0", "50 µs", "100 µs", "150 µs", "200 µs", "250 µs", "300 µs", "350 µs", "400 µs"],
        ),
        (0, 5, ["0", "1 ns", "2 ns", "3 ns", "4 ns", "5 ns"]),
        (-2000, 4000, ["-2 µs", "-1 µs", "0", "1 µs", "2 µs", "3 µs", "4 µs"]),
        (10**10, 10**10 + 5000, ["10 s", "+1 µs", "+2 µs", "+3 µs", "+4 µs", "+5 µs"]),
    ],
)
def test_the_axis_has_round_times(begin, end, labels):
    ticks = Axis(100, 800, begin, end).ticks()
    assert [label for _, label in ticks] == labels
    assert ticks[0][0] == 100


@given(st.text(max_size=80), st.floats(10, 300), st.booleans())
def test_shortened_text_fits(text, room, middle):
    short = shorten(text, room, 11, middle=middle)
    assert width_of(short, 11) <= room
    assert short == text or "…" in short or not short


@given(st.lists(st.sampled_from(["a", "longer", "W" * 20, "…"]), max_size=40))
def test_wrapped_lines_fit_and_keep_all_words(words):
    lines = wrap(" ".join(words), 300, 10.5)
    assert all(width_of(line, 10.5) <= 300 for line in lines)
    assert " ".join(lines).split() == words


@given(st.text())
def test_cleaned_text_is_what_xml_allows(text):
    ET.fromstring(f"<a>{cleaned(text).replace('&', '').replace('<', '')}</a>".encode())
