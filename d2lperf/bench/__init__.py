"""`d2lperf bench`: how fast the course's own parts are, as ratios taken in one run."""

from __future__ import annotations

from collections.abc import Iterator

from d2lperf.bench.browser import BrowserMissing
from d2lperf.bench.figures import Figure, table_of

__all__ = ["BrowserMissing", "Figure", "run", "table_of"]


def run(what: str, *, browser: bool = True) -> Iterator[Figure]:
    """Time one part of the course and yield figure by figure.

    Args:
        what: `timeline`.
        browser: include what needs Chromium.

    Raises:
        ValueError: nothing of that name is timed.
        BrowserMissing: there is no browser to time.
    """
    if what != "timeline":
        raise ValueError(f"there is no benchmark {what!r}: give timeline")
    from d2lperf.bench import live, timeline

    yield from timeline.in_python()
    if browser:
        yield from timeline.in_browser()
        yield from live.in_jupyterlab()
