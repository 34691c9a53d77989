"""The temporary directory with all workspaces of a run, and the git worktrees in them.

A run that is killed leaves it, with a list of its worktrees; the next run clears it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from waza.errors import ExecutorError, WazaError
from waza.kit import git
from waza.kit.process import kill_marked
from waza.kit.tempdirs import ProcessTempdir, find_stale_tempdirs, remove_tree

KIND = "run"
_KEPT = "kept"  # if it exists, the directory is kept


class Worktree(msgspec.Struct, frozen=True):
    """A git worktree: the repository that it belongs to, and where it is."""

    source: str
    target: str


class RunTempdir:
    """The workspaces of one run. Nothing is created before `open`, or the first one that is asked for."""

    def __init__(self, *, keep: bool = False) -> None:
        self.keep = keep
        self._own: ProcessTempdir | None = None
        self._used = False
        self._numbers = itertools.count(1)
        self._worktrees: dict[Path, list[Worktree]] = {}
        self._failures: list[str] = []
        # git locks a repository while it adds a worktree; two at once fail.
        self._git = asyncio.Lock()

    @property
    def kept_path(self) -> Path | None:
        """The directory, if workspaces are kept and there are any; else None."""
        return self._own.path if self._own is not None and self.keep and self._used else None

    @property
    def kept_worktrees(self) -> list[Worktree]:
        """The worktrees that are kept."""
        return [tree for trees in self._worktrees.values() for tree in trees]

    def open(self) -> None:
        """Create the directory, so that the next run finds what children of this one leave if it is killed.

        Errors are ignored here; they are raised for the first workspace.
        """
        with contextlib.suppress(OSError, WazaError):
            self._ensure_open()

    def new_directory(self, label: str) -> Path:
        """Make an empty directory for an attempt."""
        name = f"{next(self._numbers):05d}-{re.sub(r'[^A-Za-z0-9._-]+', '-', label)[:40]}"
        directory = self._ensure_open().path / name
        directory.mkdir()
        self._used = True
        return directory

    async def add_worktree(
        self, source: Path, target: Path, commit: str | None, *, filters: Sequence[str] = ()
    ) -> None:
        """Check out `commit` (default: HEAD) of the repository at `source`, an absolute path. Raises ExecutorError."""
        tree = Worktree(str(source), str(target))
        own = self._ensure_open()
        workspace = own.path / target.relative_to(own.path).parts[0]
        own.note(msgspec.json.encode(tree))
        self._worktrees.setdefault(workspace, []).append(tree)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            async with self._git:
                await git.add_worktree(Path(tree.source), target, commit, filters=filters)
        except WazaError as error:
            raise ExecutorError(f"the worktree of {source} cannot be made: {error}") from error

    async def remove_directory(self, directory: Path) -> None:
        """Remove the directory of an attempt with its worktrees, unless workspaces are kept."""
        if self.keep:
            return
        async with self._git:
            self._failures += await _remove_workspace(directory, self._worktrees.get(directory, []))
            self._worktrees.pop(directory, None)  # only now: a removal that is cancelled is done again

    async def close(self) -> list[str]:
        """Remove everything, unless it is kept; return a sentence for each thing that could not be removed."""
        if self._own is None:
            return []
        if self.kept_path:
            (self._own.path / _KEPT).touch()
            for tree in self.kept_worktrees:
                with contextlib.suppress(WazaError):  # the agent may have removed it
                    await git.unlock_worktree(Path(tree.source), Path(tree.target))
            self._own.release()
            return []
        for directory in list(self._worktrees):
            await self.remove_directory(directory)
        if not await asyncio.to_thread(self._own.remove):
            self._failures.append(f"the temporary directory {self._own.path} could not be removed")
        return self._failures

    def _ensure_open(self) -> ProcessTempdir:
        if self._own is None:
            self._own = ProcessTempdir(KIND)
        return self._own


async def clear_stale_tempdirs() -> int:
    """Remove the temporary directories of processes that were killed; return how many there were.

    What their children started and is still running is killed first.
    """
    cleared = 0
    for left in find_stale_tempdirs():
        with contextlib.suppress(OSError, WazaError, msgspec.MsgspecError):
            if (left.path / _KEPT).exists():
                continue
            if left.owner:
                kill_marked(None, owner=left.owner)
            found = [msgspec.json.decode(line, type=Worktree) for line in left.lines]
            for tree in found:
                if Path(tree.target).is_relative_to(left.path):
                    workspace = left.path / Path(tree.target).relative_to(left.path).parts[0]
                    await _remove_workspace(workspace, [tree])
            await asyncio.to_thread(remove_tree, left.path)
            cleared += 1
    return cleared


async def _remove_workspace(directory: Path, trees: Sequence[Worktree]) -> list[str]:
    """Remove a workspace and then its worktrees; return why git would not. One that git does not know needs no removal.

    The directory goes first: git refuses a worktree whose `.git` an agent has changed, and would follow a link that
    an agent has put in the place of a directory above it.
    """
    made = [tree for tree in trees if (Path(tree.target) / ".git").exists()]
    await asyncio.to_thread(remove_tree, directory)
    left = []
    for tree in trees:
        source, target = Path(tree.source), Path(tree.target)
        try:
            await git.remove_worktree(source, target)
        except WazaError as error:
            known = tree in made
            with contextlib.suppress(WazaError):  # the repository is gone
                known = target in await git.list_worktrees(source)
            if known:
                left.append(f"the worktree {target} of {source} could not be removed: {error}")
    return left
