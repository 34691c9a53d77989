"""Classes of graders and executors by name: built-in tables first, then the entry points of installed packages.

The tables hold strings, so that listing names imports nothing; `importlib.metadata` is only used for names that are
not in a table. This is the one dynamic import upwards in the layers.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import msgspec

from waza.errors import UsageError
from waza.executors import CAPABILITIES
from waza.executors import TYPES as EXECUTORS
from waza.graders import TYPES as GRADERS
from waza.model.capabilities import Capabilities
from waza.report import TYPES as REPORTERS

TABLES = {"waza.graders": GRADERS, "waza.executors": EXECUTORS, "waza.reporters": REPORTERS}


@cache
def load_class(group: str, name: str) -> Any | None:
    """Return the class of a name in a group (`waza.graders`, `waza.executors`, `waza.reporters`), or None.

    Raises UsageError if a plugin cannot be imported. Import errors of built-in classes propagate.
    """
    place = TABLES[group].get(name)
    if place:
        module, _, attribute = place.partition(":")
        return getattr(import_module(module), attribute)
    from importlib.metadata import entry_points

    for entry in entry_points(group=group, name=name):
        try:
            return entry.load()
        except Exception as error:
            from waza.kit.exception_report import describe_exception

            kind = group.removeprefix("waza.").removesuffix("s")
            raise UsageError(
                f"the {kind} {name!r} cannot be imported: {describe_exception(error).text}"
            ) from error
    return None


def list_names(group: str) -> list[str]:
    """Return the names of a group, sorted."""
    from importlib.metadata import entry_points

    return sorted({*TABLES[group], *(entry.name for entry in entry_points(group=group))})


def find_capabilities(executor: str) -> Capabilities | None:
    """Return the capabilities of an executor, or None if there is no such executor.

    Raises UsageError if a plugin cannot be imported, declares no capabilities, or declares them with wrong types.
    """
    if executor in CAPABILITIES:
        return CAPABILITIES[executor]
    kind = load_class("waza.executors", executor)
    if kind is None:
        return None
    declared = getattr(kind, "capabilities", None)
    if not isinstance(declared, Capabilities):
        raise UsageError(
            f"the executor {executor!r} does not declare what it can do; its class {kind.__qualname__} needs "
            "`capabilities = Capabilities(...)` (waza.model.capabilities)"
        )
    try:
        msgspec.convert(msgspec.structs.asdict(declared), Capabilities, strict=True)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"the executor {executor!r} declares capabilities that are not usable: {error}"
        ) from None
    return declared


def executors_with(capability: str) -> list[str]:
    """Return the names of the built-in executors that have a capability. Plugins are not looked up."""
    return [name for name, known in sorted(CAPABILITIES.items()) if getattr(known, capability)]
