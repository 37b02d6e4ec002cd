"""A verdict is given only where the interval allows one."""

import pytest

from d2lperf.stats import Interval, Samples, paired_ratio
from d2lperf.verdicts import above, all_of, below


@pytest.mark.parametrize(
    ("limit", "is_below", "is_above"), [(0.5, False, True), (2, None, None), (4, True, False)]
)
def test_a_limit_inside_the_interval_leaves_it_open(limit, is_below, is_above):
    measured = Interval(1, 3, 0.95)
    assert below(measured, limit) is is_below
    assert above(measured, limit) is is_above


def test_samples_and_ratios_are_judged_by_their_intervals():
    samples = Samples([1, 2, 3, 4, 5, 6])
    assert below(samples, 7) is True and below(samples, 5) is None
    assert above(paired_ratio([4.0] * 6, [2.0] * 6), 1.5) is True


def test_anything_else_is_refused():
    with pytest.raises(TypeError, match="expected Samples"):
        below(0.3, 1)


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [((), True), ((True, True), True), ((True, None), None), ((None, False), False)],
)
def test_one_refuted_part_refutes_the_whole(verdicts, together):
    assert all_of(*verdicts) is together
