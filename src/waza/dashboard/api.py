"""The operations of the HTTP API: from the values of a request to an answer. They read files, and so run in threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from waza.dashboard.catalogue import Catalogue, ListedRun
from waza.dashboard.pages import Health, RunHead, RunsSummary, RunSummary, TaskSummary, TrialDetail
from waza.dashboard.requests import RequestError
from waza.dashboard.run_pages import choose_tasks, make_head, order_tasks, summarize_tasks
from waza.dashboard.summaries import choose_runs, sort_runs, summarize_all, summarize_run
from waza.dashboard.trial_pages import find_task, make_trial
from waza.errors import WazaError
from waza.model.result import SuiteResult
from waza.model.trial import Arm
from waza.results.task_index import FileChangedError, RunTasks
from waza.version import __version__

T = TypeVar("T")
_TRIES = 3  # for a file that is replaced while it is read


class Answer(msgspec.Struct, frozen=True):
    """What an operation answers. `total` is how long the whole list is, of which it may be a slice."""

    body: Any
    total: int | None = None


class Api:
    """The operations, by their names in the table of routes."""

    def __init__(self, root: Path) -> None:
        self.catalogue = Catalogue(root)
        self.closing: Callable[[], bool] = lambda: False  # whether the server is about to end

    def call(self, name: str, values: dict[str, Any]) -> Answer:
        """Answer a request. Raises RequestError, with what is wrong."""
        operation: Callable[..., Answer] = getattr(self, name)
        for left in reversed(range(_TRIES)):
            try:
                return operation(**values)
            except FileChangedError as error:
                if not left:
                    raise RequestError(503, f"{error}; it changes all the time") from error
            except (WazaError, OSError) as error:
                raise RequestError(500, f"it cannot be read: {error}") from error
        raise AssertionError  # the last try returned or raised

    def health(self) -> Answer:
        """Say that the server is there."""
        return Answer(Health(version=__version__))

    def summary(self) -> Answer:
        """Return all runs together."""
        found: RunsSummary = summarize_all(self._summaries())
        return Answer(found)

    def runs(
        self,
        limit: int | None,
        offset: int,
        q: str | None,
        model: str | None,
        outcome: str | None,
        sort: str,
        order: str,
    ) -> Answer:
        """Return the runs that are wanted."""
        found = sort_runs(choose_runs(self._summaries(), q=q, model=model, outcome=outcome), sort, order)
        return Answer(slice_of(found, limit, offset), len(found))

    def head(self, id: str) -> Answer:  # noqa: A002  the name in the path
        """Return the head of a run."""
        run = self.find(id)
        found: RunHead = make_head(run, *self._read(run))
        return Answer(found)

    def tasks(
        self,
        id: str,  # noqa: A002  the name in the path
        limit: int,
        offset: int,
        q: str | None,
        status: str | None,
        sort: str,
        order: str,
    ) -> Answer:
        """Return a slice of the tasks of a run."""
        _, source = self._read(self.find(id))
        places = choose_tasks(source, order_tasks(source, sort, order), q=q, status=status)
        found: list[TaskSummary] = summarize_tasks(source, slice_of(places, limit, offset))
        return Answer(found, len(places))

    def trial(self, id: str, task: str, n: int, arm: Arm) -> Answer:  # noqa: A002  the name in the path
        """Return a trial."""
        found = self.read_trial(self.find(id), task, n, arm)
        if found is None:
            raise RequestError(404, f"{id!r} has no trial {n} of a task {task!r} in the arm {arm!r}")
        return Answer(found)

    def read_trial(self, run: ListedRun, task: str, number: int, arm: Arm) -> TrialDetail | None:
        """Return a trial of a run; None where there is no such trial."""
        head, source = self._read(run)
        place = find_task(source, arm, task)
        if place is None:
            return None
        of_arm = head if arm == "main" else head.baseline_outcome or head
        return make_trial(run, of_arm, source, arm, source.read(arm, place), number)

    def find(self, run_id: str) -> ListedRun:
        """Return the run that is called so. Raises RequestError."""
        found = self.catalogue.find(run_id)
        if found is None:
            raise RequestError(404, f"there is no run {run_id!r}")
        return found

    def _read(self, run: ListedRun) -> tuple[SuiteResult, RunTasks]:
        if run.head is None:
            raise RequestError(422, f"{run.id} cannot be read: {run.error}")
        return run.head, self.catalogue.source(run)

    def _summaries(self) -> list[RunSummary]:
        return [summarize_run(run) for run in self.catalogue.runs()]


def slice_of(items: Sequence[T], limit: int | None, offset: int) -> list[T]:
    """Return a slice of a list; all from the offset on without a limit."""
    return list(items[offset : None if limit is None else offset + limit])
