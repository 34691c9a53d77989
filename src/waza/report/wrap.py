"""Long texts on narrow screens: broken into lines, and cut in the middle with a note of what is left out."""

from __future__ import annotations

from collections.abc import Iterator

from waza.kit.unsafe_text import escape_unsafe
from waza.report.table import columns


def wrap(text: str, width: int, first: str = "", rest: str | None = None) -> list[str]:
    """Return a text as lines of at most so many columns, made harmless; at least one.

    `first` is put before the first line, `rest` before the others (blanks as wide as `first`, if not given). Lines
    break at blanks, a word alone only where it is wider than a line.
    """
    rest = " " * columns(first) if rest is None else rest
    lines, start = list[str](), first
    for line in escape_unsafe(text).expandtabs(4).split("\n"):
        for part in _parts(line, width - columns(first), width - columns(rest), at_start=not lines):
            lines.append(f"{start}{part}".rstrip())
            start = rest
    return lines


def _parts(line: str, first: int, rest: int, *, at_start: bool) -> Iterator[str]:
    """Yield the parts of a line, none of them wider than its space."""
    left, space = line, max(8, first if at_start else rest)
    while columns(left) > space:
        fitting = _fitting(left, space)
        blank = left.rfind(" ", 1, fitting + 1)
        end = blank if left[:blank].strip() and blank > 0 else fitting
        yield left[:end]
        left, space = left[end:].removeprefix(" "), max(8, rest)
    yield left


def _fitting(text: str, space: int) -> int:
    """Return how many characters of a text fit into so many columns; at least one."""
    count = taken = 0
    for char in text[:space]:
        taken += columns(char)
        if taken > space:
            break
        count += 1
    return max(1, count)


def cut_middle(text: str, lines: int, characters: int) -> str:
    """Return a text without its middle if it has more lines or characters than this; a note says how much is left out.

    A note is a line of its own. Both ends are kept: how an answer begins, and how an error ends.
    """
    if len(text) <= characters and text.count("\n") < lines:
        return text
    rows = text.split("\n")
    head, tail = rows[: (lines + 1) // 2], rows[-(lines // 2) :] if len(rows) > lines else []
    if not tail:
        head, tail = rows, []
    first, last = "\n".join(head), "\n".join(tail)
    if len(first) + len(last) > characters:
        whole = f"{first}\n{last}" if tail else first
        first, last = whole[: (characters + 1) // 2], whole[-(characters // 2) :]
    left_out = len(text) - len(first) - len(last)
    return f"{first}\n[… {left_out:,} of {len(text):,} characters are left out; --full shows all …]\n{last}".rstrip(
        "\n"
    )
