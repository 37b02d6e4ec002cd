"""Reading what a student returned: plain values, whatever type they came in."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from d2lperf.grading.exercise import Wrong


def as_number(value: Any, *, what: str = "the function") -> float:
    """Return a number as a Python float.

    Accepts Python and NumPy numbers and arrays of one element (JAX's and the virtual machine's too).

    Raises:
        Wrong: anything else, with what came in the message.
    """
    if value is None:
        raise Wrong(f"{what} returned None: is a `return` missing?")
    if isinstance(value, bool):
        raise Wrong(f"{what} returned {value}; a number was expected.")
    try:
        array = np.asarray(value)
        if array.size != 1 or array.dtype.kind not in "iuf":
            raise TypeError
    except Exception:
        raise Wrong(
            f"{what} returned a {type(value).__name__}; a number was expected.", got=_short(value)
        ) from None
    return float(array.reshape(()))


def as_array(value: Any, *, what: str = "the function") -> np.ndarray:
    """Return anything array-like as a float64 NumPy array.

    Raises:
        Wrong: it is not an array of numbers.
    """
    if value is None:
        raise Wrong(f"{what} returned None: is a `return` missing?")
    try:
        return np.asarray(value).astype(np.float64)
    except Exception:
        raise Wrong(
            f"{what} returned a {type(value).__name__}; an array of numbers was expected.",
            got=_short(value),
        ) from None


def close(a: float, b: float, *, rtol: float = 1e-6, atol: float = 1e-9) -> bool:
    """Return whether two numbers agree; nan agrees with nothing."""
    return math.isfinite(a) and math.isclose(a, b, rel_tol=rtol, abs_tol=atol)


def _short(value: Any) -> str:
    text = f"{type(value).__name__}"
    if isinstance(value, (list, tuple, dict, str)):
        text += f" of length {len(value)}"
    return text
