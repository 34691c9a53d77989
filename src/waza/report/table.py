"""Tables in plain text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from waza.kit.unsafe_text import escape_unsafe
from waza.report.words import one_line, shortened

WIDTH = 80  # columns where nobody knows how wide the terminal is
WIDEST = 48  # columns of a cell
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_NARROWEST = 12  # columns that the first cell of a line keeps in any case


def table(titles: Sequence[str], lines: Sequence[Sequence[str]], width: int | None = None) -> Iterator[str]:
    """Yield the lines of a table: titles, a rule, rows. The first column is left-aligned, others right.

    With a width, cells of the first column are shortened in their middle so that the table fits into it.
    """
    cells = [[_cell(cell) for cell in line[1:]] for line in (titles, *lines)]
    firsts = [escape_unsafe(one_line(line[0])) for line in (titles, *lines)]
    widths = [max(map(columns, {line[i] for line in cells})) for i in range(len(titles) - 1)]
    available = WIDEST if width is None else max(_NARROWEST, width - sum(widths) - 2 * len(widths))
    firsts = [middle(first, available) for first in firsts]
    widths = [max(map(columns, firsts)), *widths]
    for number, (first, line) in enumerate(zip(firsts, cells, strict=True)):
        padded = [_padded(cell, widths[i], left=i == 0) for i, cell in enumerate((first, *line))]
        yield "  ".join(padded).rstrip()
        if number == 0:
            yield "  ".join("-" * one for one in widths)


@lru_cache
def _cell(text: str) -> str:  # most cells of a table are the same few words
    return shortened(escape_unsafe(one_line(text)), WIDEST)


def middle(text: str, width: int) -> str:
    """Return the text in at most so many columns: names differ at both ends, so the middle is left out."""
    if columns(text) <= width:
        return text
    head, tail = text[: width // 2], text[len(text) - (width - 1) // 2 :]
    while columns(head) + 1 + columns(tail) > width:
        head, tail = (head[:-1], tail) if columns(head) > columns(tail) else (head, tail[1:])
    return f"{head}…{tail}"


def columns(text: str) -> int:
    """Return how many columns of a terminal the text takes: wide East Asian characters and emoji take two."""
    if text.isascii():
        return len(text)
    return len(text) + sum(map(_extra_columns, _NOT_ASCII.findall(text)))


def _extra_columns(char: str) -> int:
    """Return by how much the columns of a character differ from one."""
    return -1 if unicodedata.combining(char) else unicodedata.east_asian_width(char) in "WF"


def _padded(cell: str, width: int, *, left: bool) -> str:
    blanks = " " * (width - columns(cell))
    return cell + blanks if left else blanks + cell
