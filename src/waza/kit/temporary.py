"""Temporary directories of a process, which do not outlive it for long.

A process that is killed leaves its directories behind. Each therefore holds a lock, which the kernel frees when
the process ends; the next run clears the directories whose lock is free.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from waza.errors import WazaError
from waza.kit import process
from waza.kit.files import LineFile

LOCK = "waza-owner.ndjson"  # locked while its process lives; its lines are what the owner notes, after a first one
_LOCKED = b"null"  # the first line: whoever reads it knows that the lock was taken
_NAME = re.compile(r"waza-[a-z]+-(\d+)-")
_UID = os.getuid() if hasattr(os, "getuid") else 0  # what others put into a shared directory is not believed


class OwnDirectory:
    """A new temporary directory of this process, `waza-<kind>-<process id>-...`, in `path`."""

    def __init__(self, kind: str) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=f"waza-{kind}-{os.getpid()}-")).resolve()
        self._lines = LineFile.open(self.path / LOCK)
        self._lines.append(_LOCKED)

    def note(self, line: bytes) -> None:
        """Write a line that `forsaken` hands to whoever clears the directory."""
        self._lines.append(line)

    def release(self) -> None:
        """Give the directory up; it stays."""
        self._lines.close()

    def remove(self) -> bool:
        """Remove the directory; tell whether it is gone."""
        remove_tree(self.path)
        self.release()
        return not self.path.exists()


def forsaken() -> Iterator[tuple[Path, list[bytes]]]:
    """Yield the directories whose process has ended without removing them, each with the lines noted in it."""
    for root in Path(tempfile.gettempdir()).resolve().glob("waza-*"):
        lines: list[bytes] | None = None
        with contextlib.suppress(OSError, WazaError):
            if root.lstat().st_uid == _UID and (_has_lines(root) or _maker_is_gone(root)):
                with LineFile.open(root / LOCK) as file:  # refused while the process lives
                    lines = [line for _, line in file if line != _LOCKED]
        if lines is not None:
            yield root, lines


def _has_lines(root: Path) -> bool:
    lock = root / LOCK
    return lock.exists() and lock.stat().st_size > 0


def _maker_is_gone(root: Path) -> bool:
    """Tell whether a process is gone that may have been killed before it took the lock."""
    named = _NAME.match(root.name)
    return named is not None and not process.is_alive(int(named[1]))


def remove_tree(directory: Path) -> None:
    """Remove a directory as far as possible; an agent may have nested it deeper than rmtree can go."""
    try:
        shutil.rmtree(directory, ignore_errors=True)
    except RecursionError:
        _flatten(directory)
        shutil.rmtree(directory, ignore_errors=True)


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
