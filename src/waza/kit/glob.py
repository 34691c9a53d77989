r"""Glob patterns by Go's rules, as suites are written for: `*`, `?`, `[a-z]`, `[^x]`, `\` escapes.

No wildcard crosses a slash, and `**` is the same as `*`. Results are sorted by name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

_MAGIC = re.compile(r"[*?\[\\]")


def matches(pattern: str, name: str) -> bool:
    """Tell whether the whole of `name` matches. Raises ValueError for a malformed pattern."""
    return _matches(_compile(pattern), name)


def expand(root: Path, pattern: str) -> list[Path]:
    """Return the paths below `root` that match, sorted; links that lead nowhere are among them.

    Raises ValueError for a malformed pattern.
    """
    given = Path(pattern)
    start = Path(given.anchor) if given.is_absolute() else root
    segments = pattern.removeprefix(given.anchor).split("/")
    return sorted(_walk(start, [segment for segment in segments if segment not in ("", ".")]))


def _walk(directory: Path, segments: list[str]) -> Iterator[Path]:
    if not segments:
        if os.path.lexists(directory):
            yield directory
        return
    first, *rest = segments
    if not _MAGIC.search(first):
        yield from _walk(directory / first, rest)
        return
    wanted = _compile(first)
    try:
        names = [entry.name for entry in directory.iterdir()]
    except (OSError, ValueError):
        return  # a directory that is not there, or cannot be, holds no match
    for name in names:
        if _matches(wanted, name):
            yield from _walk(directory / name, rest)


def _matches(parts: tuple[re.Pattern[str], ...], name: str) -> bool:
    """Match part by part. What lies between two stars may stay where it is found first, so none is tried again."""
    end = 0
    for part in parts:
        found = part.match(name, end)
        if found is None:
            return False
        end = found.end()
    return True


@lru_cache(maxsize=256)
def _compile(pattern: str) -> tuple[re.Pattern[str], ...]:
    """Return a pattern cut before its stars: each part has one star at most, and the last ends the name."""
    first, *others = _chunks(pattern)
    parts = [first, *(f"[^/]*?{chunk}" for chunk in others)]
    parts[-1] += r"\Z"
    return tuple(re.compile(part, re.DOTALL) for part in parts)


def _chunks(pattern: str) -> list[str]:
    """Return the parts between the stars as regular expressions without repetition."""
    chunks, i = [""], 0
    while i < len(pattern):
        if pattern[i] == "*":
            chunks.append("")
            i += 1
            continue
        if pattern[i] == "?":
            text, i = "[^/]", i + 1
        elif pattern[i] == "[":
            text, i = _character_class(pattern, i + 1)
        else:
            text, i = _literal(pattern, i)
        chunks[-1] += text
    return chunks


def _literal(pattern: str, i: int) -> tuple[str, int]:
    """Return the character at `i`, or the one behind a backslash there, and the index after it."""
    if pattern[i] == "\\":
        i += 1
    if i >= len(pattern):
        raise ValueError(f"the pattern {pattern!r} ends in a backslash")
    return re.escape(pattern[i]), i + 1


def _character_class(pattern: str, i: int) -> tuple[str, int]:
    """Return the class that opens before `i` as a regular expression, and the index after it."""
    negated = pattern[i : i + 1] == "^"
    i += negated
    body = ""
    while i < len(pattern) and (pattern[i] != "]" or not body):
        low, i = _literal(pattern, i)
        high = ""
        if pattern[i : i + 1] == "-" and pattern[i + 1 : i + 2] not in {"", "]"}:
            high, i = _literal(pattern, i + 1)
            if low[-1] > high[-1]:
                raise ValueError(f"the pattern {pattern!r} has a range from high to low in '[...]'")
        body += f"{low}-{high}" if high else low
    if i >= len(pattern):
        raise ValueError(f"the pattern {pattern!r} opens '[' and never closes it")
    return f"[{'^' if negated else ''}{body}]", i + 1
