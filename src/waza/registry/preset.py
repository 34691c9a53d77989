"""Presets: the grader that a ref names, out of its module, with what the suite says on top."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from waza.kit import yaml
from waza.kit.decode import Decoder, Document, UnknownKeyAdvice, UnknownKeyHandler, reject_unknown_key
from waza.kit.files import is_inside
from waza.model.suite import GraderEntry
from waza.registry.cache import ModuleError
from waza.registry.ref import Ref

T = TypeVar("T")

MANIFEST = "waza.registry.yaml"
PACK = "pack.yaml"
"""The file that makes a directory a pack of adversarial tasks."""

_ENDINGS = ("", ".yaml", ".yml")
# The types that run no program of their module. Others, and those of other packages, need trust.
_FREE = frozenset(
    {
        *("action_sequence", "behavior", "diff", "file", "json_schema", "prompt"),
        *("skill_invocation", "text", "tool_calls", "tool_constraint", "trigger"),
    }
)

_CUSTOM_EVALUATORS = (
    "custom-evaluators"  # Python programs beside the preset; without them there are built-in ones
)


class Export(msgspec.Struct, frozen=True, kw_only=True):
    """A grader that a module offers, or the directory of a pack."""

    path: str


class Exports(msgspec.Struct, frozen=True, kw_only=True):
    """What a module offers; only graders and packs are read."""

    graders: dict[str, Export] = {}
    packs: dict[str, Export] = {}


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of `waza.registry.yaml` that are read; others are ignored."""

    schema_version: int = 1
    exports: Exports = Exports()


class Preset(msgspec.Struct, frozen=True, kw_only=True):
    """A grader from a module, declared in `file`. Relative paths in its config start there and stay in `module`.

    `digest` is that of the module, where a lock names it.
    """

    type: str
    name: str
    weight: float
    config: yaml.Mapping
    file: Path
    module: Path
    digest: str = ""

    @property
    def directory(self) -> Path:
        """Where relative paths start."""
        return self.file.parent

    @property
    def acts(self) -> str:
        """What one that needs trust does, in words."""
        return "runs a program"

    @property
    def needs_trust(self) -> bool:
        """Whether it runs a program with the user's rights; a WASM module runs in a sandbox."""
        if self.type == "evaluator":
            return (self.directory / _CUSTOM_EVALUATORS).exists()
        runtime = self.config.entries.get("runtime")
        if self.type == "wgp" and isinstance(runtime, yaml.Scalar):
            return runtime.text != "wasm"
        return self.type not in _FREE


class ModulePack(msgspec.Struct, frozen=True, kw_only=True):
    """A pack of adversarial tasks in a module."""

    directory: Path
    module: Path
    needs_trust: Literal[True] = True
    acts: str = "tells an agent what to do on this machine"


def find_pack(module: Path, ref: Ref) -> ModulePack | None:
    """Return the pack that a ref names: a directory with `pack.yaml`, or an export of the manifest there.

    None: it names no pack. Raises ModuleError, which says what is wrong in the module.
    """
    folder = _join(module, module, ref.path)
    if not ref.export and (folder / PACK).is_file():
        return ModulePack(directory=folder, module=module)
    if not (folder / MANIFEST).is_file():
        return None
    exports = _read_manifest(folder / MANIFEST).exports
    only = next(iter(exports.packs)) if len(exports.packs) == 1 and not exports.graders else ""
    found = exports.packs.get(ref.export or only)
    if found is None:
        return None
    directory = _join(module, folder, found.path)
    if not (directory / PACK).is_file():
        raise ModuleError(
            f"{ref}: the export {ref.export or only!r} names {found.path!r}, which has no {PACK}"
        )
    return ModulePack(directory=directory, module=module)


def load_preset(module: Path, ref: Ref) -> Preset:
    """Return the grader that a ref names. Raises ModuleError, which says what is wrong in the module."""
    try:
        return read_preset_file(module, ref.path, ref.export)
    except ModuleError as error:
        raise ModuleError(f"{ref}: {error}") from error


def read_preset_file(module: Path, path: str = "", export: str = "") -> Preset:
    """Return a grader of a module: the file at `path`, or an export of the manifest that is there.

    Without either it is the only export of the manifest in the root. Raises ModuleError.
    """
    if path and not export:
        place = _find_file(module, path)
        name = place.stem
    else:
        place, name = _export(module, path, export)
    entry, root = _read(place, GraderEntry, reject_unknown_key)
    if entry.ref:
        raise ModuleError(f"the preset {place.name!r} is itself a ref, which is not followed")
    if not entry.type:
        raise ModuleError(f"the preset {place.name!r} has no 'type'")
    config = root.entries.get("config") if isinstance(root, yaml.Mapping) else None
    return Preset(
        type=entry.type,
        name=entry.name or name,
        weight=entry.weight,
        config=config if isinstance(config, yaml.Mapping) else yaml.Mapping({}, {}, root.line, root.column),
        file=place,
        module=module,
    )


def _find_file(module: Path, path: str) -> Path:
    for ending in _ENDINGS if not Path(path).suffix else ("",):
        place = _join(module, module, f"{path}{ending}")
        if place.is_file():
            return place
    raise ModuleError(f"the module has no file {path!r}; name an export of it with '#'")


def _export(module: Path, path: str, export: str) -> tuple[Path, str]:
    """Return the file of an export, and its name."""
    folder = _join(module, module, path)
    graders = read_exports(folder, path)
    if not export and len(graders) > 1:
        raise ModuleError(f"say which grader, with '#': {', '.join(sorted(graders))}")
    name = export or next(iter(graders))
    if name not in graders:
        raise ModuleError(f"there is no export {name!r}; there are: {', '.join(sorted(graders))}")
    place = _join(module, folder, graders[name].path)
    if not place.is_file():
        raise ModuleError(f"the export {name!r} names {graders[name].path!r}, which is not there")
    return place, name


def read_exports(folder: Path, shown: str = "") -> dict[str, Export]:
    """Return the graders that the manifest in a folder offers. Raises ModuleError. `shown` names the folder."""
    path = folder / MANIFEST
    if not path.is_file():
        raise ModuleError(f"there is no {MANIFEST} in {shown or 'the module'}")
    graders = _read_manifest(path).exports.graders
    if not graders:
        raise ModuleError(f"{MANIFEST} exports no grader")
    return graders


def _read_manifest(path: Path) -> Manifest:
    manifest, _ = _read(path, Manifest, lambda _struct, _key, _path: UnknownKeyAdvice("warning", ""))
    if manifest.schema_version not in (0, 1):
        raise ModuleError(f"{MANIFEST} has schema_version {manifest.schema_version}; this waza reads 1")
    return manifest


def _join(module: Path, folder: Path, relative: str) -> Path:
    """Return the path that a relative one means in a folder of the module."""
    path = Path(os.path.normpath(folder / relative))
    stays = path.is_relative_to(os.path.normpath(module)) and is_inside(module, path)
    if "\\" in relative or "\0" in relative or not stays:
        raise ModuleError(f"the path {relative!r} leads out of the module")
    return path


def _read(path: Path, wanted: type[T], unknown: UnknownKeyHandler) -> tuple[T, yaml.Node]:
    """Read a file of a module; return what it says, and its root."""
    try:
        document = Document(path.name, yaml.load(path.read_bytes()))
    except yaml.YamlError as error:
        raise ModuleError(f"{path.name}:{error.line}:{error.column}: {error.message}") from error
    except OSError as error:
        raise ModuleError(f"{path.name} cannot be read: {error.strerror}") from error
    decoder = Decoder(document, unknown)
    found = decoder.read(wanted)
    errors = [str(problem) for problem in decoder.problems if problem.severity == "error"]
    if found is None or errors:
        raise ModuleError("; ".join(errors) or f"{path.name} is empty")
    return found, document.root


def merge_preset(preset: Preset, entry: GraderEntry, node: yaml.Mapping) -> Preset:
    """Return the preset with what the suite says on top: maps deeply, everything else replaced.

    `node` is the suite's entry as it is written. Raises ModuleError when it names another type.
    """
    if entry.type and entry.type != preset.type:
        raise ModuleError(
            f"the grader is of type {preset.type!r}, not {entry.type!r}; leave 'type' out", "preset-conflict"
        )
    own = node.entries.get("config")
    return msgspec.structs.replace(
        preset,
        name=entry.name or preset.name,
        weight=entry.weight if "weight" in node.entries and entry.weight else preset.weight,
        config=deep_merge(preset.config, own) if isinstance(own, yaml.Mapping) else preset.config,
    )


def deep_merge(below: yaml.Mapping, above: yaml.Mapping) -> yaml.Mapping:
    """Return two mappings merged: maps of one key recursively, everything else from `above`, lists as a whole."""
    entries = dict(below.entries)
    for key, node in above.entries.items():
        known = entries.get(key)
        both = isinstance(known, yaml.Mapping) and isinstance(node, yaml.Mapping)
        entries[key] = deep_merge(known, node) if both else node  # type: ignore[arg-type]  # both are mappings here
    return yaml.Mapping(entries, {**below.keys, **above.keys}, above.line, above.column)
