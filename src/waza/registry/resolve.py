"""From a ref in a suite to its grader, by the lock and the cache alone: nothing is fetched here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from waza.kit import yaml
from waza.model.suite import GraderEntry
from waza.registry.cache import ModuleError, cache_root, is_intact, module_directory
from waza.registry.lock import FILE, LockEntry, LockFile
from waza.registry.preset import PACK, Preset, find_pack, load_preset, merge_preset
from waza.registry.ref import Ref, RefError, parse_ref

_GET = "run `waza get` with the suite's file"


class Modules:
    """The modules that a lock names. The content of each is held against its digest, once."""

    def __init__(self, lock: LockFile | None, environ: Mapping[str, str]) -> None:
        self._lock, self._root = lock, cache_root(environ)
        self._intact: dict[tuple[Path, str, str], bool] = {}

    def grader(self, entry: GraderEntry, node: yaml.Mapping) -> Preset:
        """Return the grader that an entry's ref names, with what the entry says on top.

        `node` is the entry as it is written. Raises ModuleError, which states what to do, when anything does
        not agree: the content of the cached module must have the digest of the lock, and what runs a program
        must be trusted there.
        """
        text = entry.ref.strip()
        try:
            ref = parse_ref(text)
        except RefError as error:
            raise ModuleError(f"{text!r} is not a valid ref: {error}", "invalid-ref") from error
        pinned = self._find_pinned(text)
        preset = merge_preset(load_preset(self._find_module(text, ref, pinned), ref), entry, node)
        if preset.needs_trust and not pinned.trusted:
            raise ModuleError(
                f"{text!r} runs a program, and {FILE} does not trust it; look at {preset.module}, then run "
                f"`waza registry add {text} --allow-exec` with the suite's file as --eval",
                "untrusted-module",
            )
        return msgspec.structs.replace(preset, digest=pinned.digest)

    def pack(self, text: str) -> Path:
        """Return the directory of the pack that a ref names. Raises ModuleError, which states what to do."""
        try:
            ref = parse_ref(text)
        except RefError as error:
            raise ModuleError(f"{text!r} is not a valid ref: {error}", "invalid-ref") from error
        pinned = self._find_pinned(text)
        found = find_pack(self._find_module(text, ref, pinned), ref)
        if found is None:
            raise ModuleError(f"{text!r} names no pack; name a directory with {PACK}, or an export of packs")
        if not pinned.trusted:
            raise ModuleError(
                f"{text!r} tells an agent what to do on this machine, and {FILE} does not trust it; look at "
                f"{found.directory}, name it under adversarial.packs of a suite, then run "
                f"`waza registry add {text} --allow-exec` with the suite's file as --eval",
                "untrusted-module",
            )
        return found.directory

    def _find_pinned(self, text: str) -> LockEntry:
        if self._lock is None:
            raise ModuleError(f"there is no {FILE} beside the suite; {_GET}", "missing-lock")
        entry = self._lock.find(text)
        if entry is None:
            raise ModuleError(f"{FILE} does not know {text!r}; {_GET}", "not-locked")
        return entry

    def _find_module(self, text: str, ref: Ref, pinned: LockEntry) -> Path:
        """Return the directory of a module whose content is that of the lock."""
        directory = module_directory(self._root, ref, pinned.commit)
        if not directory.is_dir():
            raise ModuleError(f"{text!r} is not available offline; {_GET}", "missing-module")
        wanted = (directory, pinned.digest, pinned.tree)
        if wanted not in self._intact:
            self._intact[wanted] = is_intact(*wanted)
        if not self._intact[wanted]:
            raise ModuleError(
                f"the files of {text!r} are not those of {FILE} (wanted: digest {pinned.digest[:19]}..., tree "
                f"{pinned.tree[:12] or 'not known'}): the cache or the lock was changed. Look at what changed, "
                f"remove {directory}, and {_GET}",
                "changed-module",
            )
        return directory
