"""A stand-in for promptflow: wrappers can `from promptflow.client import load_flow` without it.

An import hook supplies `promptflow`, `promptflow.client` and `promptflow.core`. In mode "auto" it comes
after all others, so that an installed promptflow is used, and of an installed `promptflow-core` only the missing
`promptflow.client` is supplied. "builtin" puts it before all others, "promptflow" leaves it out.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Literal, TypeAlias

Runtime: TypeAlias = Literal["auto", "builtin", "promptflow"]

HOME_VARIABLE = "PF_HOME_DIRECTORY"
"""The environment variable that says where a real promptflow keeps its files, else `~/.promptflow`."""

QUIET: Mapping[str, str] = {"APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED": "true"}
"""What the environment must hold before a real promptflow is imported, so that it sends no telemetry."""

_OFFERED: Mapping[str, Sequence[str]] = {
    "promptflow": (),
    "promptflow.client": ("load_flow",),
    "promptflow.core": ("Prompty", "AzureOpenAIModelConfiguration", "OpenAIModelConfiguration"),
}
_NEEDED = ("jinja2", "httpx")


def install(runtime: Runtime, retry_waits: Sequence[float] | None = None) -> None:
    """Put the hook in its place, for the rest of this process.

    `retry_waits` are the seconds before each new try of a judge's question that was not answered.
    """
    if runtime == "builtin":
        sys.meta_path.insert(0, _Finder(retry_waits))
    elif runtime == "auto":
        sys.meta_path.append(_Finder(retry_waits))


def runtime_in_use() -> str:
    """Return which `load_flow` was imported in this process: "builtin", "promptflow", or "" for none."""
    module = sys.modules.get("promptflow.client") or sys.modules.get("promptflow.core")
    if module is None:
        return ""
    return "builtin" if isinstance(getattr(module.__spec__, "loader", None), _Loader) else "promptflow"


class _Finder(MetaPathFinder):
    """Finds the three modules."""

    def __init__(self, retry_waits: Sequence[float] | None) -> None:
        self._retry_waits = retry_waits

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how one of the three is loaded."""
        del path, target
        if fullname not in _OFFERED:
            return None
        return ModuleSpec(fullname, _Loader(self._retry_waits), is_package=fullname == "promptflow")


class _Loader(Loader):
    """Fills one of the three modules."""

    def __init__(self, retry_waits: Sequence[float] | None) -> None:
        self._retry_waits = retry_waits

    def exec_module(self, module: ModuleType) -> None:
        """Give the module what it offers, and a clear error for what it does not."""
        vars(module)["__getattr__"] = lambda name: _reject_name(module.__name__, name)
        offered = _OFFERED[module.__name__]
        if not offered:
            return
        lacking = [name for name in _NEEDED if find_spec(name) is None]
        if lacking:
            raise ImportError(f"judge prompts need {' and '.join(lacking)}: pip install 'waza[m365]'")
        from waza.m365.custom import prompty, prompty_configuration

        if self._retry_waits is not None:
            prompty.Prompty.retry_waits = tuple(self._retry_waits)
        parts = {**vars(prompty_configuration), **vars(prompty)}
        vars(module).update({name: parts[name] for name in offered})


def _reject_name(module: str, name: str) -> Any:
    if name.startswith("__") or f"{module}.{name}" in _OFFERED:
        raise AttributeError(name)
    raise ImportError(
        f"waza's stand-in for {module} has no {name!r}; "
        "install promptflow-core and promptflow-devkit for the whole of it"
    )
