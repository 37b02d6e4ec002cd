"""The tests' own settings: what is skipped, what is left out, and what the code runs on."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import pytest

SKIPPED = "import pytest\n\ndef test_it():\n    pytest.skip('no browser here')\n"
MODULE_SKIPPED = "import pytest\n\npytest.importorskip('no_such_package')\n"
EXPECTED_TO_FAIL = "import pytest\n\n@pytest.mark.xfail\ndef test_it():\n    assert False\n"
NEEDS_GPU = "import pytest\n\n@pytest.mark.gpu\ndef test_it(): pass\n\ndef test_other(): pass\n"


def outcome(folder: Path, root: Path, test: str, **variables: str) -> str:
    """Return the last line of pytest on one test file with our settings."""
    (folder / "test_it.py").write_text(test)
    for name in ("conftest.py", "browsing.py"):
        shutil.copy(root / "tests" / name, folder)
    shutil.copy(root / "pyproject.toml", folder)
    environment = {k: v for k, v in os.environ.items() if k not in ("CI", "D2LPERF_NO_SKIP")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_it.py"],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip().splitlines()[-1]


@pytest.mark.parametrize("test", [SKIPPED, MODULE_SKIPPED], ids=["test", "module"])
def test_a_skip_is_a_skip_at_home_and_a_failure_under_ci(tmp_path: Path, root: Path, test: str):
    assert outcome(tmp_path, root, test).startswith("1 skipped")
    for variable in ("CI", "D2LPERF_NO_SKIP"):
        last = outcome(tmp_path, root, test, **{variable: "true"})
        assert "1 failed" in last or "1 error" in last


def test_a_test_that_is_expected_to_fail_may_do_so_under_ci(tmp_path: Path, root: Path):
    assert outcome(tmp_path, root, EXPECTED_TO_FAIL, CI="true").startswith("1 xfailed")


def test_tests_for_a_gpu_are_left_out_where_there_is_none(tmp_path: Path, root: Path):
    tools = tmp_path / "tools"
    tools.mkdir()
    last = outcome(tmp_path, root, NEEDS_GPU, CI="true", PATH=str(tools))
    assert last.startswith("1 passed, 1 deselected")
    (tools / "nvidia-smi").write_text("#!/bin/sh\n")
    (tools / "nvidia-smi").chmod(0o755)
    assert outcome(tmp_path, root, NEEDS_GPU, CI="true", PATH=str(tools)).startswith("2 passed")


def test_there_are_eight_cpu_devices():
    assert len(jax.devices("cpu")) == 8


def test_jupyter_reads_nobodys_own_settings():
    from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir, jupyter_runtime_dir

    for folder in (jupyter_config_dir(), jupyter_data_dir(), jupyter_runtime_dir()):
        assert "d2lperf-tests-" in folder
