"""The module cache: the files of repositories, each at a commit, and the digest of their content."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from waza.errors import WazaError
from waza.problem import Code
from waza.registry.ref import Ref

MODULE_CODES: frozenset[Code] = frozenset(
    {
        *("invalid-ref", "missing-lock", "not-locked", "missing-module", "changed-module"),
        *("invalid-module", "untrusted-module", "preset-conflict"),
    }
)
"""The codes of ModuleErrors."""

MAX_FILES = 10_000
MAX_BYTES = 256 * 1024 * 1024


class ModuleError(WazaError):
    """A module that cannot be used: it is missing, was changed, or holds what none may hold.

    `code` is the kind of the mistake.
    """

    def __init__(self, message: str, code: Code = "invalid-module") -> None:
        super().__init__(message)
        self.code = code


def cache_root(environ: Mapping[str, str]) -> Path:
    """Return where modules are kept: WAZA_MODULE_CACHE, else `cache` below WAZA_HOME or `~/.waza`."""
    home = environ.get("WAZA_HOME") or "~/.waza"
    return Path(environ.get("WAZA_MODULE_CACHE") or f"{home}/cache").expanduser().absolute()


def module_directory(root: Path, ref: Ref, commit: str) -> Path:
    """Return where the module of a ref is kept at a commit."""
    return root / ref.host / ref.owner / ref.repo / commit


def digest_module(directory: Path) -> str:
    """Return the digest of a module: SHA-256 over path, NUL, content, NUL of each file, by the bytes of the path.

    Modes and empty directories do not count. Raises ModuleError for anything that is no regular file.
    """
    total = hashlib.sha256()
    for path, name in sorted(_walk_files(directory), key=lambda pair: pair[1]):
        total.update(name + b"\0")
        with path.open("rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                total.update(block)
        total.update(b"\0")
    return f"sha256:{total.hexdigest()}"


def git_tree_id(directory: Path) -> str:
    """Return the id that git gives to the tree of a directory's files, with their modes. Raises OSError.

    Unlike the digest it keeps names and contents apart. (Empty directories do not count.)
    """
    entries: list[tuple[bytes, bytes]] = []
    with os.scandir(directory) as found:
        for entry in found:
            name = os.fsencode(entry.name)
            if entry.is_dir(follow_symlinks=False):
                below = git_tree_id(Path(entry))
                if below != _EMPTY_TREE:
                    entries.append((name + b"/", b"40000 " + name + b"\0" + bytes.fromhex(below)))
            else:
                mode = b"100755" if entry.stat().st_mode & stat.S_IXUSR else b"100644"
                content = _compute_git_id(b"blob", Path(entry).read_bytes())
                entries.append((name, mode + b" " + name + b"\0" + bytes.fromhex(content)))
    return _compute_git_id(b"tree", b"".join(data for _, data in sorted(entries)))


def _compute_git_id(kind: bytes, data: bytes) -> str:
    return hashlib.sha1(kind + b" %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


_EMPTY_TREE = _compute_git_id(b"tree", b"")


def is_intact(directory: Path, digest: str, tree: str) -> bool:
    """Return whether a module's directory holds what its digest and, where that is known, its git tree identify.

    Windows keeps no modes, which belong to a tree, so that only the digest counts there. Raises ModuleError.
    """
    if digest_module(directory) != digest:
        return False
    return not tree or sys.platform == "win32" or git_tree_id(directory) == tree


def _walk_files(directory: Path) -> Iterator[tuple[Path, bytes]]:
    for folder, names, files in os.walk(directory):
        for name in [*names, *files]:
            path = Path(folder, name)
            mode = path.lstat().st_mode
            if stat.S_ISDIR(mode):
                continue
            if not stat.S_ISREG(mode):
                raise ModuleError(
                    f"{path} is no regular file, and a module holds no other; remove {directory} and run "
                    "`waza get` again"
                )
            yield path, path.relative_to(directory).as_posix().encode("utf-8", "surrogateescape")
