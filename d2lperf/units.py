"""Seconds, bytes, operations and counts as short text with three significant digits."""

import math

_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_PREFIXES = ("", "k", "M", "G", "T", "P", "E")


def _three_digits(value: float) -> str:
    """Write a finite value below 10 000 with three significant digits, never with an exponent."""
    if value == 0:
        return "0"
    decimals = max(0, 2 - math.floor(math.log10(abs(value))))
    rounded = round(value, decimals)
    # 9.996 rounds up to 10.00, which is one digit too many.
    decimals = max(0, 2 - math.floor(math.log10(abs(rounded))))
    return f"{rounded:.{decimals}f}"


def _scaled(value: float, units: tuple[str, ...], base: float) -> str:
    """Write `value` in the largest of `units` (each `base` times the one before) below it."""
    if not math.isfinite(value):
        return f"{value} {units[0]}".rstrip()
    index = 0
    # Half a unit of the third digit below the step: 999.6 k must become 1.00 M, not 1000 k.
    while abs(value) >= base - 0.5 and index < len(units) - 1:
        value /= base
        index += 1
    exact = index == 0 and float(value).is_integer()
    text = str(int(value)) if exact else _three_digits(value)
    return f"{text} {units[index]}".rstrip()


def format_seconds(value_s: float) -> str:
    """Write a duration in ns, µs, ms, s or min.

    Args:
        value_s: duration in seconds; may be negative, infinite or not a number.

    Returns:
        Text such as `"11.2 ms"`, `"-3.00 µs"`, `"2.50 min"`, `"0 s"`, `"nan s"`.
    """
    value_s = float(value_s)
    if not math.isfinite(value_s) or value_s == 0:
        return f"{value_s} s" if value_s else "0 s"
    size = abs(value_s)
    if size >= 59.95:
        # 59.96 s is 60.0 s with three digits, so a minute and not 0.999 min.
        minutes = math.copysign(max(size, 60.0) / 60, value_s)
        # Past a thousand minutes three digits would hide whole minutes that fit in the text.
        return f"{minutes:.0f} min" if abs(minutes) >= 999.5 else f"{_three_digits(minutes)} min"
    for step, unit in _SECONDS:
        # 0.9996 ms is written 1.00 ms, so the step down starts at the rounded value.
        if size >= 0.9995 * step:
            return f"{_three_digits(value_s / step)} {unit}"
    return f"{value_s / 1e-9:.3g} ns"


def format_bytes(value_bytes: float) -> str:
    """Write an amount of memory in binary units (1 KiB is 1024 B).

    Args:
        value_bytes: amount in bytes; negative for a decrease.

    Returns:
        Text such as `"512 B"`, `"1.50 KiB"`, `"-2.00 MiB"`.
    """
    return _scaled(float(value_bytes), _BYTES, 1024.0)


def format_flops(value: float, *, rate: bool = False) -> str:
    """Write a number of floating-point operations, or a rate of them.

    Args:
        value: operations, or operations per second.
        rate: write it as a rate.

    Returns:
        Text such as `"2.00 GFLOP"`, or `"85.3 GFLOP/s"` for a rate.
    """
    suffix = "FLOP/s" if rate else "FLOP"
    return _scaled(float(value), tuple(prefix + suffix for prefix in _PREFIXES), 1000.0)


def format_count(value: float) -> str:
    """Write a number of things: whole below 1000, in k, M, G … above.

    Args:
        value: the count.

    Returns:
        Text such as `"33"`, `"1.50 k"`, `"2.35 M"`.
    """
    return _scaled(float(value), _PREFIXES, 1000.0)
