"""The passport reads what the system says, on real files and on made-up ones."""

import getpass
import json
import os
import socket
from dataclasses import replace
from pathlib import Path

import jax
import psutil
import pytest

from d2lperf.backend import cpus
from d2lperf.passport import (
    DeviceKind,
    Passport,
    cache_bytes,
    cgroup_cores,
    cgroup_memory_bytes,
    machine_passport,
    measure_run_ahead,
)

GIB = 1024**3


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


@pytest.fixture(scope="module")
def measured() -> Passport:
    return machine_passport()


@pytest.fixture
def plain() -> Passport:
    return Passport(
        system="Linux x86_64",
        python="3.11.7",
        jax="0.10.2",
        jaxlib="0.10.2",
        cpu="A <fast> one",
        logical_cores=8,
        affinity_cores=4,
        quota_cores=None,
        effective_cores=4.0,
        memory_bytes=16 * GIB,
        memory_limit_bytes=None,
        cache_bytes={"L1d": 32 * 1024},
        devices=(DeviceKind("cpu", "cpu", 8, None),),
        run_ahead=32,
        dispatch_s=5e-6,
        noise=0.02,
    )


def test_it_agrees_with_the_system_it_runs_on(measured: Passport) -> None:
    assert measured.logical_cores == os.cpu_count()
    assert measured.memory_bytes == psutil.virtual_memory().total
    assert measured.jax == jax.__version__
    assert 0 < measured.effective_cores <= measured.affinity_cores <= measured.logical_cores
    on_cpu = [kind for kind in measured.devices if kind.platform == "cpu"]
    assert sum(kind.count for kind in on_cpu) == len(cpus())
    assert measured.has_gpu == any(d.platform == "gpu" for d in jax.devices())


def test_it_measures_a_limit_a_dispatch_time_and_a_noise(measured: Passport) -> None:
    assert measured.run_ahead is None or 1 <= measured.run_ahead < 80
    assert (measured.dispatch_s or 0) > 0
    assert measured.noise is not None
    assert measured.noise >= 0


def test_it_names_no_host_no_user_and_no_path(measured: Passport) -> None:
    published = json.dumps(measured.to_dict()) + str(measured) + measured._repr_html_()
    secrets = {socket.gethostname(), str(Path.home()), str(Path.cwd())} - {"", "/"}
    if len(getpass.getuser()) > 3 and getpass.getuser() != "root":
        secrets.add(getpass.getuser())
    assert not [secret for secret in secrets if secret in published]


def test_it_is_plain_data(measured: Passport) -> None:
    data = measured.to_dict()
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_without_measuring_nothing_is_measured() -> None:
    quick = machine_passport(measure=False)
    assert (quick.run_ahead, quick.dispatch_s, quick.noise) == (None, None, None)
    assert "not measured" in str(quick)


def test_a_host_that_never_blocks_has_no_known_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("d2lperf.passport._MOST_IN_FLIGHT", 4)
    assert measure_run_ahead()[0] is None


def test_the_table_and_its_html_twin_say_the_same(plain: Passport) -> None:
    assert "8, usable 4, quota none" in str(plain)
    assert "L1d 32.0 KiB" in str(plain)
    assert "A &lt;fast&gt; one" in plain._repr_html_()
    for line in str(plain).splitlines():
        assert line.split("  ")[0].strip() in plain._repr_html_()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"effective_cores": 1.0}, "several CPU devices bring no speed-up"),
        ({"effective_cores": 4.0}, "speed-up of up to 4"),
        ({"quota_cores": 1.5}, "quota of 1.5 cores lies below the 4"),
        ({}, "No GPU"),
        ({"devices": (DeviceKind("gpu", "H200", 1, GIB),)}, "One GPU"),
        ({"noise": 0.3}, "± 30%"),
        ({"run_ahead": 32}, "at most 32 computations"),
        ({"memory_limit_bytes": GIB}, "one notebook at a time"),
    ],
)
def test_the_advice_says_what_shows_on_this_machine(
    plain: Passport, change: dict[str, object], said: str
) -> None:
    assert said in " ".join(replace(plain, **change).advice())  # type: ignore[arg-type]


def test_a_quiet_large_machine_gets_no_warnings(plain: Passport) -> None:
    two = replace(plain, devices=(DeviceKind("gpu", "H200", 2, GIB),), run_ahead=None)
    assert len(two.advice()) == 1


@pytest.mark.parametrize(
    ("files", "member", "cores"),
    [
        ({"cpu.max": "max 100000"}, "0::/", None),
        ({"cpu.max": "150000 100000"}, "0::/", 1.5),
        ({"a/b/cpu.max": "max 100000", "a/cpu.max": "50000 100000"}, "0::/a/b", 0.5),
        ({"cpu.max": "100000 100000"}, "0::/not/mounted/here", 1.0),
        ({"cpu.max": "100000 100000"}, "0::/../outside", 1.0),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "1:cpu:/", None),
        ({"cpu/g/cpu.cfs_quota_us": "200000"}, "3:cpu,cpuacct:/g", 2.0),
        ({"cpu/g/cpu.cfs_quota_us": "200000"}, "3:cpuset:/g", None),
        ({}, "0::/", None),
    ],
)
def test_the_tightest_quota_on_the_way_to_the_root_counts(
    tmp_path: Path, files: dict[str, str], member: str, cores: float | None
) -> None:
    root = tree(tmp_path / "cgroup", files)
    membership = tmp_path / "self"
    membership.write_text(f"9:name=systemd:/x\n{member}\n")
    assert cgroup_cores(root, membership) == cores


@pytest.mark.parametrize(
    ("files", "member", "limit"),
    [
        ({"memory.max": "max"}, "0::/", None),
        ({"memory.max": "2147483648", "a/memory.max": "1073741824"}, "0::/a", GIB),
        ({"memory/m/memory.limit_in_bytes": "1073741824"}, "4:memory:/m", GIB),
    ],
)
def test_the_tightest_memory_limit_counts(
    tmp_path: Path, files: dict[str, str], member: str, limit: int | None
) -> None:
    root = tree(tmp_path / "cgroup", files)
    membership = tmp_path / "self"
    membership.write_text(member)
    assert cgroup_memory_bytes(root, membership) == limit


def test_a_system_without_control_groups_or_caches_has_none(tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"
    assert cgroup_cores(nowhere, nowhere) is None
    assert cgroup_memory_bytes(nowhere, nowhere) is None
    assert cache_bytes(nowhere) == {}


def test_data_caches_are_read_by_level_and_instruction_caches_left_out(tmp_path: Path) -> None:
    sizes = [("1", "Data", "48K"), ("1", "Instruction", "32K"), ("2", "Unified", "2M")]
    for i, (level, kind, size) in enumerate(sizes):
        tree(tmp_path / f"index{i}", {"level": level, "type": kind, "size": size})
    assert cache_bytes(tmp_path) == {"L1d": 48 * 1024, "L2": 2 * 1024**2}
