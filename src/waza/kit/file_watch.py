"""Noticing files that are saved, by looking at their times and sizes again and again.

Looking is the simplest way, and the same on every system, on network drives and in containers, where notices of the system get
lost. The few files of a suite are looked at in milliseconds; larger trees are looked at less often.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

Snapshot = dict[Path, tuple[int, int, int]]
"""Files with their times of change in nanoseconds, sizes and numbers."""

_INTERVAL = 0.25  # seconds between two looks
_SETTLED = 0.1  # seconds without a change, after which what was changed is complete
_SHARE = 10  # of the time, at most one part in so many is spent on looking
_LEFT_OUT = frozenset(
    {".git", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".venv", ".waza", "__pycache__", "node_modules"}
)
# What editors and waza write beside a file while they save it.
_PASSING = re.compile(r"\.#.*|#.*#|.*~|.*\.(?:sw[opx]|tmp)|4913")


def take_snapshot(roots: Iterable[Path], ignored: Collection[Path] = ()) -> Snapshot:
    """Return the files at paths and below them. Nothing below an `ignored` path counts, nor what programs keep for themselves."""
    found: Snapshot = {}
    for root in roots:
        for path in _walk(root, ignored):
            try:
                status = path.stat()
            except OSError:
                continue  # not there, or just removed
            found[path] = status.st_mtime_ns, status.st_size, status.st_ino
    return found


def changed_files(before: Mapping[Path, object], now: Mapping[Path, object]) -> list[Path]:
    """Return the files that are new, gone or changed."""
    return sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))


def wait_for_changes(roots: Collection[Path], ignored: Collection[Path], before: Snapshot) -> Snapshot:
    """Wait until files differ from a snapshot and no more are being saved; return how they are then."""
    while True:
        start = time.monotonic()
        now = take_snapshot(roots, ignored)
        took = time.monotonic() - start
        if now != before:
            break
        time.sleep(max(_INTERVAL, took * _SHARE))
    while True:
        time.sleep(max(_SETTLED, took))
        settled = take_snapshot(roots, ignored)
        if settled == now:
            return settled
        now = settled


def _walk(root: Path, ignored: Collection[Path]) -> Iterator[Path]:
    if root in ignored:
        return
    if not root.is_dir():
        yield root
        return
    for base, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _LEFT_OUT and Path(base, name) not in ignored]
        for name in files:
            path = Path(base, name)
            if not _PASSING.fullmatch(name) and path not in ignored:
                yield path
