"""Renew `requirements.lock` from `pyproject.toml`, and `environment.yml` from the lock.

One version of each package serves every Python and system, so that what is tested is what people
get. The lock names no address: each installs from the index that they are set up for.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
ENVIRONMENT = ROOT / "environment.yml"
PYTHON = "3.11"  # what Binder runs

PLAIN = ("--no-annotate", "--no-header", "--no-emit-index-url", "--no-emit-find-links", "--quiet")

HEADER = f"""\
# Made from requirements.lock by `make lock`: change pyproject.toml, not this file.
# The pins stand here, not in a file that this one names, so that Binder reuses its image.
name: d2lperf
channels:
  - conda-forge
dependencies:
  - python={PYTHON}
  - pip
  - pip:
"""


def environment(pins: list[str]) -> str:
    """Return the text of `environment.yml` for a list of pins."""
    return HEADER + "".join(f"      - {pin}\n" for pin in pins)


def pins(text: str) -> list[str]:
    """Return the pins that a text holds, one per line, without the markers that limit them."""
    return re.findall(r"^[\s-]*([\w.-]+==[^\s;]+)", text, flags=re.MULTILINE)


def compile_lock(*, upgrade: bool) -> None:
    """Resolve all extras for every system; keeps the versions there are unless told otherwise."""
    options = ["--universal", "--fork-strategy", "fewest", "--extra", "gpu", "--extra", "test"]
    if upgrade:
        options.append("--upgrade")
    _uv(*options, "--output-file", LOCK.name)


def compile_environment() -> None:
    """Write what the course itself needs on Binder's system: no test tools, no CUDA."""
    found = _uv("--python-platform", "linux", "--constraints", LOCK.name)
    ENVIRONMENT.write_text(environment(pins(found)), encoding="utf-8")


def _uv(*options: str) -> str:
    command = ["uv", "pip", "compile", "--python-version", PYTHON, *PLAIN, *options]
    beside = Path(sys.executable).with_name("uv")
    if beside.exists():
        command[0] = str(beside)
    done = subprocess.run(
        [*command, "pyproject.toml"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def main() -> None:
    """Renew both files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="take newer versions")
    compile_lock(upgrade=parser.parse_args().upgrade)
    compile_environment()


if __name__ == "__main__":
    main()
