"""Samples of a measurement, and what two sets of them allow one to say."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

Verdict = Literal["faster", "slower", "about the same", "too noisy to tell"]


@dataclass(frozen=True)
class Interval:
    """A range that covers the true median with at least the probability `coverage`."""

    low: float
    high: float
    coverage: float


@dataclass(frozen=True)
class Samples:
    """Repeated measurements of one quantity, in the order in which they were taken.

    Attributes:
        values: at least one finite number, all in the same unit (seconds for a duration).
    """

    values: tuple[float, ...]

    def __init__(self, values: Iterable[float]) -> None:
        numbers = tuple(float(value) for value in values)
        if not numbers:
            raise ValueError("Samples needs at least one value, got none: repeat the measurement")
        if not all(map(math.isfinite, numbers)):
            raise ValueError(f"Samples needs finite values, got {numbers}: drop failed repetitions")
        object.__setattr__(self, "values", numbers)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def median(self) -> float:
        """The middle value (the mean of the two middle ones for an even number)."""
        return float(np.median(self.values))

    @property
    def minimum(self) -> float:
        """The smallest value."""
        return min(self.values)

    @property
    def maximum(self) -> float:
        """The largest value."""
        return max(self.values)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The first and the third quartile, linearly interpolated."""
        low, high = np.quantile(self.values, (0.25, 0.75))
        return float(low), float(high)

    @property
    def spread(self) -> float:
        """The relative quartile deviation: half the interquartile range divided by the median.

        Dimensionless: 0.03 means that the middle half of the values spans 6 % of the median.
        It is 0 where all values agree, and infinite for a median of 0 with values that differ.
        """
        low, high = self.quartiles
        if high == low:
            return 0.0
        return (high - low) / 2 / abs(self.median) if self.median else math.inf

    def interval(self, confidence: float = 0.95) -> Interval:
        """Bound the median of the distribution without assuming its shape.

        The number of independent values below the true median is binomial(n, 1/2), so that the
        r-th smallest and the r-th largest value enclose it with probability
        1 - 2 P(binomial(n, 1/2) < r). The largest such r is taken.

        Args:
            confidence: the wanted coverage, between 0 and 1 (both excluded).

        Returns:
            The interval with the coverage that it really has. Too few values for the wanted
            coverage (fewer than 6 for 0.95) give minimum and maximum, and a lower coverage.

        Raises:
            ValueError: for a confidence outside (0, 1).

        Source:
            H. A. David and H. N. Nagaraja, Order Statistics, 3rd edition, section 7.1.
        """
        if not 0 < confidence < 1:
            raise ValueError(f"confidence lies between 0 and 1, got {confidence}: try 0.95")
        ordered, n = sorted(self.values), len(self.values)
        rank, tail, covered = 1, 1, 1 - 2 * 0.5**n
        # Whole numbers: 2**n outgrows a float long before n outgrows a benchmark.
        while rank < n - rank:
            tail += math.comb(n, rank)
            narrower = 1 - 2 * (tail / 2**n)
            if narrower < confidence:
                break
            rank, covered = rank + 1, narrower
        return Interval(ordered[rank - 1], ordered[n - rank], max(0.0, covered))


class Judged:
    """Something with a verdict on a first candidate, readable as yes, no or None (too noisy)."""

    @property
    def verdict(self) -> Verdict:
        """What can be said of the first candidate."""
        raise NotImplementedError

    def _is(self, wanted: Verdict) -> bool | None:
        return None if self.verdict == "too noisy to tell" else self.verdict == wanted

    @property
    def faster(self) -> bool | None:
        """Whether the first candidate is faster; None when the noise hides it."""
        return self._is("faster")

    @property
    def slower(self) -> bool | None:
        """Whether the first candidate is slower; None when the noise hides it."""
        return self._is("slower")

    @property
    def same(self) -> bool | None:
        """Whether the two agree within the margin; None when the noise hides it."""
        return self._is("about the same")


@dataclass(frozen=True)
class Ratio(Judged):
    """Time of a first candidate over the time of a second one, taken pair by pair.

    Attributes:
        values: the ratios of the pairs; below 1 the first candidate took less time.
        margin: differences up to this factor minus one count as none in practice.
        confidence: the coverage that the interval has to reach before a verdict is given.
    """

    values: Samples
    margin: float
    confidence: float

    @property
    def median(self) -> float:
        """The median of the pairwise ratios (dimensionless)."""
        return self.values.median

    @property
    def interval(self) -> Interval:
        """The distribution-free interval of the median ratio."""
        return self.values.interval(self.confidence)

    @property
    def verdict(self) -> Verdict:
        """What the interval allows one to say of the first candidate.

        "faster" or "slower" when the whole interval lies on one side of 1 and the median differs
        from it by more than the margin; "about the same" when the whole interval lies within the
        margin; "too noisy to tell" otherwise, and always with too few pairs.
        """
        bound, factor = self.interval, 1 + self.margin
        if bound.coverage < self.confidence:
            return "too noisy to tell"
        if bound.low >= 1 / factor and bound.high <= factor:
            return "about the same"
        if bound.high < 1 and self.median < 1 / factor:
            return "faster"
        if bound.low > 1 and self.median > factor:
            return "slower"
        return "too noisy to tell"


def paired_ratio(
    first: Samples | Iterable[float],
    second: Samples | Iterable[float],
    *,
    margin: float = 0.05,
    confidence: float = 0.95,
) -> Ratio:
    """Compare two candidates that were measured in turns, A B A B.

    Dividing within a pair removes what both shared: a slow phase of the machine, a warmer chip.

    Args:
        first: times of the first candidate in seconds, all positive.
        second: times of the second candidate in seconds, as many, taken right after them.
        margin: the smallest relative difference that matters, 0 or more.
        confidence: the coverage of the interval that a verdict needs.

    Returns:
        The ratio first / second with its interval and verdict.

    Raises:
        ValueError: for unequal lengths, values that are not positive, or a negative margin.
    """
    a = first if isinstance(first, Samples) else Samples(first)
    b = second if isinstance(second, Samples) else Samples(second)
    if len(a) != len(b):
        raise ValueError(
            f"expected as many values on both sides, got {len(a)} and {len(b)}: "
            "measure the two in turns"
        )
    if min(a.minimum, b.minimum) <= 0:
        raise ValueError("expected positive times, got one that is not: measure something longer")
    if margin < 0:
        raise ValueError(f"expected a margin of 0 or more, got {margin}")
    values = Samples(x / y for x, y in zip(a.values, b.values, strict=True))
    return Ratio(values, margin, confidence)
