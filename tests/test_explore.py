"""Sliders simulate a timeline anew, and something is left to see without them."""

import html
import json
import re

import ipywidgets
import pytest

from d2lperf.exploring import explore
from d2lperf.virtual import pipeline


def simulate(n=3, t_us=10.0, barrier=False):
    """A small schedule."""
    machine = pipeline(n, t_us * 1e-6, 40e-6, barrier_every=int(barrier))
    return machine.timeline(title=f"{n}")


def values_in(markup):
    """What the page says the sliders stand at."""
    return json.loads(html.unescape(re.search(r'data-values="([^"]*)"', markup)[1]))


@pytest.fixture
def explorer():
    return explore(simulate, n=(1, 9, 3), t_us=(1.0, 99.0, 10.0, 0.5), barrier=False)


def test_it_begins_where_the_sliders_stand(explorer):
    assert values_in(explorer.state.value) == {"n": 3, "t_us": 10.0, "barrier": False}
    assert list(explorer.timeline) == list(simulate())


@pytest.mark.parametrize(("name", "value"), [("n", 7), ("t_us", 55.5), ("barrier", True)])
def test_moving_a_slider_simulates_anew(explorer, name, value):
    before = explorer.widget.data
    explorer.sliders[name].value = value
    assert values_in(explorer.state.value)[name] == value
    assert list(explorer.timeline) == list(simulate(**explorer.values))
    assert explorer.widget.data is not before


def test_the_kinds_of_sliders_follow_from_their_description():
    own = ipywidgets.Text("a")
    made = explore(
        lambda **values: simulate(), a=(0, 9, 1), b=(0.0, 9, 1), c=True, d=["x", "y"], e=own
    )
    kinds = [type(slider).__name__ for slider in made.sliders.values()]
    assert kinds == ["IntSlider", "FloatSlider", "Checkbox", "SelectionSlider", "Text"]
    assert made.values == {"a": 1, "b": 1.0, "c": True, "d": "x", "e": "a"}


@pytest.mark.parametrize("spec", ["x", (1, 2), (1, 2, 3, 4, 5), [], None])
def test_a_description_that_is_none_is_refused(spec):
    with pytest.raises(TypeError, match="expected \\(low, high, start\\)"):
        explore(simulate, n=spec)


def test_an_error_while_simulating_is_shown_and_the_next_timeline_comes(explorer):
    explorer._simulate = lambda **values: 1 / 0
    explorer.sliders["n"].value = 4
    assert "ZeroDivisionError" in explorer.state.value
    assert explorer.timeline.title == "3"
    explorer._simulate = simulate
    explorer.sliders["n"].value = 5
    assert "Error" not in explorer.state.value
    assert explorer.timeline.title == "5"


def test_a_function_that_returns_no_timeline_is_refused_at_once():
    with pytest.raises(
        TypeError, match="a function that returns a Timeline, it returned a Machine"
    ):
        explore(lambda n: pipeline(n, 1e-6, 1e-6), n=(1, 9, 3))


def test_it_shows_a_static_picture_first_which_the_widget_hides(explorer, monkeypatch):
    shown = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    explorer._ipython_display_()
    static, live = shown
    key = re.search(r'id="([^"]+)"', static["text/html"])[1]
    assert simulate().picture().as_img() in static["text/html"]
    assert explorer.widget.twin == key
    assert "application/vnd.jupyter.widget-view+json" in live
    assert not live["text/plain"]


def test_two_explorers_do_not_hide_each_others_pictures(explorer, monkeypatch):
    monkeypatch.setattr("IPython.display.display", lambda data, raw: None)
    other = explore(simulate, n=(1, 9, 3))
    explorer._ipython_display_()
    other._ipython_display_()
    assert explorer.widget.twin != other.widget.twin


def test_units_in_names_are_shown_as_units():
    made = explore(
        lambda **values: simulate(), t1_us=(0, 9, 1), queue_depth=(0, 9, 1), us=(0, 9, 1)
    )
    labels = [slider.description for slider in made.sliders.values()]
    assert labels == ["t1 / µs", "queue depth", "us"]
