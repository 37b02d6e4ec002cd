"""Eight CPU devices without starting anything, and clear errors when it is too late."""

import os
import subprocess
import sys

import jax
import pytest

from d2lperf.backend import cpus, devices, gpus, try_gpu, use_cpu_devices


def fresh(code: str, **environment: str) -> str:
    """Run code in a new interpreter without a wish for a number of devices; return its output."""
    kept = {k: v for k, v in os.environ.items() if k not in ("JAX_NUM_CPU_DEVICES", "XLA_FLAGS")}
    env = {**kept, "JAX_PLATFORMS": "cpu", **environment}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


COUNT = "from d2lperf.backend import configure, cpus; configure(); {}; print(len(cpus()))"


def test_the_devices_are_the_gpus_or_else_the_cpu_devices() -> None:
    assert devices() == (gpus() or cpus())
    assert cpus() == jax.local_devices(backend="cpu")
    assert len(cpus()) == 8


def test_a_missing_gpu_is_replaced_by_the_first_cpu_device() -> None:
    assert try_gpu(len(gpus())) == cpus()[0]
    assert try_gpu(0) == devices()[0]
    with pytest.raises(ValueError, match="0 or more"):
        try_gpu(-1)


def test_importing_and_configuring_imports_no_jax() -> None:
    code = (
        "import sys; from d2lperf.backend import configure; configure(); "
        "print('jax' in sys.modules)"
    )
    assert fresh(code) == "False"


@pytest.mark.parametrize(
    "before", ["import jax", "import jax, jax.numpy", "configure()", "from d2lperf import barriers"]
)
def test_there_are_eight_cpu_devices_by_default(before: str) -> None:
    assert fresh(COUNT.format(before)) == "8"


def test_configuring_after_an_import_of_jax_starts_no_backend() -> None:
    # JAX takes a new number only as long as no backend runs.
    code = (
        "import jax; from d2lperf.backend import configure; configure(); "
        "from d2lperf import barriers, timing, memory, claims, passport; "
        "jax.config.update('jax_num_cpu_devices', 3); print(len(jax.devices()))"
    )
    assert fresh(code) == "3"


@pytest.mark.parametrize(
    "wish",
    [
        {"JAX_NUM_CPU_DEVICES": "3"},
        {"XLA_FLAGS": "--xla_force_host_platform_device_count=3"},
    ],
)
@pytest.mark.parametrize("before", ["pass", "import jax"])
def test_the_users_own_number_is_kept(wish: dict[str, str], before: str) -> None:
    assert fresh(f"{before}; {COUNT.format('pass')}", **wish) == "3"


def test_a_backend_that_runs_already_is_left_alone() -> None:
    assert fresh(f"import jax; jax.devices(); {COUNT.format('pass')}") == "1"


def test_the_number_of_devices_can_be_chosen_first() -> None:
    code = "from d2lperf.backend import *; use_cpu_devices(2); print(len(cpus()))"
    assert fresh(code) == "2"


def test_asking_too_late_says_to_restart_the_kernel_and_ask_first() -> None:
    with pytest.raises(RuntimeError, match=r"restart the kernel and call use_cpu_devices\(99\)"):
        use_cpu_devices(99)
    assert len(cpus()) == 8


@pytest.mark.parametrize("n", [1, 8])
def test_asking_for_what_there_is_already_changes_nothing(n: int) -> None:
    use_cpu_devices(n)
    assert len(cpus()) == 8


def test_no_device_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        use_cpu_devices(0)
