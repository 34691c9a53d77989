"""Outcome: the results of one suite on one model, with its tasks read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from waza.model.result import SuiteResult, TaskResult
from waza.results.verdict import RunVerdict, verdict_of


class Outcome(msgspec.Struct, frozen=True):
    """The head of a results file (everything but `tasks`) and a way to go through its tasks.

    Tasks hold transcripts and may be large, so they are read from the journal one at a time, in the order
    of the plan. `tasks()` may be called any number of times. `baseline_tasks()` are those of the pass
    without skills (`head.baseline_outcome`).
    """

    head: SuiteResult
    """The results without `tasks`. `head.config.model_id` is the model, `head.metadata` says how the run
    ended."""
    source: Callable[[], Iterator[TaskResult]]
    """What `tasks` goes through."""
    baseline_source: Callable[[], Iterator[TaskResult]] | None = None
    """What `baseline_tasks` goes through."""

    @classmethod
    def of(cls, result: SuiteResult) -> Outcome:
        """Return the outcome of a results file that is wholly in memory."""
        tasks = result.tasks
        baseline = result.baseline_outcome
        return cls(result, lambda: iter(tasks), (lambda: iter(baseline.tasks)) if baseline else None)

    @property
    def verdict(self) -> RunVerdict:
        """The verdict that the results carry."""
        return verdict_of(self.head)

    def tasks(self) -> Iterator[TaskResult]:
        """Go through the tasks."""
        return self.source()

    def baseline_tasks(self) -> Iterator[TaskResult]:
        """Go through the tasks of the pass without skills; none where there was no such pass."""
        return self.baseline_source() if self.baseline_source else iter(())
