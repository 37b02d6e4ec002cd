"""Numbers are written with three significant digits and a fitting unit."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.units import format_bytes, format_count, format_flops, format_seconds

SECONDS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
BYTES = {unit: 1024.0**i for i, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB", "PiB"))}


@pytest.mark.parametrize(
    ("value_s", "text"),
    [
        (0, "0 s"),
        (1e-9, "1.00 ns"),
        (0.0112, "11.2 ms"),
        (4.6e-6, "4.60 µs"),
        (0.99949, "999 ms"),
        (0.9996, "1.00 s"),
        (59.94, "59.9 s"),
        (59.96, "1.00 min"),
        (150, "2.50 min"),
        (-0.003, "-3.00 ms"),
        (math.nan, "nan s"),
        (math.inf, "inf s"),
        (-math.inf, "-inf s"),
    ],
)
def test_a_duration_is_written_in_the_unit_that_fits(value_s: float, text: str) -> None:
    assert format_seconds(value_s) == text


@pytest.mark.parametrize(
    ("value_bytes", "text"),
    [
        (0, "0 B"),
        (512, "512 B"),
        (1536, "1.50 KiB"),
        (-2 * 1024**2, "-2.00 MiB"),
        (1024**3, "1.00 GiB"),
        (1024**2 - 1, "1.00 MiB"),
        (math.inf, "inf B"),
    ],
)
def test_memory_is_written_in_binary_units(value_bytes: float, text: str) -> None:
    assert format_bytes(value_bytes) == text


def test_operations_are_written_as_an_amount_or_as_a_rate() -> None:
    assert format_flops(2e9) == "2.00 GFLOP"
    assert format_flops(85.32e9, rate=True) == "85.3 GFLOP/s"
    assert format_flops(7) == "7 FLOP"


def test_a_count_stays_whole_below_a_thousand() -> None:
    assert [format_count(n) for n in (0, 33, 999, 1000, 999_999, 2_345_678)] == [
        "0",
        "33",
        "999",
        "1.00 k",
        "1.00 M",
        "2.35 M",
    ]
    assert format_count(math.nan) == "nan"


@given(st.floats(min_value=1e-9, max_value=5e4))
def test_reading_a_duration_back_gives_it_to_three_digits(value_s: float) -> None:
    number, unit = format_seconds(value_s).split()
    assert float(number) * SECONDS[unit] == pytest.approx(value_s, rel=0.0051)
    assert len(re.sub(r"\D", "", number).lstrip("0")) <= 3
    assert format_seconds(-value_s) == f"-{number} {unit}"


@given(st.floats(min_value=1, max_value=1e17))
def test_reading_an_amount_of_memory_back_gives_it_to_three_digits(value_bytes: float) -> None:
    number, unit = format_bytes(value_bytes).split()
    assert float(number) * BYTES[unit] == pytest.approx(value_bytes, rel=0.0051)
