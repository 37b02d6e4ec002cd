"""Every answer of the bank earns exactly what it should and is told what it should be told."""

from __future__ import annotations

from collections import Counter

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


@pytest.mark.parametrize("exercise", exercises(), ids=lambda e: e.id)
def test_every_exercise_has_enough_right_and_wrong_answers(exercise):
    kinds = Counter(bool(e.loses) for e in ENTRIES if e.exercise_id == exercise.id)
    assert kinds[False] >= 3, "a reference and two variants"
    assert kinds[True] >= 3, "three mistakes"
