"""Answers to every exercise: right ones written differently, and the mistakes that students make.

A module `chNN_name` holds the answers to one exercise. `@correct` marks an answer that earns full
marks, `@wrong` one that loses exactly the named criteria and is told the given words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One answer of the bank; `loses` is empty for a correct one."""

    exercise_id: str
    name: str
    answer: Any
    loses: frozenset[str] = frozenset()
    says: str = ""


_entries: list[Entry] = []


def _exercise_of(module: str) -> str:
    chapter, name = module.rsplit(".", 1)[1].split("_", 1)
    return f"{chapter}.{name}"


def add(
    module: str, name: str, answer: Any, *, loses: set[str] | None = None, says: str = ""
) -> None:
    """Add an answer that is not a single function."""
    _entries.append(Entry(_exercise_of(module), name, answer, frozenset(loses or ()), says))


def correct(function: Callable) -> Callable:
    """Mark an answer that earns full marks."""
    add(function.__module__, function.__name__, function)
    return function


def wrong(*, loses: set[str], says: str) -> Callable[[Callable], Callable]:
    """Mark an answer that loses exactly these criteria and is told these words."""

    def mark(function: Callable) -> Callable:
        add(function.__module__, function.__name__, function, loses=loses, says=says)
        return function

    return mark


def entries() -> Iterator[Entry]:
    """Yield every answer of the bank."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return iter(list(_entries))
