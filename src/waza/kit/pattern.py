r"""Regular expressions that people write: RE2, the dialect of Go, in linear time.

This is the only module that imports the RE2 binding. RE2 has no look-around, no back-references and
no possessive or atomic groups; its classes are ASCII and `$` matches at the very end only. What it
refuses is reported with what to write instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from waza.errors import WazaError

try:
    from re2 import Options, error, escape
    from re2 import compile as compile_re2
except ImportError as missing:
    # A quiet fall-back to Python's `re` would let one pattern block a whole run, so there is none.
    raise WazaError(
        "the package google-re2 (import name re2) cannot be loaded, and waza runs no pattern without it; "
        "install it with `pip install google-re2`. It has wheels for glibc Linux, macOS and Windows but "
        "none for musl (Alpine): use a glibc based image there. The packages `pyre2` and `re2` take the "
        "same import name and must not be installed beside it"
    ) from missing

_MEGABYTE = 1 << 20

_LOOKAROUND = (
    "is not available in RE2; match the surrounding text itself, or write two patterns, one that must "
    "match and one that must not"
)
_BACK_REFERENCE = "back-references are not available in RE2; write the repeated text out once more"
_POSSESSIVE = "possessive repetition is not available in RE2, which never backtracks; drop the second `+`"

# Beginnings of RE2's own messages, and what to do about each; the first that fits is used.
_ADVICE: tuple[tuple[str, str], ...] = (
    ("invalid perl operator: (?=", f"look-ahead `(?=` {_LOOKAROUND}"),
    ("invalid perl operator: (?!", f"negative look-ahead `(?!` {_LOOKAROUND}"),
    ("invalid perl operator: (?<=", f"look-behind `(?<=` {_LOOKAROUND}"),
    ("invalid perl operator: (?<!", f"negative look-behind `(?<!` {_LOOKAROUND}"),
    (
        "invalid perl operator: (?>",
        "atomic groups are not available in RE2, which never backtracks; use `(?:`",
    ),
    ("invalid perl operator: (?(", "conditionals are not available in RE2; write both cases with `|`"),
    ("invalid perl operator: (?#", "comments `(?#` are not available in RE2; leave the comment out"),
    ("invalid perl operator: (?x", "the flag `x` is not available in RE2; leave it and the spare blanks out"),
    ("invalid perl operator: (?P", _BACK_REFERENCE),
    (
        "invalid perl operator: ",
        "RE2 does not know this group; it has `(`, `(?:`, `(?P<name>` and the flags i, m, s, U",
    ),
    *((f"invalid escape sequence: \\{digit}", _BACK_REFERENCE) for digit in range(1, 10)),
    ("invalid escape sequence: \\Z", "`\\Z` is not available in RE2; use `\\z` for the end of the text"),
    ("invalid escape sequence: \\u", "`\\u` is not available in RE2; write the code point as `\\x{20AC}`"),
    ("invalid escape sequence: \\N", "`\\N` is not available in RE2; write the character or `\\x{20AC}`"),
    ("invalid escape sequence: ", "RE2 does not know this escape; for a backslash itself write `\\\\`"),
    ("bad repetition operator: ++", _POSSESSIVE),
    ("bad repetition operator: *+", _POSSESSIVE),
    ("bad repetition operator: ?+", _POSSESSIVE),
    (
        "bad repetition operator: ",
        "two repetitions follow each other; keep one, or put the inner one in `(?:...)`",
    ),
    (
        "invalid repetition size: ",
        "a repetition counts up to 1000, nested ones together, smaller number first",
    ),
    (
        "no argument for repetition operator: ",
        "there is nothing to repeat; for the sign itself put `\\` before it",
    ),
    ("missing ): ", "a group is not closed; add `)`, or write `\\(` for the sign itself"),
    ("unexpected ): ", "a `)` closes no group; remove it, or write `\\)` for the sign itself"),
    ("missing ]: ", "a character class is not closed; add `]`, or write `\\[` for the sign itself"),
    ("trailing \\", "it ends in a single backslash; write `\\\\` for the sign itself"),
    (
        "invalid character class range: ",
        "RE2 does not know this class or range; give ranges from low to high",
    ),
    ("pattern too large", "it is too large; use smaller repetition counts or several patterns"),
)


class PatternError(ValueError):
    """A pattern that cannot be compiled; the message is a sentence that says what to write instead."""


class Pattern:
    """A compiled pattern. Make one with `compile_pattern`.

    `text` is the pattern as it was written. Matching never raises, whatever the text holds: a lone
    surrogate counts as one character.
    """

    __slots__ = ("_engine", "_search", "text")

    def __init__(self, text: str, engine: Any, *, anchored: bool) -> None:
        self.text = text
        self._engine = engine
        self._search = engine.fullmatch if anchored else engine.search

    def __repr__(self) -> str:
        return f"Pattern({self.text!r})"

    def search(self, text: str) -> bool:
        """Return whether the pattern matches somewhere in the text (all of it, if compiled `anchored`)."""
        return self.search_bytes(_encode(text))

    def search_bytes(self, data: bytes) -> bool:
        """Return the same of a text that is encoded as UTF-8."""
        return self._search(data) is not None

    def spans(self, text: str, most: int) -> list[tuple[int, int]]:
        """Return where the pattern matches, at most so many places, in characters; matches of nothing are left out."""
        data, found = _encode(text), list[tuple[int, int]]()
        at, characters = 0, 0  # bytes, and the characters that they are
        for match in self._engine.finditer(data):
            first, last = match.span()
            if first == last:
                continue
            characters += len(_decode(data[at:first]))
            found.append((characters, characters + len(_decode(data[first:last]))))
            characters, at = found[-1][1], last
            if len(found) == most:
                break
        return found

    def fullmatch(self, text: str) -> bool:
        """Return whether the pattern matches the text from its first to its last character."""
        return self._engine.fullmatch(_encode(text)) is not None


def compile_pattern(text: str, *, ignore_case: bool = False, anchored: bool = False) -> Pattern:
    """Compile a pattern in RE2 syntax; equal arguments give the same object.

    `anchored` makes `search` ask for a match of the whole text. Raises PatternError with a sentence.
    """
    return _compile(text, ignore_case, anchored)


@lru_cache(maxsize=256)
def _compile(text: str, ignore_case: bool, anchored: bool) -> Pattern:
    options = Options()
    options.case_sensitive = not ignore_case
    options.never_capture = True  # only whether it matches is asked, and that is faster
    return Pattern(text, _engine(text, options), anchored=anchored)


@lru_cache(maxsize=16)
def _compile_joined(text: str) -> Pattern:
    options = Options()
    options.never_capture = True
    options.longest_match = True
    options.max_mem = 64 * _MEGABYTE
    return Pattern(text, _engine(text, options), anchored=False)


def compile_alternatives(patterns: Iterable[str]) -> Pattern:
    """Join patterns into one for `substitute`; where several match at one place, the longest counts.

    Meant for long lists (exact values, shapes of credentials), so it may take 64 MB instead of 8.
    """
    return _compile_joined("|".join(f"(?:{pattern})" for pattern in patterns))


@lru_cache(maxsize=4)
def _grouped(text: str) -> Pattern:
    options = Options()
    options.max_mem = 64 * _MEGABYTE
    return Pattern(text, _engine(text, options), anchored=False)


def compile_grouped(patterns: Iterable[str]) -> Pattern:
    """Join patterns of one group each into one for `substitute_groups`; at one place, the first that matches counts."""
    return _grouped("|".join(f"(?:{pattern})" for pattern in patterns))


def literal(text: str) -> str:
    """Return the pattern that matches exactly this text."""
    return _decode(escape(_encode(text)))


def substitute(pattern: Pattern, replace: Callable[[str], str], text: str) -> str:
    """Return the text with every match put through `replace`; the same object if nothing matched.

    Matches of nothing (as `x*` has them everywhere) are left alone.
    """

    def changed(match: Any) -> bytes:
        found: bytes = match.group()
        return _encode(replace(_decode(found))) if found else b""

    data, count = pattern._engine.subn(changed, _encode(text))  # noqa: SLF001  the other half of Pattern
    return _decode(data) if count else text


def substitute_groups(pattern: Pattern, replace: Callable[[int, str, str, str], str], text: str) -> str:
    """Return the text with the group of every match put through `replace`.

    That gets the number of the pattern that matched, from 0, and the match in three parts: before the group, the
    group, and behind it.
    """

    def changed(match: Any) -> bytes:
        number, start, found = match.lastindex, match.start(), match.group()
        first, last = (place - start for place in match.span(number))
        before, group, behind = found[:first], found[first:last], found[last:]
        new = replace(number - 1, _decode(before), _decode(group), _decode(behind))
        return b"".join((before, _encode(new), behind))

    data, count = pattern._engine.subn(changed, _encode(text))  # noqa: SLF001  the other half of Pattern
    return _decode(data) if count else text


def _engine(text: str, options: Any) -> Any:
    """Return RE2's object for the pattern; RE2 itself must not write to standard error."""
    options.log_errors = False
    if "\\C" in text and _has_any_byte(text):
        raise _refusal(text, "`\\C` (any byte) is not a pattern for text; use `.`")
    try:
        return compile_re2(_encode(text), options)
    except error as refused:
        raise _refusal(text, _advice(_message(refused))) from refused


def _has_any_byte(text: str) -> bool:
    r"""Return whether `\C` is in the pattern outside of `\Q...\E` and not after an escaped backslash."""
    at = text.find("\\")
    while at >= 0:
        sign = text[at + 1 : at + 2]
        if sign == "C":
            return True
        end = text.find("\\E", at + 2) if sign == "Q" else at
        if end < 0:
            return False
        at = text.find("\\", end + 2)
    return False


def _message(refused: Exception) -> str:
    detail = refused.args[0] if refused.args else ""
    return detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)


def _advice(message: str) -> str:
    for beginning, advice in _ADVICE:
        if message.startswith(beginning):
            return advice
    return f"RE2 says: {message}; correct it at that place"


def _refusal(text: str, advice: str) -> PatternError:
    shown = text if len(text) <= 80 else f"{text[:77]}..."
    return PatternError(f"the pattern {shown!r} cannot be used: {advice}")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
