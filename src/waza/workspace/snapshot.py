"""Which files an agent wrote: the regular files of a workspace by digest, before it worked and after."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from waza.errors import is_outside
from waza.model.observation import WrittenFile

MAX_FILE_SIZE = (
    1 << 30
)  # bytes; a file above is not looked at: an agent could make one that takes hours to read
_BLOCK = 1 << 20
# Nobody may put a link or a pipe in the place of a file meanwhile; Windows has neither flag.
_FLAGS = (
    os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)


class Snapshot(msgspec.Struct, frozen=True):
    """The SHA-256 (lower-case hex) of each file below `root`, by its path there, with `/`."""

    root: Path
    digests: dict[str, str]

    def changed_files(self) -> tuple[WrittenFile, ...]:
        """Return the files that are new or changed by now, sorted by path. Blocks: call it in a thread."""
        now = take_snapshot(self.root).digests
        return tuple(
            WrittenFile(path=path, sha256=digest)
            for path, digest in sorted(now.items())
            if self.digests.get(path) != digest
        )


def take_snapshot(root: Path) -> Snapshot:
    """Look at all regular files below `root`. Blocks: call it in a thread.

    Links are not followed. What cannot be read, or is larger than LARGEST, is left out; OSError
    is raised where that is no fault of the file. Contents decide,
    never times, so that a change within one tick of the clock is seen.
    """
    found = ((path, _digest(path)) for path in _walk_regular_files(root))
    return Snapshot(root, {path.relative_to(root).as_posix(): digest for path, digest in found if digest})


def _walk_regular_files(root: Path) -> Iterator[Path]:
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
        except OSError as error:
            if is_outside(error):
                raise
            continue  # gone meanwhile, or not ours to read


def _digest(path: Path) -> str:
    """Return the digest of a file, or an empty text if it cannot be read."""
    digest, size = hashlib.sha256(), 0
    try:
        descriptor = os.open(path, _FLAGS)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_SIZE:
                return ""
            while block := file.read(_BLOCK):
                digest.update(block)
                size += len(block)
                if size > MAX_FILE_SIZE:
                    return ""  # it grows while it is read
    except OSError as error:
        if is_outside(error):  # descriptors have run out: nothing is known of the file
            raise
        return ""
    return digest.hexdigest()
