"""Trial and Attempt: which task is run how often, on which model, with or without skills."""

from __future__ import annotations

from typing import Literal

import msgspec

from waza.model.task import Task

Arm = Literal["main", "baseline"]  # baseline: the second pass of an A/B run, without skills


class TrialKey(msgspec.Struct, frozen=True, order=True):
    """What a trial is known by within one run of one model."""

    arm: Arm
    task_id: str
    number: int


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One measured run of a task; `number` counts from 1. `keep`: the cache wants what the agent leaves."""

    task: Task
    number: int
    arm: Arm = "main"
    max_attempts: int = 1
    keep: bool = False

    @property
    def key(self) -> TrialKey:
        """The trial's key in the journal."""
        return TrialKey(self.arm, self.task.id, self.number)


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """One execution within a trial: the task with its templates rendered. `number` counts from 1."""

    trial: Trial
    number: int
    task: Task

    @property
    def execution(self) -> int:
        """The number of this execution among all that the task may have, counted from 0."""
        return (self.trial.number - 1) * self.trial.max_attempts + self.number - 1
