"""Timelines made by hand or at random, for tests."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from d2lperf.events import CATEGORIES, Lane
from d2lperf.timeline import Timeline

LANES = (Lane("host"), Lane("device:0", "device"), Lane("device:1", "device"), Lane("link", "link"))


events = st.lists(
    st.tuples(
        st.just("event"),
        st.integers(0, 20),
        st.integers(0, 12),
        st.sampled_from([lane.name for lane in LANES]),
        st.sampled_from(CATEGORIES),
        st.integers(-1, 4),
    ).map(lambda row: (row[0], row[1], row[1] + row[2], *row[3:])),
    min_size=1,
    max_size=14,
)
edges = st.lists(st.tuples(st.integers(-1, 5), st.integers(-1, 5)), max_size=4)


def timeline(
    rows: Sequence[tuple],
    *,
    needs: Sequence[tuple[int, int]] = (),
    lanes: Sequence[Lane] = LANES,
    span_ns: tuple[int, int] | None = None,
) -> Timeline:
    """Make a timeline of (name, start, end, lane, category, flow)."""
    numbers = {lane.name: i for i, lane in enumerate(lanes)}
    columns = {
        "start_ns": [row[1] for row in rows],
        "duration_ns": [row[2] - row[1] for row in rows],
        "lane": [numbers[row[3]] for row in rows],
        "name": [*range(len(rows))],
        "category": [CATEGORIES.index(row[4]) for row in rows],
        "flow": [row[5] for row in rows],
    }
    names = [row[0] for row in rows]
    return Timeline(columns, lanes=lanes, names=names, needs=needs, span_ns=span_ns)
