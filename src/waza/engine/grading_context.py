"""What graders get besides the conversation: what the task expects, and which files the agent wrote."""

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
    """Watches the workspace of an attempt while the agent works. `close` it at the end of the attempt.

    `before`: None where no grader asks for changes, or there is no workspace. `descriptor` is the open directory of
    the workspace: while it is open, no replacement of it can get the same inode.
    """

    task: Task
    before: Snapshot | None
    workspace: Path | None = None
    descriptor: int | None = None

    @classmethod
    async def open(cls, task: Task, workspace: Path | None, graders: Sequence[Grader]) -> GradingContext:
        """Open the context; take a snapshot of the workspace if one of the graders reads changes."""
        if workspace is None:
            return cls(task, None)
        wanted = any(grader.reads_changes for grader in graders)
        before = await asyncio.to_thread(take_snapshot, workspace) if wanted else None
        return cls(task, before, workspace, _open_directory(workspace))

    def close(self) -> None:
        """Close the directory."""
        if self.descriptor is not None:
            os.close(self.descriptor)

    def workspace_fault(self) -> str:
        """Return why the workspace cannot be graded, which the agent has replaced; else ""."""
        if self.workspace is None or self.descriptor is None:
            return ""
        try:
            found = self.workspace.lstat()
        except OSError:
            return ""  # graders say that they cannot open it
        if os.path.samestat(found, os.fstat(self.descriptor)):
            return ""
        what = "a link" if stat.S_ISLNK(found.st_mode) else "something else"
        return f"the workspace {self.workspace} was replaced by {what} while the agent worked, so it is not judged"

    async def add_to(self, observation: Observation) -> Observation:
        """Return the observation with what the task expects and the files that were written."""
        before = None if self.workspace_fault() else self.before
        files = await asyncio.to_thread(before.changed_files) if before else ()
        return msgspec.structs.replace(observation, expected=expectation(self.task), files_written=files)


def _open_directory(directory: Path) -> int | None:
    if not hasattr(os, "O_DIRECTORY"):
        return None  # Windows opens no directories, and keeps one that is in use from being replaced
    return os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def expectation(task: Task) -> str | None:
    """Return what a task expects in words: its `expected_outcome`, else the texts its output is to contain."""
    return task.expected_outcome or "\n".join(task.expected.output_contains) or None
