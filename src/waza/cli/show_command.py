"""`waza show`, step by step: find the run, choose the trials, and print them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.cli.open_results import load_run, print_notes
from waza.cli.streams import draw_paged, output_width, print_json, print_notice
from waza.errors import EXIT_OK, UsageError
from waza.kit.glob import matches
from waza.kit.names import did_you_mean
from waza.kit.text import pluralize
from waza.model.result import SuiteResult, TaskResult
from waza.report.requirements import RequirementLine, requirement_parts
from waza.report.run_page import RunPage, trials_of
from waza.report.section import Part
from waza.report.trial_page import TrialPage, TrialView, cause
from waza.report.view import RunView
from waza.report.words import BULLET, one_line, status_mark
from waza.report.wrap import wrap
from waza.results.ending import BAD, run_status
from waza.results.outcome import Outcome
from waza.results.saved import FoundRuns, SavedRun, find_results
from waza.results.selection import read_selection
from waza.results.so_far import results_so_far
from waza.results.verdict import verdict_of
from waza.suite.project import find_project


class ShowArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `waza show`, named as in `waza.cli.show`."""

    run: str | None
    task: str | None
    trial: int | None
    failed: bool
    grader: str
    baseline: bool
    requirements: bool
    full: bool
    as_json: bool
    pager: bool | None


class _Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A run with its results, and those of its trials that were asked for."""

    saved: SavedRun
    head: SuiteResult
    trials: list[TrialView]


def show(arguments: ShowArguments) -> int:
    """Run the command; return its exit code."""
    project = find_project(Path.cwd()).directory
    found, task = _find(arguments, project)
    print_notes(found)
    loaded = [_load(one) for one in found.runs]
    if task is not None:
        loaded = _with_task(loaded, task)
    _check(loaded, arguments, task)
    if arguments.requirements:
        return _show_requirements(loaded, arguments, task)
    loaded = [_choose(one, arguments) for one in loaded]
    if arguments.as_json:
        print_json({"runs": [_record(one, task) for one in loaded]})
        return EXIT_OK
    sections = _pages(loaded, arguments, task)
    draw_paged(sections, pager=arguments.pager)
    return EXIT_OK


def _find(arguments: ShowArguments, project: Path) -> tuple[FoundRuns, str | None]:
    """Return the runs, and the task: a single argument that is no run is a task of the newest one."""
    run, task = arguments.run, arguments.task
    if run is None or task is not None:
        return find_results(run, project), task
    try:
        return find_results(run, project), None
    except UsageError as error:
        try:
            newest = find_results(None, project)
        except UsageError:
            raise error from None
        head = _load(newest.runs[0]).head
        if _tasks_named(run, _all_tasks(head)):
            return newest, run
        known = did_you_mean(run, [one.test_id for one in head.tasks])
        raise UsageError(f"{error}, and it has no task of this name: {known}") from None


def _load(saved: SavedRun) -> _Loaded:
    if saved.results is None and saved.directory is not None:
        in_progress = saved.in_progress
        print_notice(f"note: {saved.unfinished}; this is what has finished")
        head = results_so_far(saved.directory, in_progress=in_progress)
    else:
        head = load_run(saved)
    return _Loaded(saved=saved, head=head, trials=trials_of(saved.name, head))


def _all_tasks(head: SuiteResult) -> list[TaskResult]:
    return [*head.tasks, *(head.baseline_outcome.tasks if head.baseline_outcome else ())]


def _tasks_named(name: str, tasks: Sequence[TaskResult]) -> set[str]:
    """Return the ids of the tasks with this id, else those with this name, else those that it matches as a pattern."""
    by_id = {task.test_id for task in tasks if task.test_id == name}
    by_name = {task.test_id for task in tasks if task.display_name == name}
    if by_id or by_name:
        return by_id or by_name
    try:
        return {
            task.test_id for task in tasks if matches(name, task.test_id) or matches(name, task.display_name)
        }
    except ValueError:  # not a pattern
        return set()


def _with_task(loaded: Sequence[_Loaded], name: str) -> list[_Loaded]:
    """Return the runs that have such a task, with the trials of it. Raises UsageError if no run has one, or one has several."""
    found: list[_Loaded] = []
    for one in loaded:
        ids = _tasks_named(name, _all_tasks(one.head))
        if len(ids) > 1:
            raise UsageError(
                f"{name!r} is {len(ids)} tasks of {one.saved.name}; name one: {', '.join(sorted(ids))}"
            )
        if ids:
            trials = [view for view in one.trials if view.task.test_id in ids]
            found.append(msgspec.structs.replace(one, trials=trials))
    if not found:
        known = did_you_mean(name, {task.test_id for one in loaded for task in _all_tasks(one.head)})
        raise UsageError(
            f"there is no task {name!r} in {', '.join(one.saved.name for one in loaded)}; {known}"
        )
    return found


def _check(loaded: Sequence[_Loaded], arguments: ShowArguments, task: str | None) -> None:
    """Raise UsageError for a trial, a grader or an arm that is not there."""
    if arguments.trial is not None and task is None:
        raise UsageError("--trial goes with a task: waza show RUN TASK --trial N")
    others = {"--trial": arguments.trial, "--failed": arguments.failed, "--grader": arguments.grader}
    given = [name for name, value in others.items() if value]
    if arguments.requirements and given:
        raise UsageError(
            f"{given[0]} is about trials; --requirements shows what all trials of a task recorded"
        )
    if arguments.baseline and not any(one.head.baseline_outcome for one in loaded):
        raise UsageError("the run has no trials without skills; they come with `waza run --baseline`")
    if task is not None and len(loaded) > 1 and not arguments.as_json:
        raise UsageError(
            f"{len(loaded)} runs have the task {task!r}; name one: {', '.join(one.saved.name for one in loaded)}"
        )
    views = [view for one in loaded for view in one.trials]
    numbers = sorted({view.trial.run_number for view in views})
    if arguments.trial is not None and arguments.trial not in numbers:
        have = f"those are {', '.join(map(str, numbers))}" if numbers else "none of its trials ran"
        raise UsageError(f"{task!r} has no trial {arguments.trial}; {have}")
    graders = {name for view in views for name in _graders(view)}
    if arguments.grader and arguments.grader not in graders:
        raise UsageError(
            f"no trial has a verdict of a grader {arguments.grader!r}; {did_you_mean(arguments.grader, graders)}"
        )


def _graders(view: TrialView) -> dict[str, bool]:
    """Return the graders of a trial, and whether each passed wherever it was asked."""
    found: dict[str, bool] = {}
    for validations in (
        view.trial.validations or {},
        *(point.validations for point in view.trial.checkpoints),
    ):
        for name, verdict in validations.items():
            known = verdict.identifier or name
            found[known] = found.get(known, True) and verdict.passed
    return found


def _choose(one: _Loaded, arguments: ShowArguments) -> _Loaded:
    """Return a run with those trials that the options leave."""
    kept = [
        view
        for view in one.trials
        if (not arguments.baseline or view.arm == "baseline")
        and (arguments.trial is None or view.trial.run_number == arguments.trial)
        and (not arguments.failed or view.trial.status in BAD)
        and (
            not arguments.grader
            or not _graders(view).get(arguments.grader, True)
            or arguments.task is not None
        )
    ]
    return msgspec.structs.replace(one, trials=kept)


def _show_requirements(loaded: Sequence[_Loaded], arguments: ShowArguments, task: str | None) -> int:
    """Show what was recorded of the requirements of tasks; return the exit code."""
    found = [(one, _requirements(one, arguments, task)) for one in loaded]
    if arguments.as_json:
        print_json({"runs": [_describe_run(one) | {"requirements": _encode(lines)} for one, lines in found]})
        return EXIT_OK
    width = output_width()
    sections = [
        (
            one.saved.name,
            [*requirement_parts(lines, width, whole=True)] or wrap("its tasks have no requirements", width)
            if one.saved.results
            else wrap(
                "the requirements are recorded with the results, which the run does not have yet", width
            ),
        )
        for one, lines in found
    ]
    draw_paged(sections, pager=arguments.pager)
    return EXIT_OK


def _requirements(one: _Loaded, arguments: ShowArguments, task: str | None) -> list[RequirementLine]:
    view = RunView.of(Outcome.of(one.head), one.saved.name)
    ids = None if task is None else _tasks_named(task, _all_tasks(one.head))
    return [
        line
        for line in view.requirements
        if (ids is None or line.task_id in ids) and (line.arm == "baseline" or not arguments.baseline)
    ]


def _encode(lines: Sequence[RequirementLine]) -> list[dict[str, Any]]:
    """Return requirements for programs."""
    return [
        {
            "task": line.task_id,
            "name": line.task,
            "arm": line.arm,
            "trials": line.outcome.trials,
            **msgspec.to_builtins(line.outcome),
        }
        for line in lines
    ]


def _pages(
    loaded: Sequence[_Loaded], arguments: ShowArguments, task: str | None
) -> Iterator[tuple[str, Sequence[Part]]]:
    width = output_width()
    for one in loaded:
        if task is None:
            page = RunPage(
                run=one.saved.name,
                head=one.head,
                trials=one.trials,
                width=width,
                all_failed=arguments.failed or bool(arguments.grader),
            )
            yield from page.sections(tasks=not (arguments.failed or arguments.grader))
            continue
        view = _one_trial(one.trials)
        if view is not None:
            yield from TrialPage(view, width, full=arguments.full, grader=arguments.grader).sections()
        else:
            yield _without_trial(one, task, width)


def _one_trial(views: Sequence[TrialView]) -> TrialView | None:
    """Return the first trial that did not pass, else the first one."""
    bad = (view for view in views if view.trial.status in BAD)
    return next(bad, views[0] if views else None)


def _without_trial(one: _Loaded, name: str, width: int) -> tuple[str, Sequence[Part]]:
    """Return what there is to show of a task none of whose trials is shown."""
    ids = _tasks_named(name, _all_tasks(one.head))
    task = next(task for task in _all_tasks(one.head) if task.test_id in ids)
    if task.runs:
        why = f"none of its {pluralize(len(task.runs), 'trial')} is of this kind"
    else:
        why = f"it did not run: {task.error_msg}" if task.error_msg else "no trial of it ran"
    title = f"{status_mark(task.status)} {one_line(task.test_id)}: {task.status}"
    return title, wrap(why, width, f"{BULLET} ", "    ")


def _describe_run(one: _Loaded) -> dict[str, Any]:
    """Return what there is to know of a run as a whole, for programs."""
    head, saved = one.head, one.saved
    return {
        "run": saved.name,
        "run_status": run_status(head),
        "selection": read_selection(head),
        "results": str(saved.results) if saved.results else None,
        "suite": head.eval_name,
        "skill": head.skill,
        "model": head.config.model_id,
        "started": head.timestamp,
        "verdict": verdict_of(head) if saved.results else None,
    }


def _record(one: _Loaded, name: str | None) -> dict[str, Any]:
    """Return a run and its trials for programs."""
    head = one.head
    ids = None if name is None else _tasks_named(name, _all_tasks(head))
    without = [task for task in head.tasks if not task.runs or task.missing_trials]
    return {
        **_describe_run(one),
        "trials": [
            {
                "task": view.task.test_id,
                "name": view.task.display_name,
                "arm": view.arm,
                "number": view.trial.run_number,
                "status": view.trial.status,
                "cause": cause(view.trial),
                "command": view.command,
                "record": view.trial,
            }
            for view in one.trials
        ],
        "not_run": [
            {
                "task": task.test_id,
                "name": task.display_name,
                "status": task.status,
                "missing_trials": task.missing_trials,
                "error": task.error_msg,
            }
            for task in without
            if ids is None or task.test_id in ids
        ],
    }
