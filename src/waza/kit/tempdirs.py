"""Temporary directories of a process, which do not outlive it for long.

A process that is killed leaves its directories behind, and what its children started. Each directory therefore
holds a lock, which the kernel frees when the process ends, and the name that its children are marked with; the next
run clears the directories whose lock is free.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from waza.errors import WazaError
from waza.kit import process, process_marks
from waza.kit.line_file import LineFile

LOCK = "waza-owner.ndjson"  # locked while its process lives; its lines are its name, and what it notes
_NAME = re.compile(r"waza-[a-z]+-(\d+)-")
_UID = os.getuid() if hasattr(os, "getuid") else 0  # what others put into a shared directory is not believed


class ProcessTempdir:
    """A new temporary directory of this process, `waza-<kind>-<process id>-...`, in `path`."""

    def __init__(self, kind: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"waza-{kind}-{os.getpid()}-")).resolve()
        self._lines = LineFile.open(self.path / LOCK)
        self._lines.append(msgspec.json.encode(process_marks.owner_id()))

    def note(self, line: bytes) -> None:
        """Write a line that `find_stale_tempdirs` returns to the process that clears the directory."""
        self._lines.append(line)

    def release(self) -> None:
        """Give the directory up; it stays."""
        self._lines.close()

    def remove(self) -> bool:
        """Remove the directory; tell whether it is gone."""
        remove_tree(self.path)
        self.release()
        return not os.path.lexists(self.path)


class StaleTempdir(msgspec.Struct, frozen=True):
    """A directory whose process has ended without removing it: whose it was, and what was noted in it."""

    path: Path
    owner: str
    lines: list[bytes]


def find_stale_tempdirs() -> Iterator[StaleTempdir]:
    """Yield the directories of processes that have ended without removing them."""
    for root in Path(tempfile.gettempdir()).resolve().glob("waza-*"):
        lines: list[bytes] | None = None
        with contextlib.suppress(OSError, WazaError):
            status = root.lstat()
            ours = stat.S_ISDIR(status.st_mode) and status.st_uid == _UID
            if ours and (_has_lines(root) or _maker_is_gone(root)):
                with LineFile.open(root / LOCK) as file:  # refused while the process lives
                    lines = [line for _, line in file]
        if lines is not None:
            yield StaleTempdir(root, _owner(lines[0]) if lines else "", lines[1:])


def _owner(line: bytes) -> str:
    with contextlib.suppress(msgspec.MsgspecError):
        return msgspec.json.decode(line, type=str)
    return ""


def _has_lines(root: Path) -> bool:
    lock = root / LOCK
    return lock.exists() and lock.stat().st_size > 0


def _maker_is_gone(root: Path) -> bool:
    """Tell whether a process is gone that may have been killed before it took the lock."""
    named = _NAME.match(root.name)
    return named is not None and not process.is_alive(int(named[1]))


def remove_tree(directory: Path) -> None:
    """Remove a directory as far as possible, whatever an agent has made of it.

    No link is followed: one in place of the directory is removed itself.
    """
    if directory.is_symlink():
        with contextlib.suppress(OSError):
            directory.unlink()
        return
    _remove(directory)
    if os.path.lexists(directory):
        _open_up(directory)
        _remove(directory)


def _remove(directory: Path) -> None:
    """Remove a directory, also one that is nested deeper than rmtree can go."""
    try:
        shutil.rmtree(directory, ignore_errors=True)
    except RecursionError:
        _flatten(directory)
        shutil.rmtree(directory, ignore_errors=True)


def _open_up(directory: Path) -> None:
    """Give us back all rights on the directories of a tree."""
    pending = [directory]
    while pending:
        folder = pending.pop()
        with contextlib.suppress(OSError):
            _own(folder)
            with os.scandir(folder) as entries:
                pending += [Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False)]


def _own(folder: Path) -> None:
    """Give us all rights on a directory. Raises OSError, also where it has become a link meanwhile."""
    if not hasattr(os, "O_PATH"):
        folder.chmod(stat.S_IRWXU, follow_symlinks=os.chmod not in os.supports_follow_symlinks)
        return
    handle = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)  # which needs no rights on it
    try:
        os.chmod(f"/proc/self/fd/{handle}", stat.S_IRWXU)  # noqa: PTH101  # a handle has no path
    finally:
        os.close(handle)


def _flatten(directory: Path) -> None:
    """Move all directories of a tree right below its top, where no path is too long."""
    pending, moved = [directory], 0
    while pending:
        with os.scandir(pending.pop()) as entries:
            below = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        for path in below:
            moved += 1
            target = directory / f"flat-{os.getpid()}-{moved}"
            with contextlib.suppress(OSError):
                Path(path).rename(target)
                pending.append(target)
