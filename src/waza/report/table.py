"""Tables in plain text."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from waza.kit.foreign import harmless
from waza.report.words import one_line, shortened

WIDEST = 48  # columns of a cell


def table(titles: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table: titles, a rule, rows. The first column is left-aligned, others right."""
    cells = [[shortened(harmless(one_line(cell)), WIDEST) for cell in line] for line in (titles, *lines)]
    widths = [max(_columns(line[i]) for line in cells) for i in range(len(titles))]
    for number, line in enumerate(cells):
        yield "  ".join(_padded(cell, widths[i], left=i == 0) for i, cell in enumerate(line)).rstrip()
        if number == 0:
            yield "  ".join("-" * width for width in widths)


def _padded(cell: str, width: int, *, left: bool) -> str:
    blanks = " " * (width - _columns(cell))
    return cell + blanks if left else blanks + cell


def _columns(text: str) -> int:
    """Return how many columns of a terminal the text takes: wide East Asian characters and emoji take two."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
