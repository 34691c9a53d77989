"""Which parts of the judged text a verdict is about, as far as its details say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from waza.dashboard.pages import Highlight
from waza.kit.pattern import PatternError, compile_pattern
from waza.kit.text import fold_case

MOST = 200
"""Highlights of a verdict."""
_LONGEST = 2_000_000  # characters of a text that is searched
_NOTE = 200  # characters of what was looked for
_REF = re.compile(r"agent\.output\[(\d+)\.\.(\d+)\]")

# Lists in the details of `text` graders: whether what they name is wanted.
_TEXTS = {"contains": True, "not_contains": False, "contains_cs": True, "not_contains_cs": False}
_PATTERNS = {"regex_match": True, "regex_not_match": False}

Span = tuple[int, int, bool, str]


def highlights_of(details: Mapping[str, Any], text: str, *, passed: bool) -> list[Highlight]:
    """Return the parts of a text that the details of a verdict name, by their places."""
    found = sorted(set(_spans(details, text[:_LONGEST], passed=passed)))[:MOST]
    places = _Utf16(text)
    return [
        Highlight(start=places.of(start), end=places.of(end), good=good, note=note[:_NOTE])
        for start, end, good, note in found
    ]


def _spans(details: Mapping[str, Any], text: str, *, passed: bool) -> Iterator[Span]:
    folded = fold_case(text)
    for key, good in _TEXTS.items():
        for entry in _entries(details, key):
            exact = key.endswith("_cs")
            for start in _places(entry if exact else fold_case(entry), text if exact else folded):
                yield start, start + len(entry), good, entry
    for key, good in _PATTERNS.items():
        for entry in _entries(details, key):
            try:
                spans = compile_pattern(entry).spans(text, MOST)
            except PatternError:  # its verdict says so
                continue
            for start, end in spans:
                yield start, end, good, entry
    for item in details.get("evidence") or ():
        ref = str(item.get("ref") or "") if isinstance(item, dict) else ""
        if (found := _REF.fullmatch(ref)) and int(found[1]) < int(found[2]) <= len(text):
            yield int(found[1]), int(found[2]), passed, ref


def _entries(details: Mapping[str, Any], key: str) -> list[str]:
    found = details.get(key)
    return [one for one in found if isinstance(one, str) and one] if isinstance(found, list) else []


def _places(entry: str, text: str) -> Iterator[int]:
    at = text.find(entry)
    for _ in range(MOST):
        if at < 0:
            return
        yield at
        at = text.find(entry, at + len(entry))


class _Utf16:
    """Places in a text, counted in UTF-16 code units. They are asked for in ascending order, nearly."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._plain = text.isascii() or max(map(ord, text), default=0) < 0x10000

    def of(self, place: int) -> int:
        if self._plain:
            return place
        return place + sum(ord(sign) > 0xFFFF for sign in self._text[:place])
