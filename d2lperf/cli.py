"""The command `d2lperf`: open the course, look at the machine, list and build the exercises."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from d2lperf.building import Course


class UsageError(Exception):
    """The command cannot do what was asked; the message says what to do instead."""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    Args:
        arguments: what follows the command's name; the process's own if not given.

    Returns:
        0 if all is well, 1 if a check found something, 2 if the command was used wrongly.
    """
    parser = _arguments()
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command != "lab":
        parser.error(f"unknown argument {rest[0]!r}")
    options.rest = rest
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except UsageError as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # Whoever read the output has seen enough; nothing more may be flushed into the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _arguments() -> argparse.ArgumentParser:
    parser = _Parser(prog="d2lperf", description="A course on deep-learning performance in JAX.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[argparse.Namespace], int], text: str) -> _Parser:
        command = commands.add_parser(name, help=text, description=text, allow_abbrev=False)
        command.set_defaults(run=run)
        return command

    add("lab", lab, "open the course in JupyterLab; other arguments are passed on to it")
    doctor_options = add("doctor", doctor, "say what this machine is and what it will show")
    bench_options = add("bench", bench, "time the course's own parts, as ratios in one run")
    bench_options.add_argument("what", nargs="?", choices=["timeline"], default="timeline")
    bench_options.add_argument(
        "--no-browser", action="store_true", help="leave out what needs Chromium"
    )
    exercise_options = add("exercises", exercises, "list the exercises and their points")
    build_options = add("build", build, "bring notebooks into normal form, build exercises/")
    for options in (doctor_options, exercise_options, bench_options):
        options.add_argument("--json", action="store_true", help="print JSON")
    build_options.add_argument(
        "--check", action="store_true", help="write nothing; fail if there is something to build"
    )
    build_options.add_argument(
        "--force", action="store_true", help="replace exercises even if somebody worked on them"
    )
    return parser


def lab(options: argparse.Namespace) -> int:
    """Open JupyterLab at the start page, with nbgrader set up for the course."""
    from d2lperf.lab import lab_arguments, lab_environment

    root = _course().root
    command = [sys.executable, "-m", "jupyterlab", *lab_arguments(root), *options.rest]
    sys.stdout.flush()
    if os.name == "posix":
        # JupyterLab takes this process's place, so that it gets the signals sent to it.
        os.chdir(root)
        os.execve(sys.executable, command, lab_environment(root))
    return subprocess.run(command, cwd=root, env=lab_environment(root), check=False).returncode


def doctor(options: argparse.Namespace) -> int:
    """Print the machine passport, and what it means for the course."""
    from d2lperf.passport import machine_passport

    machine = machine_passport()
    if options.json:
        print(json.dumps({**machine.to_dict(), "advice": machine.advice()}, indent=2))
    else:
        print(machine)
        print("\nWhat to expect here:")
        for sentence in machine.advice():
            print(f"- {sentence}")
    return 0


def bench(options: argparse.Namespace) -> int:
    """Print how fast the course's own parts are, beside an obvious way to do the same."""
    from d2lperf.bench import BrowserMissing, run, table_of
    from d2lperf.passport import machine_passport

    machine = machine_passport(measure=False)
    figures = []
    try:
        for figure in run(options.what, browser=not options.no_browser):
            print(f"{figure.name} …", file=sys.stderr)
            figures.append(figure)
    except BrowserMissing as error:
        raise UsageError(f"{error}, or leave that part out: --no-browser") from error
    if options.json:
        records = [figure.record() for figure in figures]
        print(json.dumps({"machine": machine.to_dict(), "figures": records}, indent=2))
    else:
        print(
            table_of(
                figures,
                f"{options.what}, on {machine.cpu} with {machine.effective_cores:.3g} cores",
            )
        )
    return 0


def exercises(options: argparse.Namespace) -> int:
    """Print every exercise: id, chapter, title, points."""
    from d2lperf.grading.registry import exercises as all_exercises

    found = all_exercises()
    if options.json:
        fields = ("id", "chapter", "title", "points")
        print(json.dumps([{name: getattr(e, name) for name in fields} for e in found], indent=2))
        return 0
    widest = max((len(e.id) for e in found), default=0)
    for e in found:
        print(
            f"{e.id:{widest}}  {e.points:>3} {'point ' if e.points == 1 else 'points'}  {e.title}"
        )
    print(f"{len(found)} exercises, {sum(e.points for e in found)} points")
    return 0


def build(options: argparse.Namespace) -> int:
    """Write normal form and `exercises/`, or tell what would be written."""
    from d2lperf.building import ReleaseError
    from d2lperf.building import build as build_course
    from d2lperf.grading.registry import exercises as all_exercises

    course = _course()
    points = {e.id: e.points for e in all_exercises()}
    try:
        outcome = build_course(course, points=points, check=options.check, force=options.force)
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 1
    for problem in outcome.problems:
        print(problem, file=sys.stderr)
    if outcome.problems:
        print("Repair these first; nothing was built.", file=sys.stderr)
        return 1
    will = "would be " if options.check else ""
    for name in outcome.unformed:
        print(f"{name}: {will}brought into normal form")
    for name in outcome.stale:
        if name not in outcome.kept:
            print(f"{name}: {will}built anew")
    for name in outcome.kept:
        print(
            f"{name}: holds somebody's work and is not replaced: move it away, or use --force",
            file=sys.stderr,
        )
    changed = outcome.unformed or outcome.stale
    if options.check and changed:
        print("Run `make build` and commit what it changes.", file=sys.stderr)
        return 1
    if not changed:
        print("Everything is built and in normal form.")
    return 1 if outcome.kept else 0


def _course() -> Course:
    from d2lperf.building import CourseNotFound, find_course

    try:
        return find_course()
    except CourseNotFound as error:
        raise UsageError(str(error)) from error


if __name__ == "__main__":
    sys.exit(main())
