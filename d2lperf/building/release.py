"""What students get, made from the instructor's source by nbgrader itself."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from traitlets.config import Config, PyFileConfigLoader

from d2lperf.building.course import Course
from d2lperf.building.normal_form import NotebookError, read


class ReleaseError(Exception):
    """nbgrader refuses to make a release."""


def make_release(course: Course, into: Path) -> None:
    """Make the released version of every assignment, as `nbgrader generate_assignment` does.

    The gradebook is left alone: nbgrader gets one that is thrown away.

    Args:
        course: where the sources and nbgrader's configuration are.
        into: an empty folder; gets one folder per assignment.

    Raises:
        ReleaseError: with what nbgrader logged.
    """
    from nbgrader.converters import GenerateAssignment
    from nbgrader.converters.base import NbGraderException
    from nbgrader.coursedir import CourseDirectory

    with TemporaryDirectory() as scratch, _errors() as errors, _environment(scratch):
        config = PyFileConfigLoader(course.config.name, path=str(course.root)).load_config()
        config.merge(Config({"CourseDirectory": {"root": str(course.root)}}))
        config.CourseDirectory.release_directory = str(into)
        config.CourseDirectory.db_url = f"sqlite:///{scratch}/gradebook.db"
        config.BaseConverter.force = True
        for assignment in course.assignments():
            config.CourseDirectory.assignment_id = assignment
            directory = CourseDirectory(config=config)
            try:
                GenerateAssignment(coursedir=directory, config=config).start()
            except (NbGraderException, SystemExit) as error:
                said = "\n".join(errors) or str(error)
                raise ReleaseError(f"nbgrader cannot release {assignment}:\n{said}") from error


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
def _environment(scratch: str) -> Iterator[None]:
    """Point the configuration at a classroom to throw away, and let nbgrader find `alembic`."""
    before = dict(os.environ)
    os.environ["D2LPERF_CLASSROOM"] = scratch
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before.get("PATH", "")])
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _errors() -> Iterator[list[str]]:
    """Collect what nbgrader logs as an error, and keep the rest from the terminal."""
    from traitlets.log import get_logger

    collected: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            collected.append(record.getMessage())

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
