"""Small tables for notebooks, readable as text and by screen readers."""

import html
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Rows of text under a header, the first column being the name of the row.

    Attributes:
        header: one title per column.
        rows: as many cells each.
        caption: a line above it; may be empty.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""

    def __str__(self) -> str:
        lines = [self.header, *self.rows]
        width = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = []
        for name, *cells in lines:
            padded = [cell.rjust(w) for cell, w in zip(cells, width[1:], strict=True)]
            text.append("  ".join([name.ljust(width[0]), *padded]))
        return "\n".join([self.caption, *text] if self.caption else text)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        caption = f"<caption>{html.escape(self.caption)}</caption>" if self.caption else ""
        head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in self.header)
        body = "".join(
            f'<tr><th scope="row" style="text-align:left">{html.escape(name)}</th>'
            + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
            + "</tr>"
            for name, *cells in self.rows
        )
        return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = "") -> Table:
    """Make a table for a notebook.

    Args:
        header: titles of the columns.
        rows: cells as text, the first of each row being its name.
        caption: a line above the table.

    Returns:
        The table; make it the last line of a cell.

    Raises:
        ValueError: if a row has not as many cells as the header.
    """
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"expected {len(header)} cells as in the header, got {list(row)}")
    return Table(tuple(header), tuple(tuple(row) for row in rows), caption)
