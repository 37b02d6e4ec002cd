"""The house style, as far as a machine can tell."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

MODULES = ["d2lperf", "tests", ".ci"]


def run(root: Path, *command: str) -> None:
    program, *arguments = command
    path = Path(sys.executable).with_name(program)
    done = subprocess.run(
        [str(path), *arguments], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_linter_finds_nothing_and_public_names_have_docstrings(root: Path):
    run(root, "ruff", "check", ".")


def test_all_code_is_formatted_notebooks_too(root: Path):
    run(root, "ruff", "format", "--check", ".")


def test_types_fit(root: Path):
    run(root, "mypy")


def test_imports_point_downwards_only(root: Path):
    run(root, "lint-imports", "--no-cache")


@pytest.mark.parametrize("folder", MODULES)
def test_no_file_of_code_is_longer_than_400_lines(root: Path, folder: str):
    suffixes = {".py", ".js", ".css", ".c"}
    files = [path for path in (root / folder).rglob("*") if path.suffix in suffixes]
    assert files
    lines = {path: path.read_text("utf-8").count("\n") for path in files}
    assert not {path: count for path, count in lines.items() if count > 400}


@pytest.mark.parametrize("name", ["requirements.lock", "environment.yml"])
def test_pins_name_no_address_and_no_other_file(root: Path, name: str):
    text = (root / name).read_text("utf-8")
    for forbidden in ("://", " @ ", "file:", "--index", "--find-links"):
        assert forbidden not in text
    assert not re.search(r"^[\s-]*-[re]\b", text, flags=re.MULTILINE)
