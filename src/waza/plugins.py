"""From a name to a class: the built-in tables first, entry points of other packages for the rest.

The tables hold strings, so listing names imports nothing, and `importlib.metadata` is only asked for a
name that no table has. This is the one dynamic step upwards in the import order.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from waza.executors import TYPES as EXECUTORS
from waza.graders import TYPES as GRADERS

TABLES = {"waza.graders": GRADERS, "waza.executors": EXECUTORS}


@cache
def load(group: str, name: str) -> Any | None:
    """Return the class that a name of a group stands for, or None. An import error of it propagates."""
    place = TABLES[group].get(name)
    if place:
        module, _, attribute = place.partition(":")
        return getattr(import_module(module), attribute)
    from importlib.metadata import entry_points

    for entry in entry_points(group=group, name=name):
        return entry.load()
    return None


def names(group: str) -> list[str]:
    """Return every known name of a group, sorted."""
    from importlib.metadata import entry_points

    return sorted({*TABLES[group], *(entry.name for entry in entry_points(group=group))})
