r"""Glob patterns by Go's rules, as suites are written for: `*`, `?`, `[a-z]`, `[^x]`, `\` escapes.

No wildcard crosses a slash, and `**` is the same as `*`. Results are sorted by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

_MAGIC = re.compile(r"[*?\[\\]")


def matches(pattern: str, name: str) -> bool:
    """Tell whether the whole of `name` matches. Raises ValueError for a malformed pattern."""
    return _compiled(pattern).fullmatch(name) is not None


def expand(root: Path, pattern: str) -> list[Path]:
    """Return the paths below `root` that match, sorted. Raises ValueError for a malformed pattern."""
    given = Path(pattern)
    start = Path(given.anchor) if given.is_absolute() else root
    segments = pattern.removeprefix(given.anchor).split("/")
    return sorted(_walk(start, [segment for segment in segments if segment not in ("", ".")]))


def _walk(directory: Path, segments: list[str]) -> Iterator[Path]:
    if not segments:
        if directory.exists():
            yield directory
        return
    first, *rest = segments
    if not _MAGIC.search(first):
        yield from _walk(directory / first, rest)
        return
    wanted = _compiled(first)
    try:
        names = [entry.name for entry in directory.iterdir()]
    except OSError:
        return  # a directory that is not there holds no match
    for name in names:
        if wanted.fullmatch(name):
            yield from _walk(directory / name, rest)


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Runs of stars are merged, so that matching is not exponential in them.
    pattern = re.sub(r"\*+", "*", pattern)
    out, i = "", 0
    while i < len(pattern):
        char = pattern[i]
        i += 1
        if char == "*":
            out += "[^/]*"
        elif char == "?":
            out += "[^/]"
        elif char == "[":
            text, i = _character_class(pattern, i)
            out += text
        elif char == "\\":
            if i >= len(pattern):
                raise ValueError(f"the pattern {pattern!r} ends in a backslash")
            out += re.escape(pattern[i])
            i += 1
        else:
            out += re.escape(char)
    return re.compile(out, re.DOTALL)


def _character_class(pattern: str, i: int) -> tuple[str, int]:
    """Return the class that opens before `i` as a regular expression, and the index after it."""
    body, start = "", i
    if pattern[i : i + 1] == "^":
        body, i = "^", i + 1
    while i < len(pattern) and (pattern[i] != "]" or body in ("", "^")):
        if pattern[i] == "\\":
            i += 1
        if i >= len(pattern):
            break
        char = pattern[i]
        body += char if char == "-" and body not in ("", "^") else re.escape(char)
        i += 1
    if i >= len(pattern):
        raise ValueError(f"the pattern {pattern!r} opens '[' at {start} and never closes it")
    try:
        re.compile(f"[{body}]")
    except re.error:
        raise ValueError(f"the pattern {pattern!r} has a bad range in '[...]'") from None
    return f"[{body}]", i + 1
