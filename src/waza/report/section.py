"""Sections: a report as titles with lines and tables, and how they are drawn where no terminal is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from waza.report.table import WIDTH, table
from waza.report.words import Write
from waza.report.wrap import wrap

RULE = 51  # signs of the line above and below a title


class Table(msgspec.Struct, frozen=True):
    """A table of texts; its first column may be shortened so that the rest fits."""

    titles: Sequence[str]
    lines: Sequence[Sequence[str]]


Part = str | Table
Draw = Callable[[str, Sequence[Part]], None]
"""Draws a section under its title; nothing for a section without parts."""


def plain_draw(out: Write, width: int = WIDTH) -> Draw:
    """Return what draws sections as plain lines, with tables of at most so many columns."""

    def draw(title: str, parts: Sequence[Part]) -> None:
        if not parts:
            return
        for line in ("", "=" * RULE, title, "=" * RULE):
            out(line)
        for part in parts:
            if isinstance(part, Table):
                for line in table(part.titles, part.lines, width):
                    out(line)
            else:
                out(part)

    return draw


def wrapped(text: str) -> str:
    """Return a text in lines that fit where nobody knows how wide the terminal is."""
    return "\n".join(wrap(text, WIDTH))


def facts(pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Return names and values, one pair a line, with the values in one column."""
    width = max((len(name) for name, _ in pairs), default=0) + 1
    return [f"{name + ':':<{width}}  {value}" for name, value in pairs]
