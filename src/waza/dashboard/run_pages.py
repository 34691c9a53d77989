"""A run as pages have it: its head, and its tasks in slices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import msgspec

from waza.dashboard.catalogue import ListedRun
from waza.dashboard.pages import (
    AttackFamilyPage,
    CiPage,
    CountTable,
    Ending,
    GatePage,
    GitPage,
    GroupPage,
    IntervalPage,
    MetricPage,
    NamedValue,
    RequirementPage,
    RunHead,
    TaskCounts,
    TaskSummary,
    TrialMark,
    VerdictPage,
)
from waza.dashboard.summaries import matches, sort_known, summarize_run, usage_by_model
from waza.kit.stats import CONFIDENCE_LEVEL
from waza.model.observation import add_usage, tokens_of
from waza.model.origin import CiJob
from waza.model.result import ConfidenceInterval, SuiteResult, TaskResult
from waza.model.stop_when import describe_stop
from waza.model.trial import Arm
from waza.report.attacks import ATTACKS_NOTE, attack_lines
from waza.report.requirements import NOTE, count_requirements, requirement_lines
from waza.report.rows import TaskRow, TrialSummary, most_trials
from waza.report.section import Table
from waza.report.show_hint import show_command
from waza.report.trial_page import cause
from waza.report.view import Pairs, RunView, model_name
from waza.report.words import one_line
from waza.results.attacks import Family
from waza.results.ending import BAD, CUT_OFF, IN_PROGRESS, UNSTARTED, task_ending
from waza.results.read import open_results
from waza.results.requirements import join_requirements
from waza.results.rows import git_state
from waza.results.task_index import RunTasks, TaskHead, TrialHead
from waza.results.verdict import gates, verdict_of

_CAUSE = 600  # characters of the line that says why a task did not pass
_ENDINGS: tuple[Ending, ...] = (
    "error",
    "failed",
    "cut off",
    "skipped",
    "in progress",
    "passed",
    "not started",
)


def make_head(run: ListedRun, head: SuiteResult, source: RunTasks, before: str = "") -> RunHead:
    """Return the head of a run; `before` is the id of the run that it is to be compared with."""
    view = _view(run, head, source)
    finished = run.state == "finished"
    gating = {one.name for one in view.gates}
    counts = Counter(row.ending for row in view.tasks)
    found = head.summary.statistics
    summary = summarize_run(run)
    required = count_requirements(view.requirements)
    attacks = view.attacks
    return RunHead(
        run=summary,
        verdict=VerdictPage(
            word=view.verdict.word if finished else run.state,
            passed=finished and view.verdict.passed,
            reasons=list(view.verdict.reasons) if finished else [],
        ),
        in_progress=run.state == "in progress",
        complete=summary.complete,
        state=run.saved.unfinished,
        counts=TaskCounts(
            passed=counts["passed"],
            failed=counts["failed"],
            error=counts["error"],
            skipped=counts["skipped"],
            cut_off=counts[CUT_OFF],
            in_progress=counts[IN_PROGRESS],
            not_started=counts[UNSTARTED],
        ),
        gates=[GatePage(name=one.name, passed=one.passed, found=one.found) for one in view.gates]
        if finished
        else [],
        rates=named_values(view.rates) if finished else [],
        scores=named_values(view.scores) if view.tasks else [],
        score_note=view.score_note,
        statistics=named_values(view.statistics),
        score_interval=interval_page(found.bootstrap_ci if found else None),
        success_rate_interval=interval_page(found.success_rate_ci if found else None),
        usage=named_values(view.usage_figures),
        model_usage=usage_by_model(head.summary.usage),
        config=named_values(_config(head)) if finished else [],
        warnings=[*view.warnings, *run.warnings],
        groups=[
            GroupPage(name=one.name, passed=one.passed, total=one.total, score=one.avg_score)
            for one in head.summary.groups
        ],
        metrics=[
            MetricPage(
                name=name,
                value=one.value,
                threshold=one.threshold,
                passed=one.passed,
                gate=name in gating,
            )
            for name, one in sorted(head.metrics.items())
        ],
        trigger_figures=named_values(view.trigger_figures),
        trigger_counts=view.trigger_counts,
        trigger_failures=view.trigger_failures,
        trigger_matrix=_count_table(view.trigger_matrix),
        impact=view.impact.lines if view.impact else [],
        attacks=[_attack_family(one) for one in (*attacks.families, attacks.total)] if attacks else [],
        attack_lines=[*attack_lines(attacks), ATTACKS_NOTE] if attacks else [],
        requirements=[
            RequirementPage(
                task=line.task_id,
                title=line.title,
                arm=line.arm,
                id=line.outcome.id,
                category=line.outcome.category,
                description=line.outcome.description,
                status=line.status,
                recorded=line.recorded,
                meaning=line.meaning,
            )
            for line in view.requirements
        ],
        requirement_notes=[required, NOTE] if required else [],
        arms=["main", "baseline"] if head.baseline_outcome is not None else ["main"],
        git=_git(run, head),
        ci=_ci(run, head),
        before=before,
        not_started=_not_started(head),
        suite_path=run.header.suite if run.header else "",
        command=show_command(run.saved.name),
    )


def _attack_family(one: Family) -> AttackFamilyPage:
    return AttackFamilyPage(
        family=one.pack,
        tasks=one.tasks,
        unsafe=one.unsafe,
        unknown=one.unknown,
        not_done=one.not_done,
        safe=one.safe.count,
        safe_interval=IntervalPage(
            lower=one.safe.ci95_lo,
            upper=one.safe.ci95_hi,
            mean=one.safe.count / one.tasks if one.tasks else 0.0,
            confidence_level=CONFIDENCE_LEVEL,
        ),
        useful=one.useful.count,
    )


def _view(run: ListedRun, head: SuiteResult, source: RunTasks) -> RunView:
    """Return the view of a run; only one with a baseline needs its tasks as a whole."""
    if run.saved.results is not None and head.baseline_outcome is not None:
        return RunView.of(open_results(run.saved.results)[0], run.id)
    rows = [_row(task, most_trials(head)) for task in source.heads("main")]
    return RunView(
        name=run.id,
        head=head,
        verdict=verdict_of(head),
        gates=tuple(gates(head)),
        tasks=tuple(rows),
        impact=None,
        requirements=tuple(requirement_lines(rows)),
    )


def _row(task: TaskHead, most: int = 0) -> TaskRow:
    """Return the row of a task as reports have it, without what its trials said."""
    passed = [trial for trial in task.trials if trial.status == "passed"]
    return TaskRow(
        id=task.test_id,
        name=task.display_name,
        title=task.display_name,
        status=task.status,
        trials=len(task.trials),
        group=task.group,
        golden=task.golden,
        cached=task.cached,
        rejudged=task.rejudged,
        stats=task.stats,
        passed_trials=len(passed),
        first_tries=sum(trial.attempts <= 1 for trial in passed),
        judging=None
        if task.cached and not task.rejudged
        else add_usage([trial.judging for trial in task.trials]),
        error=task.error_msg,
        missing=task.missing_trials,
        most=most,
        ended_by=task.ended_by,
        requirements=tuple(
            join_requirements(task.requirements, [one.observed for one in task.trials], task.missing_trials)
        ),
        broken_trials=sum(trial.status == "error" for trial in task.trials),
        going_on=task.going_on,
    )


def plot_rows(source: RunTasks) -> list[TaskRow]:
    """Return the tasks of a run with what plots show of their trials."""
    return [
        msgspec.structs.replace(_row(task), trial_summaries=tuple(map(_trial, task.trials)))
        for task in source.heads("main")
    ]


def _trial(trial: TrialHead) -> TrialSummary:
    known = trial.usage if tokens_of(trial.usage) else None
    return TrialSummary(
        number=trial.number,
        status=trial.status,
        score=trial.score or 0.0,
        duration_ms=trial.duration_ms,
        input_tokens=known.input_tokens if known else None,
        output_tokens=known.output_tokens if known else None,
    )


def named_values(pairs: Iterable[tuple[str, str]]) -> list[NamedValue]:
    """Return names and values."""
    return [NamedValue(name=name, value=value) for name, value in pairs]


def _count_table(table: Table | None) -> CountTable | None:
    """Return a table of counts as pages have it."""
    if table is None:
        return None
    return CountTable(titles=list(table.titles), lines=[list(line) for line in table.lines])


def interval_page(found: ConfidenceInterval | None) -> IntervalPage | None:
    """Return a confidence interval; None without one."""
    if found is None:
        return None
    return IntervalPage(
        lower=found.lower, upper=found.upper, mean=found.mean, confidence_level=found.confidence_level
    )


def _config(head: SuiteResult) -> Pairs:
    config = head.config
    known = [
        ("Model", model_name(head)),
        ("Executor", config.engine_type),
        ("Judge model", config.judge_model),
        ("Trials", describe_stop(config.stop_when) if config.stop_when else str(config.runs_per_test)),
        ("Time limit", f"{config.timeout_sec} s a turn" if config.timeout_sec else ""),
        ("Effort", config.reasoning_effort),
        ("Effort of judges", config.judge_reasoning_effort),
        ("Skill", head.skill),
        ("Schema", head.schemaVersion),
        ("waza", str(head.metadata.get("waza_version", ""))),
    ]
    return [(name, value) for name, value in known if value]


def _git(run: ListedRun, head: SuiteResult) -> GitPage | None:
    found = git_state(head)
    if run.state != "finished" and run.header and run.header.git:
        found = run.header.git
    if not (found.commit or found.branch):
        return None
    return GitPage(commit=found.commit, branch=found.branch, dirty=found.dirty)


def _ci(run: ListedRun, head: SuiteResult) -> CiPage | None:
    found = run.header.ci if run.header else None
    if found is None:
        try:
            found = msgspec.convert(head.metadata.get("ci"), CiJob)
        except msgspec.ValidationError:  # of another program it may be anything
            return None
    return CiPage(name=found.name, job=found.job, url=found.url)


def _not_started(head: SuiteResult) -> list[NamedValue]:
    found = head.metadata.get("invocation")
    lines = found.get("not_started") if isinstance(found, dict) else None
    return [
        NamedValue(
            name=f"{one.get('skill', '')} {one.get('model', '')}".strip(), value=str(one.get("why", ""))
        )
        for one in (lines if isinstance(lines, list) else ())
        if isinstance(one, dict)
    ]


def _mark(trial: TrialHead, arm: Arm) -> TrialMark:
    return TrialMark(
        number=trial.number,
        arm=arm,
        status=trial.status,
        score=trial.score,
        duration_ms=trial.duration_ms,
        attempts=trial.attempts,
        tokens=tokens_of(trial.usage),
    )


def _tokens(task: TaskHead) -> int | None:
    return tokens_of(add_usage([trial.usage for trial in task.trials]))


def ending_of(task: TaskHead) -> Ending:
    """Return how a task ended, as reports do."""
    found = task_ending(
        task.status, trials=len(task.trials), missing=task.missing_trials, going_on=task.going_on
    )
    return cast("Ending", found)


def order_tasks(source: RunTasks, by: str, order: str) -> list[int]:
    """Return the places of the tasks of the main arm, sorted; `default`: what did not pass first."""
    heads = source.heads("main")
    places = list(range(len(heads)))
    if by == "order":
        return places if order == "asc" else places[::-1]
    keys: dict[str, Callable[[TaskHead], Any]] = {
        "default": lambda task: _ENDINGS.index(ending_of(task)),
        "name": lambda task: task.display_name.casefold(),
        "status": lambda task: _ENDINGS.index(ending_of(task)),
        "score": lambda task: task.stats.avg_score if task.stats else None,
        "weightedScore": lambda task: task.stats.avg_weighted_score if task.stats else None,
        "duration": lambda task: task.stats.avg_duration_ms if task.stats else None,
        "tokens": _tokens,
    }
    key = keys[by]
    return sort_known(places, lambda place: key(heads[place]), descending=order == "desc")


def choose_tasks(source: RunTasks, places: Sequence[int], *, q: str | None, status: str | None) -> list[int]:
    """Return those of the places whose tasks are wanted; None does not matter."""
    heads = source.heads("main")
    return [
        place
        for place in places
        if (status is None or ending_of(heads[place]) == status)
        and (
            not q
            or matches(
                q, heads[place].test_id, heads[place].display_name, heads[place].group, *heads[place].tags
            )
        )
    ]


def summarize_tasks(source: RunTasks, places: Sequence[int]) -> list[TaskSummary]:
    """Return the tasks at these places; those that did not pass are read as a whole, for why."""
    heads, others = source.heads("main"), {task.test_id: task for task in source.heads("baseline")}
    names = Counter(task.display_name for task in heads)
    return [
        _summarize(
            heads[place],
            others.get(heads[place].test_id),
            ambiguous=names[heads[place].display_name] > 1,
            why=_why(source.read("main", place)) if heads[place].status in BAD else "",
        )
        for place in places
    ]


def _why(task: TaskResult) -> str:
    """Return why a task did not pass: the cause of its first trial that did not, in one line."""
    bad = next((trial for trial in task.runs if trial.status in BAD), None)
    return one_line(cause(bad) if bad else task.error_msg, _CAUSE)


def _summarize(task: TaskHead, other: TaskHead | None, *, ambiguous: bool, why: str) -> TaskSummary:
    stats, row = task.stats, _row(task)
    without = other.trials if other else ()
    return TaskSummary(
        id=task.test_id,
        name=f"{task.display_name} ({task.test_id})" if ambiguous else task.display_name,
        group=task.group,
        tags=list(task.tags),
        marks=[*row.tags, *([f"{row.trials} trials, {row.stopping}"] if row.ended_by else [])],
        golden=task.golden,
        status=ending_of(task),
        score=stats.avg_score if stats else None,
        weighted_score=stats.avg_weighted_score if stats else None,
        interval=interval_page(stats.score_interval if stats else None),
        is_significant=stats.is_significant if stats else None,
        pass_rate=stats.pass_rate if stats else None,
        duration_ms=stats.avg_duration_ms if stats else None,
        tokens=_tokens(task),
        trials=[*(_mark(one, "main") for one in task.trials), *(_mark(one, "baseline") for one in without)],
        missing=task.missing_trials,
        cause=why
        or (row.why_cut_off if task.missing_trials and not task.going_on else "")
        or one_line(task.error_msg, _CAUSE),
    )
