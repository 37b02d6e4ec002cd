"""From an answer to marks and words, whatever the answer does."""

from __future__ import annotations

import sys
import time
import warnings

import pytest

import d2lperf.grading.answer as answer_module
from d2lperf.grading import check, exercises, find, judge
from d2lperf.grading.present import as_html, as_text


def right(before_s, after_s):
    return before_s / after_s


def judged(function):
    return judge(find("ch00.speed_up"), function)


def test_a_report_is_a_number_for_nbgrader_and_a_table_for_people():
    bundle = check("ch00.speed_up", right)._repr_mimebundle_()
    assert float(bundle["text/plain"]) == 1.0
    assert "1 of 1 points" in bundle["text/html"] and "<script" not in bundle["text/html"]


def test_nothing_an_answer_prints_or_warns_about_reaches_stderr(capfd):
    def noisy(before_s, after_s):
        print("hello")
        print("careful", file=sys.stderr)
        warnings.warn("deprecated", stacklevel=1)
        return before_s / after_s

    result = judged(noisy)
    assert result.points == 1
    assert capfd.readouterr() == ("", "")
    assert "hello" in result.printed and "deprecated" in result.printed
    assert "hello" in as_text(result) and "hello" in as_html(result)


def test_much_output_is_cut():
    def chatty(before_s, after_s):
        print("line\n" * 1000)
        return before_s / after_s

    assert "more lines" in judged(chatty).printed and len(judged(chatty).printed) < 300


def raises(error):
    def answer(before_s, after_s):
        raise error

    return answer


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (raises(NotImplementedError()), "missing", "no answer yet"),
        (raises(NotImplementedError("jit of this")), "crashed", "jit of this"),
        (raises(KeyError("x")), "crashed", "KeyError: 'x'"),
        (raises(SystemExit(3)), "crashed", "SystemExit"),
        (raises(RecursionError("deep")), "timeout", "RecursionError"),
        (lambda a, b: None, "wrong", "returned None"),
        (lambda a, b: "fast", "wrong", "returned a str"),
        (lambda a, b: float("nan"), "wrong", "divided by the time after"),
        (lambda: 1, "crashed", "TypeError"),
        (4, "missing", "Hand in the function itself, not a int"),
        (None, "missing", "not nothing"),
    ],
    ids=range(11),
)
def test_every_way_to_fail_has_a_status_and_words(answer, status, words):
    result = judged(answer)
    assert (result.points, result.status) == (0, status)
    assert words in as_text(result)


def test_a_crash_names_the_line_of_the_students_own_code():
    def crash(before_s, after_s):
        return undefined_name  # noqa: F821

    assert "in crash: return undefined_name" in as_text(judged(crash))


def test_an_endless_loop_ends(monkeypatch):
    monkeypatch.setattr(answer_module, "TIME_LIMIT_S", 0.2)

    def endless(before_s, after_s):
        while True:
            time.sleep(0.01)

    result = judged(endless)
    assert result.status == "timeout" and "endless loop" in as_text(result)


def test_an_answer_cannot_swallow_what_stops_it(monkeypatch):
    monkeypatch.setattr(answer_module, "TIME_LIMIT_S", 0.2)

    def stubborn(before_s, after_s):
        try:
            while True:
                time.sleep(0.01)
        except ArithmeticError:
            return 1.0

    assert judged(stubborn).status == "timeout"


def test_an_unknown_exercise_gets_a_suggestion():
    with pytest.raises(ValueError, match=r"did you mean 'ch02.overlap'"):
        check("ch02.overlapp", right)


def test_what_students_write_is_escaped():
    def nasty(before_s, after_s):
        print("<script>alert(1)</script>")
        raise ValueError("<img src=x onerror=alert(1)>")

    page = as_html(judged(nasty))
    assert "<script>" not in page and "<img src=x" not in page


def test_public_checks_are_the_same_every_time():
    exercise = find("ch02.queue_depth")
    first, second = (judge(exercise, lambda run, clock: 7) for _ in range(2))
    assert as_text(first) == as_text(second)


def test_ids_are_unique_and_points_positive():
    ids = [e.id for e in exercises()]
    assert len(set(ids)) == len(ids)
    for exercise in exercises():
        assert exercise.points > 0 and all(c.points > 0 for c in exercise.criteria)
        assert len({c.key for c in exercise.criteria}) == len(exercise.criteria)
