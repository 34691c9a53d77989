"""Statistics of a task over its trials, and of a suite over its tasks, as formats 1.4 wants them."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Protocol

import msgspec

from waza.kit import stats
from waza.kit.confidence_sequence import RateBounds, rate_bounds
from waza.model.cost import Cost
from waza.model.observation import Usage, add_usage
from waza.model.pass_rule import ALL, PassRule, trials_needed
from waza.model.requirement import RecordedRequirement
from waza.model.result import (
    ConfidenceInterval,
    Group,
    SuiteStatistics,
    Summary,
    TaskResult,
    TaskStats,
    TaskStatus,
    TrialResult,
    TrialStatus,
    number,
)
from waza.model.stop_when import EndedBy, StopRule
from waza.results.ending import BAD
from waza.results.requirements import Observed, observe
from waza.results.stop_when import ended_by, graded_bounds, lacking, next_trials

CONFIDENCE_SEQUENCE = "confidence sequence"
PROMPT = "prompt"  # the type of graders that compare pairwise
SNAPSHOT_UPDATES = "snapshot_updates"  # in the details of `diff` graders that wrote new snapshots


class TrialFigures(msgspec.Struct, frozen=True):
    """What statistics need of a trial, and where its record begins in the journal.

    `usage` is that of all its attempts: what was discarded cost as much. `judging` is what its judges and responders used,
    `graders` are the names of its verdicts, sorted. `notable`: reports show more of it than these figures.
    `cost` is of both; None: not known.
    `observed` is what it says of the requirements of its task.
    """

    offset: int
    status: TrialStatus
    score: float
    weighted: float
    duration_ms: int
    attempts: int
    usage: Usage | None = None
    cached: bool = False
    rejudged: bool = False
    pairwise: dict[str, object] | None = None
    graders: tuple[str, ...] = ()
    judging: Usage | None = None
    cost: Cost | None = None
    error_retries: int = 0
    notable: bool = False
    observed: Observed = ()


class TaskOutline(msgspec.Struct, frozen=True):
    """A task for reports: the figures of its trials by number, and the notable ones of them as `task.runs`."""

    task: TaskResult
    trials: tuple[tuple[int, TrialFigures], ...]


class TaskFigures(msgspec.Struct, kw_only=True):
    """What is known of a task in one arm, of which so many trials are `planned`.

    `rule` says how many of them must pass. `stopped`: its `before_task` hook aborted it. With `stop`, `planned` is no
    more than a limit: the trials that have finished decide whether another one follows. `sequential`: they decided that
    when they ran, and are graded again now.
    """

    task_id: str
    groups: tuple[str, ...] = ()
    trials: dict[int, TrialFigures] = {}
    stopped: str = ""
    planned: int = 0
    rule: PassRule = ALL
    stop: StopRule | None = None
    sequential: bool = False
    known_stats: TaskStats | None = None
    """The statistics, once they were asked for: results are read several times, and resampling takes its time."""

    def add(self, number: int, trial: TrialFigures) -> None:
        """Add a finished trial, in the place of an earlier one of its number."""
        self.trials[number], self.known_stats = trial, None

    @property
    def stats(self) -> TaskStats | None:
        """The statistics of the task; None without a trial."""
        if self.known_stats is None:
            self.known_stats = task_stats(self.task_id, self.ordered, stopping=self.is_sequential)
        return self.known_stats

    @property
    def missing(self) -> int:
        """How many trials did not run, and not because the task was stopped."""
        if self.stopped:
            return 0
        if self.stop:
            return lacking(self.stop, self.rule, self.statuses)
        return max(0, self.planned - len(self.trials))

    @property
    def is_sequential(self) -> bool:
        """Whether what its trials showed decided how many there are."""
        return self.sequential or self.stop is not None

    def next_trials(self, without: Collection[int] = ()) -> list[int]:
        """Return the numbers of the trials to run next, as if those `without` had not finished."""
        kept = {number: trial.status for number, trial in self.trials.items() if number not in without}
        return next_trials(self.stop, self.rule, kept, self.planned)

    @property
    def statuses(self) -> list[TrialStatus]:
        """The statuses of the trials that have finished."""
        return [trial.status for trial in self.trials.values()]

    @property
    def ended_by(self) -> EndedBy | None:
        """Why there is no further trial, by `stop`; None where there is no such rule, or where it wants more."""
        return ended_by(self.stop, self.rule, self.statuses) if self.stop and self.trials else None

    @property
    def ordered(self) -> list[TrialFigures]:
        """The trials by number."""
        return [self.trials[number] for number in sorted(self.trials)]

    @property
    def status(self) -> TaskStatus:
        """The status of the task."""
        status = task_status(tuple(self.statuses), self.rule, self.missing)
        return "error" if self.stopped and status != "failed" else status

    @property
    def cached(self) -> bool:
        """Whether the cache gave all trials."""
        return bool(self.trials) and all(trial.cached for trial in self.trials.values())

    @property
    def rejudged(self) -> bool:
        """Whether the cache gave all trials, and judges were asked again."""
        return self.cached and any(trial.rejudged for trial in self.trials.values())

    @property
    def pairwise(self) -> dict[str, object] | None:
        """What a judge preferred in the last trial in which one was asked."""
        return next((trial.pairwise for trial in reversed(self.ordered) if trial.pairwise), None)

    @property
    def pass_rate(self) -> float | None:
        """The share of trials that passed; None without a trial."""
        passed = sum(trial.status == "passed" for trial in self.trials.values())
        return passed / len(self.trials) if self.trials else None


class Scored(Protocol):
    """What has a score, and a weight in weighted scores."""

    @property
    def score(self) -> float:
        """The score."""
        ...

    @property
    def weight(self) -> float:
        """The weight; one that is not above 0 counts as 1."""
        ...


def mean_scores(verdicts: Sequence[Scored]) -> tuple[float, float]:
    """Return the mean score of the verdicts of a trial, plain and weighted; 0 without one."""
    scores = [one.score for one in verdicts]
    weights = [one.weight if one.weight > 0 else 1.0 for one in verdicts]
    weighted = [score * weight for score, weight in zip(scores, weights, strict=True)]
    return stats.mean(scores), math.fsum(weighted) / math.fsum(weights) if scores else 0.0


def figures_of(
    run: TrialResult,
    offset: int,
    *,
    cached: bool = False,
    rejudged: bool = False,
    requirements: Sequence[RecordedRequirement] = (),
) -> TrialFigures:
    """Return the figures of a run: the mean score of its graders, plain and weighted.

    `requirements` are those of its task.
    """
    verdicts = run.validations or {}
    found = list(verdicts.values())
    asked = [one for one in found if one.type == PROMPT]
    score, weighted = mean_scores(found)
    return TrialFigures(
        offset=offset,
        status=run.status,
        score=score,
        weighted=weighted,
        duration_ms=run.duration_ms,
        attempts=run.attempts,
        usage=add_usage([*(attempt.usage for attempt in run.attempt_history), run.session_digest.usage]),
        cached=cached,
        rejudged=rejudged,
        pairwise=next((one.details["pairwise"] for one in asked[::-1] if "pairwise" in one.details), None),
        graders=_sorted_names(tuple(verdicts)),
        judging=add_usage([session.usage for session in run.grader_sessions]),
        cost=run.cost,
        error_retries=run.error_retries,
        notable=run.status in BAD or any(one.details.get(SNAPSHOT_UPDATES) for one in found),
        observed=observe(requirements, run),
    )


def outline_of(task: TaskResult) -> TaskOutline:
    """Return the outline of a task whose trials are in memory."""
    figures = tuple(
        [(run.run_number, figures_of(run, 0, requirements=task.requirements)) for run in task.runs]
    )
    notable = [run for run, (_, found) in zip(task.runs, figures, strict=True) if found.notable]
    return TaskOutline(msgspec.structs.replace(task, runs=notable), figures)


@lru_cache(maxsize=1024)
def _sorted_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names sorted, as the same value each time: most trials of a run have the same ones."""
    return tuple(sorted(names))


@lru_cache(maxsize=1024)
def task_status(statuses: tuple[TrialStatus, ...], rule: PassRule = ALL, missing: int = 0) -> TaskStatus:
    """Return the status of a task by those of its trials, of which so many are `missing`.

    `passed` when as many trials passed as the rule wants, and none is missing. `failed` when so many failed that
    all others could not be enough. `error` when the rule cannot be met without the trials that broke. `skipped`
    where nothing was graded, or where the missing trials would decide.
    """
    passed, failed = statuses.count("passed"), statuses.count("failed")
    errors = statuses.count("error")
    total = passed + failed + errors + missing  # trials that nobody graded, on purpose, are none of these
    if total == missing:
        return "skipped"
    needed = trials_needed(rule, total)
    if passed >= needed:
        return "skipped" if missing else "passed"
    if failed > total - needed:
        return "failed"
    return "error" if passed + missing < needed else "skipped"


def task_stats(task_id: str, trials: Sequence[TrialFigures], *, stopping: bool = False) -> TaskStats | None:
    """Return the statistics of a task; None without a trial.

    `stopping`: what trials showed decided how many there are, so intervals are those of confidence sequences.
    """
    n = len(trials)
    if not n:
        return None
    plain, weighted = [trial.score for trial in trials], [trial.weighted for trial in trials]
    statuses = [trial.status for trial in trials]
    passed = statuses.count("passed")
    interval = _score_interval(task_id, weighted, stopping=stopping) if n > 1 else None
    late = any(trial.status == "passed" and trial.attempts > 1 for trial in trials)
    variance = stats.variance(plain)
    return TaskStats(
        pass_rate=number(passed / n),
        flakiness_percent=number(stats.flakiness_percent(passed, n)),
        passed_runs=passed,
        failed_runs=statuses.count("failed"),
        error_runs=statuses.count("error"),
        total_runs=n,
        avg_score=number(stats.mean(plain)),
        avg_weighted_score=number(stats.mean(weighted)),
        min_score=number(min(plain)),
        max_score=number(max(plain)),
        std_dev_score=number(math.sqrt(variance)),
        score_variance=number(variance),
        ci95_lo=interval.lower if interval else 0,
        ci95_hi=interval.upper if interval else 0,
        flaky=0 < passed < n or late,
        avg_duration_ms=sum(trial.duration_ms for trial in trials) // n,
        bootstrap_ci=None if stopping else interval,
        is_significant=_significant(interval) if interval else None,
        pass_rate_ci=_rate_interval(statuses, stopping=stopping) if n > 1 else None,
        score_ci=interval if stopping else None,
    )


def _score_interval(task_id: str, scores: Sequence[float], *, stopping: bool) -> ConfidenceInterval:
    if not stopping:
        return _bootstrap(_seed(task_id, scores), scores)
    return _sequence(rate_bounds(math.fsum(scores), len(scores)), stats.mean(scores))


def _rate_interval(statuses: Sequence[TrialStatus], *, stopping: bool) -> ConfidenceInterval | None:
    passed, total = statuses.count("passed"), len(statuses)
    if not stopping:
        return _interval(*stats.wilson(passed, total), passed / total)
    graded = passed + statuses.count("failed")
    return _sequence(graded_bounds(statuses), passed / graded) if graded else None


def _sequence(bounds: RateBounds, mean: float) -> ConfidenceInterval:
    return msgspec.structs.replace(_interval(*bounds, mean), method=CONFIDENCE_SEQUENCE)


def summary(
    tasks: Sequence[TaskFigures], trials: int, duration_ms: int, *, extra_usage: Sequence[Usage | None] = ()
) -> Summary:
    """Return the figures over all tasks that ran. A task without statistics counts with score 0.

    Tasks that never started are counted as skipped and enter nothing else; `extra_usage` is that of
    trigger tests.
    """
    ran = [task for task in tasks if task.trials or task.stopped]
    statuses = [task.status for task in ran]
    plain = [stats.mean([trial.score for trial in task.ordered]) for task in ran]
    weighted = [stats.mean([trial.weighted for trial in task.ordered]) for task in ran]
    total, succeeded, errors = len(ran), statuses.count("passed"), statuses.count("error")
    skipped = statuses.count("skipped")
    graded = total - errors - skipped
    usages = [trial.usage for task in ran for trial in task.ordered if trial.usage is not None]
    return Summary(
        total_tests=total,
        succeeded=succeeded,
        failed=statuses.count("failed"),
        errors=errors,
        skipped=skipped + len(tasks) - total,
        success_rate=number(succeeded / total) if total else 0,
        aggregate_score=number(stats.mean(plain)),
        weighted_score=number(stats.mean(weighted)),
        min_score=number(min(plain, default=0)),
        max_score=number(max(plain, default=0)),
        std_dev=number(stats.std_dev(plain)),
        duration_ms=duration_ms,
        groups=_groups(ran, statuses, plain),
        usage=add_usage([*usages, *extra_usage]),
        statistics=_statistics(ran, succeeded, weighted) if trials > 1 else None,
        graded_success_rate=number(succeeded / graded) if graded else None,
    )


def _statistics(
    ran: Sequence[TaskFigures], succeeded: int, weighted: Sequence[float]
) -> SuiteStatistics | None:
    with_trials = [(task, score) for task, score in zip(ran, weighted, strict=True) if task.trials]
    if len(with_trials) < 2:
        return None
    seeds = [_seed(task.task_id, [trial.weighted for trial in task.ordered]) for task, _ in with_trials]
    interval = _bootstrap("\n".join(sorted(seeds)), [score for _, score in with_trials])
    counts = [
        (sum(trial.status == "passed" for trial in task.ordered), len(task.trials)) for task, _ in with_trials
    ]
    lower, upper = stats.wilson(succeeded, len(ran))
    # Where a task's own trials decided how many there are, these two estimates lean.
    fixed = not any(task.is_sequential for task in ran)
    return SuiteStatistics(
        bootstrap_ci=interval,
        is_significant=_significant(interval),
        success_rate_ci=_interval(lower, upper, succeeded / len(ran)),
        pass_hat_k=[number(value) for value in stats.pass_hat_k(counts)] if fixed else [],
        pass_at_k=[number(value) for value in stats.pass_at_k(counts)] if fixed else [],
    )


def _seed(task_id: str, scores: Sequence[float]) -> str:
    """Return what random numbers are made from: equal data, in whatever order, gives equal intervals."""
    return f"{task_id}:{sorted(scores)!r}"


def _bootstrap(seed: str, values: Sequence[float]) -> ConfidenceInterval:
    found = stats.bootstrap(values, hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest())
    return ConfidenceInterval(
        lower=number(found.lower),
        upper=number(found.upper),
        mean=number(found.mean),
        confidence_level=found.confidence_level,
        num_bootstraps=found.num_bootstraps,
    )


def _interval(lower: float, upper: float, mean: float) -> ConfidenceInterval:
    return ConfidenceInterval(
        lower=number(lower), upper=number(upper), mean=number(mean), confidence_level=0.95
    )


def _significant(interval: ConfidenceInterval) -> bool:
    return interval.lower > 0 or interval.upper < 0


def _groups(
    ran: Sequence[TaskFigures], statuses: Sequence[TaskStatus], plain: Sequence[float]
) -> list[Group]:
    """Return the groups in the order in which they first occur; a task may be in several (tags)."""
    members: dict[str, list[int]] = {}
    for i, task in enumerate(ran):
        for name in task.groups:
            members.setdefault(name, []).append(i)
    return [
        Group(
            name=name,
            passed=sum(statuses[i] == "passed" for i in places),
            total=len(places),
            avg_score=number(stats.mean([plain[i] for i in places if ran[i].trials])),
        )
        for name, places in members.items()
    ]
