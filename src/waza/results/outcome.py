"""Outcome: the results of one suite on one model, with its tasks read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from waza.model.result import SuiteResult, TaskResult
from waza.model.trial import Arm
from waza.results.figures import TaskOutline, outline_of
from waza.results.verdict import RunVerdict, verdict_of

TaskSource = Callable[[Arm, bool], Iterator[TaskResult]]
"""Goes through the tasks of an arm, in the order of the plan. If the flag is set, their `runs` may be JSON already
(`msgspec.Raw`), where they are kept so."""

OutlineSource = Callable[[Arm], Iterator[TaskOutline]]
"""Goes through the outlines of the tasks of an arm, in the order of the plan."""


class Outcome(msgspec.Struct, frozen=True):
    """The head of a results file (everything but `tasks`) and a way to go through its tasks.

    Tasks hold transcripts and may be large, so they are read from the journal one at a time, in the order
    of the plan. `tasks()` may be called any number of times. `baseline_tasks()` are those of the pass
    without skills (`head.baseline_outcome`).
    """

    head: SuiteResult
    """The results without `tasks`. `head.config.model_id` is the model, `head.metadata` says how the run
    ended."""
    source: TaskSource
    """What `tasks` and `baseline_tasks` go through."""
    outline_source: OutlineSource | None = None
    """What `outlines` goes through, where it is known without reading every trial."""

    @classmethod
    def of(cls, result: SuiteResult) -> Outcome:
        """Return the outcome of a results file that is wholly in memory."""
        tasks = {"main": result.tasks}
        if result.baseline_outcome is not None:
            tasks["baseline"] = result.baseline_outcome.tasks
        return cls(result, lambda arm, _encoded: iter(tasks[arm]))

    @property
    def verdict(self) -> RunVerdict:
        """The verdict that the results carry."""
        return verdict_of(self.head)

    def tasks(self, *, encoded: bool = False) -> Iterator[TaskResult]:
        """Go through the tasks; `encoded`: their `runs` may be JSON already."""
        return self.source("main", encoded)

    def baseline_tasks(self, *, encoded: bool = False) -> Iterator[TaskResult]:
        """Go through the tasks of the pass without skills; none where there was no such pass."""
        return iter(()) if self.head.baseline_outcome is None else self.source("baseline", encoded)

    def outlines(self) -> Iterator[TaskOutline]:
        """Go through the outlines of the tasks."""
        return self.outline_source("main") if self.outline_source else map(outline_of, self.tasks())
