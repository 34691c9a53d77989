"""What graders are told besides the conversation: what the task expects, and which files the agent wrote."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from waza.graders.base import Grader
from waza.model.observation import Observation
from waza.model.task import Task
from waza.workspace.snapshot import Snapshot, take_snapshot


class GradingContext(msgspec.Struct, frozen=True):
    """Stands by while an agent works. `before` None: no grader asks for changes, or there is no workspace.

    `made` is the open directory that was made as the workspace: while it is open, nothing that an agent puts in its
    place gets its inode. `close` when the attempt is over.
    """

    task: Task
    before: Snapshot | None
    workspace: Path | None = None
    made: int | None = None

    @classmethod
    async def open(cls, task: Task, workspace: Path | None, graders: Sequence[Grader]) -> GradingContext:
        """Look at the workspace before the agent works in it, if one of the graders reads changes."""
        if workspace is None:
            return cls(task, None)
        wanted = any(grader.reads_changes for grader in graders)
        before = await asyncio.to_thread(take_snapshot, workspace) if wanted else None
        return cls(task, before, workspace, _opened(workspace))

    def close(self) -> None:
        """Look no more."""
        if self.made is not None:
            os.close(self.made)

    def workspace_fault(self) -> str:
        """Say that something else stands in the place of the workspace, which nobody may judge; or nothing."""
        if self.workspace is None or self.made is None:
            return ""
        try:
            found = self.workspace.lstat()
        except OSError:
            return ""  # graders say that they cannot open it
        if os.path.samestat(found, os.fstat(self.made)):
            return ""
        what = "a link" if stat.S_ISLNK(found.st_mode) else "something else"
        return f"the workspace {self.workspace} was replaced by {what} while the agent worked, so it is not judged"

    async def add_to(self, observation: Observation) -> Observation:
        """Return the observation with what only the witness knows."""
        before = None if self.workspace_fault() else self.before
        files = await asyncio.to_thread(before.changed_files) if before else ()
        return msgspec.structs.replace(observation, expected=expectation(self.task), files_written=files)


def _opened(directory: Path) -> int | None:
    if not hasattr(os, "O_DIRECTORY"):
        return None  # Windows opens no directories, and lets nobody replace one that is worked in
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def expectation(task: Task) -> str | None:
    """Return what a task expects in words: its `expected_outcome`, else the texts its output is to contain."""
    return task.expected_outcome or "\n".join(task.expected.output_contains) or None
