"""Reading JSON that a model or an agent wrote, of which nothing is known: what does not fit is empty."""

from __future__ import annotations

from typing import Any

import msgspec


def parse(data: bytes | str) -> Any:
    """Return a JSON document, or None for what is none."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def mapping(value: Any) -> dict[str, Any]:
    """Return an object, or an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """Return a list, or an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return a text, or an empty one."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """Return a count, or None."""
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15
    return int(value) if known else None


def flat_text(content: Any) -> str:
    """Return the text of a message: itself, or that of its parts, a line each."""
    if isinstance(content, str):
        return content
    return "\n".join(text(part.get("text")) for part in items(content) if isinstance(part, dict))
