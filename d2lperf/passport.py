"""The machine passport: what the reader's machine is, and what it will and will not show.

A passport is published with results, so it holds no host name, user name or path.
JAX is imported when a passport is made: the command line reads the rest without it.
"""

import html
import math
import os
import platform
import subprocess
import time
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from statistics import mode
from typing import Any

import psutil

from d2lperf.stats import Samples
from d2lperf.units import format_bytes, format_seconds

_CGROUP = Path("/sys/fs/cgroup")
_MEMBERSHIP = Path("/proc/self/cgroup")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_MOST_IN_FLIGHT = 80


@dataclass(frozen=True)
class DeviceKind:
    """Devices of one kind.

    Attributes:
        platform: "cpu", "gpu" …
        kind: JAX's name of the model.
        count: how many.
        memory_bytes: what JAX may use of each, in bytes; None where the device does not say.
    """

    platform: str
    kind: str
    count: int
    memory_bytes: int | None


@dataclass(frozen=True)
class Passport:
    """One machine, as this process sees it. None means unknown, not measured, or no limit.

    Attributes:
        system: operating system and architecture.
        python, jax, jaxlib: versions.
        cpu: model name of the processor.
        logical_cores: of the machine.
        affinity_cores: how many of them this process may run on.
        quota_cores: cores' worth of time that the control group grants (may be a fraction).
        effective_cores: the smallest of the three.
        memory_bytes: of the machine.
        memory_limit_bytes: of the control group, if lower.
        cache_bytes: size per level ("L1d", "L2", "L3"); empty where unknown.
        devices: what JAX runs on.
        run_ahead: computations that can be in flight on one device before the host blocks.
        dispatch_s: median time to dispatch one computation, in seconds.
        noise: relative quartile deviation of a fixed computation's time.
    """

    system: str
    python: str
    jax: str
    jaxlib: str
    cpu: str | None
    logical_cores: int
    affinity_cores: int
    quota_cores: float | None
    effective_cores: float
    memory_bytes: int
    memory_limit_bytes: int | None
    cache_bytes: dict[str, int]
    devices: tuple[DeviceKind, ...]
    run_ahead: int | None
    dispatch_s: float | None
    noise: float | None

    @property
    def has_gpu(self) -> bool:
        """Whether JAX found a GPU."""
        return any(kind.platform == "gpu" for kind in self.devices)

    def to_dict(self) -> dict[str, Any]:
        """Return the passport as plain data that `json.dumps` takes."""
        return asdict(self) | {"devices": [asdict(kind) for kind in self.devices]}

    def advice(self) -> list[str]:
        """Say in sentences what will and will not show on this machine."""
        said = []
        gpus = sum(kind.count for kind in self.devices if kind.platform == "gpu")
        if self.effective_cores < 2:
            said.append(
                f"This process has {_cores(self.effective_cores)}: several CPU devices bring no "
                "speed-up here. Dispatch still returns early, but host and device share the core."
            )
        else:
            said.append(
                f"Several CPU devices can bring a speed-up of up to {self.effective_cores:.3g} "
                "here, the number of cores, and none for operations that use all cores anyway."
            )
        if self.quota_cores is not None and self.quota_cores < self.affinity_cores:
            said.append(
                f"A quota of {_cores(self.quota_cores)} lies below the {self.affinity_cores} "
                "that the process sees: it is halted now and then, and timings jump."
            )
        if gpus == 0:
            said.append("No GPU: device memory is shown by the virtual clock, not measured.")
        elif gpus == 1:
            said.append("One GPU: transfers between GPUs are shown by the virtual clock only.")
        if self.noise is not None and self.noise > 0.1:
            said.append(
                f"Timings spread by ± {self.noise:.0%}: small differences will be called too "
                "noisy to tell. Close other programs, or plug the laptop in."
            )
        if self.run_ahead is not None:
            said.append(
                f"The host runs ahead by at most {self.run_ahead} computations per device; after "
                "that, every further dispatch waits for a completion."
            )
        limit = self.memory_limit_bytes or self.memory_bytes
        if limit < 2 * 1024**3:
            said.append(f"{format_bytes(limit)} of memory: run one notebook at a time.")
        return said

    def _rows(self) -> list[tuple[str, str]]:
        quota = "none" if self.quota_cores is None else _cores(self.quota_cores)
        limit = self.memory_limit_bytes
        caches = ", ".join(f"{k} {format_bytes(v)}" for k, v in self.cache_bytes.items())
        rows = [
            ("system", self.system),
            ("software", f"Python {self.python}, jax {self.jax}, jaxlib {self.jaxlib}"),
            ("processor", self.cpu or "unknown"),
            ("cores", f"{self.logical_cores}, usable {self.affinity_cores}, quota {quota}"),
            ("effective cores", f"{self.effective_cores:.3g}"),
            ("memory", format_bytes(self.memory_bytes)),
            ("memory limit", "none" if limit is None else format_bytes(limit)),
            ("caches", caches or "unknown"),
        ]
        for kind in self.devices:
            size = "" if kind.memory_bytes is None else f", {format_bytes(kind.memory_bytes)} each"
            rows.append((f"{kind.platform} devices", f"{kind.count} × {kind.kind}{size}"))
        unknown = "not measured, or not to tell"
        dispatch = unknown if self.dispatch_s is None else format_seconds(self.dispatch_s)
        noise = unknown if self.noise is None else f"± {self.noise:.1%}"
        run_ahead = unknown if self.run_ahead is None else f"{self.run_ahead} computations"
        return [*rows, ("run-ahead", run_ahead), ("dispatch", dispatch), ("noise", noise)]

    def __str__(self) -> str:
        rows = self._rows()
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label.ljust(width)}  {text}" for label, text in rows)

    def _repr_html_(self) -> str:
        cells = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(label)}</th>'
            f'<td style="text-align:left">{html.escape(text)}</td></tr>'
            for label, text in self._rows()
        )
        return f"<table><caption>Machine passport</caption><tbody>{cells}</tbody></table>"


def machine_passport(*, measure: bool = True) -> Passport:
    """Describe this machine, and measure in a second or two what cannot be looked up.

    Args:
        measure: measure run-ahead, dispatch and noise (about a second on two cores). Starts the
            JAX backend in any case.

    Returns:
        The passport.
    """
    from d2lperf.backend import cpus, gpus

    logical = os.cpu_count() or 1
    affinity = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else logical
    found = _device_kinds(gpus() + cpus())
    quota, memory = cgroup_cores(), int(psutil.virtual_memory().total)
    limit = cgroup_memory_bytes()
    run_ahead, dispatch_s = measure_run_ahead() if measure else (None, None)
    return Passport(
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        jax=version("jax"),
        jaxlib=version("jaxlib"),
        cpu=_cpu_model(),
        logical_cores=logical,
        affinity_cores=affinity,
        quota_cores=quota,
        effective_cores=float(min(logical, affinity, quota or math.inf)),
        memory_bytes=memory,
        memory_limit_bytes=limit if limit is not None and limit < memory else None,
        cache_bytes=cache_bytes(),
        devices=found,
        run_ahead=run_ahead,
        dispatch_s=dispatch_s,
        noise=measure_noise() if measure else None,
    )


def cgroup_cores(root: Path = _CGROUP, membership: Path = _MEMBERSHIP) -> float | None:
    """Return the CPU quota of the control group in cores, None without one.

    Affinity does not show a quota: a container may see many cores and be granted one.

    Args:
        root: where control groups are mounted.
        membership: the file that names the groups of the process.

    Source:
        The kernel's documentation: cgroup-v2 `cpu.max`; cgroup-v1 `cpu.cfs_quota_us`.
    """
    found = []
    for group in _groups(root, membership, controller=""):
        quota, _, period = (_read(group / "cpu.max") or "max").partition(" ")
        if quota != "max":
            found.append(int(quota) / int(period or 100_000))
    for group in _groups(root / "cpu", membership, controller="cpu"):
        quota = _read(group / "cpu.cfs_quota_us") or "-1"
        period = _read(group / "cpu.cfs_period_us") or "100000"
        if int(quota) > 0:
            found.append(int(quota) / int(period))
    return min(found, default=None)


def cgroup_memory_bytes(root: Path = _CGROUP, membership: Path = _MEMBERSHIP) -> int | None:
    """Return the memory limit of the control group in bytes, None without one.

    Args and source: as in `cgroup_cores`; `memory.max` and `memory.limit_in_bytes`. Version 1
    writes "no limit" as a number larger than any machine's memory.
    """
    texts = [_read(g / "memory.max") for g in _groups(root, membership, controller="")]
    v1 = _groups(root / "memory", membership, controller="memory")
    texts += [_read(g / "memory.limit_in_bytes") for g in v1]
    return min((int(text) for text in texts if text and text != "max"), default=None)


def _groups(root: Path, membership: Path, *, controller: str) -> list[Path]:
    """List the folders of this process's group and of all groups around it, up to the root.

    A limit anywhere on the way counts. Inside a container the named path may not exist, since
    only the own group is mounted, as the root.
    """
    found = [root]
    for line in (_read(membership) or "").splitlines():
        _, controllers, name = line.split(":", 2)
        if controller in controllers.split(","):
            parts = [part for part in name.split("/") if part and part != ".."]
            found += [root.joinpath(*parts[: i + 1]) for i in range(len(parts))]
    return [folder for folder in found if folder.is_dir()]


def cache_bytes(folder: Path = _CACHES) -> dict[str, int]:
    """Return the data caches of the first core by level, in bytes; empty where not known.

    Args:
        folder: the kernel's description of the caches (Linux).
    """
    found: dict[str, int] = {}
    for index in sorted(folder.glob("index[0-9]*")):
        level, kind, size = (_read(index / name) for name in ("level", "type", "size"))
        if level and size and kind in ("Data", "Unified"):
            factor = {"K": 1024, "M": 1024**2, "G": 1024**3}.get(size[-1], 1)
            found[f"L{level}{'d' if kind == 'Data' else ''}"] = factor * int(size.rstrip("KMG"))
    return found


def measure_run_ahead() -> tuple[int | None, float | None]:
    """Find how many computations one device takes before the host has to wait.

    One long computation keeps the device busy; computations that need its result, and so cannot
    start, are dispatched after it. The dispatch that takes about as long as the long one is the
    first that did not fit.

    Returns:
        The number in flight when the host blocked (None if it never did, or if three attempts
        did not agree), and the median time of one dispatch in seconds.
    """
    # Before any array: finding the device also fixes how many there are.
    device = _first_device()
    import jax
    import jax.numpy as jnp

    @partial(jax.jit, static_argnums=1)
    def long(x: jax.Array, times: int) -> jax.Array:
        # A fixed number of turns, so that a GPU need not ask the host after each.
        return jax.lax.fori_loop(0, times, lambda _, y: y @ x, x)

    step = jax.jit(lambda x: x @ x)
    x = jax.device_put(jnp.eye(256), device)
    step(x).block_until_ready()
    times, long_s = 32, 0.0
    while long_s < 0.03 and times < 10_000_000:
        if long_s:
            times = math.ceil(times * 0.05 / long_s)
        long(x, times).block_until_ready()
        long_s = _completion_s(partial(long, x, times))
    limits: list[int | None] = []
    dispatches: list[float] = []
    for _ in range(3):
        marks = [time.perf_counter()]
        y = long(x, times)
        for _ in range(_MOST_IN_FLIGHT):
            marks.append(time.perf_counter())
            y = step(y)
        marks.append(time.perf_counter())
        y.block_until_ready()
        took = [after - before for before, after in pairwise(marks)]
        slowest = max(range(len(took)), key=took.__getitem__)
        blocked = took[slowest] > long_s / 2
        limits.append(slowest if blocked and slowest > 0 else None)
        dispatches += took[1 : slowest if blocked else None]
    agreed = mode(limits)
    return (
        agreed if limits.count(agreed) >= 2 else None,
        Samples(dispatches).median if dispatches else None,
    )


def measure_noise() -> float:
    """Return the relative quartile deviation of 40 runs of one fixed matrix product."""
    device = _first_device()
    import jax
    import jax.numpy as jnp

    product = jax.jit(lambda x: x @ x)
    x = jax.device_put(jnp.ones((384, 384)), device)
    for _ in range(3):
        product(x).block_until_ready()
    return Samples(_completion_s(partial(product, x)) for _ in range(40)).spread


def _completion_s(call: Any) -> float:
    start = time.perf_counter()
    call().block_until_ready()
    return time.perf_counter() - start


def _first_device() -> Any:
    from d2lperf.backend import devices

    return devices()[0]


def _device_kinds(devices: list[Any]) -> tuple[DeviceKind, ...]:
    kinds: dict[tuple[str, str, int | None], int] = {}
    for device in devices:
        limit = (device.memory_stats() or {}).get("bytes_limit")
        key = (device.platform, device.device_kind, limit)
        kinds[key] = kinds.get(key, 0) + 1
    return tuple(DeviceKind(p, kind, count, m) for (p, kind, m), count in kinds.items())


def _cpu_model() -> str | None:
    for line in (_read(Path("/proc/cpuinfo")) or "").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    if platform.system() == "Darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        return answer.stdout.strip() or None
    return platform.processor() or None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _cores(number: float) -> str:
    return "1 core" if number == 1 else f"{number:.3g} cores"
