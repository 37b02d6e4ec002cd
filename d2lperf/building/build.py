"""Bring the sources into normal form and build what students get from them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from d2lperf.building.course import Course
from d2lperf.building.normal_form import NotebookError, normal_form, read
from d2lperf.building.release import is_untouched, make_release
from d2lperf.building.rules import problems

_IGNORED = {".DS_Store", ".ipynb_checkpoints", "__pycache__"}


@dataclass(frozen=True)
class Outcome:
    """What a build did, or what a check found; all names are relative to the course.

    Attributes:
        problems: mistakes that a person has to repair; while there are any, nothing is built.
        unformed: notebooks that were not in normal form.
        stale: files of `exercises/` that differed from what is built, were missing or too many.
        kept: those of them that hold somebody's work, and were therefore left as they are.
    """

    problems: tuple[str, ...] = ()
    unformed: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def build(
    course: Course, *, points: Mapping[str, int], check: bool = False, force: bool = False
) -> Outcome:
    """Write the normal form of all sources, and `exercises/` from `solutions/`.

    Args:
        course: where they are.
        points: what each exercise is worth, by its id.
        check: write nothing, only tell what a build would change.
        force: replace files of `exercises/` even if somebody worked on them.

    Raises:
        ReleaseError: nbgrader refuses to make a release.
    """
    formed, wrong = _examine(course, points)
    unformed = {p: text for p, text in formed.items() if p.read_bytes() != text.encode()}
    names = tuple(map(course.name, unformed))
    if wrong:
        return Outcome(problems=wrong, unformed=names)
    if not check:
        for path, text in unformed.items():
            path.write_bytes(text.encode())
    with TemporaryDirectory() as scratch:
        fresh = Path(scratch) / "exercises"
        fresh.mkdir()
        make_release(course, formed, fresh)
        stale = _differences(course.exercises, fresh)
        kept = [path for path in stale if not force and _holds_work(path, course.exercises, fresh)]
        if not check:
            for path in stale:
                if path not in kept:
                    _replace(course.exercises / path, fresh / path)
    return Outcome(
        unformed=names,
        stale=tuple(course.name(course.exercises / path) for path in stale),
        kept=tuple(course.name(course.exercises / path) for path in kept),
    )


def _examine(course: Course, points: Mapping[str, int]) -> tuple[dict[Path, str], tuple[str, ...]]:
    formed: dict[Path, str] = {}
    wrong: list[str] = []
    for path in course.sources():
        name = course.name(path)
        try:
            formed[path] = normal_form(path.read_text(encoding="utf-8"), path=path, name=name)
        except (NotebookError, UnicodeDecodeError) as error:
            wrong.append(str(error))
            continue
        found = problems(
            read(formed[path], name=name),
            points=points,
            has_solutions=path.is_relative_to(course.solutions),
        )
        wrong += [f"{name}: {problem}" for problem in found]
    return formed, tuple(wrong)


def _files(folder: Path) -> set[Path]:
    found = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return {path for path in found if not _IGNORED & set(path.parts)}


def _differences(there: Path, fresh: Path) -> list[Path]:
    """Return the files that are not the same in both folders, relative to them."""
    old, new = _files(there), _files(fresh)
    same = {p for p in old & new if (there / p).read_bytes() == (fresh / p).read_bytes()}
    return sorted((old | new) - same)


def _holds_work(path: Path, there: Path, fresh: Path) -> bool:
    if not (there / path).exists() or is_untouched(there / path):
        return False
    # Of a data file nobody can tell; one that is released is replaced, any other is somebody's.
    return path.suffix == ".ipynb" or not (fresh / path).exists()


def _replace(old: Path, new: Path) -> None:
    if new.exists():
        old.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(new, old)
        return
    old.unlink()
    if not any(old.parent.iterdir()):
        old.parent.rmdir()
