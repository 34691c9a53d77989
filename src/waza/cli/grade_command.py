"""`waza grade`, step by step: load the suite and what is to be graded, grade it, show, write, decide."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from waza.cli.command_run import CommandRun, Writer
from waza.cli.load_suite import load_to_grade
from waza.cli.outputs import (
    JSON,
    CommandResults,
    ReporterOption,
    SkillOutcome,
    check_distinct,
    check_output,
    check_target,
    parse_reporter,
    write_report,
)
from waza.cli.reject_document import refuse_document
from waza.cli.streams import print_notice, print_problems
from waza.cli.telemetry import TelemetryArguments, open_telemetry
from waza.cli.utf8 import require_utf8
from waza.engine.regrade import RegradeResult, make_grades, regrade
from waza.errors import EXIT_FAILED, EXIT_OK, UsageError
from waza.kit.files import write_atomic
from waza.kit.indented_json import indented_json
from waza.kit.share import decimal
from waza.model.loaded import Project, Suite
from waza.model.result import SuiteResult, Validation
from waza.model.tracing import Tracing
from waza.report.show_hint import show_command
from waza.report.words import one_line, status_mark
from waza.results.outcome import Outcome
from waza.results.read import load as load_results
from waza.results.write import encode


class GradeArguments(TelemetryArguments, frozen=True, kw_only=True):
    """The options of `waza grade`, named as in `waza.cli.grade`."""

    target: str
    results_path: Path | None
    transcripts: tuple[Path, ...]
    task: str
    workspace: Path | None
    evidence_snapshot: Path | None
    judge_model: str
    executor: str
    output: Path | None
    reporters: tuple[str, ...]
    as_json: bool
    no_save: bool
    verbose: bool
    fail: bool


def grade_command(arguments: GradeArguments) -> int:
    """Run the command; return its exit code."""
    again = f"waza m365 run {shlex.quote(arguments.target)} --agent recorded"
    refuse_document(Path(arguments.target), f"`{again}` judges recorded responses again")
    _check_source(arguments)
    require_utf8("--judge-model", arguments.judge_model)
    call = CommandRun()
    recorded, warnings = load_results(arguments.results_path) if arguments.results_path else (None, [])
    suite = load_to_grade(
        arguments.target,
        call.project,
        recorded,
        executor=arguments.executor,
        judge_model=arguments.judge_model,
    )
    print_problems(warnings)
    reporters = _reporters(arguments, suite.path)
    with open_telemetry(arguments) as tracing:
        if recorded is None:
            done = _grade_transcripts(arguments, suite, call.project, tracing)
        else:
            with _workspace(arguments, suite, recorded) as place:
                done = asyncio.run(
                    regrade(
                        suite,
                        recorded,
                        call.project,
                        workspace=place,
                        only=arguments.task,
                        tracing=tracing,
                    )
                )
    for message in done.warnings:
        print_notice(f"warning: {message}")
    for line in _verdicts(done) if arguments.verbose else _errors(done):
        print_notice(line)
    _report(call, arguments.output, reporters, suite, done)
    call.finish(complete=True)
    return EXIT_FAILED if arguments.fail and not done.grades.passed else EXIT_OK


def _report(
    call: CommandRun,
    output: Path | None,
    reporters: Sequence[ReporterOption],
    suite: Suite,
    done: RegradeResult,
) -> None:
    """Write and print what was asked for; without a report for standard output, the scores."""
    outcome = Outcome.of(done.result)
    results = CommandResults(done=(SkillOutcome(skill=suite.file.skill or suite.name, outcome=outcome),))
    writers: list[Writer] = [partial(write_report, reporter, results) for reporter in reporters]
    if output:
        writers.append(partial(_write_result, output, done.result))
    call.write(writers)
    printed = dict.fromkeys(one.name for one in reporters if one.path is None)
    for name in printed:
        call.print_report(name, results)
    if not printed:
        call.out.json([indented_json(done.grades)])


def _reporters(arguments: GradeArguments, suite: Path) -> list[ReporterOption]:
    """Return the reporters. Raises UsageError for files that cannot be written, or are inputs."""
    reporters = [parse_reporter(text) for text in arguments.reporters]
    if arguments.as_json and all(one.name != JSON or one.path for one in reporters):
        reporters.append(ReporterOption(JSON))
    inputs = [suite, *arguments.transcripts]
    if arguments.output:
        check_output(arguments.output, inputs)
    for reporter in reporters:
        if reporter.path and not reporter.folder:
            check_target(reporter.path, inputs)
    check_distinct([arguments.output] if arguments.output else [], reporters)
    return reporters


def _check_source(arguments: GradeArguments) -> None:
    """Raise UsageError unless the options say what is to be graded, and where its files are."""
    transcripts, workspace = arguments.transcripts, arguments.workspace
    if (arguments.results_path is None) != bool(transcripts):
        what = "not both" if transcripts else "or --transcript FILE"
        raise UsageError(f"say which results to grade: --results FILE, {what}; see `waza grade --help`")
    if workspace is not None and not workspace.is_dir():
        raise UsageError(f"there is no directory {workspace} (--workspace)")
    if arguments.evidence_snapshot is not None:
        if transcripts:
            raise UsageError("--evidence-snapshot is of a run of waza; with --transcript, name a --workspace")
        if workspace is not None or not arguments.task:
            raise UsageError("--evidence-snapshot needs --task, and takes the place of --workspace")
    if workspace is not None and len(transcripts) > 1:
        raise UsageError(
            f"--workspace holds the files of one session, and there are {len(transcripts)} transcripts; "
            "grade them in a call each"
        )


def _grade_transcripts(
    arguments: GradeArguments, suite: Suite, project: Project, tracing: Tracing | None
) -> RegradeResult:
    from waza.engine.assign_recordings import assign  # results are graded without these
    from waza.engine.grade_recordings import grade_recordings
    from waza.foreign.transcripts.read import read_transcript

    recordings = [read_transcript(path) for path in arguments.transcripts]
    grading = grade_recordings(
        suite,
        assign(suite, recordings, arguments.task),
        project,
        workspace=arguments.workspace.absolute() if arguments.workspace else None,
        save=not arguments.no_save,
        tracing=tracing,
    )
    done = asyncio.run(grading)
    try:
        tasks = list(done.outcome.tasks())
        result = msgspec.structs.replace(done.outcome.head, tasks=tasks)
    finally:
        done.run_directory.close()
    if done.run_directory.saved is not None:
        print_notice(f"Kept: {show_command(done.run_directory.id)}")
    return RegradeResult(
        result=result, grades=make_grades(tasks, done.outcome.verdict), warnings=done.warnings
    )


@contextmanager
def _workspace(arguments: GradeArguments, suite: Suite, recorded: SuiteResult) -> Iterator[Path | None]:
    """Yield the directory that graders of files look into: the one that was named, or the files that evidence kept."""
    snapshot = arguments.evidence_snapshot
    if snapshot is None:
        yield arguments.workspace.absolute() if arguments.workspace else None
        return
    from waza.evidence.grading import restore_files  # most gradings do without it

    with TemporaryDirectory(prefix="waza-evidence-") as directory:
        restore_files(snapshot, suite, recorded, arguments.task, Path(directory))
        yield Path(directory)


def _write_result(path: Path, result: SuiteResult) -> list[Path]:
    write_atomic(path, encode(Outcome.of(result)))
    return [path]


def _errors(done: RegradeResult) -> Iterator[str]:
    """Yield which graders reached no verdict; their score of 0 looks like one."""
    for task in done.result.tasks:
        for run in task.runs if task.test_id in done.grades.tasks else ():
            if run.error_msg:
                yield f"warning: {one_line(task.display_name)}, run {run.run_number}: {one_line(run.error_msg)}"


def _verdicts(done: RegradeResult) -> Iterator[str]:
    """Yield every verdict on every trial."""
    for task in done.result.tasks:
        if task.test_id not in done.grades.tasks:
            continue
        for run in task.runs:
            error = f": {one_line(run.error_msg)}" if run.error_msg else ""
            yield f"{one_line(task.display_name)}, run {run.run_number}: {run.status}{error}"
            yield from (f"  {line}" for line in _lines(run.validations or {}))
            for point in run.checkpoints:
                yield f"  after turn {point.after_turn}, as recorded: {point.status}"
                yield from (f"    {line}" for line in _lines(point.validations))


def _lines(validations: Mapping[str, Validation]) -> Iterator[str]:
    for found in validations.values():
        mark = status_mark("passed" if found.passed else "failed")
        yield f"{mark} {found.identifier} {decimal(found.score)}: {one_line(found.feedback)}"
