"""The time axis of a picture."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from d2lperf.timeline.columns import Columns

LATE = 0.9
"""If the first event comes after this part of the axis, the axis begins there and not at zero."""
_UNITS = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))


class Axis(NamedTuple):
    """Times and pixels.

    Attributes:
        left: pixel of the beginning.
        right: pixel of the end.
        begin_ns: time at the left end.
        end_ns: time at the right end.
    """

    left: float
    right: float
    begin_ns: int
    end_ns: int

    @property
    def scale(self) -> float:
        """Pixels of a nanosecond."""
        return (self.right - self.left) / (self.end_ns - self.begin_ns)

    def x(self, time_ns: int) -> float:
        """Return the pixel of a time, inside the axis."""
        return (
            self.left + (min(max(time_ns, self.begin_ns), self.end_ns) - self.begin_ns) * self.scale
        )

    def pixels(self, times_ns: np.ndarray) -> np.ndarray:
        """Return the pixels of many times, inside the axis."""
        return (
            self.left + (np.clip(times_ns, self.begin_ns, self.end_ns) - self.begin_ns) * self.scale
        )

    def ticks(self) -> list[tuple[float, str]]:
        """Return pixels and labels of round times; after a late beginning they are counted from it."""
        late = self.begin_ns > 0
        zero = self.begin_ns if late else 0
        step = _step(self.end_ns - self.begin_ns)
        unit = _unit(max(self.end_ns - zero, zero - self.begin_ns))
        first = -((zero - self.begin_ns) // step)
        labels = []
        for i in range(first, (self.end_ns - zero) // step + 1):
            text = _in_unit(i * step, unit)
            if late:
                text = f"+{text}" if i else _exactly(zero)
            labels.append((self.x(zero + i * step), text))
        return labels


def axis_of(timeline: Columns, left: float, right: float, end_ns: int) -> Axis:
    """Return the axis of a timeline: from zero or an earlier first event to `end_ns`."""
    begin_ns = min(0, timeline.first_ns)
    if timeline.first_ns > LATE * end_ns:
        step = _step(max(end_ns - timeline.first_ns, 1))
        begin_ns = timeline.first_ns // step * step
    return Axis(left, right, begin_ns, max(end_ns, begin_ns + 1))


def _step(length_ns: int) -> int:
    """Return a round distance of ticks, 1, 2 or 5 times a power of ten, for five to ten of them."""
    power = 10 ** len(str(length_ns))
    steps = (power // d for d in (1, 2, 5, 10, 20, 50, 100, 200, 500))
    return next((step for step in steps if step and length_ns // step >= 5), 1)


def _unit(time_ns: int) -> tuple[int, str]:
    return next((unit for unit in _UNITS if time_ns >= unit[0]), _UNITS[-1])


def _in_unit(time_ns: int, unit: tuple[int, str]) -> str:
    return f"{time_ns / unit[0]:.6g} {unit[1]}" if time_ns else "0"


def _exactly(time_ns: int) -> str:
    """Write a round time with all its digits, which the steps after it are added to."""
    return f"{time_ns / 1e9:.9f}".rstrip("0").rstrip(".") + " s"
