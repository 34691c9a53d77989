"""`waza get`: refs resolved, fetched, tried once, and pinned in the lock."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from waza.errors import UsageError
from waza.kit import yaml
from waza.problem import shown
from waza.registry.cache import ModuleError, cache_root
from waza.registry.fetch import fetch
from waza.registry.lock import Entry, LockFile, read_lock, write_lock
from waza.registry.preset import Preset, load_preset
from waza.registry.ref import RefError, parse_ref


class Got(msgspec.Struct, frozen=True):
    """A ref that was fetched: its entry for the lock, and its preset."""

    entry: Entry
    preset: Preset


async def get_ref(text: str, known: LockFile | None, hosts: Mapping[str, str]) -> Got:
    """Fetch the module of a ref, and see that it holds what the ref names. Raises ModuleError or GitError.

    Trust that an older lock gave to the same content is kept; other content has to be trusted anew.
    """
    try:
        ref = parse_ref(text)
    except RefError as error:
        raise ModuleError(f"{text!r} is no ref: {error}") from error
    module = await fetch(ref, cache_root(os.environ), hosts)
    preset = load_preset(module.directory, ref)
    before = known.find(text) if known else None
    trusted = before is not None and before.trusted and before.digest == module.digest
    entry = Entry(
        ref=text,
        commit=module.commit,
        digest=module.digest,
        url=module.url,
        trusted=trusted,
        trust_reason=before.trust_reason if before and trusted else "",
    )
    return Got(entry, preset)


async def get_suite(suite: Path, hosts: Mapping[str, str], tasks: Sequence[Path] = ()) -> Path:
    """Write a fresh lock beside a suite, with every ref in it and its tasks; return its path. Raises UsageError."""
    refs = sorted({ref for path in (suite, *tasks) for ref in refs_in(path)})
    if not refs:
        raise UsageError(f"{shown(suite)} has no graders with 'ref'; there is nothing to get")
    known = read_lock(suite.parent)
    return write_lock(suite.parent, [(await get_ref(ref, known, hosts)).entry for ref in refs])


def refs_in(path: Path) -> list[str]:
    """Return the refs of all graders in a suite or task file, in order. Raises UsageError for an unreadable one."""
    try:
        root = yaml.plain(yaml.load(path.read_bytes()))
    except (OSError, yaml.YamlError) as error:
        raise UsageError(f"{shown(path)} cannot be read: {error}") from error
    return list(_refs(root))


def _refs(value: object, key: str = "") -> Collection[str]:
    found: list[str] = []
    if isinstance(value, dict):
        if key == "graders" and isinstance(value.get("ref"), str) and value["ref"].strip():
            found.append(value["ref"].strip())
        for name, item in value.items():
            found += _refs(item, name)
    elif isinstance(value, list):
        for item in value:
            found += _refs(item, key)
    return found
