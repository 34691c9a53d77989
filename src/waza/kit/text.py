"""Text that can be written."""

from __future__ import annotations


def encodable(text: str) -> str:
    """Return the text with `?` for every half of a surrogate pair, which no UTF-8 file or request can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 call`, `3 calls`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
