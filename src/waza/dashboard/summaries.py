"""Runs in lists: each one in short, all of them together, and those that a request wants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from waza.dashboard.catalogue import ListedRun
from waza.dashboard.pages import ModelUsagePage, Outcome, RunsSummary, RunSummary
from waza.kit.moments import EARLIEST, read_moment
from waza.kit.stats import mean
from waza.model.observation import Usage
from waza.results.ending import came_to_its_end, run_status, tasks_planned
from waza.results.rows import git_state
from waza.results.selection import describe_selection
from waza.results.verdict import verdict_of

T = TypeVar("T")


def summarize_run(run: ListedRun) -> RunSummary:
    """Return a run as lists have it."""
    head = run.head
    if head is None:
        return _unreadable(run)
    finished, summary, usage = run.state == "finished", head.summary, head.summary.usage
    verdict, git = verdict_of(head), git_state(head)
    if run.header and run.header.git and not finished:
        git = run.header.git
    complete = finished and came_to_its_end(head)
    known = summary.total_tests > 0
    return RunSummary(
        id=run.id,
        spec=head.eval_name,
        model=head.config.model_id,
        judge_model=head.config.judge_model,
        outcome=_outcome(run, verdict.word),
        pass_count=summary.succeeded,
        task_count=summary.total_tests if finished else tasks_planned(summary),
        tokens=run.tokens,
        premium_requests=None if usage is None else usage.premium_requests,
        ai_credits=None if usage is None else usage.ai_credits,
        model_usage=usage_by_model(usage),
        cost=summary.cost.dollars if summary.cost else None,
        cost_source="table" if summary.cost and summary.cost.dollars is not None else None,
        duration=summary.duration_ms / 1000 if finished else None,
        timestamp=head.timestamp,
        source="local",
        skill=head.skill,
        repetitions=head.config.runs_per_test,
        weighted_score=summary.weighted_score if known else None,
        score=summary.aggregate_score if known else None,
        failed_count=summary.failed,
        error_count=summary.errors,
        skipped_count=summary.skipped,
        success_rate=summary.success_rate if complete and known else None,
        part=describe_selection(head),
        complete=complete,
        run_status=run_status(head) if finished else run.state,
        reasons=list(verdict.reasons) if finished else [],
        engine=head.config.engine_type,
        has_baseline=head.baseline_outcome is not None,
        commit=git.commit,
        branch=git.branch,
        path=run.path,
        error="",
    )


_OUTCOMES: dict[str, Outcome] = {
    "passed": "passed",
    "not graded": "not graded",
    "not decided": "not decided",
}


def _outcome(run: ListedRun, word: str) -> Outcome:
    if run.state == "finished":
        return _OUTCOMES.get(word, "failed")
    return run.state


def _unreadable(run: ListedRun) -> RunSummary:
    return RunSummary(
        id=run.id,
        spec="",
        model="",
        judge_model="",
        outcome="unreadable",
        pass_count=0,
        task_count=0,
        tokens=None,
        premium_requests=None,
        ai_credits=None,
        model_usage=[],
        cost=None,
        cost_source=None,
        duration=None,
        timestamp="",
        source="local",
        skill="",
        repetitions=0,
        weighted_score=None,
        score=None,
        failed_count=0,
        error_count=0,
        skipped_count=0,
        success_rate=None,
        part="",
        complete=False,
        run_status="unreadable",
        reasons=[],
        engine="",
        has_baseline=False,
        commit="",
        branch="",
        path=run.path,
        error=run.error,
    )


def usage_by_model(usage: Usage | None) -> list[ModelUsagePage]:
    """Return what each model used."""
    return [
        ModelUsagePage(
            model=name,
            ai_credits=one.ai_credits,
            input_tokens=one.input_tokens,
            cache_read_tokens=one.cache_read_tokens,
            cache_write_tokens=one.cache_write_tokens,
            output_tokens=one.output_tokens,
        )
        for name, one in sorted((usage.model_metrics if usage else {}).items())
    ]


def summarize_all(runs: Iterable[RunSummary]) -> RunsSummary:
    """Return all runs together; those without results are counted apart."""
    every = list(runs)
    done = [run for run in every if run.outcome in ("passed", "failed", "not graded", "not decided")]
    tasks = sum(run.task_count for run in done)
    return RunsSummary(
        total_runs=len(done),
        total_tasks=tasks,
        pass_rate=100 * sum(run.pass_count for run in done) / tasks if tasks else 0.0,
        avg_tokens=_mean(run.tokens for run in done),
        avg_premium_requests=_mean(run.premium_requests for run in done),
        avg_ai_credits=_mean(run.ai_credits for run in done),
        avg_cost=_mean(run.cost for run in done),
        cost_source="table" if any(run.cost is not None for run in done) else None,
        avg_duration=_mean(run.duration for run in done),
        in_progress=sum(run.outcome == "in progress" for run in every),
        cut_off=sum(run.outcome == "cut off" for run in every),
        unreadable=sum(run.outcome == "unreadable" for run in every),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return mean(known) if known else None


def matches(text: str, *places: str) -> bool:
    """Tell whether one of the places has the text, in any case."""
    wanted = text.casefold()
    return any(wanted in place.casefold() for place in places)


def choose_runs(
    runs: Sequence[RunSummary], *, q: str | None, model: str | None, outcome: str | None
) -> list[RunSummary]:
    """Return the runs that a request wants; None does not matter."""
    return [
        run
        for run in runs
        if (not q or matches(q, run.spec, run.model, run.skill, run.id))
        and (model is None or run.model == model)
        and (outcome is None or run.outcome == outcome)
    ]


_KEYS: dict[str, Callable[[RunSummary], Any]] = {
    "timestamp": lambda run: read_moment(run.timestamp),
    "tokens": lambda run: run.tokens,
    "cost": lambda run: run.cost,
    "duration": lambda run: run.duration,
    "spec": lambda run: run.spec.casefold(),
    "model": lambda run: run.model.casefold(),
    "passRate": lambda run: run.success_rate,
    "score": lambda run: run.score,
    "weightedScore": lambda run: run.weighted_score,
    "tasks": lambda run: run.task_count,
}


def sort_runs(runs: Sequence[RunSummary], by: str, order: str) -> list[RunSummary]:
    """Return runs sorted; those of which the figure is not known are last in either order."""
    return sort_known(sorted(runs, key=lambda run: run.id), _KEYS[by], descending=order == "desc")


def sort_known(items: Sequence[T], key: Callable[[T], Any], *, descending: bool) -> list[T]:
    """Return items sorted by a key; those without one (None) are last."""
    known = [item for item in items if key(item) is not None]
    return [
        *sorted(known, key=key, reverse=descending),
        *(item for item in items if key(item) is None),
    ]


def run_before(run: ListedRun, runs: Iterable[ListedRun]) -> str:
    """Return the id of the latest finished run of the same suite before this one, if possible on the same model."""
    if run.head is None:
        return ""
    began, suite, model = _began(run), run.head.eval_name, run.head.config.model_id
    others = [
        one
        for one in runs
        if one.state == "finished" and one.head and one.head.eval_name == suite and _began(one) < began
    ]
    best = max(
        others, key=lambda one: (one.head and one.head.config.model_id == model, _began(one)), default=None
    )
    return best.id if best else ""


def sorted_by_time(runs: Sequence[ListedRun]) -> list[ListedRun]:
    """Return runs, the newest first."""
    return sorted(runs, key=lambda run: (_began(run), run.id), reverse=True)


def _began(run: ListedRun) -> datetime:
    return (run.head and read_moment(run.head.timestamp)) or EARLIEST
