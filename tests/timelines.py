"""Timelines made by hand or at random, for tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from d2lperf.events import CATEGORIES, Lane, Mark, Strip
from d2lperf.timeline import Timeline
from d2lperf.virtual import pipeline

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
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


def example() -> Timeline:
    """Twelve operations with a barrier after every fourth."""
    log = pipeline(12, 100e-6, 180e-6, 40e-6, barrier_every=4).log
    return Timeline.from_log(log, title="Twelve operations, a barrier after every fourth")


def training() -> Timeline:
    """Three steps on two devices with everything that a timeline can have."""
    lanes = [
        *(Lane("python"), Lane("runtime/1", "thread"), Lane("gpu:0 compute", "device", "gpu:0")),
        *(Lane("gpu:0 collectives", "device", "gpu:0"), Lane("host→gpu:0", "link", "gpu:0")),
    ]
    names = ["step", "load", "f", "sync", "all-reduce", "jit(f)", "Pool::Run"]
    rows = [(0, 3000, 0, 5, "compile", -1, -1)]
    for step in range(3):
        t = 3000 + 5000 * step
        rows += [(t, 4900, 0, 0, "host", -1, step), (t, 900, 0, 1, "host", -1, step)]
        rows += [(t + 900, 90, 0, 2, "dispatch", 2 * step, step)]
        rows += [(t + 950, 400, 4, 1, "copy", 2 * step, step)]
        rows += [(t + 1400, 2000, 2, 2, "run", 2 * step, step)]
        rows += [(t + 3400, 800, 3, 4, "collective", 2 * step + 1, step)]
        rows += [(t + 1100, 3150, 0, 3, "wait", 2 * step + 1, step)]
        rows += [(t + 40 * i, 12, 1, 6, "runtime", -1, step) for i in range(50)]
    columns = {
        key: [CATEGORIES.index(str(row[i])) if key == "category" else row[i] for row in rows]
        for i, key in enumerate(
            ("start_ns", "duration_ns", "lane", "name", "category", "flow", "step")
        )
    }
    columns["start_ns"] = [1000 * start for start in columns["start_ns"]]
    columns["duration_ns"] = [1000 * duration for duration in columns["duration_ns"]]
    held = Strip("gpu:0 held", (0, 4_000_000, 9_000_000), (1 << 28, 3 << 28, 2 << 28), 4 << 28)
    return Timeline(
        columns,
        lanes=lanes,
        names=names,
        title="Three training steps",
        marks=[Mark(3_000_000, "compiled")],
        strips=[held],
        notes=["Waits are recognised by their names."],
    )


def crowd(size: int) -> Timeline:
    """Many short events in four lanes."""
    random = np.random.default_rng(1)
    each = size // 4
    durations = random.integers(100, 5000, (4, each))
    starts = np.cumsum(durations + random.integers(0, 2000, (4, each)), axis=1) - durations
    columns = {
        "start_ns": starts.ravel(),
        "duration_ns": durations.ravel(),
        "lane": np.repeat(np.arange(4), each),
        "name": random.integers(0, 20, size),
        "category": random.integers(0, 3, size),
    }
    lanes, names = [f"gpu:{i}" for i in range(4)], [f"kernel_{i}" for i in range(20)]
    return Timeline(columns, lanes=lanes, names=names, title="A crowd")


def evil() -> Timeline:
    columns = {"start_ns": [0], "duration_ns": [10], "lane": [0], "name": [0], "category": [1]}
    marks = [Mark(3, EVIL)]
    return Timeline(columns, lanes=[EVIL], names=[EVIL], title=EVIL, marks=marks, notes=[EVIL])
