"""Setting the course up: make, the installer, the pins, Binder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# A stand-in for Python: makes environments that hold itself, and writes down what pip is asked for.
FAKE_PYTHON = """\
#!/bin/sh
case "$1 $2" in
    "-m venv") mkdir -p "$3/bin"; cp "$0" "$3/bin/python" ;;
    "-m pip") shift 2; echo "$@" >>"$PIP_LOG"; exit "${PIP_STATUS:-0}" ;;
    "--version ") echo "Python 3.12.0" ;;
esac
"""
PICK = """\
from repo2docker.app import Repo2Docker

packs = (pack(base_image="base") for pack in Repo2Docker().buildpacks)
print(next(type(pack).__name__ for pack in packs if pack.detect()))
"""
OLD_PYTHON = '#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.8.1" && exit 0\nexit 1\n'


class Machine:
    """A copy of what the installer needs, on a machine with nothing but a few tools."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.course = folder / "my course"
        self.tools = folder / "tools"
        self.log = folder / "pip.log"
        self.tools.mkdir()
        (self.course / ".ci").mkdir(parents=True)
        for name in ("Makefile", "pyproject.toml", "requirements.lock", ".ci/install"):
            shutil.copy(root / name, self.course / name)
        tools = (
            "awk",
            "cat",
            "chmod",
            "cksum",
            "cp",
            "dirname",
            "grep",
            "make",
            "mkdir",
            "rm",
            "sh",
        )
        for tool in tools:
            found = shutil.which(tool)
            assert found, f"{tool} is needed to test the installer"
            (self.tools / tool).symlink_to(found)

    def provide(self, name: str, text: str) -> None:
        (self.tools / name).write_text(text)
        (self.tools / name).chmod(0o755)

    def install(self, kind: str = "lab", **variables: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": str(self.tools), "PIP_LOG": str(self.log), **variables}
        return subprocess.run(
            [str(self.tools / "sh"), str(self.course / ".ci" / "install"), kind],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def asked_of_pip(self) -> list[str]:
        """Return what pip was asked for since the last time this was called."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def machine(root: Path, tmp_path: Path) -> Machine:
    found = Machine(root, tmp_path)
    found.provide("python3", FAKE_PYTHON)
    return found


@pytest.fixture(scope="module")
def lock() -> ModuleType:
    spec = spec_from_file_location("lock", Path(__file__).parents[1] / ".ci" / "lock.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_make_alone_lists_every_command_with_a_sentence(root: Path):
    text = (root / "Makefile").read_text("utf-8")
    declared = re.search(r"^\.PHONY: (.*)$", text, flags=re.MULTILINE)
    assert declared
    said = subprocess.run(["make"], cwd=root, capture_output=True, text=True, check=True).stdout
    for command in declared[1].split():
        assert re.search(rf"^  {command} +\w+", said, flags=re.MULTILINE), command


def test_the_installer_uses_the_pins_and_installs_what_is_asked_for(machine: Machine):
    assert machine.install("lab").returncode == 0
    backend, course = machine.asked_of_pip()
    assert backend.endswith("-c requirements.lock setuptools")
    assert course.endswith("-c requirements.lock --no-build-isolation -e .")
    assert machine.install("test").returncode == 0
    assert machine.asked_of_pip()[-1].endswith("-e .[test]")


def test_the_second_installation_does_nothing(machine: Machine):
    machine.install("test")
    machine.asked_of_pip()
    again = machine.install("test")
    assert again.returncode == 0
    assert machine.asked_of_pip() == []
    assert again.stderr == ""


def test_what_the_tests_need_includes_what_the_course_needs(machine: Machine):
    machine.install("test")
    machine.asked_of_pip()
    assert machine.install("lab").returncode == 0
    assert machine.asked_of_pip() == []


@pytest.mark.parametrize("name", ["pyproject.toml", "requirements.lock"])
def test_changed_requirements_are_installed(machine: Machine, name: str):
    machine.install("lab")
    machine.asked_of_pip()
    with (machine.course / name).open("a") as file:
        file.write("# changed\n")
    assert machine.install("lab").returncode == 0
    assert machine.asked_of_pip()


def test_a_failed_installation_is_repaired_by_the_next(machine: Machine):
    assert machine.install("lab", PIP_STATUS="1").returncode != 0
    half = machine.course / ".venv" / "half-installed"
    half.touch()
    machine.asked_of_pip()
    assert machine.install("lab").returncode == 0
    assert not half.exists()
    assert machine.asked_of_pip()
    machine.install("lab")
    assert machine.asked_of_pip() == []


def test_an_installation_that_still_runs_is_left_alone(machine: Machine):
    machine.install("lab")
    (machine.course / ".venv" / ".installing").write_text(f"{os.getpid()}\n")
    second = machine.install("lab")
    assert second.returncode == 1
    assert f"stop process {os.getpid()}" in second.stderr


def test_an_environment_that_was_moved_is_made_anew(machine: Machine):
    machine.install("lab")
    machine.asked_of_pip()
    machine.course = machine.course.rename(machine.course.with_name("another place"))
    assert machine.install("lab").returncode == 0
    assert machine.asked_of_pip()


def test_with_an_nvidia_driver_the_cuda_build_is_installed(machine: Machine):
    machine.install("lab")
    machine.asked_of_pip()
    machine.provide("nvidia-smi", '#!/bin/sh\n[ "$1" = -L ]\n')
    machine.install("lab")
    assert machine.asked_of_pip()[-1].endswith("-e .[gpu]")
    machine.install("test")
    assert machine.asked_of_pip()[-1].endswith("-e .[test,gpu]")


def test_without_a_suitable_python_the_error_says_what_to_install(machine: Machine):
    machine.provide("python3", OLD_PYTHON)
    failed = machine.install("lab")
    assert failed.returncode == 1
    assert "Expected Python 3.11 or newer" in failed.stderr
    assert "python3 is Python 3.8.1" in failed.stderr
    assert "apt install python3 python3-venv" in failed.stderr
    assert not (machine.course / ".venv").exists()


def test_an_unknown_kind_of_installation_is_refused(machine: Machine):
    failed = machine.install("everything")
    assert failed.returncode == 2
    assert "expected lab or test" in failed.stderr


def _binder_environment() -> dict[str, str]:
    environment = {key: str(value) for key, value in default_environment().items()}
    return environment | {
        "implementation_name": "cpython",
        "os_name": "posix",
        "platform_machine": "x86_64",
        "platform_python_implementation": "CPython",
        "platform_system": "Linux",
        "python_full_version": "3.11.0",
        "python_version": "3.11",
        "sys_platform": "linux",
    }


def _requires(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:  # Binder's Python needs it, this one does not.
        return []


def _closure(names: list[str]) -> set[str]:
    """Return the packages that these need, themselves included, on Binder's system."""
    environment = _binder_environment()
    todo = [Requirement(name) for name in names]
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        requirement = todo.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        for needed in map(Requirement, _requires(requirement.name)):
            extras = requirement.extras or {""}
            if needed.marker is None or any(
                needed.marker.evaluate(environment | {"extra": extra}) for extra in extras
            ):
                todo.append(needed)
    return {name for name, _ in seen}


def _pinned(pins: list[str]) -> dict[str, str]:
    split = (pin.split("==") for pin in pins)
    return {canonicalize_name(name): version for name, version in split}


def test_environment_yml_holds_the_pins_of_the_lock_for_the_course_alone(root, lock):
    environment = yaml.safe_load((root / "environment.yml").read_text("utf-8"))
    pins = environment["dependencies"][-1]["pip"]
    assert (root / "environment.yml").read_text("utf-8") == lock.environment(pins)
    locked = _pinned(lock.pins((root / "requirements.lock").read_text("utf-8")))
    assert _pinned(pins).items() <= locked.items()
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(_pinned(pins)) == _closure(project["dependencies"]), "run `make lock`"


def test_the_lock_pins_each_package_once_for_every_python(root, lock):
    pins = lock.pins((root / "requirements.lock").read_text("utf-8"))
    assert len(pins) == len(_pinned(pins))


def test_the_lock_holds_what_pyproject_asks_for(root, lock):
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    locked = _pinned(lock.pins((root / "requirements.lock").read_text("utf-8")))
    extras = project["optional-dependencies"].values()
    for text in [*project["dependencies"], *(name for extra in extras for name in extra)]:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        assert name in locked, f"{name} is not locked: run `make lock`"
        assert requirement.specifier.contains(locked[name]), f"{name}: run `make lock`"


def test_environment_yml_asks_for_python_as_binder_understands_it(root: Path):
    environment = yaml.safe_load((root / "environment.yml").read_text("utf-8"))
    assert environment["dependencies"][0] == "python=3.11"
    assert not (root / "binder").exists(), "would hide environment.yml"
    assert not (root / ".binder").exists(), "would hide environment.yml"


@pytest.mark.skipif(sys.platform != "linux", reason="repo2docker is installed on Linux only")
def test_binder_builds_a_conda_image_with_python_3_11_and_runs_post_build(root: Path, tmp_path):
    for name in ("environment.yml", "postBuild", "pyproject.toml", "Makefile", "README.md"):
        shutil.copy(root / name, tmp_path / name)
    # Which build pack it takes, repo2docker says only once it builds.
    picked = subprocess.run(
        [sys.executable, "-c", PICK], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert picked.stdout.split() == ["CondaBuildPack"]
    command = [str(Path(sys.executable).with_name("repo2docker")), "--no-build", "--debug", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    rendered = done.stdout + done.stderr
    assert done.returncode == 0, rendered
    assert "Building conda environment for python=3.11" in rendered
    assert re.search(r'env update .*--file "environment\.yml"', rendered)
    assert re.search(r"^RUN \./postBuild$", rendered, flags=re.MULTILINE)


@pytest.mark.parametrize("name", ["postBuild", ".ci/run"])
def test_scripts_can_be_executed_and_are_valid(root: Path, name: str):
    assert os.access(root / name, os.X_OK)
    subprocess.run(["bash", "-n", root / name], check=True)
