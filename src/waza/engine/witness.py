"""What graders are told besides the conversation: what the task expects, and which files the agent wrote."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec

from waza.graders.base import Grader
from waza.model.observation import Observation
from waza.model.task import Task
from waza.workspace.snapshot import Snapshot, take


class Witness(msgspec.Struct, frozen=True):
    """Stands by while an agent works. `before` None: no grader asks for changes, or there is no workspace."""

    task: Task
    before: Snapshot | None

    @classmethod
    async def of(cls, task: Task, workspace: Path | None, graders: Sequence[Grader]) -> Witness:
        """Look at the workspace before the agent works in it, if one of the graders reads changes."""
        if workspace is None or not any(grader.reads_changes for grader in graders):
            return cls(task, None)
        return cls(task, await asyncio.to_thread(take, workspace))

    async def completed(self, seen: Observation) -> Observation:
        """Return the observation with what only the witness knows."""
        files = await asyncio.to_thread(self.before.written) if self.before else ()
        return msgspec.structs.replace(seen, expected=expectation(self.task), files_written=files)


def expectation(task: Task) -> str | None:
    """Return what a task expects in words: its `expected_outcome`, else the texts its output is to contain."""
    return task.expected_outcome or "\n".join(task.expected.output_contains) or None
