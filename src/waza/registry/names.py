"""The names that the graders of a suite have: two of one name would overwrite each other's results."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from waza.kit import yaml
from waza.kit.glob import expand
from waza.problem import display_path
from waza.registry.cache import ModuleError, cache_root, module_directory
from waza.registry.lock import LockFile
from waza.registry.preset import load_preset
from waza.registry.ref import RefError, parse_ref


def read_taken_names(suite: Path, lock: LockFile) -> dict[str, str]:
    """Return the names of the graders of a suite and its tasks, each with its place (`file:line`).

    What cannot be read is left out: a run reports it.
    """
    taken: dict[str, str] = {}
    for file in (suite, *_find_tasks(suite)):
        for node in _read_graders(file):
            taken.setdefault(_choose_name(node, lock), f"{display_path(file)}:{node.line}")
    return taken


def _find_tasks(suite: Path) -> Iterator[Path]:
    patterns = _get_entry(_read(suite), "tasks")
    for pattern in patterns.items if isinstance(patterns, yaml.Sequence) else ():
        try:
            yield from expand(suite.parent, _get_text(pattern))
        except ValueError:
            continue


def _read_graders(file: Path) -> Iterator[yaml.Mapping]:
    graders = _get_entry(_read(file), "graders")
    for node in graders.items if isinstance(graders, yaml.Sequence) else ():
        if isinstance(node, yaml.Mapping):
            yield node


def _read(file: Path) -> yaml.Node | None:
    try:
        return yaml.load(file.read_bytes())
    except (yaml.YamlError, OSError):
        return None


def _choose_name(node: yaml.Mapping, lock: LockFile) -> str:
    """Return the name of a grader: its own, else that of its preset, else its type."""
    name, ref, kind = (_get_text(_get_entry(node, key)) for key in ("name", "ref", "type"))
    return name or (_find_preset_name(ref.strip(), lock) if ref else kind)


def _find_preset_name(ref: str, lock: LockFile) -> str:
    pinned = lock.find(ref)
    if pinned is None:
        return ""
    try:
        parsed = parse_ref(ref)
        return load_preset(module_directory(cache_root(os.environ), parsed, pinned.commit), parsed).name
    except (RefError, ModuleError):
        return ""


def _get_entry(node: yaml.Node | None, key: str) -> yaml.Node | None:
    return node.entries.get(key) if isinstance(node, yaml.Mapping) else None


def _get_text(node: yaml.Node | None) -> str:
    return node.text if isinstance(node, yaml.Scalar) and node.value is not None else ""
