"""From an answer to marks and words, whatever the answer does."""

from __future__ import annotations

import sys
import time
import warnings
from contextlib import suppress
from fractions import Fraction

import jax
import numpy as np
import pytest

import d2lperf.grading.answer as answer_module
from d2lperf.grading import check, exercises, find, judge
from d2lperf.grading.present import as_html, as_text
from d2lperf.virtual import pipeline


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
        (raises(RecursionError("deep")), "crashed", "RecursionError"),
        (lambda a, b: None, "wrong", "returned None"),
        (lambda a, b: "fast", "wrong", "returned something of type str"),
        (lambda a, b: float("nan"), "wrong", "divided by the time after"),
        (lambda: 1, "crashed", "TypeError"),
        (4, "missing", "not something of type int"),
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
    monkeypatch.setattr(answer_module, "CALL_LIMIT_S", 0.2)

    def endless(before_s, after_s):
        while True:
            time.sleep(0.01)

    result = judged(endless)
    assert result.status == "timeout" and "endless loop" in as_text(result)


def test_an_answer_cannot_swallow_what_stops_it(monkeypatch):
    monkeypatch.setattr(answer_module, "CALL_LIMIT_S", 0.2)

    def stubborn(before_s, after_s):
        while True:
            with suppress(Exception):
                time.sleep(0.01)

    assert judged(stubborn).status == "timeout"


def test_after_one_endless_call_the_answer_is_not_called_again(monkeypatch):
    monkeypatch.setattr(answer_module, "CALL_LIMIT_S", 0.2)
    calls = []

    def endless(before_s, after_s):
        calls.append(before_s)
        while True:
            time.sleep(0.01)

    assert judged(endless).status == "timeout" and len(calls) == 1


def test_one_long_line_is_cut():
    def chatty(before_s, after_s):
        print("x" * 10**6, end="")
        return before_s / after_s

    assert len(as_html(judged(chatty))) < 5000


class Unspeakable(Exception):
    def __str__(self):
        raise ValueError("no words")

    __repr__ = __str__


class Leaving(BaseException):
    pass


@pytest.mark.parametrize("error", [Unspeakable(), Leaving("bye"), GeneratorExit()], ids=range(3))
def test_no_exception_escapes(error):
    assert judged(raises(error)).status == "crashed"


class Odd:
    """Refuses whatever one may want of an object."""

    def refuse(self, *args, **options):
        raise RuntimeError("no")

    __array__ = __len__ = __iter__ = __float__ = __eq__ = __repr__ = __bool__ = __getitem__ = refuse
    __hash__ = None


itself: list = []
itself.append(itself)
ODD = [
    None, True, 3, -1.5, float("inf"), 1 + 2j, "", "text", b"bytes", [], [[]], {}, {1: 2, "a": 3}, set(), itself,
    np.array(3.0), np.zeros((2, 2)), np.array(["a"]), np.array([None]), np.array([1j, 2j]), np.zeros(0),
    object(), Odd(), Odd, [Odd(), Odd()], (x for x in ()), range(3), lambda: 1, jax.numpy.ones(2),
    [float("nan")] * 2, ["a", "b"], {"a": "b"}, 10**400, Fraction(1, 3), [10**400, 1],
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
@pytest.mark.parametrize("exercise", exercises(), ids=lambda e: e.id)
def test_odd_answers_get_a_result_and_no_points(exercise, odd, capfd):
    def function(*args):
        return odd

    answer = dict.fromkeys(exercise.parts, function) if exercise.parts else function
    for handed_in in (answer, odd):
        if not isinstance(handed_in, type):
            result = judge(exercise, handed_in, instances=1)
            assert result.points == 0, as_text(result)
            assert as_text(result) and as_html(result)
    assert capfd.readouterr() == ("", "")


def test_an_object_with_a_call_method_is_no_way_around():
    class Callable:
        def call(self):
            return 1

        def __call__(self, before_s, after_s):
            return before_s / after_s

    assert judged(Callable()).points == 1


def test_an_answer_may_not_run_a_machine_of_its_own():
    def simulate(n, t1, t2, t3, depth):
        return pipeline(n, t1, t2, t3, depth=depth).perf_counter()

    result = judge(find("ch02.pipeline_law"), simulate)
    assert result.points == 0 and "virtual machine of its own" in as_text(result)


def test_a_result_does_not_tell_the_depth_of_the_queue():
    result = judge(find("ch02.queue_depth"), lambda run, clock: run(64).device.depth)
    assert result.points == 0 and "has no attribute 'depth'" in as_text(result)


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
