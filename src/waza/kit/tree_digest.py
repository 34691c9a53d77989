"""Digests of files and folders, which show later what changed there."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from waza.errors import WazaError

MAX_FILES = 4096
MAX_BYTES = 256 * 1024 * 1024
_MOST_NAMES = 3  # in a message

K = TypeVar("K")

# What git, Python, pytest and waza write while something runs, and what is no part of what it decides.
_LEFT_OUT = {".git", "__pycache__", ".pytest_cache", ".waza", ".waza-cache"}
_WRITTEN_BY_WAZA = (".waza-*.tmp", "session-*.ndjson")
# What interpreters and linkers load, by name; besides these, whatever may be executed.
_CODE = frozenset({
    ".py", ".pyc", ".pyi", ".pth", ".so", ".pyd", ".dll", ".dylib", ".js", ".mjs", ".cjs", ".ts", ".sh", ".bash",
    ".rb", ".pl", ".pm", ".php", ".lua", ".ps1", ".bat", ".cmd", ".exe", ".jar", ".class", ".wasm",
})  # fmt: skip


class TreeTooLargeError(WazaError):
    """More lies below a folder than can be looked at again and again."""


def digest_tree(
    root: Path, exclude: Collection[Path] = (), *, limited: bool = True, code_only: bool = False
) -> dict[Path, bytes]:
    """Return all that lies at a path and below it, with the digests of files.

    Hidden files count, empty folders and what links lead to as well, each folder once. Paths in `exclude` are left out, and what
    git, Python and waza write. With `code_only`, nothing below a folder counts but files that programs may load or run.
    With `limited`, raises TreeTooLargeError for a folder with more than MAX_FILES or MAX_BYTES.
    """
    found: dict[Path, bytes] = {}
    rest, gone_through, size = [root], set[tuple[int, int]](), 0
    while rest:
        path = rest.pop()
        status = _status(path)
        mark = _link(path)
        if status is not None and stat.S_ISDIR(status.st_mode):
            inner: list[str] | None = []
            if (status.st_dev, status.st_ino) not in gone_through:
                gone_through.add((status.st_dev, status.st_ino))
                inner = _names(path)
            if not code_only:
                found[path] = mark + (b"unreadable folder" if inner is None else b"folder")
            below = [path / name for name in inner or () if not _is_left_out(name)]
            rest += [one for one in below if one not in exclude]
        elif not code_only or path == root or _is_code(path, status):
            size += status.st_size if status else 0
            found[path] = mark + digest_file(path)
        if limited and (len(found) + len(rest) > MAX_FILES or (size > MAX_BYTES and len(found) > 1)):
            raise TreeTooLargeError(f"{root} holds more than {MAX_FILES:,} files or {MAX_BYTES >> 20} MB")
    return found


def describe_changes(before: Mapping[K, object], now: Mapping[K, object]) -> str:
    """Return in words what was changed, removed or added between two results of `digest_tree`; empty if nothing was."""
    if before == now:
        return ""
    changed = [key for key, what in before.items() if now.get(key) != what]
    added = [key for key in now if key not in before]
    kinds = [(changed, "changed"), (added, "was added" if len(added) == 1 else "were added")]
    return " and ".join(f"{_several(keys)} {what}" for keys, what in kinds if keys)


def _several(keys: Sequence[object]) -> str:
    more = len(keys) - _MOST_NAMES
    return " and ".join([*map(str, keys[:_MOST_NAMES]), *([f"{more:,} more"] if more > 0 else [])])


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _link(path: Path) -> bytes:
    """Return where a link leads; empty if it is not a link."""
    try:
        return b"link to " + os.fsencode(path.readlink()) + b": " if path.is_symlink() else b""
    except OSError:
        return b""


def _names(folder: Path) -> list[str] | None:
    """Return what is in a folder, in reverse order, or None if that cannot be read."""
    try:
        return sorted(os.listdir(folder), reverse=True)  # noqa: PTH208 - names alone are wanted
    except OSError:
        return None


def _is_code(path: Path, status: os.stat_result | None) -> bool:
    return path.suffix.lower() in _CODE or bool(status and status.st_mode & stat.S_IXUSR)


def _is_left_out(name: str) -> bool:
    return name in _LEFT_OUT or any(fnmatch(name, pattern) for pattern in _WRITTEN_BY_WAZA)


def digest_file(path: Path) -> bytes:
    """Return the digest of a file, or a word such as `missing` for one that cannot be read."""
    try:
        status = path.stat()
    except OSError:
        return b"missing"
    if not stat.S_ISREG(status.st_mode):
        return b"no regular file"  # to open a pipe would wait for its writer
    runs = b"x" if status.st_mode & stat.S_IXUSR else b""
    return _hashed(str(path), status.st_ino, status.st_ctime_ns, status.st_mtime_ns, status.st_size) + runs


@lru_cache(maxsize=4 * MAX_FILES)
def _hashed(path: str, *_as_it_was: int) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").digest()
    except OSError:
        return b"unreadable"
