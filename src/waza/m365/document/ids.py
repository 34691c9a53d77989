"""What items of a document are called: by an id of their own, a name, or their number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def own_id(item: Mapping[str, Any]) -> str:
    """Return the id that a document gives an item under `extensions`; empty where it gives none."""
    own = item.get("extensions", {}).get("id")
    return str(own) if isinstance(own, str | int) and own != "" else ""


def item_id(number: int, item: Mapping[str, Any], taken: set[str]) -> str:
    """Return the id of an item, which no earlier one has, and add it to those that are taken.

    `number` is its place in the document, from 1. Conversations without an id have their name.
    """
    name = own_id(item) or ("turns" in item and item.get("name")) or f"item-{number}"
    unique, count = str(name), 2
    while unique in taken:
        unique, count = f"{name}-{count}", count + 1
    taken.add(unique)
    return unique
