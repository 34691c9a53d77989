"""Two results, joined task by task."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from waza.kit.share import TOLERANCE
from waza.kit.stats import mean
from waza.results.comparison.measured import MeasuredTask

Clusters = Sequence[Sequence[float]]
"""Differences of tasks, in clusters that are independent of each other; mostly one task in each."""


class Pair(msgspec.Struct, frozen=True):
    """The values that one task has in both results, trial by trial. `group` may be empty."""

    task: str
    group: str
    a: Sequence[float]
    b: Sequence[float]

    @property
    def difference(self) -> float:
        """The mean over the trials of B, minus that of A."""
        return mean(self.b) - mean(self.a)


class Pairs(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks that both results measured, and how many others there are."""

    pairs: tuple[Pair, ...]
    shared: int
    """Tasks that both results have, measured or not."""
    only_a: int = 0
    """Tasks that B does not have."""
    only_b: int = 0
    """Tasks that A does not have."""
    unmeasured_a: int = 0
    """Tasks that both have, without a measurement in A."""
    unmeasured_b: int = 0
    """Tasks that both have, without a measurement in B."""

    @property
    def differences(self) -> list[float]:
        """The difference of each task, B minus A."""
        return [pair.difference for pair in self.pairs]

    @property
    def wins_losses_ties(self) -> tuple[int, int, int]:
        """How many tasks are higher in B, higher in A, and equal in both."""
        found = self.differences
        higher = sum(value > TOLERANCE for value in found)
        lower = sum(value < -TOLERANCE for value in found)
        return higher, lower, len(found) - higher - lower

    @property
    def grouped(self) -> bool:
        """Whether the groups of the tasks split them: one group for all of them (`group_by: model`) does not."""
        return len({pair.group for pair in self.pairs if pair.group}) > 1

    @property
    def clusters(self) -> list[list[float]]:
        """The differences of the tasks by group; a task without a group is alone."""
        if not self.grouped:
            return [[value] for value in self.differences]
        found: dict[tuple[str, str], list[float]] = {}
        for pair in self.pairs:
            key = ("group", pair.group) if pair.group else ("task", pair.task)
            found.setdefault(key, []).append(pair.difference)
        return list(found.values())


def pair_tasks(a: Sequence[MeasuredTask], b: Sequence[MeasuredTask], metric: str) -> Pairs:
    """Join the tasks of two results by id, in the order of A.

    A task belongs to its group only where both results say so: two models have groups of different names with
    `group_by: model`, and those do not make tasks alike.
    """
    first, second = ({task.id: task for task in tasks} for tasks in (a, b))
    both = [
        Pair(
            key,
            task.group if task.group == second[key].group else "",
            task.values(metric),
            second[key].values(metric),
        )
        for key, task in first.items()
        if key in second
    ]
    return Pairs(
        pairs=tuple(pair for pair in both if pair.a and pair.b),
        shared=len(both),
        only_a=len(first) - len(both),
        only_b=len(second) - len(both),
        unmeasured_a=sum(not pair.a for pair in both),
        unmeasured_b=sum(not pair.b for pair in both),
    )
