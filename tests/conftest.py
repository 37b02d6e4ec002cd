"""What all tests share: eight CPU devices, nobody's own Jupyter settings, and no silent skips."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from browsing import ROOT, Notebook, stop_kernels
from hypothesis import settings

from d2lperf.bench.browser import chromium
from d2lperf.bench.server import lab_server

# The same examples every time, and no failure because a shared machine was slow.
settings.register_profile("d2lperf", deadline=None, derandomize=True)
settings.load_profile("d2lperf")

# JAX and Jupyter read these when they are imported, which test modules do: so it is done here.
SCRATCH = Path(tempfile.mkdtemp(prefix="d2lperf-tests-"))
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "8")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # several processes share a GPU
os.environ["MPLBACKEND"] = "Agg"
os.environ["JUPYTER_PLATFORM_DIRS"] = "1"
os.environ.pop("JUPYTER_CONFIG_PATH", None)
os.environ.pop("JUPYTER_PATH", None)
for variable, folder in {
    "IPYTHONDIR": "ipython",
    "JUPYTER_CONFIG_DIR": "config",
    "JUPYTER_DATA_DIR": "data",
    "JUPYTER_RUNTIME_DIR": "runtime",
    "JUPYTERLAB_SETTINGS_DIR": "settings",
    "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
}.items():
    os.environ[variable] = str(SCRATCH / folder)
    (SCRATCH / folder).mkdir()
# nbgrader calls `alembic` by name, also where the virtual environment is not activated.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

# Under continuous integration everything is installed, so a skip would hide a failure.
NO_SKIPS = bool(os.environ.get("CI") or os.environ.get("D2LPERF_NO_SKIP"))


@cache
def has_gpu() -> bool:
    """Whether an NVIDIA driver answers; asking JAX would start its backend."""
    try:
        return (
            subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=False).returncode == 0
        )
    except OSError:
        return False


def pytest_unconfigure() -> None:
    shutil.rmtree(SCRATCH, ignore_errors=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    needs_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if needs_gpu and not has_gpu():
        config.hook.pytest_deselected(items=needs_gpu)
        items[:] = [item for item in items if item not in needs_gpu]


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if NO_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{reason}\nA skip is a failure here: install what the test needs."


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Iterator[None]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the course."""
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the course, so that nobody's notebooks are touched."""
    folder = tmp_path_factory.mktemp("course")
    for name in ("notebooks", "exercises", "solutions"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("nbgrader_config.py", "pyproject.toml"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="session")
def server(course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """JupyterLab as `d2lperf lab` starts it, with folders of its own."""
    with lab_server(course, tmp_path_factory.mktemp("jupyter")) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium."""
    with chromium() as browser:
        yield browser


@pytest.fixture
def notebook(server: str, browser: Any, tmp_path: Path) -> Iterator[Notebook]:
    """A window of JupyterLab."""
    folder = Path(os.environ.get("D2LPERF_SCREENSHOTS") or tmp_path)
    folder.mkdir(parents=True, exist_ok=True)
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    yield Notebook(page, server, folder)
    page.close()
    stop_kernels(server)
