"""`waza get`: refs resolved, fetched, tried once, and pinned in the lock."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from waza.errors import UsageError
from waza.kit import yaml
from waza.kit.glob import expand
from waza.problem import display_path
from waza.registry.cache import ModuleError, cache_root
from waza.registry.fetch import Module, fetch
from waza.registry.lock import LockEntry, LockFile
from waza.registry.preset import ModulePack, Preset, find_pack, load_preset
from waza.registry.ref import RefError, is_ref, parse_ref


class GetResult(msgspec.Struct, frozen=True):
    """A ref that was fetched: its entry for the lock, the one that it replaces, and what it names."""

    entry: LockEntry
    before: LockEntry | None
    preset: Preset | ModulePack


class Getter:
    """Fetches the modules of refs. `hosts` is as in `waza.registry.fetch.fetch`; `known` is the lock so far."""

    def __init__(self, known: LockFile | None, hosts: Mapping[str, str]) -> None:
        self._known, self._hosts = known or LockFile(), hosts
        self._fetched: dict[tuple[str, str], Module] = {}

    async def get(self, text: str) -> GetResult:
        """Fetch the module of a ref, and see that it holds what the ref names. Raises ModuleError.

        Trust that the lock gave to the same commit is kept; any other has to be trusted again. Other files
        that have the digest of the lock are refused: somebody has made them so.
        """
        try:
            ref = parse_ref(text)
        except RefError as error:
            raise ModuleError(f"{text!r} is not a valid ref: {error}") from error
        place = (ref.module, ref.version)
        if place not in self._fetched:
            self._fetched[place] = await fetch(ref, cache_root(os.environ), self._hosts)
        module = self._fetched[place]
        preset = find_pack(module.directory, ref) or load_preset(module.directory, ref)
        before = self._known.find(text)
        same = before is not None and (before.commit, before.digest) == (module.commit, module.digest)
        if before and before.digest == module.digest and before.tree not in ("", module.tree):
            raise ModuleError(
                f"{text} is now at commit {module.commit[:12]}, whose files differ from those of "
                f"{before.commit[:12]} but have the same digest: they were made to pass for them, and are refused",
                "changed-module",
            )
        trusted = before is not None and before.trusted and same
        entry = LockEntry(
            ref=text,
            commit=module.commit,
            tree=module.tree,
            digest=module.digest,
            url=module.url,
            trusted=trusted,
            trust_reason=before.trust_reason if before and trusted else "",
        )
        return GetResult(entry, before, preset)


def suite_refs(suite: Path) -> list[str]:
    """Return the refs of a suite, sorted: of all graders in it and its tasks, and of packs.

    Raises UsageError for a broken file.
    """
    root = _read(suite)
    found = {*_find_refs(root), *_find_pack_refs(root)}
    patterns = root.get("tasks") if isinstance(root, dict) else None
    for pattern in patterns if isinstance(patterns, list) else []:
        try:
            tasks = expand(suite.parent, str(pattern))
        except ValueError as error:
            raise UsageError(f"{display_path(suite)}: tasks: {error}") from error
        found |= {ref for task in tasks for ref in _find_refs(_read(task))}
    return sorted(found)


def _read(path: Path) -> object:
    try:
        return yaml.to_plain(yaml.load(path.read_bytes()))
    except yaml.YamlError as error:
        raise UsageError(f"{display_path(path)}:{error.line}:{error.column}: {error.message}") from error
    except OSError as error:
        raise UsageError(f"{display_path(path)} cannot be read: {error.strerror}") from error


def _find_pack_refs(root: object) -> Iterator[str]:
    block = root.get("adversarial") if isinstance(root, dict) else None
    packs = block.get("packs") if isinstance(block, dict) else None
    for pack in packs if isinstance(packs, list) else []:
        if isinstance(pack, str) and is_ref(pack.strip()):
            yield pack.strip()


def _find_refs(value: object, key: str = "") -> Iterator[str]:
    """Yield the refs of all lists `graders` in a file, those of checkpoints among them."""
    if isinstance(value, dict):
        if key == "graders" and isinstance(value.get("ref"), str) and value["ref"].strip():
            yield value["ref"].strip()
        for name, item in value.items():
            yield from _find_refs(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from _find_refs(item, key)
