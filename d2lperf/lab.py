"""How JupyterLab is started on the course."""

from __future__ import annotations

import os
import sys
from pathlib import Path

START_PAGE = "notebooks/00_start_here.ipynb"


def lab_arguments(root: Path) -> list[str]:
    """Return JupyterLab's arguments for the course in a folder."""
    arguments = [f"--ServerApp.root_dir={root}", f"--LabApp.default_url=/lab/tree/{START_PAGE}"]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        # In containers everything runs as root, and Jupyter would refuse to start.
        arguments.append("--allow-root")
    return arguments


def lab_environment(root: Path) -> dict[str, str]:
    """Return the environment in which nbgrader's extensions work on the course in a folder."""
    environment = dict(os.environ)
    # nbgrader calls `alembic` by name, also where the virtual environment is not activated.
    search = [str(Path(sys.executable).parent), environment.get("PATH", "")]
    environment["PATH"] = os.pathsep.join(filter(None, search))
    # Assignment List changes folders before it reads the configuration: it has to find it by path.
    # The package's own folder switches off the question about news: versions are pinned here.
    quiet = str(Path(__file__).with_name("assets") / "jupyter")
    config = [str(root), quiet, environment.get("JUPYTER_CONFIG_PATH", "")]
    environment["JUPYTER_CONFIG_PATH"] = os.pathsep.join(filter(None, config))
    return environment
