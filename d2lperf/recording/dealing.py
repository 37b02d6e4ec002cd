"""Who got what, if things were handed out in order and only some of them are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_ROUNDS = 50
"""Bounds that have not settled by then are still right, only wider."""


def deal(
    places: int, fixed: Sequence[Sequence[int]], limits: Sequence[Sequence[int]]
) -> dict[int, tuple[int, int]]:
    """Deal the items of ordered queues out to places, as far as there is no choice.

    For each queue it bounds how many of its items the places before each place can have got: from what is known, from
    each place having one item, and from the other queues' bounds, until nothing changes. Where the bounds meet, the
    item is known.

    Args:
        places: how many places there are; each takes one item, until there are none left.
        fixed: for each item of each queue the place that it is known to have, -1 for unknown.
        limits: for each item the last place that it can have.

    Returns:
        Queue and position in it, by place, for the places of which it is known.
    """
    known = {p: (q, k) for q, queue in enumerate(fixed) for k, p in enumerate(queue) if p >= 0}
    filled = min(places, sum(map(len, fixed)))
    if any(place >= filled for place in known):
        return known
    few, many = _steps(filled, len(fixed), known)
    low, high = _first_bounds(filled, places, fixed, limits)
    for _ in range(_ROUNDS):
        before = low.copy(), high.copy()
        _tighten(low, high, few, many)
        if np.any(low > high):
            return known
        if np.array_equal(low, before[0]) and np.array_equal(high, before[1]):
            break
    sure = (low == high)[:, :-1] & (low == high)[:, 1:] & (low[:, 1:] > low[:, :-1])
    return known | {int(p): (int(q), int(low[q, p])) for q, p in np.argwhere(sure)}


def _steps(
    filled: int, queues: int, known: dict[int, tuple[int, int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many items of each queue each place takes, at least and at most, summed up to it."""
    few = np.zeros((queues, filled), np.int64)
    many = np.ones((queues, filled), np.int64)
    for place, (queue, _) in known.items():
        many[:, place] = 0
        few[queue, place] = many[queue, place] = 1
    none = np.zeros((queues, 1), np.int64)
    return np.hstack([none, few.cumsum(axis=1)]), np.hstack([none, many.cumsum(axis=1)])


def _first_bounds(
    filled: int, places: int, fixed: Sequence[Sequence[int]], limits: Sequence[Sequence[int]]
) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of the number of items taken before each place, from each queue alone."""
    sizes = np.array([len(queue) for queue in fixed], np.int64)[:, None]
    low = np.zeros((len(fixed), filled + 1), np.int64)
    high = np.minimum(sizes, np.arange(filled + 1))
    if sizes.sum() <= places:
        low[:, -1] = sizes[:, 0]
    for q, queue in enumerate(fixed):
        for k, place in enumerate(queue):
            if place >= 0:
                low[q, place] = high[q, place] = k
            after = limits[q][k] + 1
            if after <= filled:
                low[q, after] = max(low[q, after], k + 1)
    return low, high


def _tighten(low: np.ndarray, high: np.ndarray, few: np.ndarray, many: np.ndarray) -> None:
    """Carry the bounds of each place over to the others, and those of each queue to the others."""
    low[:] = few + np.maximum.accumulate(low - few, axis=1)
    high[:] = many + np.minimum.accumulate(high - many, axis=1)
    low[:] = many + np.maximum.accumulate((low - many)[:, ::-1], axis=1)[:, ::-1]
    high[:] = few + np.minimum.accumulate((high - few)[:, ::-1], axis=1)[:, ::-1]
    taken = np.arange(low.shape[1])
    others_high, others_low = high.sum(axis=0) - high, low.sum(axis=0) - low
    low[:], high[:] = np.maximum(low, taken - others_high), np.minimum(high, taken - others_low)
