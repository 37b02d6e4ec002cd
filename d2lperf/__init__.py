"""See, predict and measure the computational performance of deep learning in JAX.

Names are imported when they are first used, so `import d2lperf` starts no JAX backend.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from d2lperf.backend import configure

__version__ = "0.1.0"

_HOME = {
    "check": "grading",
    "claim": "claims",
    "benchmark": "timing",
    "Benchmark": "timing",
    "compare": "timing",
    "Comparison": "timing",
    "Timer": "timing",
    "wait": "barriers",
    "wait_all": "barriers",
    "devices": "backend",
    "gpus": "backend",
    "cpus": "backend",
    "try_gpu": "backend",
    "use_cpu_devices": "backend",
    "live_bytes": "memory",
    "process_bytes": "memory",
    "track_memory": "memory",
    "machine_passport": "passport",
    "paired_ratio": "stats",
    "Samples": "stats",
    "format_bytes": "units",
    "format_seconds": "units",
    "Timeline": "timeline",
    "record": "recording",
    "step": "recording",
    "open_timeline": "recording",
    "fit": "fitting",
    "explore": "exploring",
    "predict_barriers": "predicting",
    "predict_schedule": "predicting",
}
_MODULES = ("timeline", "virtual")

__all__ = [*_HOME, *_MODULES]

# JAX fixes the number of devices when its backend starts, which is at the reader's first array.
configure()


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"d2lperf.{_HOME[name]}"), name)
    if name in _MODULES:
        return import_module(f"d2lperf.{name}")
    raise AttributeError(f"d2lperf has no {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
