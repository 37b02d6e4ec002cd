"""Every answer of the bank earns exactly what it should and is told what it should be told."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from bank import Entry, entries

from d2lperf.grading import exercises, find, judge
from d2lperf.grading.present import as_html, as_text

ENTRIES = list(entries())


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e.exercise_id}-{e.name}")
def test_an_answer_loses_exactly_its_criteria_and_is_told_why(entry: Entry):
    result = judge(find(entry.exercise_id), entry.answer)
    lost = {f.criterion.key for f in result.findings if f.status != "ok"}
    assert lost == entry.loses, as_text(result)
    assert entry.says in " ".join(f.message for f in result.findings)
    assert result.points == sum(
        c.points for c in result.exercise.criteria if c.key not in entry.loses
    )
    assert as_html(result)


@pytest.mark.parametrize("seed", range(1, 11))
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e.exercise_id}-{e.name}")
def test_marks_do_not_depend_on_the_seed(entry: Entry, seed: int):
    result = judge(find(entry.exercise_id), entry.answer, seed=seed, instances=4)
    assert {f.criterion.key for f in result.findings if f.status != "ok"} == entry.loses, as_text(
        result
    )


def wrecking(function):
    """Return the function, made to spoil whatever it was given once it has used it."""

    def spoiled(*args):
        result = function(*args)
        for argument in args:
            for item in argument if isinstance(argument, list) else [argument]:
                if isinstance(item, np.ndarray) and item.flags.writeable:
                    item *= 0
            if isinstance(argument, list):
                argument.clear()
        return result

    return spoiled if callable(function) else function


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: f"{e.exercise_id}-{e.name}")
def test_what_an_answer_does_to_its_arguments_changes_no_mark(entry: Entry):
    exercise, answer = find(entry.exercise_id), entry.answer
    if isinstance(answer, dict):
        answer = {name: wrecking(function) for name, function in answer.items()}
    else:
        answer = wrecking(answer)
    expected = judge(exercise, entry.answer, instances=1).points
    assert judge(exercise, answer, instances=1).points == expected


@pytest.mark.parametrize("exercise", exercises(), ids=lambda e: e.id)
def test_every_exercise_has_enough_right_and_wrong_answers(exercise):
    kinds = Counter(bool(e.loses) for e in ENTRIES if e.exercise_id == exercise.id)
    assert kinds[False] >= 3, "a reference and two variants"
    assert kinds[True] >= 3, "three mistakes"
