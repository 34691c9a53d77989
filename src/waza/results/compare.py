"""Comparing results files: scores, success rates, tasks and tool use, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from waza.kit.stats import normalized_gain
from waza.model.result import SuiteResult, TaskResult, TrialResult, number
from waza.results.combine import NamedResult, ResultSet, combine_sets
from waza.results.comparison.comparison import ALPHA, Comparison
from waza.results.comparison.conclude import Measured, compare_measured, refusal
from waza.results.comparison.measured import measure
from waza.results.invocation import suite_name
from waza.results.selection import describe_selection
from waza.results.treatment import treatment_of
from waza.results.verdict import is_same_run, verdict_of

# The graders that judge which tools an agent took.
_TOOL_GRADERS = frozenset({"tool_calls", "tool_constraint", "action_sequence"})


class TaskDelta(msgspec.Struct, frozen=True, kw_only=True):
    """A task in every file; the status is `n/a` where it is missing. Deltas are last minus first.

    Scores and rates are None where there is no trial: the task is missing, was skipped, or broke before its first one.
    Deltas are None also where the results are not measured.
    """

    task_id: str
    display_name: str
    scores: list[float | None]
    pass_rates: list[float | None]
    statuses: list[str]
    score_delta: float | None
    pass_rate_delta: float | None


class ToolMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """Tool use in one file.

    `success_rate` is over calls, `selection_accuracy` the share of passed verdicts among the graders that
    judge tools; None without calls or such graders. The histogram counts tasks by calls in all their runs.
    """

    total_calls: int
    tasks_with_tools: int
    avg_calls_per_task: float | None
    success_rate: float | None
    selection_accuracy: float | None
    call_count_histogram: dict[str, int]


class SuiteComparisons(msgspec.Struct, frozen=True, kw_only=True):
    """One of several suites: each of the other results against the first, as far as both have the suite."""

    suite: str
    comparisons: list[Comparison]


class SideBySide(msgspec.Struct, frozen=True, kw_only=True):
    """Several results files side by side, in the order given. Deltas are last minus first."""

    files: list[str]
    models: list[str]
    aggregate_scores: list[float]
    success_rates: list[float]
    aggregate_score_delta: float | None
    success_rate_delta: float | None
    task_deltas: list[TaskDelta]
    total_tests: list[int]
    durations_ms: list[int]
    duration_delta_ms: int | None
    tool_metrics: list[ToolMetrics]
    normalized_gain: float | None
    not_measured: str | msgspec.UnsetType = msgspec.UNSET
    """Why all deltas are None: the first or the last result measured something else than its arms claim."""
    comparison: Comparison | msgspec.UnsetType = msgspec.UNSET
    """Of two results: the second against the first."""
    comparisons: list[Comparison] | msgspec.UnsetType = msgspec.UNSET
    """Of more results: each of the others against the first, or against the one that was named."""
    suites: list[SuiteComparisons] | msgspec.UnsetType = msgspec.UNSET
    """The same suite by suite, where there are several."""

    @property
    def all_comparisons(self) -> list[Comparison]:
        """The comparison, or all of them."""
        if self.comparison is not msgspec.UNSET:
            return [self.comparison]
        return [] if self.comparisons is msgspec.UNSET else self.comparisons


def compare(results: Sequence[NamedResult], *, base: int = 0, alpha: float = ALPHA) -> SideBySide:
    """Compare at least two results, each given with its name; tasks come in order of first appearance.

    `base` is the place of the result that the others are compared with, `alpha` the chance of a false alarm that is
    accepted.
    """
    found = [result for _, result in results]
    scores = [number(result.summary.aggregate_score) for result in found]
    success = [number(result.summary.success_rate) for result in found]
    durations = [result.summary.duration_ms for result in found]
    measured = [_measured(name, result) for name, result in results]
    refused = refusal(measured[0], measured[-1])
    others = [one for place, one in enumerate(measured) if place != base]
    comparisons = compare_measured([(measured[base], other) for other in others], alpha)
    return SideBySide(
        files=[name for name, _ in results],
        models=[result.config.model_id for result in found],
        aggregate_scores=scores,
        success_rates=success,
        aggregate_score_delta=None if refused else number(scores[-1] - scores[0]),
        success_rate_delta=None if refused else number(success[-1] - success[0]),
        task_deltas=list(_task_deltas(found, has_deltas=not refused)),
        total_tests=[result.summary.total_tests for result in found],
        durations_ms=durations,
        duration_delta_ms=None if refused else durations[-1] - durations[0],
        tool_metrics=[_tool_metrics(result.tasks) for result in found],
        normalized_gain=None if refused else number(normalized_gain(scores[0], scores[-1])),
        not_measured=refused or msgspec.UNSET,
        comparison=comparisons[0] if len(comparisons) == 1 else msgspec.UNSET,
        comparisons=comparisons if len(comparisons) > 1 else msgspec.UNSET,
    )


def compare_suites(
    sets: Sequence[ResultSet], *, base: int = 0, alpha: float = ALPHA
) -> list[SuiteComparisons]:
    """Compare results suite by suite; p-values are adjusted for all of them together. Nothing of one suite alone."""
    suites = list(dict.fromkeys(suite_name(result) for one in sets for result in one.results))
    if len(suites) < 2:
        return []
    pairs = [pair for suite in suites for pair in _pairs_of_suite(suite, sets, base)]
    found = compare_measured(pairs, alpha)
    each = len(sets) - 1
    return [
        SuiteComparisons(suite=suite, comparisons=found[i * each : (i + 1) * each])
        for i, suite in enumerate(suites)
    ]


def _pairs_of_suite(suite: str, sets: Sequence[ResultSet], base: int) -> list[tuple[Measured, Measured]]:
    own = [[result for result in one.results if suite_name(result) == suite] for one in sets]
    held = [ResultSet(one.name, results) for one, results in zip(sets, own, strict=True) if results]
    found = {name: _measured(name, result) for name, result in combine_sets(held)}
    measured = [found.get(one.name, Measured(one.name, ())) for one in sets]
    return [(measured[base], other) for place, other in enumerate(measured) if place != base]


def _measured(name: str, result: SuiteResult) -> Measured:
    treatment = treatment_of(result)
    return Measured(name, measure(result.tasks), treatment.contradiction if treatment else "")


def doubts(results: Sequence[NamedResult], runs: Sequence[NamedResult] = ()) -> Iterator[str]:
    """Yield a line for each run that did not pass, with the reasons, and where results are of one run or other tasks.

    `runs` are given where a result is made of several.
    """
    for name, result in runs or results:
        verdict = verdict_of(result)
        if not verdict.passed:
            yield f"{name}: {verdict.word}: {'; '.join(verdict.reasons)}"
        if part := describe_selection(result):
            yield f"{name}: {part}"
        if (treatment := treatment_of(result)) and treatment.doubt:
            yield f"{name}: {treatment.doubt}"
    for i, (name, result) in enumerate(results):
        if any(is_same_run(result, other) for _, other in results[:i]):
            yield f"{name} is the same run as one before it, which is compared with itself"
    if any(result.config.stop_when != results[0][1].config.stop_when for _, result in results):
        yield (
            "config.stop_when is not the same for all of them: where trials end by what they show, pass rates lean a "
            "little, and only results of one rule lean alike"
        )
    tasks = [{task.test_id for task in result.tasks if task.status != "skipped"} for _, result in results]
    if len({frozenset(one) for one in tasks}) > 1:
        common = len(set.intersection(*tasks))
        yield f"the files do not have results of the same tasks ({common} in common): their totals do not compare"


def _task_deltas(results: Sequence[SuiteResult], *, has_deltas: bool) -> Iterator[TaskDelta]:
    tables = [{task.test_id: task for task in result.tasks} for result in results]
    names = {task.test_id: task.display_name for result in reversed(results) for task in result.tasks}
    for task_id in dict.fromkeys(task.test_id for result in results for task in result.tasks):
        tasks = [table.get(task_id) for table in tables]
        scores, rates = [_score(task) for task in tasks], [_pass_rate(task) for task in tasks]
        yield TaskDelta(
            task_id=task_id,
            display_name=names[task_id],
            scores=scores,
            pass_rates=rates,
            statuses=[task.status if task else "n/a" for task in tasks],
            score_delta=_delta(scores) if has_deltas else None,
            pass_rate_delta=_delta(rates) if has_deltas else None,
        )


def _score(task: TaskResult | None) -> float | None:
    return number(task.stats.avg_score) if task and _has_ran(task) and task.stats else None


def _pass_rate(task: TaskResult | None) -> float | None:
    return number(task.stats.pass_rate) if task and _has_ran(task) and task.stats else None


def _has_ran(task: TaskResult) -> bool:
    """Tell whether a task has figures of trials; files of other programs may have the figures alone."""
    return task.status != "skipped" and (task.status != "error" or bool(task.runs))


def _delta(values: Sequence[float | None]) -> float | None:
    first, last = values[0], values[-1]
    return None if first is None or last is None else number(last - first)


def _tool_metrics(tasks: Sequence[TaskResult]) -> ToolMetrics:
    calls = [[success for run in task.runs for success in _calls(run)] for task in tasks]
    every = [success for found in calls for success in found]
    known = [success for success in every if success is not None]
    histogram = dict.fromkeys(("0", "1", "2", "3+"), 0)
    for found in calls:
        histogram[str(len(found)) if len(found) < 3 else "3+"] += 1
    return ToolMetrics(
        total_calls=len(every),
        tasks_with_tools=sum(1 for found in calls if found),
        avg_calls_per_task=_share(len(every), len(tasks)),
        success_rate=_share(known.count(True), len(known)),
        selection_accuracy=_selection(tasks),
        call_count_histogram=histogram,
    )


def _calls(run: TrialResult) -> list[bool | None]:
    """Return for each tool call of a run whether it succeeded, if that is known; older files have only the digest."""
    return [call.success for call in run.tool_events or run.session_digest.tool_calls]


def _selection(tasks: Sequence[TaskResult]) -> float | None:
    verdicts = [
        verdict.passed
        for task in tasks
        for run in task.runs
        for verdict in (run.validations or {}).values()
        if verdict.type in _TOOL_GRADERS
    ]
    return _share(sum(verdicts), len(verdicts))


def _share(part: int, whole: int) -> float | None:
    return number(part / whole) if whole else None
