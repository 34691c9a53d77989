"""Results of several suites or models as one, so that two sets of them can be compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from waza.errors import UsageError
from waza.kit.stats import mean, std_dev
from waza.model.result import SuiteResult, Summary, TaskResult, number
from waza.results.comparison.measured import UNTAGGED
from waza.results.invocation import suite_name
from waza.results.verdict import run_name

NamedResult = tuple[str, SuiteResult]
"""The results of a run, after what they are called: a file, the id of a run, or the name of a set."""


class ResultSet(msgspec.Struct, frozen=True):
    """The results that one argument of a command means, at least one."""

    name: str
    results: Sequence[SuiteResult]


def combine_sets(sets: Sequence[ResultSet]) -> list[NamedResult]:
    """Return each set as one result with its name; sets of one result stay as they are where all are of one.

    Tasks are called after their suite, and after its model if a set has one suite on several models: then the same
    tasks on two models are one group, since they are not independent. Raises UsageError for a set that has two results
    of one suite on one model.
    """
    if all(len(one.results) == 1 for one in sets):
        return [(one.name, one.results[0]) for one in sets]
    several = any(max(Counter(map(_suite, one.results)).values()) > 1 for one in sets)
    return [(one.name, _combine(one, several=several)) for one in sets]


def _suite(result: SuiteResult) -> tuple[str, str]:
    return result.skill, result.eval_name


def _combine(one: ResultSet, *, several: bool) -> SuiteResult:
    keys = [(*_suite(result), result.config.model_id if several else "") for result in one.results]
    for (_, suite, model), count in Counter(keys).items():
        if count > 1:
            raise UsageError(f"{one.name} has {count} results of {run_name(suite, model)}; name one of them")
    tasks = [
        task
        for result, (_, _, model) in zip(one.results, keys, strict=True)
        for task in _named_tasks(result, model)
    ]
    first = one.results[0]
    models = dict.fromkeys(result.config.model_id or "(default)" for result in one.results)
    return msgspec.structs.replace(
        first,
        skill="",
        eval_name=", ".join(dict.fromkeys(map(suite_name, one.results))),
        config=msgspec.structs.replace(first.config, model_id=", ".join(models)),
        summary=_summarize([result.summary for result in one.results], tasks),
        metrics={},
        tasks=tasks,
        metadata={},
        baseline_outcome=None,
    )


def _named_tasks(result: SuiteResult, model: str) -> Iterable[TaskResult]:
    suite = suite_name(result)
    prefix = f"{run_name(suite, model)}: "
    for task in result.tasks:
        own = "" if task.group in ("", UNTAGGED, result.config.model_id) else f"{suite}: {task.group}"
        yield msgspec.structs.replace(
            task,
            test_id=prefix + task.test_id,
            display_name=prefix + (task.display_name or task.test_id),
            group=own or (f"{suite}: task {task.test_id}" if model else ""),
        )


def _summarize(parts: Sequence[Summary], tasks: Sequence[TaskResult]) -> Summary:
    scores = [task.stats.avg_score if task.stats else 0.0 for task in tasks if task.status != "skipped"]
    weighted = [
        task.stats.avg_weighted_score if task.stats else 0.0 for task in tasks if task.status != "skipped"
    ]
    total, succeeded = (sum(getattr(one, name) for one in parts) for name in ("total_tests", "succeeded"))
    return Summary(
        total_tests=total,
        succeeded=succeeded,
        failed=sum(one.failed for one in parts),
        errors=sum(one.errors for one in parts),
        skipped=sum(one.skipped for one in parts),
        success_rate=number(succeeded / total) if total else 0,
        aggregate_score=number(mean(scores)),
        weighted_score=number(mean(weighted)),
        min_score=number(min(scores, default=0)),
        max_score=number(max(scores, default=0)),
        std_dev=number(std_dev(scores)),
        duration_ms=sum(one.duration_ms for one in parts),
    )
