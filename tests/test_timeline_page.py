"""The offline page of a timeline, in a real browser with no network."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from timelines import EVIL, crowd, evil, example, training

from d2lperf.bench.browser import chromium_path
from d2lperf.events import CATEGORIES, Lane, Mark
from d2lperf.timeline import Timeline

in_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(
        chromium_path() is None, reason="no Chromium: install the package `chromium`"
    ),
    # Playwright's own event loop leaves sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def test_the_page_is_one_file_that_names_no_other():
    text = example().to_html()
    policy = "default-src 'none'; script-src 'sha256-"
    assert f'http-equiv="Content-Security-Policy" content="{policy}' in text
    assert not re.search(r'(src|href)="(?!data:)', text)
    assert "<title>Twelve operations, a barrier after every fourth</title>" in text
    assert "<noscript><img" in text


def test_no_name_breaks_out_of_the_page():
    text = evil().to_html()
    assert EVIL not in text
    assert text.count("</script>") == 2
    assert "<img src=x" not in text


def test_the_page_is_written_where_it_is_asked_for(tmp_path: Path):
    text = example().to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == text


class Opened:
    """A page in the browser, and everything that went wrong on it."""

    def __init__(self, browser: Any, folder: Path, timeline: Timeline, **how: Any) -> None:
        file = folder / "page.html"
        timeline.to_html(file)
        self.folder = Path(os.environ.get("D2LPERF_SCREENSHOTS") or folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.page = browser.new_page(**{"viewport": {"width": 1200, "height": 720}} | how)
        self.wrong: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.wrong.append(message.text))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(file.as_uri())
        self.page.locator(".d2l-timeline[data-first]").wait_for()
        self.stage = self.page.locator(".stage")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
        self.rest()

    def rest(self) -> None:
        """Wait until the view has come to rest."""
        self.page.evaluate(
            """async () => {
                const { view } = document.querySelector('.d2l-timeline').d2lperf;
                const frame = () => new Promise(requestAnimationFrame);
                do await frame(); while (view.view !== view.goal);
                await frame();
            }"""
        )

    def state(self, expression: str) -> Any:
        return self.page.evaluate(
            f"() => {{ const {{ view }} = document.querySelector('.d2l-timeline').d2lperf; return {expression}; }}"
        )

    def said(self) -> str:
        return self.page.locator(".unseen[role=status]").inner_text()

    def picture(self, name: str) -> None:
        self.page.screenshot(path=self.folder / f"timeline-{name}.png")


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    pages: list[Opened] = []

    def open_page(timeline: Timeline, **how: Any) -> Opened:
        pages.append(Opened(browser, tmp_path, timeline, **how))
        return pages[-1]

    yield open_page
    for page in pages:
        page.page.close()
        assert not page.wrong
        assert len(page.asked) == 1 and page.asked[0].startswith("file:")


class TestInTheBrowser:
    pytestmark = in_browser

    def test_it_opens_offline_and_draws_every_category(self, opened):
        page = opened(training())
        assert page.page.locator(".legend button").all_inner_texts() == [*CATEGORIES]
        inks = page.page.evaluate(
            """() => {
                const canvas = document.querySelector('canvas.bars');
                const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
                return new Set(new Uint32Array(data.buffer)).size;
            }"""
        )
        assert inks > 20
        page.picture("light")

    def test_keys_lead_from_event_to_event_and_speak(self, opened):
        page = opened(example())
        page.stage.focus()
        page.press("ArrowRight", "ArrowDown")
        assert page.said().startswith("lane device:0: 12 events")
        page.press("ArrowRight")
        assert "run on device:0, starts at 280 µs, lasts 180 µs; dispatched at 100 µs by host" in (
            page.said()
        )
        page.press("Enter")
        assert page.state("view.view.from < 280000 && view.view.to > 460000")
        assert page.state("view.view.to - view.view.from") < 300_000
        page.press("0")
        assert page.state("view.view.from === 0 && view.view.to === view.whole.to")

    def test_a_plain_wheel_scrolls_the_page_and_ctrl_zooms_at_the_pointer(self, opened):
        page = opened(training(), viewport={"width": 1000, "height": 300})
        box = page.stage.bounding_box()
        page.page.mouse.move(box["x"] + 300, box["y"] + 40)
        page.page.mouse.wheel(0, 60)
        page.page.wait_for_function("() => window.scrollY > 0")
        assert page.state("view.view.to === view.whole.to")
        before = page.state("view.timeAt(300)")
        pixel = page.state("view.whole.to / view.width")
        page.page.keyboard.down("Control")
        page.page.mouse.wheel(0, -200)
        page.page.keyboard.up("Control")
        page.page.wait_for_function(
            """() => {
                const { view } = document.querySelector('.d2l-timeline').d2lperf;
                return view.view.to < view.whole.to;
            }"""
        )
        assert page.state("view.timeAt(300)") == pytest.approx(before, abs=pixel)

    def test_shift_and_drag_selects_lanes_and_time(self, opened):
        page = opened(training())
        band = page.state("view.placed.bands[2]")
        box = page.stage.bounding_box()
        page.page.keyboard.down("Shift")
        page.page.mouse.move(box["x"] + 100, box["y"] + band["y"] + 4)
        page.page.mouse.down()
        page.page.mouse.move(box["x"] + 500, box["y"] + band["y"] + 20, steps=4)
        page.page.mouse.up()
        page.page.keyboard.up("Shift")
        assert page.state("view.region.lanes.map((lane) => view.rows.lanes[lane].name)") == [
            "gpu:0 compute"
        ]
        assert re.match(r"selected .* in gpu:0 compute: \d+ events?", page.said())
        page.picture("selection")

    def test_two_timelines_are_laid_upon_each_other_by_a_button(self, opened):
        page = opened(example().against(example()))
        assert page.state("view.placed.bands.length") == 4
        page.page.get_by_role("button", name="Draw the second timeline upon the first").click()
        assert page.state("view.placed.bands.length") == 2
        page.rest()
        page.picture("overlay")

    def test_many_lanes_scroll_and_the_chosen_one_comes_into_view(self, opened):
        count = 50
        columns = {
            "start_ns": np.arange(count) * 1000,
            "duration_ns": np.full(count, 900),
            "lane": np.arange(count),
            "name": np.zeros(count, int),
            "category": np.ones(count, int),
        }
        lanes = [f"stream {i}" for i in range(count)]
        page = opened(Timeline(columns, lanes=lanes, names=["f"], title="Fifty streams"))
        page.stage.focus()
        page.press(*["ArrowDown"] * count)
        assert page.said().startswith("f: run on stream 49") or "lane stream 49" in page.said()
        scrolled = page.state("view.parts.scroll.scrollTop")
        place = page.state("view.placed.rows[49]")
        assert scrolled < place["y"] < scrolled + page.state("view.height")

    def test_a_search_counts_and_goes_through_the_matches(self, opened):
        page = opened(training())
        page.stage.focus()
        page.press("/")
        page.page.keyboard.type("ALL-red")
        found = page.page.locator(".found")
        assert found.inner_text() == "3"
        page.press("Enter", "Enter")
        assert found.inner_text() == "2 of 3"
        page.picture("search")
        page.press("Escape")
        assert found.inner_text() == ""
        assert page.state("document.activeElement === view.parts.stage")

    def test_lanes_and_groups_fold(self, opened):
        page = opened(training())
        high = page.stage.bounding_box()["height"]
        page.page.get_by_role("button", name="python").click()
        lower = page.stage.bounding_box()["height"]
        page.page.get_by_role("button", name="gpu:0", exact=True).click()
        assert page.stage.bounding_box()["height"] < lower < high
        assert page.page.locator("[data-fold='group:gpu:0']").get_attribute("aria-expanded") == (
            "false"
        )
        page.picture("folded")

    def test_the_table_has_the_events_in_view(self, opened):
        page = opened(training())
        page.page.get_by_role("button", name="Events in view as a table").click()
        rows = page.page.locator(".events tbody tr")
        rows.first.wait_for()
        assert rows.count() == page.state("view.rows.size + view.rows.meta.marks.length")
        assert rows.first.inner_text().split("\t")[:4] == ["compiled", "mark", "", "3.00 ms"]
        rows.nth(3).get_by_role("button").click()
        assert "step" in page.said()
        page.picture("table")

    def test_marks_too_close_for_their_texts_tell_them_when_pointed_at(self, opened):
        marks = [Mark(1000 * k, f"mark {k}") for k in range(100)]
        page = opened(example().replace(marks=marks))
        shown = page.state("view.flags.map(({ short }) => Boolean(short))")
        assert len(shown) == 100 and shown[0] and not all(shown)
        box = page.page.locator("canvas.axis").bounding_box()
        silent = shown.index(False)
        x = page.state(f"view.flags[{silent}].x")
        page.page.mouse.move(box["x"] + x, box["y"] + 30)
        tip = page.page.locator(".tip")
        tip.wait_for()
        assert f"mark {silent}" in tip.inner_text()

    def test_pointing_at_a_strip_shows_what_is_held_there(self, opened):
        page = opened(training())
        box, y = page.stage.bounding_box(), page.state("view.placed.strips[0].y")
        x = page.state("(5.0e6 / view.whole.to) * view.width")
        page.page.mouse.move(box["x"] + x, box["y"] + y + 30)
        tip = page.page.locator(".tip")
        tip.wait_for()
        assert "holds\n768 MiB" in tip.inner_text()

    def test_shift_and_drag_on_the_axis_selects_all_lanes(self, opened):
        page = opened(training())
        box = page.page.locator("canvas.axis").bounding_box()
        page.page.keyboard.down("Shift")
        page.page.mouse.move(box["x"] + 100, box["y"] + 20)
        page.page.mouse.down()
        page.page.mouse.move(box["x"] + 400, box["y"] + 20, steps=3)
        page.page.mouse.up()
        page.page.keyboard.up("Shift")
        assert page.state("view.region.lanes.length === view.rows.lanes.length")
        page.page.mouse.click(box["x"] + 5, box["y"] + 30)
        assert page.state("view.chosen === -1")

    @pytest.mark.parametrize("width", [320, 700])
    def test_nothing_makes_a_narrow_page_scroll_sideways(self, opened, width):
        long = "one_word_without_a_space_" * 20
        lanes = [Lane(f"{lane.name} {long}", lane.kind, lane.group) for lane in training().lanes]
        timeline = training().replace(lanes=lanes, notes=[long], caption=long, title=long)
        page = opened(timeline, viewport={"width": width, "height": 700})
        page.stage.focus()
        page.press("ArrowRight", "?", "t")
        page.page.locator(".events tbody tr").first.wait_for()
        assert page.page.evaluate("() => document.documentElement.scrollWidth") <= width
        assert page.state("view.width") > 0.4 * width
        page.picture(f"narrow-{width}")

    def test_cursors_measure(self, opened):
        page = opened(example())
        page.stage.focus()
        page.press("ArrowRight", "m", "m")
        assert "0 s to 100 µs: 100 µs apart" in page.page.locator(".status").inner_text()

    def test_pointing_shows_what_is_there_and_its_partners(self, opened):
        page = opened(training())
        place = page.state("view.placed.rows[view.rows.lanes[2].first]")
        box = page.stage.bounding_box()
        x = page.state("(5.0e6 / view.whole.to) * view.width")
        page.page.mouse.move(box["x"] + x, box["y"] + place["y"] + 8)
        tip = page.page.locator(".tip")
        tip.wait_for()
        assert re.sub(r"\s+", " ", tip.inner_text()) == (
            "f kind run lane gpu:0 compute start 4.40 ms duration 2.00 ms step 0 dispatched 3.90 ms"
        )
        page.picture("pointing")

    def test_a_crowd_is_drawn_merged_and_said_to_be(self, opened):
        page = opened(crowd(40_000))
        merged = int(page.page.locator(".d2l-timeline").get_attribute("data-merged"))
        assert 30_000 < merged <= 40_000
        count = f"{merged:,}".replace(",", "\N{NO-BREAK SPACE}")
        said = page.page.locator(".status").inner_text()
        assert f"{count} events narrower than a pixel are drawn merged" in said
        page.picture("crowd")

    def test_names_that_look_like_html_are_text(self, opened):
        page = opened(evil())
        assert page.page.locator(".title").inner_text() == EVIL
        assert page.page.locator("img[src=x]").count() == 0

    def test_without_scripts_the_picture_remains(self, browser, tmp_path):
        file = tmp_path / "page.html"
        example().to_html(file)
        context = browser.new_context(java_script_enabled=False)
        page = context.new_page()
        page.goto(file.as_uri())
        assert page.locator("noscript img, img.d2lperf-picture").first.is_visible()
        context.close()

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_axe_finds_nothing(self, opened, scheme):
        from axe_playwright_python.sync_playwright import Axe

        page = opened(training(), color_scheme=scheme)
        page.stage.focus()
        page.press("ArrowRight", "t", "?")
        page.page.locator(".events tbody tr").first.wait_for()
        page.page.locator("details summary").click()
        assert page.page.locator(".d2l-timeline").get_attribute("data-theme") == scheme
        found = Axe().run(page.page)
        assert found.violations_count == 0, found.generate_report()
        page.picture(f"axe-{scheme}")

    def test_colours_may_change_while_it_is_open(self, opened):
        page = opened(training(), device_scale_factor=2)
        root = page.page.locator(".d2l-timeline")
        page.page.emulate_media(color_scheme="dark")
        page.page.locator(".d2l-timeline[data-theme=dark]").wait_for()
        page.rest()
        page.picture("dark")
        page.page.emulate_media(forced_colors="active")
        page.page.locator(".d2l-timeline[data-theme=forced]").wait_for()
        page.rest()
        page.picture("forced")
        page.page.emulate_media(forced_colors="none", color_scheme="light")
        page.page.locator(".d2l-timeline[data-theme=light]").wait_for()
        assert root.is_visible()
