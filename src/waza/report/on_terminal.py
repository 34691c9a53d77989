"""Sections on a terminal: as wide as it is, with lines that break between words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from waza.kit.unsafe_text import escape_unsafe
from waza.report.section import Draw, Part, Table
from waza.report.table import table
from waza.report.words import ERROR, FAILED, PASSED, encodable

_STYLES = {PASSED: "green", FAILED: "red", ERROR: "yellow", "✅": "green", "❌": "red"}


def terminal_draw(stream: TextIO, *, colour: bool) -> Draw:
    """Return what draws sections on the terminal that a stream leads to."""
    console = Console(
        file=stream,
        force_terminal=True,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    encoding = stream.encoding or "utf-8"

    def shown(line: str) -> Text:
        text = Text(encodable(escape_unsafe(line), encoding))
        for mark, style in _STYLES.items():
            text.highlight_words([mark], style)
        return text

    def draw(title: str, parts: Sequence[Part]) -> None:
        if not parts:
            return
        console.print()
        console.print(Text(encodable("── ", encoding)) + shown(title))
        for part in parts:
            if isinstance(part, Table):
                for line in table(part.titles, part.lines, console.width):
                    console.print(shown(line), no_wrap=True, overflow="crop")
            else:
                for line in part.split("\n"):
                    console.print(_indented(line, shown))

    return draw


def _indented(line: str, shown: Callable[[str], Text]) -> Padding:
    """Return a line whose further lines, if it is too long, are as far to the right as it is."""
    text = line.lstrip(" ")
    return Padding(shown(text), (0, 0, 0, len(line) - len(text)), expand=False)
