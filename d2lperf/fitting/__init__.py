"""From a timeline to the virtual machine that explains it."""

from d2lperf.fitting.fit import Fit, fit

__all__ = ["Fit", "fit"]
