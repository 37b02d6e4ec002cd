"""Schedules, measured or simulated: looked into, drawn, compared."""

from d2lperf.timeline.picture import Picture
from d2lperf.timeline.timeline import Timeline

__all__ = ["Picture", "Timeline"]
