"""Moments on a time axis as text that tells them apart."""

from __future__ import annotations

from math import ceil, log10

_UNITS = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))


def moment(time_ns: int, resolution_ns: float) -> str:
    """Write a moment with three digits, or as many more as it takes to see a difference.

    Three digits are enough for a duration, but not to tell 12.345678 s from 12.345679 s.

    Args:
        time_ns: nanoseconds since the beginning of the axis.
        resolution_ns: differences of this size must show, in nanoseconds.

    Returns:
        Text such as `"1.20 ms"`, `"12.345678 s"`, `"0 s"`.
    """
    if not time_ns:
        return "0 s"
    unit_ns, unit = next(pair for pair in _UNITS if abs(time_ns) >= pair[0])
    three = 2 - int(log10(abs(time_ns) / unit_ns))
    fine = ceil(log10(unit_ns / max(resolution_ns, 1)))
    # Below a nanosecond there is nothing to show.
    decimals = min(max(three, fine, 0), round(log10(unit_ns)))
    return f"{time_ns / unit_ns:.{decimals}f} {unit}"
