"""From a ref in a suite to its preset, by the lock and the cache alone: nothing is fetched here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from waza.registry.cache import ModuleError, cache_root, digest_of, module_directory
from waza.registry.lock import FILE, LockFile
from waza.registry.preset import Preset, load_preset
from waza.registry.ref import RefError, parse_ref


def resolve(text: str, lock: LockFile | None, environ: Mapping[str, str]) -> Preset:
    """Return the preset of a ref. Raises ModuleError, which says what to do, when anything does not agree.

    The content of the cached module must have the digest of the lock; a preset that runs a program must be
    trusted there.
    """
    try:
        ref = parse_ref(text)
    except RefError as error:
        raise ModuleError(f"{text!r} is no ref: {error}") from error
    if lock is None:
        raise ModuleError(f"there is no {FILE} beside the suite; run `waza get` with the suite's file")
    entry = lock.find(text.strip())
    if entry is None:
        raise ModuleError(f"{FILE} does not know {text!r}; run `waza get` with the suite's file")
    directory = module_directory(cache_root(environ), ref, entry.commit)
    if not directory.is_dir():
        raise ModuleError(f"{text!r} is not available offline; run `waza get` with the suite's file")
    _verify(text, directory, entry.digest)
    preset = load_preset(directory, ref)
    if preset.runs_program and not entry.trusted:
        raise ModuleError(
            f"{text!r} runs a program, which {FILE} does not trust; look at {directory}, then run "
            f"`waza registry add {text} --allow-exec`"
        )
    return preset


def _verify(text: str, directory: Path, wanted: str) -> None:
    found = digest_of(directory)
    if found != wanted:
        raise ModuleError(
            f"the files of {text!r} are not those of {FILE} (digest {found[:19]}..., wanted {wanted[:19]}...): "
            f"the cache or the lock was changed. Remove {directory} and run `waza get`, and look at what changed"
        )
