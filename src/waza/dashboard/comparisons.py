"""Two runs side by side, by the comparison of `waza compare`."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from waza.dashboard.catalogue import ListedRun
from waza.dashboard.pages import TrialLink
from waza.model.result import SuiteResult, TaskResult, TrialResult
from waza.model.trial import Arm
from waza.results.compare import SideBySide, TaskDelta, compare, doubts
from waza.results.task_index import RunTasks

_KEPT = 4  # comparisons in memory


class Compared(msgspec.Struct, frozen=True):
    """A comparison, with all of its tasks, those that differ most first."""

    found: SideBySide
    doubts: list[str]


class Comparisons:
    """The latest comparisons. One of large runs takes seconds, and pages of it are asked for one after another."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[int, int], tuple[RunTasks, RunTasks, Compared]] = OrderedDict()

    def compare(self, a: tuple[ListedRun, RunTasks], b: tuple[ListedRun, RunTasks]) -> Compared:
        """Return the comparison of `b` against `a`."""
        key = id(a[1]), id(b[1])
        with self._lock:
            known = self._known.pop(key, None)
            if known is None or known[0] is not a[1] or known[1] is not b[1] or not _is_final(a[0], b[0]):
                known = a[1], b[1], _compare(a, b)
            self._known[key] = known
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
            return known[2]


def _is_final(*runs: ListedRun) -> bool:
    return all(run.state == "finished" for run in runs)


def _compare(a: tuple[ListedRun, RunTasks], b: tuple[ListedRun, RunTasks]) -> Compared:
    results = [(run.id, _results(run, tasks)) for run, tasks in (a, b)]
    found = compare(results)
    ordered = sorted(found.task_deltas, key=_difference, reverse=True)
    return Compared(msgspec.structs.replace(found, task_deltas=ordered), list(doubts(results)))


def _difference(task: TaskDelta) -> tuple[bool, float]:
    delta = task.score_delta
    return task.statuses[0] != task.statuses[-1], abs(delta) if delta is not None else 0.0


def _results(run: ListedRun, tasks: RunTasks) -> SuiteResult:
    """Return results without what a comparison does not look at, which is most of them."""
    assert run.head is not None  # noqa: S101  # the API refuses such runs
    places = range(len(tasks.heads("main")))
    return msgspec.structs.replace(run.head, tasks=[_measured(tasks.read("main", place)) for place in places])


def _measured(task: TaskResult) -> TaskResult:
    return msgspec.structs.replace(task, runs=list(map(_without_transcript, task.runs)))


def _without_transcript(trial: TrialResult) -> TrialResult:
    calls = [msgspec.structs.replace(one, args=None, result=None, error="") for one in trial.tool_events]
    return msgspec.structs.replace(
        trial, transcript=[], tool_events=calls, prompt="", failure_artifacts=None, evidence={}
    )


def shared_trials(a: RunTasks, b: RunTasks, deltas: Sequence[TaskDelta]) -> dict[str, list[TrialLink]]:
    """Return by task the trials that both runs have, with the status of the second one."""
    arm: Arm = "main"
    numbers = {task.test_id: {one.number for one in task.trials} for task in a.heads(arm)}
    others = {task.test_id: task for task in b.heads(arm)}
    return {
        delta.task_id: [
            TrialLink(task=delta.task_id, number=one.number, arm=arm, status=one.status)
            for one in others[delta.task_id].trials
            if one.number in numbers[delta.task_id]
        ]
        for delta in deltas
        if delta.task_id in numbers and delta.task_id in others
    }
