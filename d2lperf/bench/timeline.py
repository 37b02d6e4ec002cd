"""How fast the timeline is: model, analysis and pictures in Python, frames in a browser."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from d2lperf.bench.browser import chromium
from d2lperf.bench.figures import Figure, in_turns, repeated
from d2lperf.events import CATEGORIES, Event, Lane
from d2lperf.stats import Samples
from d2lperf.timeline import Timeline
from d2lperf.timeline.analyse import busy_intervals, length_ns
from d2lperf.timeline.bundle import bundle
from d2lperf.timeline.packing import pack
from d2lperf.timeline.page import page
from d2lperf.virtual import pipeline

FRAMES = 60
# Zooms in and out again and pans in between, so that every level of detail is drawn. Ours and the naive way draw
# the same views in turns. Reading a pixel makes the browser finish what it only noted down to draw.
JOURNEY = """
async ([frames]) => {
    const root = document.querySelector('#timeline [data-events]');
    const { view } = root.d2lperf;
    await root.d2lperf.ready;
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [view.width, view.height];
    const naive = canvas.getContext('2d', { alpha: false });
    const ours = view.parts.canvas.getContext('2d');
    const timed = (context, work) => {
        const begin = performance.now();
        work();
        context.getImageData(0, 0, 1, 1);
        return performance.now() - begin;
    };
    const next = () => new Promise(resolve => requestAnimationFrame(resolve));
    const go = (i) => {
        if (i % 3 === 2) view.pan(0.05);
        else view.zoom(i < frames / 2 ? 1.25 : 1 / 1.25);
    };
    const times = { ours: [], naive: [], between: [] };
    let last = await next();
    for (let i = 0; i < frames; i += 1) {
        go(i);
        const now = await next();
        times.between.push(now - last);
        last = now;
    }
    for (let i = 0; i < frames; i += 1) {
        go(i);
        await next();
        times.ours.push(timed(ours, () => view.draw()));
        if (i % 6 === 0) {
            const draw = () => drawEverything(naive, view.rows, view.view, view.width, view.height);
            times.naive.push([timed(naive, draw), times.ours.at(-1)]);
        }
    }
    return times;
}
"""


def many_events(count: int, *, seed: int = 0) -> Timeline:
    """Return a timeline like that of a long loop on four devices: host, streams, nested calls, gaps.

    Args:
        count: number of events.
        seed: of the random durations.
    """
    random = np.random.default_rng(seed)
    lanes = [Lane("Python"), *(Lane(f"gpu:{i}", "device") for i in range(4)), Lane("link", "link")]
    each = np.full(len(lanes), count // len(lanes))
    each[: count % len(lanes)] += 1
    columns: dict[str, list[np.ndarray]] = {"start_ns": [], "duration_ns": []}
    for n in each:
        duration = random.lognormal(8, 1, n).astype(np.int64)
        start = np.cumsum(duration + random.integers(0, 3000, n)) - duration
        columns["start_ns"].append(start)
        columns["duration_ns"].append(duration)
    lane = np.repeat(np.arange(len(lanes)), each)
    kinds = np.array([CATEGORIES.index(c) for c in ("dispatch", *["run"] * 4, "copy")])
    number = np.concatenate([np.arange(n) for n in each])
    return Timeline(
        {key: np.concatenate(parts) for key, parts in columns.items()}
        | {
            "lane": lane,
            "name": number % 50,
            "category": kinds[lane],
            "flow": np.where(lane < 2, number, -1),
        },
        lanes=lanes,
        names=[f"kernel {i}" for i in range(50)],
        title=f"{count:,} events",
    )


def in_python(counts: tuple[int, ...] = (100_000, 1_000_000)) -> Iterator[Figure]:
    """Time what happens before the browser, each beside a plain Python loop where there is one."""
    for count in counts:
        yield from _of_one_size(many_events(count), f"{count:,} events: ")
    yield Figure(
        "slider: simulate 60 operations and pack",
        repeated(lambda: pack(pipeline(60, 1e-5, 4e-5, 2e-5).timeline()), repeats=20),
    )


def _of_one_size(timeline: Timeline, label: str) -> Iterator[Figure]:
    columns, options = timeline._columns(), timeline._options()
    work: dict[str, Callable[[], Any]] = {
        "check, order, nest": lambda: Timeline(columns, **options),
        "pack for the browser": lambda: pack(timeline),
        "static picture": timeline.picture,
    }
    for name, call in work.items():
        yield Figure(label + name, repeated(call, repeats=3))
    events = list(timeline)
    pair = in_turns(
        lambda: length_ns(busy_intervals(timeline, "gpu:0")),
        lambda: _busy_by_hand(events, "gpu:0"),
        repeats=3,
    )
    yield Figure(f"{label}busy time of a lane", *pair, "a loop over events")


def in_browser(counts: tuple[int, ...] = (100_000, 1_000_000)) -> Iterator[Figure]:
    """Time first paint and frames in headless Chromium, and drawing every event in every frame beside it.

    Raises:
        BrowserMissing: there is no Chromium, or playwright is not installed.
    """
    goals = {100_000: 0.1, 1_000_000: 1.0}
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for count in counts:
            file = Path(folder) / f"{count}.html"
            file.write_text(page(many_events(count)), "utf-8")
            first, times = [], {}
            for _ in range(3):
                tab = browser.new_page(viewport={"width": 1400, "height": 900})
                tab.goto(file.as_uri())
                tab.wait_for_selector("#timeline [data-first]", state="attached", timeout=120_000)
                root = tab.locator("#timeline [data-first]")
                first.append(float(root.get_attribute("data-first")) / 1e3)
                if len(first) == 3:
                    times = _journey(tab)
                tab.close()
            label = f"{count:,} events: "
            yield Figure(f"{label}first paint", Samples(first), goal_s=goals.get(count))
            goal_s = 0.008 if count == 1_000_000 else None
            yield Figure(f"{label}a frame of pan and zoom", _samples(times["ours"]), goal_s=goal_s)
            between = _samples(times["between"])
            yield Figure(f"{label}from frame to frame", between, goal_s=goal_s and 1 / 60)
            naive, beside = zip(*times["naive"], strict=True)
            pair = _samples(beside), _samples(naive)
            yield Figure(f"{label}a frame, the same views", *pair, "draw every event")


def _journey(tab: Any) -> dict[str, Any]:
    # The naive way is no part of the page: it is put beside it for this measurement.
    naive = bundle("naive.js", end="globalThis.drawEverything = drawEverything;\n")
    tab.evaluate(f"() => {{ {naive} }}")
    return tab.evaluate(JOURNEY, [FRAMES])


def _samples(milliseconds: Any) -> Samples:
    # A browser's clock is coarse: what took no time that it can show took at most its step.
    return Samples(max(float(ms), 0.005) / 1e3 for ms in milliseconds)


def _busy_by_hand(events: list[Event], lane: str) -> int:
    busy_ns, end_ns = 0, 0
    for event in events:
        if event.lane == lane and event.category != "wait":
            busy_ns += max(0, event.end_ns - max(event.start_ns, end_ns))
            end_ns = max(end_ns, event.end_ns)
    return busy_ns
