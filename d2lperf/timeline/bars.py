"""Which bars stand in which row, and what becomes of events too narrow to be bars of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from d2lperf.events import CATEGORIES

MOST = 3000
"""Events drawn as bars of their own; with more of them, wider ones are merged too."""
COLUMN = 4.0
"""Width in pixels of the columns in which merged events are summed."""
ALIKE = 0.12
"""Neighbouring columns whose shares differ by less are drawn as one."""
INSTANT = 1e-9
"""What an event without duration adds to a sum of pixels, so that it is not nothing."""


class Spans(NamedTuple):
    """Events to place, of any order.

    Attributes:
        row: number of the row that each stands in; within a row they do not overlap.
        x: left end in pixels.
        width: in pixels.
        category: number in `CATEGORIES`.
    """

    row: np.ndarray
    x: np.ndarray
    width: np.ndarray
    category: np.ndarray


class Run(NamedTuple):
    """A stretch of a row in which events are merged.

    Attributes:
        row: number of the row.
        x: left end in pixels.
        width: in pixels.
        share: part of the width that the events of each category cover, by number in `CATEGORIES`.
        events: how many begin there.
    """

    row: int
    x: float
    width: float
    share: np.ndarray
    events: int


class Placed(NamedTuple):
    """What is drawn: events on their own, by their place in `Spans`, and runs of merged ones.

    Attributes:
        alone: places in `Spans`, int64.
        runs: stretches of merged events.
        merged: how many events are in runs.
        narrow: width in pixels below which events were merged with close neighbours.
    """

    alone: np.ndarray
    runs: list[Run]
    merged: int
    narrow: float


def place(spans: Spans, *, most: int = MOST) -> Placed:
    """Merge what is too narrow and too close to be told apart.

    Events narrower than a pixel with less than a pixel between them become a run; if more than
    `most` bars would be left, the limit is two pixels, then four, and so on.
    """
    order = np.lexsort((spans.x, spans.row))
    ordered = Spans(*(column[order] for column in spans))
    narrow = 1.0
    while True:
        group = _groups(ordered, narrow)
        alone = np.bincount(group)[group] == 1
        if alone.sum() <= most or narrow > 1000:
            break
        narrow *= 2
    cells = _cells(Spans(*(column[~alone] for column in ordered)), group[~alone], narrow)
    return Placed(np.sort(order[alone]), [*_joined(cells)], int((~alone).sum()), narrow)


def _groups(spans: Spans, narrow: float) -> np.ndarray:
    """Return a number for each event, the same for those that are merged."""
    thin = spans.width < narrow
    gap = spans.x[1:] - (spans.x + spans.width)[:-1]
    joins = (spans.row[1:] == spans.row[:-1]) & thin[1:] & thin[:-1] & (gap < narrow)
    return np.concatenate([np.zeros(min(len(thin), 1), np.int64), np.cumsum(~joins)])


class _Cell(NamedTuple):
    """Part of a run in one column; `short` if the whole run has the width of a column at most."""

    group: int
    short: bool
    run: Run


def _cells(spans: Spans, group: np.ndarray, narrow: float) -> Iterator[_Cell]:
    """Sum events up by group and column of pixels, from left to right."""
    if not len(group):
        return
    wide = max(COLUMN, narrow)
    end = spans.x + spans.width
    first, last = (np.floor(x / wide).astype(np.int64) for x in (spans.x, end))
    # An event is narrower than a column, so it lies in one or two of them.
    border = np.minimum(end, (first + 1) * wide)
    columns = int(last.max()) + 2
    low = int(first.min())
    columns -= low
    keys = np.concatenate([group * columns + first - low, group * columns + last - low])
    pixels = np.concatenate([border - spans.x + INSTANT, end - border])
    cell, number = np.unique(keys, return_inverse=True)
    flat = number * len(CATEGORIES) + np.tile(spans.category, 2)
    size = len(cell) * len(CATEGORIES)
    covered = np.bincount(flat, pixels, size).reshape(-1, len(CATEGORIES))
    events = np.bincount(number[: len(group)], minlength=len(cell))
    owner = cell // columns
    heads = np.flatnonzero(np.diff(group, prepend=-1))
    of = np.searchsorted(group[heads], owner)
    begins, ends = spans.x[heads][of], np.maximum.reduceat(end, heads)[of]
    left = np.maximum((cell % columns + low) * wide, begins)
    right = np.maximum(np.minimum((cell % columns + low + 1) * wide, ends), left + INSTANT)
    share = np.minimum(covered / (right - left)[:, None], 1.0)
    rows = spans.row[heads][of]
    for i in np.flatnonzero(covered.any(axis=1)).tolist():
        run = Run(int(rows[i]), left[i], right[i] - left[i], share[i], int(events[i]))
        yield _Cell(int(owner[i]), bool(ends[i] - begins[i] <= COLUMN), run)


def _joined(cells: Iterator[_Cell]) -> Iterator[Run]:
    """Join cells of a short run, and neighbouring ones that are about equally busy, keeping what is covered."""
    last: _Cell | None = None
    for cell in cells:
        if last and last.group == cell.group and (cell.short or _alike(last.run, cell.run)):
            last = cell._replace(run=_sum(last.run, cell.run))
            continue
        if last:
            yield _packed(last.run) if last.short else last.run
        last = cell
    if last:
        yield _packed(last.run) if last.short else last.run


def _packed(run: Run) -> Run:
    """Push a few events together: a stretch too short to show a height is as wide as it is busy."""
    busy = float(run.share.sum())
    return run._replace(width=run.width * busy, share=run.share / busy)


def _alike(a: Run, b: Run) -> bool:
    touching = b.x - (a.x + a.width) < 1e-6
    return touching and float(np.abs(a.share - b.share).max()) <= ALIKE


def _sum(a: Run, b: Run) -> Run:
    width = a.width + b.width
    share = (a.share * a.width + b.share * b.width) / width
    return Run(a.row, a.x, width, share, a.events + b.events)
