"""Predictions: the reader commits first, then sees the truth and how far off the guess was."""

from __future__ import annotations

import numpy as np
import pytest

from d2lperf.predicting import Placement, predict_barriers, predict_schedule
from d2lperf.timeline import Timeline
from d2lperf.virtual import Machine, pipeline

US = 1e-6


def schedule(n: int = 3) -> Timeline:
    """Dispatches of 10 µs, runs of 40 µs: the runs begin at 10, 50 and 90 µs."""
    return pipeline(n, 10 * US, 40 * US).timeline(title="three steps")


def program() -> Timeline:
    machine = Machine(1, dispatch_s=20 * US, notify_s=5 * US)
    ones = machine.op(np.ones, cost_s=30 * US, name="ones")
    add = machine.op(np.add, cost_s=60 * US, name="add")
    print(add(ones(2), ones(2)))
    return machine.timeline()


def shown(monkeypatch: pytest.MonkeyPatch, prediction: object) -> list[dict[str, str]]:
    bundles: list[dict[str, str]] = []
    monkeypatch.setattr("IPython.display.display", lambda data, raw: bundles.append(data))
    prediction._ipython_display_()  # type: ignore[attr-defined]
    return bundles


def test_the_bars_to_place_are_not_given_away():
    prediction = predict_schedule(schedule())
    lanes = {event.lane for event in prediction.widget.timeline}
    assert lanes == {"host"}
    assert [bar["duration_ns"] for bar in prediction.widget.movable] == [40_000] * 3
    # In a heap at the right end, and not where they would be right by chance.
    assert prediction.widget.placed[-1] + 40_000 == prediction.truth.axis_end_ns
    starts = np.diff([*prediction.widget.placed])
    assert (starts > 0).all() and (starts < 5_000).all()


def test_a_wrong_schedule_is_told_how_far_off_it_is():
    prediction = predict_schedule(schedule())
    prediction.widget.placed = [0, 40_000, 80_000]
    result = prediction.reveal()
    assert result.errors_s == pytest.approx([-10 * US] * 3)
    assert result.mean_error_s == pytest.approx(10 * US)
    assert "10.0 µs off on average, 8% of the total; bar 1 is 10.0 µs too early" in str(result)
    assert "You end at 120 µs, the truth at 130 µs." in str(result)
    assert str(result) in prediction.verdict.value.replace("&#x27;", "'")


def test_a_right_schedule_is_told_so():
    prediction = predict_schedule(schedule())
    prediction.widget.placed = [10_000, 50_000, 90_000]
    assert str(prediction.reveal()) == "All 3 bars are where they belong."


def test_bars_that_look_alike_may_be_placed_in_any_order():
    prediction = predict_schedule(schedule())
    prediction.widget.placed = [90_000, 10_000, 50_000]
    assert str(prediction.reveal()) == "All 3 bars are where they belong."


def test_one_bar_far_off_among_many_is_not_overlooked():
    said = str(Placement(errors_s=(*[0.0] * 59, 0.3), end_s=1.3, true_end_s=1.0))
    assert "bar 60 is 300 ms too late" in said
    assert (
        str(Placement(errors_s=(0.0,), end_s=1.0, true_end_s=1.0)) == "The bar is where it belongs."
    )


def test_revealing_shows_the_truth_and_locks_the_bars():
    prediction = predict_schedule(schedule())
    prediction.button.click()
    assert prediction.widget.timeline is prediction.truth
    assert prediction.widget.locked and prediction.button.disabled


def test_only_the_first_reveal_counts():
    prediction = predict_schedule(schedule())
    prediction.reveal()
    said = prediction.verdict.value
    prediction.widget.placed = [10_000, 50_000, 90_000]
    prediction.reveal()
    assert prediction.verdict.value == said


def test_barriers_are_the_statements_that_wait():
    prediction = predict_barriers(program(), statements=["ones", "ones", "add", "print"])
    assert [toggle.description for toggle in prediction.toggles] == ["ones", "ones", "add", "print"]
    prediction.toggles[2].value = True
    result = prediction.reveal()
    assert (result.found, result.missed, result.mistaken) == ((), (3,), (2,))
    assert str(result) == "You found 0 of 1 wait, missed 1, named 1 that does not wait."
    assert [t.description[0] for t in prediction.toggles] == ["✓", "✓", "✗", "✗"]
    assert all(toggle.disabled for toggle in prediction.toggles)


def test_all_barriers_found_is_said_as_well():
    prediction = predict_barriers(program())
    prediction.toggles[3].value = True
    assert str(prediction.reveal()) == "You found 1 of 1 wait."


@pytest.mark.parametrize("predict", [predict_schedule, predict_barriers])
def test_without_a_kernel_the_truth_is_folded_away_in_the_static_twin(monkeypatch, predict):
    static, live = shown(monkeypatch, predict(program(), question="When & where?"))
    assert "<details><summary>Show what happened</summary>" in static["text/html"]
    assert "When &amp; where?" in static["text/html"]
    assert static["text/plain"] == "When & where?" and live["text/plain"] == ""
    assert "application/vnd.jupyter.widget-view+json" in live


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: predict_schedule(schedule(), lanes=["gpu:7"]), "no lane 'gpu:7'"),
        (lambda: predict_schedule(schedule(200)), "choose lanes with 1 to 60"),
        (lambda: predict_schedule(schedule().only("host")), "no lane has 0 events"),
        (lambda: predict_barriers(program(), statements=["one"]), "got 1 statements, but the host"),
        (lambda: predict_barriers(program().only("device:0")), "a timeline with a host's lane"),
    ],
)
def test_what_cannot_be_asked_is_said(call, words):
    with pytest.raises(ValueError, match=words):
        call()
