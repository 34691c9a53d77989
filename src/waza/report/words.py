"""How numbers, durations and marks are written, and a way to print them that never fails."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from typing import Final, Protocol

from waza.kit.moments import read_moment
from waza.kit.unsafe_text import escape_unsafe
from waza.model.cost import Cost
from waza.results.ending import CUT_OFF

Write = Callable[[str], None]
"""Takes one line, or several joined by newlines, without the last newline."""

NO_SUITE = "no suite"  # a skill that was found and has none
LEFT_OUT = "left out"  # a suite that was found and, by what was asked for, not run
PASSED, FAILED, ERROR, SKIPPED = "✓", "✗", "⚠", "○"
COUNTS_BROKEN = "broken trials included, as 0 without a verdict"  # of the scores of runs
LEAVES_OUT_BROKEN = "broken trials left out"  # of comparisons and trends
UP, DOWN = "↑", "↓"
BULLET = "•"

_STATUS_MARKS: Final = {
    "passed": PASSED,
    "failed": FAILED,
    "error": ERROR,
    "skipped": SKIPPED,
    CUT_OFF: SKIPPED,
}

# Replacements of our own signs if the console's encoding does not have them.
_ASCII = str.maketrans(
    {
        PASSED: "+",
        FAILED: "x",
        ERROR: "!",
        SKIPPED: "-",
        UP: "^",
        DOWN: "v",
        BULLET: "*",
        "✅": "[+]",
        "❌": "[x]",
        "\ufe0f": "",
        "±": "+/-",
        "…": "...",
        "—": "-",
    }
)
_COLOURS = str.maketrans(
    {
        PASSED: f"\x1b[32m{PASSED}\x1b[0m",
        FAILED: f"\x1b[31m{FAILED}\x1b[0m",
        ERROR: f"\x1b[33m{ERROR}\x1b[0m",
    }
)


class Stream(Protocol):
    """What is printed to: a text stream such as `sys.stderr`."""

    def write(self, text: str, /) -> object:
        """Write the text."""
        ...


def make_printer(stream: Stream, *, colour: bool = False) -> Write:
    r"""Return a function that prints one line, made `escape_unsafe`, with one call of `stream.write`.

    It never raises UnicodeEncodeError: where the stream's encoding lacks a character, our own signs become
    ASCII and others become escapes such as `\u4f60`. With `colour` the marks of passed, failed and errored
    get ANSI colours.
    """
    encoding = getattr(stream, "encoding", None) or "utf-8"

    def say(line: str) -> None:
        text = encodable(escape_unsafe(line), encoding)
        stream.write((text.translate(_COLOURS) if colour else text) + "\n")

    return say


def encodable(text: str, encoding: str) -> str:
    """Return the text in characters that the encoding has."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(encoding, "backslashreplace").decode(encoding)
    return text


def status_mark(status: str) -> str:
    """Return the mark of a status: passed, failed, error, skipped or cut off."""
    return _STATUS_MARKS.get(status, "?")


def call_mark(success: bool | None) -> str:  # it is the one thing that the mark is of
    """Return the mark of a tool call: whether it succeeded, which may not be known."""
    return status_mark("unknown" if success is None else "passed" if success else "failed")


def one_line(text: str, limit: int = 0) -> str:
    """Return the text with every run of blanks and newlines as one blank, cut at `limit` characters."""
    line = " ".join(text.split())
    return shortened(line, limit) if limit else line


def shortened(text: str, limit: int) -> str:
    """Return at most `limit` characters of the text; `…` at the end says that there was more."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def indented(text: str, by: str) -> str:
    """Return the text with its second and later lines moved right by `by`."""
    return text.replace("\n", "\n" + by)


def duration(milliseconds: float) -> str:
    """Return a duration as people read it: `0s`, `850ms`, `1.234s`, `2m3s`, `1h0m5s`."""
    whole = round(milliseconds)
    if abs(whole) < 1000:
        return f"{whole}ms" if whole else "0s"
    sign, whole = ("-", -whole) if whole < 0 else ("", whole)
    minutes, rest = divmod(whole, 60_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


def moment(timestamp: str) -> str:
    """Return a time to the minute in UTC, as people read it; the text itself if it is not a time."""
    found = read_moment(timestamp)
    return timestamp if found is None else f"{found.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def money(cost: Cost) -> str:
    """Return an amount with its currency: two decimals, more of them for what is less than one."""
    amount = f"{cost.amount:,.2f}" if cost.amount >= 1 or not cost.amount else f"{cost.amount:.3g}"
    return f"{amount} {cost.currency}"


def grouped(count: float) -> str:
    """Return a whole number with thousands separators."""
    return f"{count:,.0f}"
