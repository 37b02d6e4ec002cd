"""Sets of time: int64 arrays of shape (m, 2), start and end in nanoseconds, disjoint and ascending."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def union(starts_ns: np.ndarray, ends_ns: np.ndarray) -> np.ndarray:
    """Return the time that is covered by any of some intervals, which may overlap and come in any order.

    Args:
        starts_ns: start of each, int64 nanoseconds.
        ends_ns: end of each; those that end where they start cover nothing.

    Returns:
        Intervals; those that touch are one.
    """
    real = ends_ns > starts_ns
    starts, ends = starts_ns[real], ends_ns[real]
    if not len(starts):
        return np.empty((0, 2), np.int64)
    order = np.argsort(starts, kind="stable")
    starts, covered = starts[order], np.maximum.accumulate(ends[order])
    opens = np.flatnonzero(np.r_[True, starts[1:] > covered[:-1]])
    closes = np.r_[opens[1:] - 1, len(starts) - 1]
    return np.stack([starts[opens], covered[closes]], 1)


def intersection(*sets: np.ndarray) -> np.ndarray:
    """Return the time that lies in all of some sets of intervals."""
    return _where(sets, [1] * len(sets), len(sets))


def difference(kept: np.ndarray, removed: np.ndarray) -> np.ndarray:
    """Return the time that lies in one set of intervals and not in another."""
    return _where([kept, removed], [1, -1], 1)


def length_ns(intervals: np.ndarray) -> int:
    """Return how much time intervals cover, in nanoseconds."""
    return int((intervals[:, 1] - intervals[:, 0]).sum())


def clipped(intervals: np.ndarray, start_ns: int | None, end_ns: int | None) -> np.ndarray:
    """Return what of some intervals lies in a window; `None` leaves a side open."""
    if start_ns is not None:
        intervals = np.maximum(intervals, start_ns)
    if end_ns is not None:
        intervals = np.minimum(intervals, end_ns)
    return intervals[intervals[:, 1] > intervals[:, 0]]


def before_ns(intervals: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """Return how much of the time before each moment lies in the intervals."""
    if not len(intervals):
        return np.zeros(len(moments), np.int64)
    starts, ends = intervals.T
    begun = np.searchsorted(starts, moments, "right")
    whole = np.r_[0, np.cumsum(ends - starts)]
    last = np.maximum(begun - 1, 0)
    return np.where(begun > 0, whole[last] + np.minimum(moments, ends[last]) - starts[last], 0)


def _where(sets: Sequence[np.ndarray], signs: Sequence[int], level: int) -> np.ndarray:
    """Return where the signs of the sets that cover a moment add up to a level."""
    moments = np.concatenate([ends.T.ravel() for ends in sets])
    steps = np.concatenate(
        [np.repeat([sign, -sign], len(ends)) for ends, sign in zip(sets, signs, strict=True)]
    )
    order = np.argsort(moments, kind="stable")
    moments, height = moments[order], np.cumsum(steps[order])
    found = np.flatnonzero(height[:-1] == level)
    return union(moments[found], moments[found + 1])
