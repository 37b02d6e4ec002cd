"""A result in words, for a notebook and for a terminal."""

from __future__ import annotations

import html
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from d2lperf.grading.judging import Finding, Result

MARKS = {"ok": "✓", "not judged": "–"}


def as_text(result: Result) -> str:
    """Return the result as lines of plain text."""
    lines = [f"{result.exercise.title}: {_score(result)}"]
    for finding, words in _all_words(result):
        lines.append(f" {_mark(finding)} {finding.criterion.sentence} [{_points(finding)}]")
        lines += [f"     {line}" for line in words]
    if result.printed:
        lines += ["Your code printed:", *(f"  | {line}" for line in result.printed.splitlines())]
    return "\n".join(lines)


def as_html(result: Result) -> str:
    """Return the result as one HTML box, without scripts, readable in light and dark themes."""
    rows = "".join(_row(finding, words) for finding, words in _all_words(result))
    state = "ok" if result.status == "ok" else "open"
    title, score = html.escape(result.exercise.title), _score(result)
    parts = [f"<p><b>{title}</b> <span>{score}</span></p><table><tbody>{rows}</tbody></table>"]
    if result.timeline is not None:
        parts.append(result.timeline.picture().as_figure())
    if result.printed:
        printed = html.escape(result.printed)
        parts.append(f"<details><summary>Your code printed</summary><pre>{printed}</pre></details>")
    return (
        f'<style>{_css()}</style><div class="d2lperf-check" data-state="{state}" '
        f'data-points="{result.points}" role="group" aria-label="Check of {title}: {score}">'
        f"{''.join(parts)}</div>"
    )


def _row(finding: Finding, lines: list[str]) -> str:
    words = "".join(f"<div>{html.escape(line)}</div>" for line in lines)
    spoken = {"✓": "holds", "✗": "does not hold", "–": "not judged"}[_mark(finding)]
    return (
        f'<tr data-status="{finding.status}" data-criterion="{html.escape(finding.criterion.key)}">'
        f'<td><span role="img" aria-label="{spoken}">{_mark(finding)}</span></td>'
        f"<td>{html.escape(finding.criterion.sentence)}{words}</td><td>{_points(finding)}</td></tr>"
    )


def _all_words(result: Result) -> Iterator[tuple[Finding, list[str]]]:
    """Yield each finding with its words; what was said already is not said again."""
    said: list[list[str]] = []
    for finding in result.findings:
        words = _words(finding)
        yield finding, ["as above"] if words in said else words
        said.extend([words] if words else [])


def _words(finding: Finding) -> list[str]:
    lines = [finding.message] if finding.message else []
    if finding.expected is not None:
        lines.append(f"expected: {_brief(finding.expected)}")
    if finding.got is not None:
        lines.append(f"yours:    {_brief(finding.got)}")
    return lines


def _mark(finding: Finding) -> str:
    return MARKS.get(finding.status, "✗")


def _score(result: Result) -> str:
    return f"{result.points} of {result.exercise.points} points"


def _points(finding: Finding) -> str:
    return f"{finding.points}/{finding.criterion.points}"


def _brief(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 300 else text[:299] + "…"


@cache
def _css() -> str:
    return files("d2lperf.grading").joinpath("check.css").read_text("utf-8")
