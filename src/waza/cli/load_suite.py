"""Loading a suite with what the command line asks of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from waza.cli.choose_suites import Chosen, choose_suite
from waza.cli.outputs import ReporterOption, check_output, check_target, is_html
from waza.cli.streams import print_notice, print_problems
from waza.errors import UsageError
from waza.kit.text import pluralize
from waza.model.loaded import Project, Suite, SuitePart
from waza.model.result import SuiteResult
from waza.model.shard import ShardRequest, TaskDurations
from waza.results.durations import read_durations
from waza.results.transcripts import read_transcript_records
from waza.suite.load import load
from waza.suite.loading import LoadOptions

if TYPE_CHECKING:
    from waza.cli.run_command import RunArguments


def load_options(chosen: Chosen, given: RunArguments) -> LoadOptions:
    """Return what the command line asks of a suite. Raises SuiteError and UsageError as `shard_request` does."""
    return LoadOptions(
        executor=given.executor,
        models=given.models,
        judge_model=given.judge_model,
        trials=given.trials,
        timeout=given.timeout,
        parallel=given.parallel,
        workers=given.workers,
        baseline=given.baseline,
        no_skills=given.no_skills,
        context_dir=given.context_dir,
        skill_dir=chosen.skill_dir,
        tasks=given.tasks,
        tags=given.tags,
        expression=given.expression,
        shard=shard_request(given),
        warnings_as_errors=given.warnings_as_errors,
        wire=given.wire or "",
        cassettes=_cassettes(given.cassettes),
    )


def _cassettes(given: str) -> str:
    """Return a directory that exists here by its whole path; anything else as it is, such as the id of a run."""
    return str(Path(given).absolute()) if given and Path(given).is_dir() else given


def shard_request(given: RunArguments) -> ShardRequest | None:
    """Return which shard is to be run; None for all. Raises SuiteError and UsageError for the file of durations."""
    if given.shard is None:
        return None
    number, of = given.shard
    return ShardRequest(number=number, of=of, durations=_durations(given.durations))


@cache
def _durations(path: Path | None) -> TaskDurations | None:
    return read_durations(path) if path else None


def _describe_part(suite: Suite, part: SuitePart, request: ShardRequest | None) -> str:
    """Return what a shard has, and what is not known of its durations."""
    tasks = f"{len(suite.tasks)} of {pluralize(len(part.tasks), 'task')}"
    text = f"{suite.name}: shard {part.shard} has {tasks}"
    if not suite.tasks:
        text += "; only trigger tests are run" if suite.trigger_tests else "; nothing is run"
    if request is None or request.durations is None:
        return text
    known = request.durations.tasks if request.durations.suite == suite.name else {}
    unknown = sum(task.id not in known for task in part.tasks)
    if unknown:
        text += f"; the file of --durations does not know {unknown} of all tasks, which count as the average"
    return text


def load_to_grade(
    target: str, project: Project, recorded: SuiteResult | None, *, executor: str, judge_model: str
) -> Suite:
    """Return the suite whose graders look at recorded answers again; warnings go to stderr.

    `recorded` has the answers; None: they are those of transcripts. Empty options are those of the suite and the project.
    """
    chosen = choose_suite(target, project)
    options = LoadOptions(
        executor=executor,
        judge_model=judge_model or project.keys.defaults.judgeModel,
        skill_dir=chosen.skill_dir,
        elsewhere=recorded is None or bool(read_transcript_records(recorded)),
    )
    suite = load(chosen.path, options)
    print_problems(suite.warnings)
    return suite


def load_suite(chosen: Chosen, given: RunArguments, reporters: Sequence[ReporterOption]) -> Suite:
    """Return a suite; warnings go to stderr. Raises SuiteError, and UsageError where a target is one of its files."""
    suite = load(chosen.path, load_options(chosen, given))
    inputs = [suite.path, *(Path(task.file) for task in suite.tasks if task.file)]
    if given.output:
        check = check_target if is_html(given.output) else check_output
        check(given.output, inputs)
    for reporter in reporters:
        if reporter.path and not reporter.folder:
            check_target(reporter.path, inputs)
    if suite.part is not None:
        print_notice(_describe_part(suite, suite.part, shard_request(given)))
    unmatched = [one for one in suite.warnings if given.strict and one.file in ("--task", "--tags", "-k")]
    for warning in suite.warnings:
        if warning not in unmatched:
            print_notice(str(warning))
    if unmatched:
        reasons = "; ".join(f"{warning.file}: {warning.message}" for warning in unmatched)
        raise UsageError(f"{reasons}; nothing was run (--strict)")
    return suite
