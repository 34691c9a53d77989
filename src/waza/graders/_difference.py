"""How two contents of a file differ, in one short sentence. Everything here takes linear time."""

from __future__ import annotations

from bisect import bisect_left
from itertools import zip_longest

_WIDTH = 80  # characters of a line that are shown
_BYTES = 16  # of a file that is not text


def describe_difference(expected: bytes, found: bytes) -> str:
    """Return how `found` differs from `expected` (`differs ...`), or an empty text if they are equal."""
    if expected == found:
        return ""
    if _binary(expected) or _binary(found):
        start = _common_start(expected, found)
        return (
            f"differs at byte {start + 1:,}: expected {_bytes(expected, start)}, found {_bytes(found, start)}"
        )
    wanted, got = _lines(expected), _lines(found)
    if wanted == got:
        return f"differs only in line endings: expected {_endings(expected)}; found {_endings(found)}"
    pairs = enumerate(zip_longest(wanted, got), 1)
    number, (want, have) = next((number, pair) for number, pair in pairs if pair[0] != pair[1])
    start = _common_start(want or b"", have or b"")
    return f"differs at line {number}: expected {_excerpt(want, start)}, found {_excerpt(have, start)}"


def _binary(data: bytes) -> bool:
    if b"\0" in data:
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


def _bytes(data: bytes, start: int) -> str:
    """Show the bytes from the first difference on."""
    part = data[start : start + _BYTES]
    more = "..." if start + _BYTES < len(data) else ""
    return f"{part!r}{more} of {len(data):,} bytes" if part else f"the end of {len(data):,} bytes"


def count_changed_lines(before: bytes, after: bytes) -> int:
    """Count the lines that differ, line i against line i, whatever the line endings."""
    return sum(old != new for old, new in zip_longest(_lines(before), _lines(after)))


def _lines(data: bytes) -> list[bytes]:
    unified = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return unified.removesuffix(b"\n").split(b"\n") if unified else []


def _endings(data: bytes) -> str:
    crlf = data.count(b"\r\n")
    counts = {"CRLF": crlf, "LF": data.count(b"\n") - crlf, "CR": data.count(b"\r") - crlf}
    kinds = " and ".join(kind for kind, count in counts.items() if count) or "none"
    return kinds if data.endswith((b"\n", b"\r")) else f"{kinds}, no newline at the end"


def _common_start(one: bytes, other: bytes) -> int:
    shorter = min(len(one), len(other))
    return bisect_left(range(shorter), True, key=lambda at: one[: at + 1] != other[: at + 1])


def _excerpt(line: bytes | None, change: int) -> str:
    """Show the part of a line around its first difference, so that two long lines do not look alike."""
    if line is None:
        return "the end of the file"
    start = max(0, change - _WIDTH // 2) if len(line) > _WIDTH else 0
    part = line[start : start + _WIDTH]
    text = repr(part.decode("utf-8", "ignore"))  # the cut may go through a character
    return f"{'...' if start else ''}{text}{'...' if start + _WIDTH < len(line) else ''}"
