"""The version of the document's schema: which one is current, and which ones are read."""

from __future__ import annotations

import re

SCHEMA_VERSION = "1.7.0"  # written in every document, and the newest one that is read
_PATTERN = re.compile(r"1\.([0-9]{1,9})\.([0-9]{1,9})")
_OTHER = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")


def is_older(text: str) -> bool:
    """Tell whether this is a version 1.x.y before the current one."""
    match, current = _PATTERN.fullmatch(text), _PATTERN.fullmatch(SCHEMA_VERSION)
    return match is not None and current is not None and _numbers(match) < _numbers(current)


def version_problem(text: str) -> tuple[str, str] | None:
    """Return why a document of this version is refused, and what to do; None if it is read."""
    if text == SCHEMA_VERSION or is_older(text):
        return None
    if _PATTERN.fullmatch(text):
        hint = f'install a newer waza, or write "{SCHEMA_VERSION}" if the document uses nothing newer'
        return f"version {text} is newer than {SCHEMA_VERSION}, the newest known here", hint
    if _OTHER.fullmatch(text):
        return f"version {text} is not readable here", f"versions 1.x are, up to {SCHEMA_VERSION}"
    return f"{text[:60]!r} is not a version", f'write one such as "{SCHEMA_VERSION}"'


def _numbers(match: re.Match[str]) -> tuple[int, ...]:
    return tuple(map(int, match.groups()))
