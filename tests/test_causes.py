"""What made an event begin: of one dispatch on several devices, and of what it is made of."""

from __future__ import annotations

import pytest
from timelines import timeline

from d2lperf.events import Lane
from d2lperf.timeline.critical import critical_path
from d2lperf.timeline.idle import why_idle

LANES = (
    Lane("host"),
    *(Lane(f"gpu:{n} stream {s}", "device", f"gpu:{n}") for n in (0, 1) for s in (1, 2)),
    Lane("gpu:0 stream 9", "link", "gpu:0"),
    Lane("pcie to gpu:1", "link", "pcie"),
)
SENT = ("f", 0, 10, "host", "dispatch", 0)


@pytest.mark.parametrize("other", ["gpu:0 stream 1", "gpu:1 stream 2"])
def test_runs_of_one_dispatch_do_not_need_each_other(other):
    made = timeline(
        [SENT, ("f", 10, 30, other, "run", 0), ("f", 40, 90, "gpu:1 stream 1", "run", 0)],
        lanes=LANES,
    )
    said = why_idle(made, "gpu:1 stream 1")
    assert "needs" not in said
    assert said.startswith("gpu:1 stream 1 is idle from 0 s to 40 ns, though f was dispatched")
    assert other not in {segment.lane for segment in critical_path(made).segments}


@pytest.mark.parametrize(
    ("mover", "category", "lane", "needed"),
    [
        ("gpu:0 stream 9", "copy", "gpu:0 stream 1", True),
        ("gpu:0 stream 2", "collective", "gpu:0 stream 1", True),
        ("pcie to gpu:1", "copy", "gpu:1 stream 1", True),
        ("gpu:0 stream 9", "copy", "gpu:1 stream 1", False),
        ("gpu:0 stream 2", "collective", "gpu:1 stream 1", False),
    ],
)
def test_a_run_needs_what_its_own_dispatch_moved_on_its_device_or_over_a_link(
    mover, category, lane, needed
):
    rows = [SENT, ("moved", 10, 38, mover, category, 0), ("f", 40, 90, lane, "run", 0)]
    made = timeline(rows, lanes=LANES)
    assert ("needs (moved)" in why_idle(made, lane)) is needed
    assert (mover in critical_path(made).lane_shares) is needed


def test_a_hop_of_a_copy_needs_the_hop_before_and_an_exchange_what_was_computed():
    rows = [SENT, ("copy", 10, 30, "gpu:0 stream 9", "copy", 0)]
    made = timeline([*rows, ("copy", 32, 50, "pcie to gpu:1", "copy", 0)], lanes=LANES)
    assert "gpu:0 stream 9 was still copying" in why_idle(made, "pcie to gpu:1")
    rows = [SENT, ("f", 10, 30, "gpu:0 stream 1", "run", 0)]
    made = timeline([*rows, ("sum", 32, 50, "gpu:0 stream 2", "collective", 0)], lanes=LANES)
    assert "sum needs the result of f" in why_idle(made, "gpu:0 stream 2")
