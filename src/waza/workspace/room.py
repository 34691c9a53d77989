"""Room: the temporary directory that all workspaces of a run stand in, and the git worktrees in them.

A run that is killed leaves its room behind. Each room therefore holds a lock, which the kernel frees when
its process ends, and a list of its worktrees; the next run clears rooms whose lock is free.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from waza.errors import ExecutorError, WazaError
from waza.kit import git, process
from waza.kit.files import LineFile

PREFIX = "waza-run-"
_LIST = "room.ndjson"  # locked while the run lives; a line for each worktree, after a first one
_LOCKED = b"null"  # the first line: whoever reads it knows that the lock was taken
_UID = os.getuid() if hasattr(os, "getuid") else 0  # what others put into a shared directory is not believed
_KEPT = "kept"  # its presence says that the room is to stay


class Worktree(msgspec.Struct, frozen=True):
    """A git worktree: the repository that it belongs to, and where it is."""

    source: str
    target: str


class Room:
    """The workspaces of one run. Nothing is created before the first one is asked for."""

    def __init__(self, *, keep: bool = False) -> None:
        self.keep = keep
        self._root: Path | None = None
        self._list: LineFile | None = None
        self._numbers = itertools.count(1)
        self._worktrees: dict[Path, list[Worktree]] = {}
        self._left: list[str] = []
        # git locks a repository while it adds a worktree; asking twice at once fails.
        self._git = asyncio.Lock()

    @property
    def kept(self) -> Path | None:
        """The directory that stays behind, if workspaces are kept and there are any."""
        return self._root if self.keep else None

    @property
    def kept_worktrees(self) -> list[Worktree]:
        """The worktrees that stay behind."""
        return [tree for trees in self._worktrees.values() for tree in trees]

    def new_directory(self, label: str) -> Path:
        """Make an empty directory for an attempt."""
        name = f"{next(self._numbers):05d}-{re.sub(r'[^A-Za-z0-9._-]+', '-', label)[:40]}"
        directory = self._opened() / name
        directory.mkdir()
        return directory

    async def add_worktree(self, source: Path, target: Path, commit: str | None) -> None:
        """Check out `commit` (default: HEAD) of the repository at `source`, an absolute path. Raises ExecutorError."""
        tree = Worktree(str(source), str(target))
        root = self._opened()
        workspace = root / target.relative_to(root).parts[0]
        if self._list is not None:
            self._list.append(msgspec.json.encode(tree))
        self._worktrees.setdefault(workspace, []).append(tree)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            async with self._git:
                await git.worktree_add(Path(tree.source), target, commit)
        except WazaError as error:
            raise ExecutorError(f"the worktree of {source} cannot be made: {error}") from error

    async def remove_directory(self, directory: Path) -> None:
        """Remove the directory of an attempt with its worktrees, unless workspaces are kept."""
        if self.keep:
            return
        async with self._git:
            for tree in self._worktrees.get(directory, []):
                self._left += await _remove_worktree(tree)
            self._worktrees.pop(directory, None)  # only now: a removal that is cancelled is done again
        await asyncio.to_thread(_remove, directory)

    async def close(self) -> list[str]:
        """Remove everything, unless it is kept; return a sentence for each thing that could not be removed."""
        if self._root is None:
            return []
        if self.keep:
            (self._root / _KEPT).touch()
        else:
            for directory in list(self._worktrees):
                await self.remove_directory(directory)
            await asyncio.to_thread(_remove, self._root)
        if self._list is not None:
            self._list.close()
        if not self.keep and self._root.exists():
            self._left.append(f"the temporary directory {self._root} could not be removed")
        return self._left

    def _opened(self) -> Path:
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")).resolve()
            self._list = LineFile.open(self._root / _LIST)
            self._list.append(_LOCKED)
        return self._root


def _remove(directory: Path) -> None:
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


async def clear_stale_rooms() -> int:
    """Remove what killed runs left behind; return how many rooms that were."""
    cleared = 0
    for root in _rooms():
        with contextlib.suppress(OSError, WazaError, msgspec.MsgspecError):
            if (root / _KEPT).exists():
                continue
            lines = LineFile.open(root / _LIST)  # refused while its run lives
            try:
                found = [msgspec.json.decode(line, type=Worktree | None) for _, line in lines]
            finally:
                lines.close()
            trees = [tree for tree in found if tree is not None and Path(tree.target).is_relative_to(root)]
            for tree in trees:
                await _remove_worktree(tree)
            await asyncio.to_thread(_remove, root)
            for source in {tree.source for tree in trees}:
                await git.worktree_prune(Path(source))
            cleared += 1
    return cleared


def _rooms() -> Iterator[Path]:
    """Yield our own rooms that are locked, or were. One that is only being made, by a living process, has no line yet."""
    for root in Path(tempfile.gettempdir()).resolve().glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if root.lstat().st_uid == _UID and (_has_lines(root) or _is_forsaken(root)):
                yield root


def _has_lines(root: Path) -> bool:
    listed = root / _LIST
    return listed.exists() and listed.stat().st_size > 0


def _is_forsaken(root: Path) -> bool:
    """Tell whether the process that made a room, whose id is in its name, is gone."""
    number = root.name.removeprefix(PREFIX).partition("-")[0]
    return number.isdecimal() and not process.is_alive(int(number))


async def _remove_worktree(tree: Worktree) -> list[str]:
    """Remove a worktree; return why git would not. One that is gone already needs no removal."""
    try:
        await git.worktree_remove(Path(tree.source), Path(tree.target))
    except WazaError as error:
        if _is_worktree(tree.target):
            return [f"the worktree {tree.target} of {tree.source} could not be removed: {error}"]
    return []


def _is_worktree(directory: str) -> bool:
    return Path(directory, ".git").exists()
