"""Record `cpu_loop.xplane.pb`: a loop over two CPU devices, to be opened where JAX has other devices.

Run it as `python tests/profiles/make_cpu_loop.py`; it overwrites the profile. The tests know the program:
three steps, each dispatching `square` to the first and `cube` to the second device, then a wait for both.
"""

import shutil
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp

from d2lperf import record, step, use_cpu_devices, wait
from d2lperf.recording.files import find_profile

STEPS = 3


@jax.jit
def square(x: jax.Array) -> jax.Array:
    return x @ x / 400


@jax.jit
def cube(x: jax.Array) -> jax.Array:
    return x @ x @ x / 400**2


def main() -> None:
    use_cpu_devices(2)
    first, second = (jax.device_put(jnp.ones((400, 400)), device) for device in jax.devices())
    wait(square(first), cube(second))
    with tempfile.TemporaryDirectory() as folder:
        with record(keep=folder):
            for i in range(STEPS):
                with step("train", i):
                    wait(square(first), cube(second))
        shutil.copyfile(find_profile(Path(folder)), Path(__file__).with_name("cpu_loop.xplane.pb"))


if __name__ == "__main__":
    main()
