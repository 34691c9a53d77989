"""Runs over time: the figures of each run, where their level changed, and the tasks that flip."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Literal

import msgspec

from waza.kit.moments import EARLIEST, read_moment
from waza.kit.stats import mean, wilson
from waza.kit.student_t import t_quantile
from waza.kit.text import pluralize
from waza.model.cost import Cost
from waza.model.result import TaskStatus
from waza.results.change_points import change_points
from waza.results.comparison.measured import MeasuredTask, measure
from waza.results.ending import COMPLETE, run_status
from waza.results.outcome import Outcome
from waza.results.rows import git_state
from waza.results.selection import describe_selection

MetricName = Literal[
    "graded_success_rate", "score", "tokens", "ai_credits", "premium_requests", "duration_ms"
]
METRICS: tuple[MetricName, ...] = (
    "graded_success_rate",
    "score",
    "tokens",
    "ai_credits",
    "premium_requests",
    "duration_ms",
)
ALPHA = 0.05 / len(METRICS)
"""How often a metric that does not change has a change point: all of them together at most 1 in 20 times."""
ENOUGH_RUNS = 12
"""So many runs nearly always show a change in their middle that is clear. Of eight or fewer none is significant: even
all low values before all high ones come by chance too often, in 2/C(n, n/2) of all orders."""
UNREADABLE, CUT_OFF, IN_PROGRESS = "unreadable", "cut_off", "in_progress"  # beside those of results files


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """A figure of a run with its 95 % interval. None: one value says nothing of its spread."""

    value: float
    lower: float | None = None
    upper: float | None = None


class RunEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a history: what it is of, how it ended, and its figures. Of a baseline it has the arm with skills."""

    run: str
    """The id of the run, which is the name of its directory."""
    suite: str
    """The name of the suite."""
    path: str = ""
    """The path of the suite file."""
    skill: str = ""
    """The target of the suite."""
    model: str = ""
    """The model of the agent."""
    started: str = ""
    """When it began, as RFC 3339."""
    status: str
    """The `run_status` of its results; without results `in_progress`, `cut_off` or `unreadable`."""
    commit: str = ""
    """The commit of the suite; empty where it is unknown."""
    branch: str = ""
    """The branch of the suite; empty where it is unknown."""
    dirty: bool | None = None
    """Whether files differed from the commit; None where it is unknown."""
    tasks: dict[str, TaskStatus] = {}
    """The status of each task, by id."""
    missing_trials: int = 0
    """Trials that were planned and did not run."""
    figures: dict[MetricName, Level] = {}
    """Figures over the tasks, by metric. A task without a measurement is left out of them."""
    cost: Cost | None = None
    """What it cost; None: not known."""
    part: str = ""
    """Which part of the suite was run; empty for all of it."""
    error: str = ""
    """Why the results cannot be read."""

    def count(self, status: TaskStatus) -> int:
        """Return how many tasks have a status."""
        return sum(one == status for one in self.tasks.values())

    @property
    def flaw(self) -> str:
        """Why the run is no part of trends; empty for one that measured all of its tasks."""
        if self.status != COMPLETE:
            return self.status.replace("_", " ")
        if self.part:
            return self.part
        lacking = self.count("error") + self.count("skipped")
        if lacking or self.missing_trials or not self.tasks:
            return f"{lacking} of {pluralize(len(self.tasks), 'task')} not measured"
        return ""


def make_entry(outcome: Outcome, run: str, path: str) -> RunEntry:
    """Return the entry of a run with results, going through its tasks once."""
    head, tasks, missing = outcome.head, dict[str, TaskStatus](), 0
    measured: list[MeasuredTask] = []
    for task in outcome.tasks():
        tasks[task.test_id] = task.status
        missing += task.missing_trials
        measured += measure([task])
    git = git_state(head)
    return RunEntry(
        run=run,
        suite=head.eval_name,
        path=path,
        skill=head.skill,
        model=head.config.model_id,
        started=head.timestamp,
        status=run_status(head),
        commit=git.commit,
        branch=git.branch,
        dirty=git.dirty,
        tasks=tasks,
        missing_trials=missing,
        part=describe_selection(head),
        figures=_figures(tasks, measured),
        cost=head.summary.cost,
    )


def _figures(tasks: dict[str, TaskStatus], measured: Sequence[MeasuredTask]) -> dict[MetricName, Level]:
    statuses = list(tasks.values())
    passed, failed = statuses.count("passed"), statuses.count("failed")
    found: dict[MetricName, Level] = {}
    if passed + failed:
        lower, upper = wilson(passed, passed + failed)
        found["graded_success_rate"] = Level(value=passed / (passed + failed), lower=lower, upper=upper)
    for metric in METRICS[1:]:
        values = [mean(one) for task in measured if (one := task.values(metric))]
        if values:
            found[metric] = _level(values, 1.0 if metric == "score" else math.inf)
    return found


def _level(values: Sequence[float], most: float) -> Level:
    """Return the mean of tasks with its interval: mean -/+ t s / sqrt(n), s being the sample standard deviation.

    It is cut where figures end: at 0, and at `most`.
    """
    size, centre = len(values), mean(values)
    if size < 2:
        return Level(value=centre)
    spread = math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (size - 1) / size)
    half = t_quantile(0.975, size - 1) * spread
    return Level(value=centre, lower=max(0.0, centre - half), upper=min(most, centre + half))


class LevelChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the level of a metric, at the first run with the new level."""

    metric: MetricName
    run: str
    """The first run with the new level."""
    since: str
    """The run before it."""
    commit: str
    """The commit of the first run with the new level; empty where it is unknown."""
    before: float
    """The mean over the runs before, from the change before this one on."""
    after: float
    """The mean over the runs from there on, up to the next change."""
    p_value: float
    """How often chance alone would make so large a change."""
    new_tasks: int = 0
    """Tasks that the run before did not have."""
    gone_tasks: int = 0
    """Tasks that only the run before had."""


class Flip(msgspec.Struct, frozen=True, kw_only=True):
    """A task that passed in some runs and failed in others."""

    task: str
    passed: int
    """Runs in which it passed."""
    runs: int
    """Runs in which it passed or failed."""
    flips: int
    """How often it passed and had failed in the run before that measured it, or the other way round."""
    last_flip: str
    """The run in which it flipped for the last time."""
    now: TaskStatus
    """Its status in the last run that measured it."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one suite file on one model, oldest first; changes and flips are of its runs without a flaw."""

    suite: str
    path: str
    skill: str
    model: str
    runs: list[RunEntry]
    changes: list[LevelChange]
    flips: list[Flip]
    older: int = 0
    """Older runs, which are left out."""

    def as_json(self) -> dict[str, Any]:
        """Return it as a JSON object, in which every run has its `flaw`."""
        runs = [{**msgspec.to_builtins(run), "flaw": run.flaw} for run in self.runs]
        return {**msgspec.to_builtins(self), "runs": runs}


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs are wanted; what is empty or None does not matter."""

    suite: str = ""
    """The path of a suite file, or of a directory above it, or the name of a suite."""
    skill: str = ""
    """The target."""
    model: str = ""
    """The model."""
    since: datetime | None = None
    """When runs began at the earliest."""
    before: datetime | None = None
    """When all of them had begun."""
    commit: str = ""
    """The beginning of a commit."""
    branch: str = ""
    """The branch."""

    def accepts(self, run: RunEntry) -> bool:
        """Tell whether a run is wanted."""
        began = read_moment(run.started)
        return (
            (not self.suite or self.suite == run.suite or _is_at(run.path, self.suite))
            and self.skill in ("", run.skill)
            and self.model in ("", run.model)
            and (self.since is None or (began is not None and began >= self.since))
            and (self.before is None or (began is not None and began < self.before))
            and run.commit.startswith(self.commit)
            and self.branch in ("", run.branch)
        )


def _is_at(path: str, place: str) -> bool:
    return path == place or path.startswith(place.rstrip("/") + "/")


def series_of(entries: Iterable[RunEntry], last: int | None = None) -> list[Series]:
    """Return runs by suite file and model, of each the `last` ones; in the order in which they were run first."""
    found: dict[tuple[str, str], list[RunEntry]] = {}
    for entry in sorted(entries, key=lambda one: (read_moment(one.started) or EARLIEST, one.run)):
        found.setdefault((entry.path, entry.model), []).append(entry)
    made = []
    for (path, model), runs in found.items():
        kept = runs if last is None else runs[-last:]
        whole = [run for run in kept if not run.flaw]
        named = next((run for run in reversed(runs) if run.suite), runs[-1])
        made.append(
            Series(
                suite=named.suite,
                path=path,
                skill=named.skill,
                model=model,
                runs=kept,
                changes=_changes(whole),
                flips=_flips(whole),
                older=len(runs) - len(kept),
            )
        )
    return made


def _changes(runs: Sequence[RunEntry]) -> list[LevelChange]:
    """Return the changes of all metrics, by run."""
    found = []
    for metric in METRICS:
        having = [run for run in runs if metric in run.figures]
        for point in change_points([run.figures[metric].value for run in having], ALPHA):
            run, before = having[point.index], having[point.index - 1]
            found.append(
                LevelChange(
                    metric=metric,
                    run=run.run,
                    since=before.run,
                    commit=run.commit,
                    before=point.before,
                    after=point.after,
                    p_value=point.p_value,
                    new_tasks=len(run.tasks.keys() - before.tasks.keys()),
                    gone_tasks=len(before.tasks.keys() - run.tasks.keys()),
                )
            )
    return sorted(found, key=lambda change: change.run)


def _flips(runs: Sequence[RunEntry]) -> list[Flip]:
    """Return the tasks that flipped, those first that did so most often."""
    seen: dict[str, list[tuple[str, TaskStatus]]] = {}
    for run in runs:
        for task, status in run.tasks.items():
            seen.setdefault(task, []).append((run.run, status))
    found = []
    for task, statuses in seen.items():
        turned = [run for (_, before), (run, status) in pairwise(statuses) if status != before]
        if turned:
            found.append(
                Flip(
                    task=task,
                    passed=sum(status == "passed" for _, status in statuses),
                    runs=len(statuses),
                    flips=len(turned),
                    last_flip=turned[-1],
                    now=statuses[-1][1],
                )
            )
    return sorted(found, key=lambda flip: (-flip.flips, flip.task))
