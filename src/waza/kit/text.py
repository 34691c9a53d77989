"""Text that can be written."""

from __future__ import annotations

from collections.abc import Sequence

_LEFT_OUT = " … "
_WORD = 100  # characters of a word that is left out as a whole


def replace_surrogates(text: str) -> str:
    """Return the text with `?` for every half of a surrogate pair, which no UTF-8 file or request can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def pluralize(count: int, noun: str) -> str:
    """Return a count with its noun: `1 call`, `3 calls`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def list_first(names: Sequence[str], most: int) -> str:
    """Return names for a message, with commas; of more than `most` the first ones, and how many are left out."""
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest} more" if rest > 0 else "")


def list_choices(names: Sequence[str]) -> str:
    """Return names for a message, of which one is to be chosen: `a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def fold_case(text: str) -> str:
    """Return the text as it is compared without regard to case: character by character, by simple folding.

    `str.lower` looks at neighbours (the final sigma) and makes two characters of one (`İ`), so that a text
    and a part of it may not be lowered alike.
    """
    return text.lower() if text.isascii() else text.translate(_SIMPLE)


class _Simple(dict[int, str]):
    """The folding of characters, filled as they are met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        options = (char.casefold(), char.lower())
        self[code] = next((one for one in options if len(one) == 1), char.lower()[0])
        return self[code]


_SIMPLE = _Simple()


def shorten_middle(text: str, limit: int) -> str:
    """Return at most `limit` characters of an error: its head and more of its tail, ` … ` between them.

    The last line of an error says the most. Words are not cut apart where blanks are near, so that no half of a
    secret is left, which nobody would recognise.
    """
    if len(text) <= limit:
        return text
    tail = max(1, (limit - len(_LEFT_OUT)) * 2 // 3)
    first, last = text[: max(0, limit - len(_LEFT_OUT) - tail)], text[-tail:]
    head, blank, word = first.rpartition(" ")
    if blank and len(word) <= _WORD:
        first = head
    word, blank, rest = last.partition(" ")
    if blank and len(word) <= _WORD:
        last = rest
    return f"{first}{_LEFT_OUT}{last}"


def describe_size(size: int) -> str:
    """Return a number of bytes for people."""
    for unit, factor in (("GB", 1024**3), ("MB", 1024**2), ("kB", 1024)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return pluralize(size, "byte")
