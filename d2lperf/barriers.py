"""Barriers: wait for one result, for some, or for everything."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import jax
import numpy as np
from jax.profiler import TraceAnnotation
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from d2lperf.backend import cpus, gpus


def _is_leaf(tree: Any) -> bool:
    leaves = jax.tree.leaves(tree)
    return len(leaves) == 1 and leaves[0] is tree


def wait(*trees: Any) -> Any:
    """Wait until every array in the given results is computed.

    Works with JAX arrays, with handles of the virtual clock (anything that has
    `block_until_ready`), and with containers of them. NumPy arrays and numbers are ready anyway.

    Args:
        *trees: results, or containers (lists, tuples, dicts, pytrees) of results.

    Returns:
        The result itself if one was given, else the tuple of them.

    Raises:
        TypeError: for no argument, a function or an iterator, none of which holds a result.
    """
    if not trees:
        raise TypeError("wait() needs the results to wait for; wait_all() waits for everything")
    for tree in trees:
        if isinstance(tree, Iterator) or (callable(tree) and _is_leaf(tree)):
            raise TypeError(
                f"expected results to wait for, got {type(tree).__name__}: "
                "call the function, or collect the iterator in a list, and wait for that"
            )
    with TraceAnnotation("d2lperf.wait"):
        ready = jax.block_until_ready(trees)
    return ready[0] if len(ready) == 1 else ready


@cache
def _marker() -> Any:
    # Recordings know it by its name, and leave it out.
    def d2lperf_marker(x: jax.Array) -> jax.Array:
        return x + 1

    return jax.jit(d2lperf_marker)


def _markers(group: list[jax.Device]) -> list[jax.Array]:
    """Dispatch one tiny computation to each device, and one that spans all of them."""
    puts = [jax.device_put(np.float32(0), device) for device in group]
    if len(group) > 1:
        across = NamedSharding(Mesh(np.array(group), ("device",)), PartitionSpec("device"))
        puts.append(jax.device_put(np.zeros(len(group), np.float32), across))
    return [_marker()(array) for array in puts]


def wait_all(devices: Iterable[jax.Device] | None = None) -> None:
    """Wait for all work that this thread has given to the devices.

    JAX has no such call, so this takes three steps: wait for every array that Python still holds
    (`jax.live_arrays`); send a marker to every device, and another across all of them, and wait
    for these; and wait for side effects such as callbacks (`jax.effects_barrier`). A device runs
    what one thread sends it in order, so the markers end after results that were dropped, too.

    What it cannot wait for: computations that *another thread* dispatched and whose results were
    dropped (the CPU backend keeps the order per thread and device only), dropped copies between
    host and device, and anything outside of JAX. That order is observed on the CPU backend, not
    promised by JAX. Hold on to results and `wait` for them where it matters.

    The first call compiles the markers; make it before the clock runs.

    Args:
        devices: only these; all of this process by default, GPUs and CPU.

    Raises:
        Exception: whatever error a pending computation ends in.
    """
    chosen = gpus() + cpus() if devices is None else list(devices)
    platforms = {device.platform for device in chosen}
    live = [array for platform in platforms for array in jax.live_arrays(platform)]
    pending = [a for a in live if not a.is_deleted() and not a.devices().isdisjoint(chosen)]
    # An annotation costs nothing unless a profile is being recorded, which then shows one wait.
    with TraceAnnotation("d2lperf.wait_all"):
        jax.block_until_ready(pending)
        for platform in platforms:
            jax.block_until_ready(_markers([d for d in chosen if d.platform == platform]))
        jax.effects_barrier()
