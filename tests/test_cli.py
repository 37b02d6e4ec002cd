"""The command `d2lperf`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from d2lperf import cli
from d2lperf.building import CourseNotFound, find_course
from d2lperf.lab import lab_arguments, lab_environment


def call(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "d2lperf.cli", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_exercises_are_listed_as_json_with_id_chapter_title_and_points(capsys):
    assert cli.main(["exercises", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"id": "ch00.speed_up", "chapter": 0, "title": "Speed-up", "points": 1} in listed
    assert all(set(e) == {"id", "chapter", "title", "points"} for e in listed)


def test_exercises_are_listed_for_people_with_the_sum_of_points(capsys):
    assert cli.main(["exercises", "--json"]) == 0
    total = sum(e["points"] for e in json.loads(capsys.readouterr().out))
    assert cli.main(["exercises"]) == 0
    assert f"{total} points" in capsys.readouterr().out.splitlines()[-1]


def test_listing_exercises_works_outside_the_course_and_starts_no_jax(tmp_path: Path):
    code = (
        "import sys; from d2lperf.cli import main; main(['exercises']); "
        "sys.exit('jax' in sys.modules and 'jax._src.xla_bridge' in sys.modules "
        "and bool(sys.modules['jax._src.xla_bridge']._backends))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert done.returncode == 0


def test_doctor_prints_the_passport_and_advice_as_json(tmp_path: Path):
    done = call("doctor", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["logical_cores"] >= 1
    assert said["advice"]
    assert all(isinstance(sentence, str) for sentence in said["advice"])


def test_doctor_prints_sentences_for_people(tmp_path: Path):
    done = call("doctor", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "What to expect here" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [[], ["frobnicate"], ["build", "--chek"], ["exercises", "extra"], ["lab"], ["build"]],
    ids=" ".join,
)
def test_bad_input_is_one_clear_line_and_exit_status_2(tmp_path: Path, arguments: list[str]):
    done = call(*arguments, folder=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("d2lperf")


def test_outside_the_course_the_error_says_where_to_go(tmp_path: Path):
    done = call("build", folder=tmp_path)
    assert "change into the folder that holds notebooks/" in done.stderr


def test_the_course_is_found_from_any_folder_inside_it(root: Path):
    assert find_course(root / "d2lperf" / "building").root == root
    with pytest.raises(CourseNotFound, match="is not in it"):
        find_course(root.parent)


def test_lab_opens_the_start_page_of_the_course(root: Path):
    arguments = lab_arguments(root)
    assert f"--ServerApp.root_dir={root}" in arguments
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in arguments


def test_lab_lets_nbgrader_find_its_configuration_and_alembic(root: Path, monkeypatch):
    monkeypatch.setenv("PATH", "/elsewhere")
    monkeypatch.setenv("JUPYTER_CONFIG_PATH", "/mine")
    environment = lab_environment(root)
    first, quiet, last = environment["JUPYTER_CONFIG_PATH"].split(os.pathsep)
    assert (first, last) == (str(root), "/mine")
    assert (Path(quiet) / "labconfig" / "page_config.json").exists()
    scripts, *others = environment["PATH"].split(os.pathsep)
    assert (Path(scripts) / "alembic").exists()
    assert others == ["/elsewhere"]


def test_lab_passes_other_arguments_on(root: Path, monkeypatch):
    seen: list[str] = []

    def become(program: str, command: list[str], environment: dict[str, str]) -> None:
        seen.extend(command)
        raise SystemExit(0)

    monkeypatch.chdir(root / "d2lperf")
    monkeypatch.setattr(os, "execve", become)
    with pytest.raises(SystemExit):
        cli.main(["lab", "--no-browser", "--port=9000"])
    assert seen[1:3] == ["-m", "jupyterlab"]
    assert seen[-2:] == ["--no-browser", "--port=9000"]
