"""Is a measured quantity below a limit, above it, or can one not tell?"""

from d2lperf.stats import Interval, Ratio, Samples


def below(measured: Samples | Ratio | Interval, limit: float) -> bool | None:
    """Say whether a measured quantity lies below a limit, given how much it spread.

    Args:
        measured: repeated measurements, a pairwise ratio, or an interval.
        limit: in the unit of the measurements.

    Returns:
        True if the whole interval of the median lies below the limit, False if the whole of it
        lies at or above the limit, None if the limit lies within: too noisy to tell.
    """
    bound = _interval(measured)
    if bound.high < limit:
        return True
    return False if bound.low >= limit else None


def above(measured: Samples | Ratio | Interval, limit: float) -> bool | None:
    """Say whether a measured quantity lies above a limit; as `below`, the other way round."""
    bound = _interval(measured)
    if bound.low > limit:
        return True
    return False if bound.high <= limit else None


def all_of(*verdicts: bool | None) -> bool | None:
    """Combine verdicts: False if any is False, else None if any is None, else True."""
    if any(verdict is False for verdict in verdicts):
        return False
    return None if any(verdict is None for verdict in verdicts) else True


def _interval(measured: Samples | Ratio | Interval) -> Interval:
    match measured:
        case Interval():
            return measured
        case Ratio():
            return measured.interval
        case Samples():
            return measured.interval()
    raise TypeError(f"expected Samples, a Ratio or an Interval, got {type(measured).__name__}")
