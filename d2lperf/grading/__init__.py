"""Checks: what an answer earns, and why, in words."""

from d2lperf.grading.exercise import Case, Criterion, Exercise, Wrong
from d2lperf.grading.judging import Finding, Result, judge
from d2lperf.grading.registry import exercises, find
from d2lperf.grading.report import Report, check

__all__ = [
    "Case",
    "Criterion",
    "Exercise",
    "Finding",
    "Report",
    "Result",
    "Wrong",
    "check",
    "exercises",
    "find",
    "judge",
]
