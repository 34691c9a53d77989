"""JSON objects within other text, such as the answers of models."""

from __future__ import annotations

import json
from typing import Any

_DECODER = json.JSONDecoder()


def find_objects(text: str) -> list[dict[str, Any]]:
    """Return the outermost JSON objects in a text."""
    found: list[dict[str, Any]] = []
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    return found
