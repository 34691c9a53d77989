"""Trial and Attempt: which task is run how often, on which model, with or without skills."""

from __future__ import annotations

from typing import Literal

import msgspec

from waza.model.task import Task

Arm = Literal["main", "baseline"]  # baseline: the second pass of an A/B run, without skills
ARMS: tuple[Arm, ...] = ("main", "baseline")


class TrialKey(msgspec.Struct, frozen=True, order=True):
    """What a trial is known by within one run of one model."""

    arm: Arm
    """The arm."""
    task_id: str
    """The id of the task."""
    number: int
    """The number of the trial, from 1."""


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One measured execution of a task."""

    task: Task
    number: int
    """Counts the trials of the task from 1."""
    arm: Arm = "main"
    max_attempts: int = 1
    keep: bool = False
    """Whether the cache needs what the agent left behind."""
    baseline_output: str | None = None
    """The answer of the same trial in the arm without skills, for pairwise graders."""

    @property
    def key(self) -> TrialKey:
        """The trial's key in the journal."""
        return TrialKey(self.arm, self.task.id, self.number)


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One execution within a trial."""

    trial: TrialKey
    """The trial that it is one of."""
    number: int
    """Counts the attempts of the trial from 1."""
    execution: int = 0
    """Counts all executions that the task may have in its trials, from 0."""
    task: Task
    """The task with the templates of its prompts and its script rendered."""
