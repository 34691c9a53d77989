"""JSON as people read it."""

from __future__ import annotations

from typing import Any

import msgspec


def indented_json(value: Any) -> bytes:
    """Return structs or plain data as a JSON document: indented by two blanks, with a newline at the end.

    Numbers that are not finite are null. Raises TypeError for what JSON has nothing for.
    """
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
