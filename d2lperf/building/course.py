"""Where the course is on this machine."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


class CourseNotFound(Exception):
    """A command that works on the course was called outside of it."""


@dataclass(frozen=True)
class Course:
    """The folders of the course.

    Attributes:
        root: the folder that holds everything, absolute.
    """

    root: Path

    @property
    def notebooks(self) -> Path:
        """The chapters."""
        return self.root / "notebooks"

    @property
    def solutions(self) -> Path:
        """The instructor's source of the exercises."""
        return self.root / "solutions"

    @property
    def exercises(self) -> Path:
        """What students get; built from the solutions."""
        return self.root / "exercises"

    @property
    def config(self) -> Path:
        """nbgrader's configuration."""
        return self.root / "nbgrader_config.py"

    def sources(self) -> list[Path]:
        """Return the notebooks that people write, in a fixed order."""
        found = [*self.notebooks.rglob("*.ipynb"), *self.solutions.rglob("*.ipynb")]
        return sorted(path for path in found if ".ipynb_checkpoints" not in path.parts)

    def assignments(self) -> list[str]:
        """Return the names of the folders in `solutions/` that hold a notebook."""
        return sorted({path.parent.name for path in self.solutions.glob("*/*.ipynb")})

    def name(self, path: Path) -> str:
        """Return a path as people say it: relative to the course."""
        return path.relative_to(self.root).as_posix()


def find_course(start: Path | None = None) -> Course:
    """Return the course that a folder lies in.

    Args:
        start: where to look from, upwards; the current folder if not given.

    Raises:
        CourseNotFound: neither this folder nor one above it is the course's.
    """
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "nbgrader_config.py").is_file() and _project(folder) == "d2lperf":
            return Course(folder)
    raise CourseNotFound(
        f"expected to be called inside the course, but {here} is not in it: "
        "change into the folder that holds notebooks/ and call this again"
    )


def _project(folder: Path) -> str | None:
    try:
        with (folder / "pyproject.toml").open("rb") as file:
            name = tomllib.load(file)["project"]["name"]
    except (OSError, tomllib.TOMLDecodeError, KeyError):
        return None
    return str(name)
