"""The devices that the course runs on: the GPUs if there are any, else virtual CPU devices.

JAX fixes the number of CPU devices when its backend starts, which is at the first array.
`configure` asks for eight of them, without starting anything. The package calls it when it is
imported; the functions here call it again, so that this module can be used on its own. Whoever
has set `JAX_NUM_CPU_DEVICES` or the XLA flag for the device count keeps their number.

JAX is imported inside the functions because the virtual clock and the command line need none.
"""

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import jax

DEFAULT_CPU_DEVICES = 8
_VARIABLE = "JAX_NUM_CPU_DEVICES"
_XLA_FLAG = "xla_force_host_platform_device_count"


def configure() -> None:
    """Ask for eight CPU devices, unless the user chose a number or the backend has started.

    Idempotent and quick: imports no JAX and starts no backend. Before JAX is imported the wish goes
    into the environment variable that JAX reads, afterwards into its configuration.
    """
    if _VARIABLE in os.environ or _XLA_FLAG in os.environ.get("XLA_FLAGS", ""):
        return
    jax = sys.modules.get("jax")
    if jax is None:
        os.environ[_VARIABLE] = str(DEFAULT_CPU_DEVICES)
    elif jax.config.jax_num_cpu_devices == -1:
        # JAX refuses once the backend runs: then what there is, is what we have.
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", DEFAULT_CPU_DEVICES)


def use_cpu_devices(n: int = DEFAULT_CPU_DEVICES) -> None:
    """Choose the number of virtual CPU devices; call it before anything uses JAX.

    Args:
        n: how many CPU devices JAX shall have, at least 1. They share the same cores.

    Raises:
        ValueError: for fewer than one device.
        RuntimeError: if the backend has started already with fewer devices. With `n` or more it
            is left as it is.
    """
    if n < 1:
        raise ValueError(f"expected at least 1 CPU device, got {n}")
    import jax

    try:
        # JAX accepts the number it has already, and refuses a change once the backend runs.
        jax.config.update("jax_num_cpu_devices", n)
    except RuntimeError as error:
        have = len(cpus())
        if have < n:
            raise RuntimeError(
                f"asked for {n} CPU devices, but JAX has started with {have} and cannot change "
                f"that: restart the kernel and call use_cpu_devices({n}) first"
            ) from error


def _local_devices(platform: str) -> "list[jax.Device]":
    configure()
    import jax

    try:
        return list(jax.local_devices(backend=platform))
    except RuntimeError:  # JAX's answer for a platform that is absent or switched off.
        return []


def gpus() -> "list[jax.Device]":
    """Return the GPUs of this process, possibly none. Starts the backend."""
    return _local_devices("gpu")


def cpus() -> "list[jax.Device]":
    """Return the (virtual) CPU devices of this process. Starts the backend."""
    return _local_devices("cpu")


def devices() -> "list[jax.Device]":
    """Return the devices to use: the GPUs if JAX has any, else the CPU devices.

    Starts the backend.
    """
    return gpus() or cpus()


def try_gpu(i: int = 0) -> "jax.Device":
    """Return the i-th GPU if there is one, else the first CPU device.

    Args:
        i: index of the GPU, from 0.

    Raises:
        ValueError: for a negative index.

    Source:
        The helper of the same name in Dive into Deep Learning, section "GPUs".
    """
    if i < 0:
        raise ValueError(f"expected a GPU index of 0 or more, got {i}")
    found = gpus()
    return found[i] if i < len(found) else cpus()[0]
