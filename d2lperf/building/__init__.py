"""From what people write to what students get: normal form, rules, release."""

from d2lperf.building.build import Outcome, build
from d2lperf.building.course import Course, CourseNotFound, find_course
from d2lperf.building.normal_form import NotebookError, normal_form
from d2lperf.building.release import ReleaseError, make_release
from d2lperf.building.rules import problems

__all__ = [
    "Course",
    "CourseNotFound",
    "NotebookError",
    "Outcome",
    "ReleaseError",
    "build",
    "find_course",
    "make_release",
    "normal_form",
    "problems",
]
