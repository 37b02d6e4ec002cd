"""Headless Chromium for benchmarks."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = (
    *("chromium", "chromium-browser", "google-chrome"),
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


class BrowserMissing(RuntimeError):
    """What is measured in a browser cannot be measured here; the message says what to install."""


def chromium_path() -> str | None:
    """Return where Chromium or Chrome is installed, `None` if nowhere that we know."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """Start headless Chromium and stop it at the end of the block.

    Yields:
        A playwright browser.

    Raises:
        BrowserMissing: no Chromium, or playwright is not installed.
    """
    path = chromium_path()
    if path is None:
        raise BrowserMissing("found no Chromium: install it (Debian, Ubuntu: apt install chromium)")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError as error:
        raise BrowserMissing(
            "playwright is not installed: run `make test` once, or pip install playwright"
        ) from error
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS])
        try:
            yield browser
        finally:
            browser.close()
