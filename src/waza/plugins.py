"""Classes of graders, executors, reporters, stores and backends by name: built-in tables first, then the entry points of installed packages.

The tables hold strings, so that listing names imports nothing; `importlib.metadata` is only used for names that are
not in a table. This is the one dynamic import upwards in the layers.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from waza.backends import TYPES as BACKENDS
from waza.errors import UsageError
from waza.executors import CAPABILITIES, SHORT, parse_executor
from waza.executors import TYPES as EXECUTORS
from waza.graders import TYPES as GRADERS
from waza.kit.names import did_you_mean
from waza.model.capabilities import Capabilities
from waza.report import TYPES as REPORTERS
from waza.stores import TYPES as STORES

# The base class of a group, and the method that its subclasses write.
_BASES = {
    "waza.graders": ("waza.graders.base", "Grader", "grade"),
    "waza.reporters": ("waza.report.reporter", "Reporter", "report"),
}
# The methods of the classes in groups without a base class.
_METHODS = {
    "waza.executors": ("start", "works_in", "open", "judge", "aclose"),
    "waza.stores": ("start", "put", "list", "describe", "get", "aclose"),
    "waza.backends": ("start", "open_run", "aclose"),
}
TABLES = {
    "waza.backends": BACKENDS,
    "waza.graders": GRADERS,
    "waza.executors": EXECUTORS,
    "waza.reporters": REPORTERS,
    "waza.stores": STORES,
}


@cache
def load_class(group: str, name: str) -> Any | None:
    """Return the class of a name in a group (a key of `TABLES`), or None.

    Raises UsageError if a plugin cannot be imported, or is not such a class, and if a name has several: a suite would not
    mean what its author reads. Import errors of built-in classes propagate.
    """
    place = TABLES[group].get(name)
    if place:
        _refuse_several(group, name)
        module, _, attribute = place.partition(":")
        return getattr(import_module(module), attribute)
    from importlib.metadata import entry_points

    for entry in entry_points(group=group, name=name):
        _refuse_several(group, name)
        package = f" of the package {entry.dist.name}" if entry.dist else ""
        what = f"the {group.removeprefix('waza.').removesuffix('s')} {name!r}{package}"
        try:
            found = entry.load()
        except Exception as error:
            from waza.kit.exception_report import describe_exception

            raise UsageError(
                f"{what} cannot be imported from {entry.value}: {describe_exception(error).text}"
            ) from error
        if fault := _fault(group, found):
            raise UsageError(f"{what} cannot be used: {entry.value} {fault}")
        return found
    return None


def _refuse_several(group: str, name: str) -> None:
    """Raise UsageError if several packages, or waza and a package, have the same name in a group."""
    if group.encode() not in _groups_of_packages():
        return
    from importlib.metadata import entry_points

    owners = ["waza itself"] if name in TABLES[group] else []
    owners += sorted(
        f"the package {entry.dist.name}" if entry.dist else entry.value
        for entry in entry_points(group=group, name=name)
    )
    if len(owners) > 1:
        kind = group.removeprefix("waza.").removesuffix("s")
        raise UsageError(
            f"the {kind} {name!r} is in {' and in '.join(owners)}; rename it in the package, or uninstall that"
        )


@cache
def _groups_of_packages() -> frozenset[bytes]:
    """Return the groups of waza in which installed packages offer something.

    Most runs have none, and finding that out by `importlib.metadata` would take them longer than loading their suite.
    """
    found = set[bytes]()
    for folder in sys.path:
        try:
            entries = list(os.scandir(folder or "."))
        except OSError:
            continue  # such as the archive of the standard library
        for entry in entries:
            if entry.name.endswith((".dist-info", ".egg-info")):
                try:
                    text = Path(entry.path, "entry_points.txt").read_bytes()
                except OSError:
                    continue  # it offers nothing
                found.update(
                    line.strip(b"[] \t\r") for line in text.split(b"\n") if line.startswith(b"[waza.")
                )
    return frozenset(found)


def _fault(group: str, found: Any) -> str:
    """Return why something is not a class of a group, or nothing."""
    if group in _METHODS:
        return _missing_method(group, found)
    module, name, method = _BASES[group]
    base = getattr(import_module(module), name)
    if not (isinstance(found, type) and issubclass(found, base)):
        return f"is not a subclass of waza.{name}"
    if getattr(found, method) is getattr(base, method):
        return f"has no method {method}"
    return _field_fault(found) if issubclass(found, msgspec.Struct) else ""


def _missing_method(group: str, found: Any) -> str:
    """Return why something is not a class of a group without a base class, or nothing."""
    from waza.model.base import Keys

    if not isinstance(found, type):
        return "is not a class"
    missing = [name for name in _METHODS[group] if not callable(getattr(found, name, None))]
    if missing:
        return f"has no method {', '.join(missing)}"
    options = getattr(found, "Options", Keys)
    if not (isinstance(options, type) and issubclass(options, Keys)):
        return "has Options that are not a subclass of waza.Keys"
    return _field_fault(options)


def _field_fault(struct: type) -> str:
    """Return why the keys of a struct cannot be read from YAML, or nothing."""
    from waza.kit.decode import find_unreadable_field

    try:
        key = find_unreadable_field(struct)
    except NameError as error:
        return f"has a field whose type is not known at the top of its module: {error}"
    types = "str, bool, int, float, Any, Literal, structs, and list, tuple, dict[str, ...] and | of these"
    return f"has the field {key!r} of a type that cannot be read from YAML; use {types}" if key else ""


def list_names(group: str) -> list[str]:
    """Return the names of a group, sorted."""
    from importlib.metadata import entry_points

    return sorted({*TABLES[group], *(entry.name for entry in entry_points(group=group))})


def require_executor(text: str) -> tuple[str, dict[str, Any], Capabilities]:
    """Return the executor that a command line means, with its options and what it can do.

    Raises UsageError for one that is not there, or that lacks what it has to know.
    """
    name, options = parse_executor(text)
    if name in SHORT and not options:
        raise UsageError(f"the executor {name} needs more: --executor {name}:{SHORT[name].upper()}")
    found = find_capabilities(name)
    if found is None:
        raise UsageError(f"there is no executor {name!r}; {did_you_mean(name, list_names('waza.executors'))}")
    return name, options, found


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
            "`capabilities = waza.Capabilities(...)`"
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
