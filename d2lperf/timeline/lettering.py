"""How wide text is, near enough to know what fits, and how it is made to fit."""

from __future__ import annotations

import re
from unicodedata import east_asian_width

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_WIDTHS = {
    "iljI|": 0.29,
    "tfr.,:;!'()[]{}/ -": 0.38,
    "sckvxyz_": 0.55,
    "=+<>~×": 0.84,
    "mwMW@%—…→": 0.97,
}
_EM = {letter: width for letters, width in _WIDTHS.items() for letter in letters}


def cleaned(text: str) -> str:
    """Return text on one line, without the characters that XML forbids."""
    return " ".join(_UNPRINTABLE.sub(" ", text).split())


def width_of(text: str, size: float) -> float:
    """Return about how wide a text is in DejaVu Sans, which is wider than most fonts that browsers choose.

    Args:
        text: one line.
        size: size of the font in pixels.

    Returns:
        The width in pixels.
    """
    return size * sum(map(_em, text))


def _em(letter: str) -> float:
    usual = 0.71 if letter.isupper() else 0.63
    return _EM.get(letter) or (1.0 if east_asian_width(letter) in "WF" else usual)


def shorten(text: str, room: float, size: float, *, middle: bool = False) -> str:
    """Return the text, or as much of it as fits with an ellipsis; nothing if that is less than four letters.

    Args:
        text: one line.
        room: pixels that it may take.
        size: size of the font in pixels.
        middle: leave out the middle, for names whose end tells them apart.
    """
    # Names of compiled operations can be very long: look only at what could fit.
    most = max(int(room / (0.29 * size)), 0)
    if len(text) <= most and width_of(text, size) <= room:
        return text
    for kept in range(min(len(text) - 1, most), 3, -1):
        head = (kept + 1) // 2 if middle else kept
        short = text[:head].rstrip() + "…" + text[len(text) - (kept - head) :].lstrip()
        if width_of(short, size) <= room:
            return short
    return ""


def wrap(text: str, room: float, size: float) -> list[str]:
    """Return a text as lines that fit into so many pixels; a word too long for a line is shortened."""
    lines: list[str] = []
    for word in text.split():
        if lines and width_of(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(shorten(word, room, size))
    return lines
