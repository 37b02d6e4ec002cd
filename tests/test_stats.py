"""Medians, spreads and intervals agree with textbook definitions, and verdicts with them."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from d2lperf.stats import Samples, paired_ratio

TIMES = st.lists(st.floats(min_value=1e-6, max_value=1e3), min_size=1, max_size=40)


@given(TIMES)
def test_the_interval_contains_the_median_and_lies_within_the_values(values: list[float]) -> None:
    samples = Samples(values)
    bound = samples.interval()
    assert samples.minimum <= bound.low <= samples.median <= bound.high <= samples.maximum


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [1, 2, 5, 6, 9, 20, 57])
def test_the_coverage_is_the_binomial_one_and_no_narrower_interval_reaches_the_confidence(
    n: int, confidence: float
) -> None:
    def coverage(rank: int) -> float:
        below = sum(math.comb(n, k) for k in range(rank))
        return 1 - 2 * below / 2**n

    bound = Samples(range(1, n + 1)).interval(confidence)
    rank = round(bound.low)  # The value k is the k-th smallest.
    assert bound.high == n + 1 - rank
    assert bound.coverage == pytest.approx(max(0.0, coverage(rank)))
    assert bound.coverage >= confidence or rank == 1
    if rank + 1 <= n - rank:
        assert coverage(rank + 1) < confidence


def test_the_interval_covers_the_true_median_as_often_as_it_says() -> None:
    generator = np.random.default_rng(1)
    draws = generator.lognormal(size=(2000, 15))
    bounds = [Samples(row).interval(0.9) for row in draws]
    hits = np.mean([b.low <= 1.0 <= b.high for b in bounds])
    assert bounds[0].coverage >= 0.9
    assert hits == pytest.approx(bounds[0].coverage, abs=0.02)


def test_too_few_values_give_minimum_and_maximum_with_the_coverage_they_have() -> None:
    bound = Samples([3.0, 1.0, 2.0]).interval(0.95)
    assert (bound.low, bound.high, bound.coverage) == (1.0, 3.0, 0.75)
    assert Samples([2.0]).interval().coverage == 0.0


def test_thousands_of_values_do_not_overflow() -> None:
    assert Samples(range(5000)).interval().coverage == pytest.approx(0.95, abs=0.005)


def test_the_spread_is_half_the_interquartile_range_over_the_median() -> None:
    samples = Samples([1, 2, 3, 4, 5])
    assert samples.quartiles == (2.0, 4.0)
    assert samples.spread == pytest.approx(1 / 3)
    assert Samples([7, 7, 7]).spread == 0.0
    assert Samples([-1, 0, 1]).spread == math.inf


def test_one_outlier_hardly_moves_the_median_and_the_spread() -> None:
    calm = Samples([1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06])
    hit = Samples([*calm.values[:-1], 50.0])
    assert (hit.median, hit.spread) == (calm.median, calm.spread)


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf]])
def test_nothing_to_measure_is_an_error(values: list[float]) -> None:
    with pytest.raises(ValueError, match="Samples needs"):
        Samples(values)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_a_confidence_is_a_probability(confidence: float) -> None:
    with pytest.raises(ValueError, match=r"try 0\.95"):
        Samples([1.0]).interval(confidence)


def test_pairs_that_share_a_slow_phase_still_compare_exactly() -> None:
    phase = np.array([1, 1, 5, 5, 1, 9, 1, 2, 3, 1.0])
    ratio = paired_ratio(2 * phase, phase)
    assert ratio.median == 2.0
    assert (ratio.verdict, ratio.faster, ratio.slower) == ("slower", False, True)
    assert paired_ratio(phase, 2 * phase).verdict == "faster"


def test_equal_times_are_about_the_same() -> None:
    ratio = paired_ratio([1.0] * 10, [1.01] * 10)
    assert (ratio.verdict, ratio.same, ratio.faster) == ("about the same", True, False)


def test_scattered_ratios_are_too_noisy_to_tell() -> None:
    ratio = paired_ratio([1, 3, 1, 3, 1, 3, 1, 3], [2.0] * 8)
    assert ratio.verdict == "too noisy to tell"
    assert (ratio.faster, ratio.slower, ratio.same) == (None, None, None)


def test_too_few_pairs_are_never_enough_for_a_verdict() -> None:
    assert paired_ratio([1.0] * 5, [9.0] * 5).verdict == "too noisy to tell"
    assert paired_ratio([1.0] * 6, [9.0] * 6).verdict == "faster"


def test_a_difference_below_the_margin_is_no_verdict_in_favour_of_either() -> None:
    first, second = [1.0, 0.9, 0.98, 0.97, 0.96, 0.99, 0.9, 0.98], [1.0] * 8
    assert paired_ratio(first, second, margin=0.05).faster is None
    assert paired_ratio(first, second, margin=0.0).verdict == "too noisy to tell"
    assert paired_ratio([0.97] * 8, second, margin=0.0).verdict == "faster"


@given(st.lists(st.tuples(*[st.floats(min_value=0.01, max_value=100)] * 2), min_size=1))
def test_swapping_the_two_swaps_the_verdict(pairs: list[tuple[float, float]]) -> None:
    first, second = zip(*pairs, strict=True)
    swapped = {"faster": "slower", "slower": "faster"}
    there, back = paired_ratio(first, second), paired_ratio(second, first)
    # The median of an even number of ratios is a mean, which does not invert exactly.
    if len(pairs) % 2:
        assert back.verdict == swapped.get(there.verdict, there.verdict)


def test_unusable_input_is_refused_with_a_remedy() -> None:
    with pytest.raises(ValueError, match="in turns"):
        paired_ratio([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="positive"):
        paired_ratio([0.0], [1.0])
    with pytest.raises(ValueError, match="margin"):
        paired_ratio([1.0], [1.0], margin=-0.1)
