"""Which files an agent wrote: the regular files of a workspace by digest, before it worked and after."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from waza.model.observation import WrittenFile

Snapshot = Mapping[str, str]
"""SHA-256 (lower-case hex) of each file, by its path below the root, with `/`."""

LARGEST = 1 << 30  # bytes; a file above is not looked at: an agent could make one that takes hours to read
_BLOCK = 1 << 20
# Nobody may put a link or a pipe in the place of a file meanwhile; Windows has neither flag.
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def take(root: Path) -> Snapshot:
    """Return the digests of all regular files below `root`. Links are not followed, and no files.

    What cannot be read, or is larger than LARGEST, is left out. Contents decide, never times, so that a
    change within the same tick of the clock is seen. Blocks: call it in a thread.
    """
    found = ((path, _digest(path)) for path in _regular_files(root))
    return {path.relative_to(root).as_posix(): digest for path, digest in found if digest}


def written(before: Snapshot, root: Path) -> tuple[WrittenFile, ...]:
    """Return the files below `root` that are new or changed since `before`, sorted by path."""
    after = take(root)
    return tuple(
        WrittenFile(path=path, sha256=digest)
        for path, digest in sorted(after.items())
        if before.get(path) != digest
    )


def _regular_files(root: Path) -> Iterator[Path]:
    """Yield files from a list of open ends rather than by recursion: a tree can be deeper than our stack."""
    directories = [root]
    while directories:
        try:
            with os.scandir(directories.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        directories.append(Path(entry.path))
                    elif entry.is_file(follow_symlinks=False):
                        yield Path(entry.path)
        except OSError:
            continue  # gone meanwhile, or not ours to read


def _digest(path: Path) -> str:
    """Return the digest of a file, or nothing where it cannot be told."""
    digest, size = hashlib.sha256(), 0
    try:
        descriptor = os.open(path, _FLAGS)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > LARGEST:
                return ""
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
                if size > LARGEST:
                    return ""  # it grows while it is read
    except OSError:
        return ""
    return digest.hexdigest()
