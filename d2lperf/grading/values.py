"""Reading what a student returned: plain values, whatever type they came in."""

from __future__ import annotations

import math
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from d2lperf.grading.exercise import Wrong


def as_number(value: Any, *, what: str = "the function") -> float:
    """Return a number as a Python float.

    Accepts Python's and NumPy's real numbers, fractions, decimals, and arrays of one element.

    Raises:
        Wrong: anything else, with what came in the message.
    """
    if value is None:
        raise Wrong(f"{what} returned None: is a `return` missing?")
    if isinstance(value, bool):
        raise Wrong(f"{what} returned {value}; a number was expected.")
    try:
        if isinstance(value, (Real, Decimal)):
            return float(value)
        array = np.asarray(value)
        if array.size != 1 or array.dtype.kind not in "iuf":
            raise TypeError
        return float(array.reshape(()))
    except Exception:
        raise Wrong(f"{what} returned {_kind(value)}; a number was expected.") from None


def as_array(value: Any, *, what: str = "the function") -> np.ndarray:
    """Return anything array-like as a float64 NumPy array.

    Raises:
        Wrong: it is not an array of real numbers.
    """
    if value is None:
        raise Wrong(f"{what} returned None: is a `return` missing?")
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise TypeError
        return array.astype(np.float64)
    except Exception:
        raise Wrong(f"{what} returned {_kind(value)}; an array of numbers was expected.") from None


def as_items(value: Any, n: int, *, what: str = "the function", each: str = "entry") -> list[Any]:
    """Return a list, a tuple or an array of `n` entries as a list.

    Raises:
        Wrong: it is something else or of another length.
    """
    if value is None:
        raise Wrong(f"{what} returned None: is a `return` missing?")
    expected = f"{n} values, one for each {each}"
    if not isinstance(value, (list, tuple)):
        try:
            array = np.asarray(value)
            if array.dtype == object or array.ndim != 1:
                raise TypeError
            value = list(array)
        except Exception:
            raise Wrong(f"{what} should return {expected}.", got=_kind(value)) from None
    if len(value) != n:
        raise Wrong(f"{what} should return {expected}.", got=f"{len(value)} values")
    return list(value)


def close(a: float, b: float, *, rtol: float = 1e-6, atol: float = 1e-9) -> bool:
    """Return whether two numbers agree; nan agrees with nothing."""
    return math.isfinite(a) and math.isclose(a, b, rel_tol=rtol, abs_tol=atol)


def _kind(value: Any) -> str:
    text = f"something of type {type(value).__name__}"
    if isinstance(value, (list, tuple, dict, str)):
        text += f" and length {len(value)}"
    return text
