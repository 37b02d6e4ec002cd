"""A JupyterLab of one's own, for benchmarks and for tests: nobody's settings are read or changed."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from d2lperf.lab import lab_arguments, lab_environment

TOKEN = "a-token-of-its-own"
START_LIMIT_S = 60.0


@contextmanager
def lab_server(course: Path, private: Path) -> Iterator[str]:
    """Start JupyterLab as `d2lperf lab` does, and stop it at the end of the block.

    Args:
        course: the folder that it opens.
        private: an empty folder for its settings, its log and the class's data.

    Yields:
        Its address; `?token=` with `TOKEN` opens it. The page has `window.jupyterapp`.

    Raises:
        RuntimeError: it did not answer within a minute; the message has its log.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = lab_environment(course) | {
        "JUPYTER_CONFIG_DIR": str(private / "config"),
        "JUPYTER_DATA_DIR": str(private / "data"),
        "JUPYTER_RUNTIME_DIR": str(private / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(private / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(private / "workspaces"),
        "D2LPERF_CLASSROOM": str(private / "classroom"),
    }
    arguments = [
        *lab_arguments(course),
        *("--no-browser", f"--port={port}", "--ServerApp.port_retries=0"),
        *(f"--IdentityProvider.token={TOKEN}", "--LabApp.expose_app_in_browser=True"),
    ]
    command = [sys.executable, "-m", "jupyterlab", *arguments]
    log = private / "log"
    with log.open("w") as file:
        process = subprocess.Popen(command, cwd=course, env=environment, stdout=file, stderr=file)
    address = f"http://127.0.0.1:{port}"
    try:
        _await_answer(f"{address}/api?token={TOKEN}", process, log)
        yield address
    finally:
        process.terminate()
        process.wait(30)


def _await_answer(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    limit = time.monotonic() + START_LIMIT_S
    while process.poll() is None and time.monotonic() < limit:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.25)
    raise RuntimeError(f"JupyterLab did not answer within a minute:\n{log.read_text()}")
