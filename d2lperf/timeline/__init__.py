"""Schedules as pictures."""

from d2lperf.timeline.svg import Picture, picture, summarise

__all__ = ["Picture", "picture", "summarise"]
