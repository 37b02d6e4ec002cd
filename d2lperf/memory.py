"""Memory in use: by arrays, by the process, by a device; now, and at its peak over a block."""

import math
import threading
import time
from dataclasses import dataclass
from typing import Self

import jax
import psutil

from d2lperf.backend import cpus, devices, gpus
from d2lperf.units import format_bytes


def live_bytes(device: jax.Device | None = None) -> int:
    """Count the bytes of the arrays that Python holds, computed or not.

    Every shard counts on the device where it lies, so a replicated array counts once per device.
    Results that Python dropped do not count, although the device may still need them.

    Args:
        device: only what lies there; all devices of this process by default.

    Returns:
        The sum in bytes.
    """
    wanted = set(gpus() + cpus()) if device is None else {device}
    total = 0
    for platform in {d.platform for d in wanted}:
        for array in jax.live_arrays(platform):
            if array.is_deleted():
                continue
            # From the sharding, because asking a shard for its data makes another live array.
            places = wanted & array.sharding.addressable_devices
            shape = array.sharding.shard_shape(array.shape)
            total += math.prod(shape) * array.dtype.itemsize * len(places)
    return total


def process_bytes() -> int:
    """Return the resident memory of this process (RSS) in bytes."""
    return int(psutil.Process().memory_info().rss)


def device_memory(device: jax.Device | None = None) -> dict[str, int] | None:
    """Return the device's own statistics, or None where it keeps none (every CPU device).

    Args:
        device: the device to ask; the first of `d2lperf.devices()` by default.

    Returns:
        JAX's `memory_stats()`: `bytes_in_use`, `peak_bytes_in_use` (since the process started),
        `bytes_limit` and others, in bytes.
    """
    stats = (device or devices()[0]).memory_stats()
    return dict(stats) if stats else None


@dataclass(frozen=True)
class MemoryUse:
    """Memory before, at the highest point of, and after a block.

    Attributes:
        source: "device statistics" (GPU), or "process, sampled" (CPU): the resident memory of
            the whole process, read every few milliseconds, so that short peaks can be missed.
        before_bytes, peak_bytes, after_bytes: from that source.
        live_before_bytes, live_peak_bytes, live_after_bytes: of arrays that Python holds
            (sampled): what a program that runs ahead of the device keeps alive.
        samples: how often the memory was looked at.
        duration_s: how long the block took, in seconds.
    """

    source: str
    before_bytes: int
    peak_bytes: int
    after_bytes: int
    live_before_bytes: int
    live_peak_bytes: int
    live_after_bytes: int
    samples: int
    duration_s: float

    def __str__(self) -> str:
        own = (self.before_bytes, self.peak_bytes, self.after_bytes)
        live = (self.live_before_bytes, self.live_peak_bytes, self.live_after_bytes)
        lines = [
            f"{label}: "
            + ", ".join(f"{n} {format_bytes(v)}" for n, v in zip(_WHEN, row, strict=True))
            for label, row in ((self.source, own), ("live arrays, sampled", live))
        ]
        return "\n".join(lines)


_WHEN = ("before", "peak", "after")


class MemoryTracker:
    """Watches memory while a block runs; see `track_memory`, which makes one."""

    def __init__(self, device: jax.Device | None, interval_s: float) -> None:
        self._live_on = device
        self._device = device or devices()[0]
        self._interval_s = interval_s
        self._use: MemoryUse | None = None

    @property
    def use(self) -> MemoryUse:
        """What was seen.

        Raises:
            RuntimeError: before the block has ended.
        """
        if self._use is None:
            raise RuntimeError("no result yet: read it after the with block has ended")
        return self._use

    def _look(self) -> tuple[int, int]:
        stats = self._device.memory_stats()
        own = stats["bytes_in_use"] if stats else process_bytes()
        return own, live_bytes(self._live_on)

    def _lifetime_peak(self) -> int:
        stats = self._device.memory_stats() or {}
        return int(stats.get("peak_bytes_in_use", 0))

    def _watch(self) -> None:
        pause_s = 0.0
        while not self._ended.wait(pause_s):
            start = time.perf_counter()
            self._seen.append(self._look())
            pause_s = max(self._interval_s, 10 * (time.perf_counter() - start))

    def __enter__(self) -> Self:
        self._use = None
        self._seen: list[tuple[int, int]] = []
        self._ended = threading.Event()
        self._before, self._old_peak = self._look(), self._lifetime_peak()
        self._thread = threading.Thread(target=self._watch, name="track_memory", daemon=True)
        self._start = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        duration_s = time.perf_counter() - self._start
        self._ended.set()
        self._thread.join()
        after = self._look()
        seen = [self._before, *self._seen, after]
        peak = max(own for own, _ in seen)
        # The device's own peak cannot be reset; a new one can only have come from this block.
        new_peak = self._lifetime_peak()
        if new_peak > self._old_peak:
            peak = max(peak, new_peak)
        self._use = MemoryUse(
            source="device statistics" if self._device.memory_stats() else "process, sampled",
            before_bytes=self._before[0],
            peak_bytes=peak,
            after_bytes=after[0],
            live_before_bytes=self._before[1],
            live_peak_bytes=max(live for _, live in seen),
            live_after_bytes=after[1],
            samples=len(seen),
            duration_s=duration_s,
        )


def track_memory(device: jax.Device | None = None, *, interval_s: float = 0.002) -> MemoryTracker:
    """Watch memory while a block runs.

    Use:
        with track_memory() as memory:
            wait(train())
        memory.use.peak_bytes

    A background thread looks at the memory. It looks less often when a look is expensive
    (thousands of live arrays), so that it takes at most about a tenth of one core, and it always
    ends with the block. The block is not a barrier: what runs on after its end is not watched.

    Args:
        device: where to look; the first of `d2lperf.devices()` by default. Live arrays count on
            all devices when none is named.
        interval_s: seconds between two looks.

    Returns:
        A context manager; its `use` is there when the block has ended.

    Raises:
        ValueError: for an interval that is not positive.
    """
    if not interval_s > 0:
        raise ValueError(f"expected a positive interval in seconds, got {interval_s}")
    return MemoryTracker(device, interval_s)
