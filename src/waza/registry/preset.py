"""Presets: the grader that a ref stands for, out of its module, with what the suite says on top."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from waza.kit import yaml
from waza.kit.decode import Decoder, Document, Unknown
from waza.kit.files import inside, safe_join
from waza.model.suite import GraderEntry
from waza.registry.cache import ModuleError
from waza.registry.ref import Ref

T = TypeVar("T")

MANIFEST = "waza.registry.yaml"
_ENDINGS = ("", ".yaml", ".yml")


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """A grader that a module offers."""

    path: str
    description: str = ""
    tags: list[str] = []


class Exports(msgspec.Struct, frozen=True, kw_only=True):
    """What a module offers; only graders are read."""

    graders: dict[str, Export] = {}


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of `waza.registry.yaml`; others are ignored."""

    schema_version: int = 1
    module: str = ""
    description: str = ""
    license: str = ""
    exports: Exports = Exports()


class Preset(msgspec.Struct, frozen=True):
    """A grader entry from a module. `directory` is what its relative paths start from."""

    entry: GraderEntry
    directory: Path
    name: str
    module: Path

    @property
    def runs_program(self) -> bool:
        """Whether it starts a program, which needs trust."""
        return self.entry.type == "program" or (
            self.entry.type == "wgp" and (self.entry.config or {}).get("runtime") == "program"
        )


def load_preset(module: Path, ref: Ref) -> Preset:
    """Return the grader that a ref stands for. Raises ModuleError, which says what is wrong in the module."""
    path, name = _place(module, ref)
    if not inside(module, path):
        raise ModuleError(f"{ref}: the preset {path.name!r} leads outside of its module")
    entry = _read(path, GraderEntry)
    if not entry.type:
        raise ModuleError(f"{ref}: the preset {path.name!r} has no 'type'")
    if entry.ref:
        raise ModuleError(f"{ref}: the preset {path.name!r} is itself a ref, which is not followed")
    return Preset(entry, path.parent, entry.name or name, module)


def _place(module: Path, ref: Ref) -> tuple[Path, str]:
    """Return the file of a preset, and the name that it has unless it gives itself one."""
    if ref.path and not ref.export:
        for ending in _ENDINGS if not Path(ref.path).suffix else ("",):
            path = _joined(module, ref, f"{ref.path}{ending}")
            if path.is_file():
                return path, path.stem
        raise ModuleError(f"{ref}: the module has no file {ref.path!r}")
    folder = _joined(module, ref, ref.path) if ref.path else module
    manifest = folder / MANIFEST
    if not manifest.is_file():
        raise ModuleError(f"{ref}: there is no {MANIFEST} in {ref.path or 'the module'}")
    graders = _read(manifest, Manifest).exports.graders
    if not graders:
        raise ModuleError(f"{ref}: {MANIFEST} exports no grader")
    if not ref.export and len(graders) > 1:
        raise ModuleError(f"{ref}: say which grader, with '#': {', '.join(sorted(graders))}")
    name = ref.export or next(iter(graders))
    if name not in graders:
        raise ModuleError(f"{ref}: there is no export {name!r}; there are: {', '.join(sorted(graders))}")
    path = _joined(folder, ref, graders[name].path)
    if not path.is_file():
        raise ModuleError(f"{ref}: the export {name!r} names {graders[name].path!r}, which is not there")
    return path, name


def _joined(folder: Path, ref: Ref, relative: str) -> Path:
    try:
        return safe_join(folder, relative)
    except ValueError as error:
        raise ModuleError(f"{ref}: the path {relative!r} {error}") from error


def _read(path: Path, wanted: type[T]) -> T:
    """Read a file of a module; keys that we do not know are ignored."""
    try:
        document = Document(path.name, yaml.load(path.read_bytes()))
    except (OSError, yaml.YamlError) as error:
        raise ModuleError(f"{path.name} cannot be read: {error}") from error
    decoder = Decoder(document, lambda _struct, _key, _path: Unknown("warning", ""))
    found = decoder.read(wanted)
    errors = [str(problem) for problem in decoder.problems if problem.severity == "error"]
    if found is None or errors:
        raise ModuleError("; ".join(errors) or f"{path.name} is empty")
    return found


def merged(preset: Preset, local: GraderEntry, given: Collection[str]) -> GraderEntry:
    """Return the preset with what the suite says on top: maps deeply, everything else replaced.

    `given` are the keys that the suite writes. Raises ModuleError when it names another type.
    """
    if local.type and local.type != preset.entry.type:
        raise ModuleError(
            f"the grader is of type {preset.entry.type!r}, not {local.type!r}; leave 'type' out"
        )
    return msgspec.structs.replace(
        preset.entry,
        name=local.name or preset.name,
        weight=local.weight if "weight" in given and local.weight else preset.entry.weight,
        config=deep_merge(preset.entry.config or {}, local.config or {}),
    )


def deep_merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    """Return two mappings merged: maps of one key recursively, everything else from `above`, lists as a whole."""
    out = dict(below)
    for key, value in above.items():
        known = out.get(key)
        both = isinstance(known, dict) and isinstance(value, dict)
        out[key] = deep_merge(known, value) if both else value  # type: ignore[arg-type]  # both are mappings here
    return out
