"""Schedules, measured or simulated: looked into, drawn, compared."""

from d2lperf.timeline.svg import Picture, picture, summarise
from d2lperf.timeline.timeline import Timeline

__all__ = ["Picture", "Timeline", "picture", "summarise"]
