"""What students get, made from the instructor's source by nbgrader itself."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from traitlets.config import PyFileConfigLoader

from d2lperf.building.course import Course
from d2lperf.building.normal_form import NotebookError, read

_not_released = shutil.ignore_patterns(".ipynb_checkpoints", "__pycache__")


class ReleaseError(Exception):
    """nbgrader refuses to make a release."""


def make_release(course: Course, sources: Mapping[Path, str], into: Path) -> None:
    """Make the released version of every assignment, as `nbgrader generate_assignment` does.

    The gradebook is left alone.

    Args:
        course: where nbgrader's configuration is, and the files that go with the notebooks.
        sources: the notebooks' text by their path, in normal form; need not be written yet.
        into: an empty folder; gets one folder per assignment.

    Raises:
        ReleaseError: with what nbgrader logged.
    """
    from nbgrader.converters import GenerateAssignment
    from nbgrader.converters.base import NbGraderException
    from nbgrader.coursedir import CourseDirectory

    with TemporaryDirectory() as scratch, _errors() as errors, _classroom(scratch):
        root = Path(scratch)
        if course.solutions.exists():
            shutil.copytree(course.solutions, root / "solutions", ignore=_not_released)
        for path, text in sources.items():
            if path.is_relative_to(course.solutions):
                (root / path.relative_to(course.root)).write_bytes(text.encode())
        config = PyFileConfigLoader(course.config.name, path=str(course.root)).load_config()
        config.CourseDirectory.root = scratch
        config.CourseDirectory.source_directory = "solutions"
        config.CourseDirectory.release_directory = str(into)
        # What `nbgrader generate_assignment --no-db` sets: same bytes, without starting a database.
        config.GenerateAssignment.no_database = True
        config.SaveCells.enabled = False
        config.BaseConverter.force = True
        for assignment in course.assignments():
            config.CourseDirectory.assignment_id = assignment
            directory = CourseDirectory(config=config)
            try:
                GenerateAssignment(coursedir=directory, config=config).start()
            except NbGraderException as error:
                said = "; ".join(dict.fromkeys(errors))
                raise ReleaseError(f"nbgrader cannot release {assignment}: {said}") from error


def is_untouched(path: Path) -> bool:
    """Tell whether a file is a released notebook that nobody has worked on.

    That is so if it has no outputs, and all cells that nbgrader released are as they were.
    """
    if path.suffix != ".ipynb":
        return False
    from nbgrader.utils import compute_checksum

    try:
        cells = read(path.read_text(encoding="utf-8")).cells
    except (NotebookError, UnicodeDecodeError):
        return False
    released = [cell for cell in cells if "checksum" in cell.metadata.get("nbgrader", {})]
    return (
        bool(released)
        and not any(cell.get("outputs") for cell in cells)
        and all(c.metadata.nbgrader.checksum == compute_checksum(c) for c in released)
    )


@contextmanager
def _classroom(folder: str) -> Iterator[None]:
    """Let the configuration make its folders where they do not matter."""
    before = os.environ.get("D2LPERF_CLASSROOM")
    os.environ["D2LPERF_CLASSROOM"] = folder
    try:
        yield
    finally:
        del os.environ["D2LPERF_CLASSROOM"]
        if before is not None:
            os.environ["D2LPERF_CLASSROOM"] = before


@contextmanager
def _errors() -> Iterator[list[str]]:
    """Collect what nbgrader logs as an error, and keep the rest from the terminal."""
    from traitlets.log import get_logger

    collected: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            # Of a traceback, the last line says what is wrong.
            said = record.getMessage().strip().splitlines()[-1:]
            collected.extend(line for line in said if not line.startswith(("There was", "Please")))

    logger = get_logger()
    handlers, level, propagate = logger.handlers[:], logger.level, logger.propagate
    logger.handlers = [Collector(logging.ERROR)]
    logger.setLevel(logging.ERROR)
    logger.propagate = False
    try:
        yield collected
    finally:
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)
