"""The directory of a result cache: what is in it, and emptying it without touching anything else."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from waza.errors import UsageError
from waza.kit.files import is_temporary
from waza.kit.os_errors import describe_os_error
from waza.kit.text import list_first

_ENTRY = re.compile(r"[0-9a-f]{64}\.json")
_WORKSPACE = re.compile(r"[0-9a-f]{64}-[0-9]+\.tar")
_NAMED = 3  # foreign files that a message names


class CacheContents(msgspec.Struct, frozen=True, kw_only=True):
    """What a cache directory holds. `oldest` and `newest` are when entries were written, RFC 3339; empty without any."""

    directory: str
    entries: int = 0
    """Tasks whose results are kept."""
    workspaces: int = 0
    """Workspaces that are kept for judges which are asked again."""
    bytes: int = 0
    """The size of all files of the cache."""
    oldest: str = ""
    newest: str = ""
    others: list[str] = []
    """Names that are not of a cache."""


def read_cache_directory(directory: Path) -> CacheContents:
    """Return what a cache directory holds; nothing where it is not there. Raises UsageError for what is no directory."""
    names, others, size = list[str](), list[str](), 0
    times: list[float] = []
    for entry in _scan(directory):
        if _is_of_cache(entry):
            names.append(entry.name)
            with suppress(OSError):  # another process has just removed it
                found = entry.stat(follow_symlinks=False)
                size += found.st_size
                if _ENTRY.fullmatch(entry.name):
                    times.append(found.st_mtime)
        else:
            others.append(entry.name)
    return CacheContents(
        directory=str(directory),
        entries=sum(bool(_ENTRY.fullmatch(name)) for name in names),
        workspaces=sum(bool(_WORKSPACE.fullmatch(name)) for name in names),
        bytes=size,
        oldest=_moment(min(times)) if times else "",
        newest=_moment(max(times)) if times else "",
        others=sorted(others),
    )


def clear_cache_directory(directory: Path) -> CacheContents:
    """Remove the files of a cache, and the directory unless it is a link; return what was there.

    Raises UsageError, and removes nothing, where the directory holds anything else: a link, a directory, another file.
    """
    found = read_cache_directory(directory)
    if found.others:
        raise UsageError(
            f"{directory} holds what is not of a cache, so nothing was removed: {list_first(found.others, _NAMED)}"
        )
    try:
        for entry in _scan(directory):
            if _is_of_cache(entry):
                Path(entry).unlink(missing_ok=True)
        if not directory.is_symlink():
            with suppress(FileNotFoundError):
                directory.rmdir()
    except OSError as error:
        raise UsageError(f"{directory} cannot be cleared: {describe_os_error(error)}") from error
    return found


def _scan(directory: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as entries:
            yield from list(entries)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"{directory} cannot be read as a cache: {describe_os_error(error)}") from error


def _is_of_cache(entry: os.DirEntry[str]) -> bool:
    known = _ENTRY.fullmatch(entry.name) or _WORKSPACE.fullmatch(entry.name) or is_temporary(entry.name)
    return bool(known) and entry.is_file(follow_symlinks=False)


def _moment(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="seconds")
