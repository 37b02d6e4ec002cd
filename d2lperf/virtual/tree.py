"""Containers of values, walked without JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any


def leaves(tree: Any) -> Iterator[Any]:
    """Yield the leaves of nested lists, tuples and dictionaries; `None` has none."""
    if isinstance(tree, dict):
        for item in tree.values():
            yield from leaves(item)
    elif isinstance(tree, (list, tuple)):
        for item in tree:
            yield from leaves(item)
    elif tree is not None:
        yield tree


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return the same nest of containers with `function` applied to every leaf."""
    if isinstance(tree, dict):
        return {key: map_leaves(function, item) for key, item in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(map_leaves(function, item) for item in tree))
    if isinstance(tree, (list, tuple)):
        return type(tree)(map_leaves(function, item) for item in tree)
    return None if tree is None else function(tree)
