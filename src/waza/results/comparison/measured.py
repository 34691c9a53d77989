"""What a comparison needs of results: the figures of each trial of each task, by metric."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from waza.model.result import TaskResult, TrialResult
from waza.model.verdict import JUDGED
from waza.results.figures import TrialFigures, figures_of

UNTAGGED = "untagged"  # the group of tasks without a tag: they have nothing in common


class ComparedMetric(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is measured of each trial.

    `scale` is the unit in which people read it: `points` are hundredths of a score or of a rate.
    """

    name: str
    better: Literal["higher", "lower"]
    scale: Literal["points", "tokens", "credits", "requests", "ms"]


METRICS = (
    ComparedMetric(name="score", better="higher", scale="points"),
    ComparedMetric(name="pass_rate", better="higher", scale="points"),
    ComparedMetric(name="tokens", better="lower", scale="tokens"),
    ComparedMetric(name="ai_credits", better="lower", scale="credits"),
    ComparedMetric(name="premium_requests", better="lower", scale="requests"),
    ComparedMetric(name="duration_ms", better="lower", scale="ms"),
)
"""The first is what a comparison is about; the others are shown beside it."""


class MeasuredTrial(msgspec.Struct, frozen=True):
    """The figures of a trial, by metric.

    `answer` is a digest of its output and of all verdicts that no judge reached, where a judge was asked: what
    differs between trials of one task with equal answers comes of the judge alone. "" without a judge.
    """

    values: Mapping[str, float]
    answer: str = ""


class MeasuredTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task with the trials that were measured; those that broke or were not graded are no measurement."""

    id: str
    group: str
    trials: tuple[MeasuredTrial, ...]

    def values(self, metric: str) -> list[float]:
        """Return the values of a metric, those of trials without one left out."""
        return [trial.values[metric] for trial in self.trials if metric in trial.values]


def measure(tasks: Iterable[TaskResult]) -> list[MeasuredTask]:
    """Return what was measured of tasks, going through them once."""
    return list(map(measure_task, tasks))


def measure_task(task: TaskResult) -> MeasuredTask:
    """Return what was measured of a task."""
    return MeasuredTask(
        id=task.test_id,
        group="" if task.group == UNTAGGED else task.group,
        trials=tuple(measure_trial(run) for run in task.runs if run.status in ("passed", "failed")),
    )


def measure_trial(run: TrialResult) -> MeasuredTrial:
    """Return the figures of a trial."""
    figures = figures_of(run, 0)
    values = {
        "score": figures.score,
        "pass_rate": float(run.status == "passed"),
        **({} if run.duration_unknown else {"duration_ms": float(run.duration_ms)}),
        **_usage(figures),
    }
    return MeasuredTrial(values, _answer(run))


def _usage(figures: TrialFigures) -> dict[str, float]:
    """Return what all attempts of a trial used, as far as it is known; of the cost, what the provider states."""
    usage = figures.usage
    if usage is None:
        return {}
    found: dict[str, float] = {"tokens": usage.tokens} if usage.tokens else {}
    if usage.ai_credits is not None:
        found["ai_credits"] = usage.ai_credits
    elif usage.premium_requests:
        found["premium_requests"] = usage.premium_requests
    return found


def _answer(run: TrialResult) -> str:
    verdicts = run.validations or {}
    if not any(verdict.type in JUDGED for verdict in verdicts.values()):
        return ""
    fixed = sorted((name, one.score) for name, one in verdicts.items() if one.type not in JUDGED)
    return hashlib.sha256(msgspec.json.encode((run.final_output, fixed))).hexdigest()
