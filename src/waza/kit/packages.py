"""Whether packages are installed, without importing them."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec


def are_installed(modules: Iterable[str]) -> bool:
    """Return whether all of these modules are there; the packages above them are imported."""
    return all(map(_is_installed, modules))


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of the package above it
        return False
