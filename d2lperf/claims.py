"""Claims: what a chapter says about performance, evaluated where it is said."""

import html
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal, SupportsFloat

from d2lperf.units import format_bytes, format_count, format_flops, format_seconds

Status = Literal["holds", "fails", "not here", "cannot tell"]
Figure = str | SupportsFloat | tuple[SupportsFloat, str]

MIME_TYPE = "application/vnd.d2lperf.claim+json"

_SIGNS: dict[Status, str] = {"holds": "✓", "fails": "✗", "not here": "○", "cannot tell": "?"}
_WORDS: dict[Status, str] = {
    "holds": "Holds",
    "fails": "Does not hold",
    "not here": "Does not show here",
    "cannot tell": "Cannot tell",
}
_VERDICTS: dict[str, bool | None] = {
    "faster": True,
    "slower": False,
    "about the same": False,
    "too noisy to tell": None,
}


@dataclass(frozen=True)
class Claim:
    """A sentence about performance, and what this machine says to it.

    `claim` has displayed it when it returns. As the last expression of that cell it shows
    nothing more; in a later cell, or with `display(...)` there, it shows again.

    Attributes:
        text: the sentence.
        status: "holds", "fails", "not here" (false, and the machine lacks what it needs) or
            "cannot tell" (too noisy).
        figures: the numbers behind it, each as `{"text": …}` and, where it was given as a number,
            `"value"` and `"unit"`.
        because: why it does not show here, or why one cannot tell; else empty.
        note: the author's remark; may be empty.
    """

    text: str
    status: Status
    figures: Mapping[str, Mapping[str, Any]]
    because: str = ""
    note: str = ""
    _shown_in: int | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the claim as plain data that `json.dumps` takes."""
        return {
            "text": self.text,
            "status": self.status,
            "figures": {name: dict(figure) for name, figure in self.figures.items()},
            "because": self.because,
            "note": self.note,
        }

    def __str__(self) -> str:
        figures = "; ".join(f"{name} {figure['text']}" for name, figure in self.figures.items())
        parts = [
            f"{_SIGNS[self.status]} {_WORDS[self.status]}: {self.text}",
            figures and f"[{figures}]",
            self.because,
            self.note,
        ]
        return " ".join(part for part in parts if part)

    def _repr_html_(self) -> str:
        style = files("d2lperf").joinpath("assets/claim.css").read_text(encoding="utf-8")
        sign, word = _SIGNS[self.status], _WORDS[self.status]
        figures = "".join(
            f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(figure['text'])}</dd></div>"
            for name, figure in self.figures.items()
        )
        remarks = "".join(
            f"<p>{html.escape(part)}</p>" for part in (self.because, self.note) if part
        )
        return (
            f"<style>{style}</style>"
            f'<div class="d2lperf-claim" role="note" data-status="{self.status}">'
            f'<p><strong><span aria-hidden="true">{sign}</span> {word}:</strong> '
            f"{html.escape(self.text)}</p>{remarks}{f'<dl>{figures}</dl>' if figures else ''}</div>"
        )

    def _ipython_display_(self) -> None:
        if self._shown_in is None or self._shown_in != _execution_count():
            self._show()

    def _show(self) -> None:
        if _execution_count() is None:
            print(self)
            return
        from IPython.display import display

        bundle = {
            "text/plain": str(self),
            "text/html": self._repr_html_(),
            MIME_TYPE: self.to_dict(),
        }
        display(bundle, raw=True)


def claim(
    text: str,
    condition: Any,
    *,
    figures: Mapping[str, Figure] | None = None,
    needs: Mapping[str, bool | tuple[bool, str]] | None = None,
    note: str = "",
) -> Claim:
    """Evaluate a statement, show it with its figures, and return the result.

    Always displays at once, in the middle of a cell as well; see `Claim` on why the returned
    value does not show a second time.

    Args:
        text: the statement, a full sentence.
        condition: whether it is true; None for "too noisy to tell". A `Verdict`, or anything with a
            `verdict` (a `Comparison`, a `Ratio`), is read as "the first is faster"; write
            `comparison.slower` or `comparison.same` for the others.
        figures: the numbers behind it. A pair of value and unit is formatted for "s", "B",
            "FLOP", "FLOP/s" and "" (a count), and written with any other unit behind it; a
            bare number is written with three digits; text is shown as it is.
        needs: what the machine must have for the statement to show, as a readable phrase ("at
            least 2 cores") and whether it has it, optionally with what it has instead:
            `{"at least 2 cores": (cores >= 2, "1 core")}`. With a need unmet, a false statement
            is "not here" and no failure.
        note: a remark to show with it.

    Returns:
        The claim with its status.

    Raises:
        TypeError: for a condition or a figure that is none of these.
    """
    held = _truth(condition)
    unmet = [_lack(phrase, met) for phrase, met in (needs or {}).items() if not _met(met)]
    status: Status
    because = ""
    if held is None:
        status, because = "cannot tell", "The measurements spread too much to decide."
    elif held:
        status = "holds"
    elif unmet:
        status, because = "not here", " ".join(unmet)
    else:
        status = "fails"
    shown = {name: _figure(name, value) for name, value in (figures or {}).items()}
    result = Claim(text, status, shown, because, note, _execution_count())
    result._show()
    return result


def _truth(condition: Any) -> bool | None:
    condition = getattr(condition, "verdict", condition)
    if condition is None or isinstance(condition, bool):
        return condition
    if isinstance(condition, str) and condition in _VERDICTS:
        return _VERDICTS[condition]
    # NumPy's and JAX's own booleans, recognised without importing either.
    if str(getattr(condition, "dtype", "")) == "bool" and getattr(condition, "shape", None) == ():
        return bool(condition)
    raise TypeError(
        f"expected True, False, None or a verdict, got {condition!r}: write a comparison"
    )


def _met(need: bool | tuple[bool, str]) -> bool:
    return bool(need[0] if isinstance(need, tuple) else need)


def _lack(phrase: str, need: bool | tuple[bool, str]) -> str:
    if isinstance(need, tuple):
        return f"It needs {phrase}, and does not show because this machine has {need[1]}."
    return f"It needs {phrase}, which this machine does not have."


def _figure(name: str, figure: Figure) -> dict[str, Any]:
    if isinstance(figure, str):
        return {"text": figure}
    value, unit = figure if isinstance(figure, tuple) else (figure, None)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(
            f"expected text, a number or (number, unit) for the figure {name!r}, got {figure!r}"
        ) from None
    # JSON knows no infinity and no "not a number".
    kept = number if math.isfinite(number) else None
    return {"text": _formatted(number, unit), "value": kept, "unit": unit or ""}


def _formatted(number: float, unit: str | None) -> str:
    match unit:
        case "s":
            return format_seconds(number)
        case "B":
            return format_bytes(number)
        case "FLOP":
            return format_flops(number)
        case "FLOP/s":
            return format_flops(number, rate=True)
        case "":
            return format_count(number)
        case "%":
            return f"{number:.3g} %"
        case None:
            return f"{number:.3g}"
        case other:
            return f"{number:.3g} {other}"


def _execution_count() -> int | None:
    """Return the number of the running notebook cell, None outside IPython."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return None if shell is None else int(shell.execution_count)
