"""Bytes are counted where they lie, once, and a block's peak is at least what it held."""

import threading
import time

import jax
import jax.numpy as jnp
import numpy as np
import psutil
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from d2lperf.backend import cpus
from d2lperf.barriers import wait, wait_all
from d2lperf.memory import device_memory, live_bytes, process_bytes, track_memory

MIB = 1024**2


def put(n_bytes: int, index: int = 0) -> jax.Array:
    return jax.device_put(np.zeros(n_bytes, np.uint8), cpus()[index])


def test_a_new_array_adds_its_bytes_on_its_device_only() -> None:
    before = live_bytes(), live_bytes(cpus()[0]), live_bytes(cpus()[1])
    x = put(1000, 1)
    assert live_bytes() == before[0] + x.nbytes == before[0] + 1000
    assert live_bytes(cpus()[0]) == before[1]
    assert live_bytes(cpus()[1]) == before[2] + 1000
    del x
    assert live_bytes() == before[0]


def test_a_second_name_for_an_array_adds_nothing_and_a_deleted_array_counts_nothing() -> None:
    before = live_bytes()
    x = put(1000)
    again = [x, x]
    assert live_bytes() == before + 1000
    again[0].delete()
    assert live_bytes() == before


@pytest.mark.parametrize(("spec", "total"), [(("d",), 8000), ((None,), 4 * 8000)])
def test_every_shard_and_every_replica_counts_where_it_lies(
    spec: tuple[str | None, ...], total: int
) -> None:
    mesh = Mesh(np.array(cpus()[:4]), ("d",))
    before = live_bytes(), live_bytes(cpus()[2]), live_bytes(cpus()[5])
    x = jax.device_put(np.zeros(8000, np.uint8), NamedSharding(mesh, PartitionSpec(*spec)))
    assert live_bytes() == before[0] + total
    assert live_bytes(cpus()[2]) == before[1] + total // 4
    assert live_bytes(cpus()[5]) == before[2]
    assert x.shape == (8000,)


def test_counting_makes_no_arrays_of_its_own() -> None:
    x = jax.device_put(np.zeros(80), NamedSharding(Mesh(np.array(cpus()), "d"), PartitionSpec("d")))
    arrays = len(jax.live_arrays())
    live_bytes()
    assert len(jax.live_arrays()) == arrays
    assert x.shape == (80,)


def test_results_count_from_dispatch_on_and_counting_does_not_wait() -> None:
    @jax.jit
    def long(x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, 1500, lambda _, y: jnp.tanh(y @ x), x)

    x = jnp.eye(256)
    wait(long(x))
    before = live_bytes()
    y = long(x)
    assert live_bytes() == before + y.nbytes
    assert not y.is_ready()
    wait_all()


def test_the_process_is_as_large_as_the_system_says() -> None:
    assert process_bytes() == pytest.approx(psutil.Process().memory_info().rss, rel=0.2)
    assert process_bytes() > MIB


def test_a_cpu_device_keeps_no_statistics() -> None:
    assert device_memory(cpus()[0]) is None


def test_the_peak_is_seen_although_it_is_gone_at_the_end() -> None:
    with track_memory(cpus()[0]) as memory:
        x = put(64 * MIB)
        host = np.ones(64 * MIB, np.uint8)
        time.sleep(0.1)
        del x, host
    use = memory.use
    assert use.source == "process, sampled"
    assert use.live_peak_bytes >= use.live_before_bytes + 64 * MIB
    assert use.live_after_bytes == use.live_before_bytes
    assert use.peak_bytes >= use.before_bytes + 64 * MIB
    assert use.peak_bytes >= use.after_bytes
    assert use.duration_s >= 0.1
    assert "live arrays" in str(use)


def test_what_stays_counts_afterwards_even_in_a_block_too_short_to_sample() -> None:
    with track_memory(interval_s=60) as memory:
        x = put(MIB)
    assert memory.use.live_after_bytes == memory.use.live_before_bytes + x.nbytes
    assert memory.use.live_peak_bytes >= memory.use.live_after_bytes


def watchers() -> int:
    return sum(thread.name == "track_memory" for thread in threading.enumerate())


def test_the_watcher_ends_with_its_block_even_after_an_error() -> None:
    memory = track_memory(interval_s=0.001)

    def fail() -> None:
        with memory:
            assert watchers() == 1
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert watchers() == 0
    assert memory.use.samples >= 2
    with memory, track_memory() as inner:
        assert watchers() == 2
    assert watchers() == 0
    assert inner.use.duration_s <= memory.use.duration_s


def test_reading_a_result_too_early_says_when_it_is_there() -> None:
    memory = track_memory()
    with pytest.raises(RuntimeError, match="after the with block"), memory:
        _ = memory.use
    with pytest.raises(ValueError, match="positive interval"):
        track_memory(interval_s=0)
