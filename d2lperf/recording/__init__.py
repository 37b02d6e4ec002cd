"""Timelines of real programs: recorded with JAX's profiler, or opened from a file."""

from d2lperf.recording.files import open_timeline
from d2lperf.recording.record import Recording, record, step

__all__ = ["Recording", "open_timeline", "record", "step"]
