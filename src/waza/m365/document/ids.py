"""The ids of items in a document: their own id, their name, or their number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from waza.kit.names import unused_name


def declared_id(item: Mapping[str, Any]) -> str:
    """Return the id that a document gives an item under `extensions`; empty without one."""
    own = item.get("extensions", {}).get("id")
    return str(own) if isinstance(own, str | int) and own != "" else ""


def item_id(number: int, item: Mapping[str, Any], taken: set[str]) -> str:
    """Return an id for an item that no earlier one has, and add it to `taken`.

    `number` is its place in the document, from 1. Conversations without an id have their name.
    """
    name = declared_id(item) or ("turns" in item and item.get("name")) or f"item-{number}"
    unique = unused_name(str(name), taken)
    taken.add(unique)
    return unique
