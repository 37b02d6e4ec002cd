"""A barrier returns when the work is done: shown by order of events, never by speed."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from d2lperf.backend import cpus
from d2lperf.barriers import wait, wait_all


@dataclass
class Handle:
    """Stands for a handle of the virtual clock."""

    waits: int = 0

    def block_until_ready(self) -> "Handle":
        self.waits += 1
        return self


def test_waiting_returns_what_was_waited_for() -> None:
    x: Any = jnp.ones(3)
    y: Any = {"a": [jnp.zeros(2), 1.5]}
    assert wait(x) is x
    assert wait(y) is y
    assert wait(x, y) == (x, y)
    assert all(leaf.is_ready() for leaf in (x, y["a"][0]))


def test_numpy_arrays_and_numbers_are_ready_anyway() -> None:
    array = np.ones(3)
    assert wait(array) is array
    assert wait(2.5) == 2.5
    assert wait(None) is None


def test_handles_of_the_virtual_clock_are_waited_for_once() -> None:
    first, second = Handle(), Handle()
    assert wait(first) is first
    wait({"a": [first, jnp.ones(1)]}, second)
    assert (first.waits, second.waits) == (2, 1)


@pytest.mark.parametrize("mistake", [jnp.sum, jax.jit(jnp.sum), (x for x in [1]), map(abs, [1])])
def test_waiting_for_something_that_holds_no_result_is_an_error(mistake: object) -> None:
    with pytest.raises(TypeError, match="call the function, or collect the iterator"):
        wait(mistake)


def test_waiting_for_nothing_points_to_wait_all() -> None:
    with pytest.raises(TypeError, match="wait_all"):
        wait()


@partial(jax.jit, static_argnums=1)
def long(x: jax.Array, times: int = 1200) -> jax.Array:
    """Keep a device busy for a while: far longer than the host needs for the next line."""
    return jax.lax.fori_loop(0, times, lambda _, y: jnp.tanh(y @ x), x)


def on(index: int) -> jax.Array:
    return jax.device_put(np.eye(256, dtype=np.float32), cpus()[index])


def across(count: int) -> tuple[jax.Array, jax.Array]:
    """Return two arrays for `long`-like work that spans the first few devices."""
    mesh = Mesh(np.array(cpus()[:count]), ("d",))
    rows = NamedSharding(mesh, PartitionSpec("d"))
    whole = NamedSharding(mesh, PartitionSpec())
    ones = np.ones((256, 256), np.float32)
    return jax.device_put(ones, rows), jax.device_put(ones, whole)


@pytest.fixture
def dropped(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a switch that hides live arrays from `wait_all`, as if Python had dropped them.

    The test holds on to the results, to see without waiting whether they are ready. The last one
    is left out: its work is done as well, but JAX may say so some microseconds later.
    """
    wait_all()  # Compiles the markers.
    return lambda: monkeypatch.setattr(jax, "live_arrays", lambda platform=None: [])


@pytest.mark.parametrize("index", [0, 5])
def test_wait_all_waits_for_a_result_that_is_held(index: int) -> None:
    x = on(index)
    wait(long(x))
    kept = long(x)
    assert not kept.is_ready()
    wait_all()
    assert kept.is_ready()


@pytest.mark.parametrize("index", [0, 5])
def test_wait_all_waits_for_a_result_that_was_dropped(
    index: int, dropped: Callable[[], None]
) -> None:
    x = on(index)
    wait(long(x))
    dropped()
    kept = [long(x) for _ in range(3)]
    assert not kept[-1].is_ready()
    wait_all()
    assert all(y.is_ready() for y in kept[:-1])


@pytest.mark.parametrize("count", [2, 8])
def test_wait_all_waits_for_a_dropped_result_that_spans_devices(
    count: int, dropped: Callable[[], None]
) -> None:
    step = jax.jit(lambda x, w: jax.lax.fori_loop(0, 300, lambda _, y: jnp.tanh(y @ w), x))
    x, w = across(count)
    wait(step(x, w))
    dropped()
    kept = [step(x, w) for _ in range(3)]
    wait_all()
    assert all(y.is_ready() for y in kept[:-1])


def test_wait_all_waits_for_what_another_thread_holds() -> None:
    x = on(0)
    wait(long(x))
    kept: list[Any] = []
    thread = threading.Thread(target=lambda: kept.append(long(x)))
    thread.start()
    thread.join()
    wait_all()
    assert kept[0].is_ready()


def test_waiting_for_some_devices_does_not_wait_for_the_others() -> None:
    x = on(3)
    wait(long(x, 3000))
    wait_all([cpus()[1]])
    kept = long(x, 3000)
    wait_all([cpus()[1]])
    assert not kept.is_ready()
    wait_all([cpus()[3]])
    assert kept.is_ready()


def test_wait_all_waits_for_side_effects() -> None:
    said: list[int] = []

    @jax.jit
    def report(x: jax.Array) -> jax.Array:
        jax.debug.callback(lambda value: said.append(int(value)), x)
        return x

    report(jnp.int32(7))
    wait_all()
    assert said == [7]


def test_a_deleted_array_does_not_disturb() -> None:
    x = jnp.ones(10)
    x.delete()
    wait_all()


def test_wait_all_leaves_no_array_behind() -> None:
    wait_all()
    before = len(jax.live_arrays())
    wait_all()
    assert len(jax.live_arrays()) <= before
