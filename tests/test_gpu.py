"""What only an NVIDIA GPU can show; left out where there is none."""

from __future__ import annotations

import pytest

from d2lperf import fit, gpus, record, wait

pytestmark = pytest.mark.gpu


@pytest.fixture
def chain():
    """A chain of products on the first GPU, compiled."""
    import jax
    import jax.numpy as jnp

    start = jax.device_put(jnp.eye(2048), gpus()[0])
    product = jax.jit(lambda x: x @ x)

    def run(n: int):
        x = start
        for _ in range(n):
            x = product(x)
        return wait(x)

    run(2)
    return run


def test_a_recording_shows_kernels_on_the_gpus_streams(chain):
    with record(threads=False) as trace:
        chain(20)
    devices = [lane for lane in trace.lanes if lane.kind == "device"]
    assert devices and all(lane.group == "gpu:0" or lane.name == "gpu:0" for lane in devices)
    runs = trace.select(category="run")
    assert len(runs) >= 20
    begun = {e.flow: e.start_ns for e in trace.select(category="dispatch")}
    known = [run for run in runs if run.flow in begun]
    assert len(known) >= 20
    assert all(run.start_ns >= begun[run.flow] for run in known)
    assert max(e.end_ns for e in trace.select(category="wait")) >= max(e.end_ns for e in known)


def test_the_virtual_machine_explains_a_chain_on_a_gpu(chain):
    with record(threads=False) as trace:
        chain(20)
    found = fit(trace)
    assert found.t1_s > 0 and all(t2.median > 0 for t2 in found.t2.values())
    assert len(found.errors_s) == 20
