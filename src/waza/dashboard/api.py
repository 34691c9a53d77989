"""The operations of the HTTP API: from the values of a request to an answer. They read files, and so run in threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from waza.dashboard.catalogue import Catalogue, ListedRun
from waza.dashboard.comparisons import Comparisons, shared_trials
from waza.dashboard.documents import Documents
from waza.dashboard.experiments import Experiments
from waza.dashboard.histories import Histories
from waza.dashboard.live import Follower, live_runs, newest_run
from waza.dashboard.pages import (
    ComparisonPage,
    Health,
    PlotNode,
    RunHead,
    RunsSummary,
    RunSummary,
    StoredPage,
    TaskSummary,
    TrialComparison,
    TrialDetail,
)
from waza.dashboard.plots import plot_nodes
from waza.dashboard.reference_run import write_run
from waza.dashboard.requests import RequestError
from waza.dashboard.run_pages import choose_tasks, make_head, order_tasks, plot_rows, summarize_tasks
from waza.dashboard.stored import StoreView
from waza.dashboard.summaries import choose_runs, run_before, sort_runs, summarize_all, summarize_run
from waza.dashboard.trial_pages import TrialLinks, find_task, make_trial
from waza.errors import UsageError, WazaError
from waza.model.result import SuiteResult
from waza.model.trial import Arm
from waza.report.compare_table import AGGREGATE_NOTE
from waza.results.task_index import FileChangedError, RunTasks
from waza.suite.project import find_project
from waza.version import __version__

T = TypeVar("T")
_TRIES = 3  # for a file that is replaced while it is read


class Answer(msgspec.Struct, frozen=True):
    """What an operation answers. `total` is how long the whole list is, of which it may be a slice.

    `pieces` is the JSON of a large answer, in the place of a body.
    """

    body: Any = None
    total: int | None = None
    pieces: Iterator[bytes] | None = None


class Api:
    """The operations, by their names in the table of routes."""

    def __init__(self, root: Path, warn: Callable[[str], None]) -> None:
        self.catalogue = Catalogue(root, warn)
        self._histories = Histories(self.catalogue, warn)
        self._comparisons = Comparisons()
        self._experiments = Experiments(self.catalogue)
        self._documents = Documents(self.catalogue)
        self._store = StoreView(find_project(root))
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
            except UsageError as error:
                raise RequestError(400, str(error)) from error
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
        found: RunHead = make_head(run, *self._read(run), before=run_before(run, self.catalogue.runs()))
        return Answer(found)

    def plots(self, id: str) -> Answer:  # noqa: A002  the name in the path
        """Return the plots of a run."""
        _, source = self._read(self.find(id))
        found: list[PlotNode] = plot_nodes(plot_rows(source))
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

    def run(self, id: str, limit: int | None, offset: int) -> Answer:  # noqa: A002  the name in the path
        """Return a run with its tasks."""
        run = self.find(id)
        _, source = self._read(run)
        total = len(source.heads("main"))
        places = slice_of(range(total), limit, offset)
        return Answer(pieces=write_run(summarize_run(run), source, places), total=total)

    def compare(self, a: str, b: str, limit: int, offset: int) -> Answer:
        """Return two runs side by side."""
        first, second = self.find(a), self.find(b)
        of_first, of_second = self._read(first)[1], self._read(second)[1]
        compared = self._comparisons.compare((first, of_first), (second, of_second))
        deltas = slice_of(compared.found.task_deltas, limit, offset)
        page = ComparisonPage(
            a=summarize_run(first),
            b=summarize_run(second),
            comparison=msgspec.structs.replace(compared.found, task_deltas=deltas),
            total_tasks=len(compared.found.task_deltas),
            doubts=compared.doubts,
            aggregate_note=AGGREGATE_NOTE,
            trials=shared_trials(of_first, of_second, deltas),
        )
        return Answer(page, page.total_tasks)

    def compare_trial(self, a: str, b: str, task: str, trial: int) -> Answer:
        """Return the same trial of two runs."""
        first, second = (self.read_trial(self.find(one), task, trial, "main") for one in (a, b))
        if first is None and second is None:
            raise RequestError(404, f"neither run has a trial {trial} of a task {task!r}")
        return Answer(TrialComparison(a=first, b=second))

    def history(self, suite: str | None, model: str | None, last: int) -> Answer:
        """Return the runs over time."""
        return Answer(self._histories.history(suite=suite, model=model, last=last))

    def experiments(self, limit: int, offset: int) -> Answer:
        """Return a slice of the experiments."""
        found = self._experiments.pages()
        return Answer(slice_of(found, limit, offset), len(found))

    def release_collections(self) -> Answer:
        """Return the experiments in short."""
        return Answer(self._experiments.collections())

    def documents(self, limit: int, offset: int) -> Answer:
        """Return a slice of the documents."""
        found = self._documents.summaries()
        return Answer(slice_of(found, limit, offset), len(found))

    def document(self, id: str, limit: int, offset: int, status: str | None, q: str | None) -> Answer:  # noqa: A002  as above
        """Return a document with a slice of its items."""
        try:
            found = self._documents.page(id, limit=limit, offset=offset, status=status, q=q)
        except WazaError as error:
            raise RequestError(422, str(error)) from error
        if found is None:
            raise RequestError(404, f"there is no document {id!r}")
        return Answer(*found)

    def stored(self, limit: int, offset: int) -> Answer:
        """Return a slice of the runs of the configured store."""
        local = {run.head.eval_id: run.id for run in self.catalogue.runs() if run.head}
        runs, warnings, error = self._store.runs(local)
        page = StoredPage(
            status=self._store.status,
            runs=slice_of(runs, limit, offset),
            error=error,
            warnings=list(warnings),
        )
        return Answer(page, len(runs))

    def storage_status(self) -> Answer:
        """Say which store is configured."""
        return Answer(self._store.status)

    def live(self) -> Answer:
        """Return the runs in progress."""
        return Answer(live_runs(self.catalogue))

    def follow(self, run_id: str | None, seen: int) -> Follower | None:
        """Return what follows a run, None: the newest one; None where there is no run. Raises RequestError."""
        run = newest_run(self.catalogue) if run_id is None else self.find(run_id)
        if run is not None and run.head is None:
            raise RequestError(422, f"{run.id} cannot be read: {run.error}")
        return Follower(self.catalogue, run, seen) if run else None

    def read_trial(self, run: ListedRun, task: str, number: int, arm: Arm) -> TrialDetail | None:
        """Return a trial of a run; None where there is no such trial."""
        head, source = self._read(run)
        place = find_task(source, arm, task)
        if place is None:
            return None
        of_arm = head if arm == "main" else head.baseline_outcome or head
        return make_trial(
            run, of_arm, TrialLinks(source), arm, source.read(arm, place), number, self.catalogue.read_inside
        )

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
