"""Containers of values, walked without JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def leaves(tree: Any) -> list[Any]:
    """Return the leaves of nested lists, tuples and dictionaries; `None` has none."""
    found: list[Any] = []
    _collect(tree, found)
    return found


def _collect(tree: Any, found: list[Any]) -> None:
    if isinstance(tree, (list, tuple, dict)):
        for item in tree.values() if isinstance(tree, dict) else tree:
            _collect(item, found)
    elif tree is not None:
        found.append(tree)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return the same nest of containers with `function` applied to every leaf."""
    if isinstance(tree, dict):
        return {key: map_leaves(function, item) for key, item in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(map_leaves(function, item) for item in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(map_leaves(function, item) for item in tree)
    return None if tree is None else function(tree)
