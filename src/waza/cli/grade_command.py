"""`waza grade`, step by step: load the suite and the results, grade again, show, write, decide."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from waza.cli.command_run import CommandRun
from waza.cli.outputs import check_output
from waza.cli.reject_document import refuse_document
from waza.cli.streams import json_chunks, print_notice
from waza.cli.telemetry import TelemetryArguments, open_telemetry
from waza.cli.utf8 import require_utf8
from waza.engine.regrade import RegradeResult, regrade
from waza.errors import EXIT_FAILED, EXIT_OK, UsageError
from waza.kit.files import write_atomic
from waza.kit.share import decimal
from waza.model.loaded import Suite
from waza.model.result import SuiteResult, Validation
from waza.report.words import one_line, status_mark
from waza.results.outcome import Outcome
from waza.results.read import load as load_results
from waza.results.write import encode
from waza.suite.load import load
from waza.suite.loading import LoadOptions


class GradeArguments(TelemetryArguments, frozen=True, kw_only=True):
    """The options of `waza grade`, named as in `waza.cli.grade`."""

    suite_path: Path
    results_path: Path | None
    task: str
    workspace: Path | None
    evidence_snapshot: Path | None
    judge_model: str
    executor: str
    output: Path | None
    verbose: bool
    fail: bool


def grade_command(arguments: GradeArguments) -> int:
    """Run the command; return its exit code."""
    again = f"waza m365 run {shlex.quote(str(arguments.suite_path))} --agent recorded"
    refuse_document(arguments.suite_path, f"`{again}` judges recorded responses again")
    if arguments.results_path is None:
        raise UsageError("say which results to grade: --results FILE; see `waza grade --help`")
    workspace = arguments.workspace
    if workspace is not None and not workspace.is_dir():
        raise UsageError(f"there is no directory {workspace} (--workspace)")
    if arguments.evidence_snapshot is not None and (workspace is not None or not arguments.task):
        raise UsageError("--evidence-snapshot needs --task, and takes the place of --workspace")
    if arguments.output:
        check_output(arguments.output, [arguments.suite_path])
    require_utf8("--judge-model", arguments.judge_model)
    call = CommandRun()
    project = call.project
    judge_model = arguments.judge_model or project.keys.defaults.judgeModel
    suite = load(arguments.suite_path, LoadOptions(executor=arguments.executor, judge_model=judge_model))
    recorded, warnings = load_results(arguments.results_path)
    for warning in (*suite.warnings, *warnings):
        print_notice(str(warning))
    with _workspace(arguments, suite, recorded) as place, open_telemetry(arguments) as tracing:
        grading = regrade(suite, recorded, project, workspace=place, only=arguments.task, tracing=tracing)
        done = asyncio.run(grading)
    for message in done.warnings:
        print_notice(f"warning: {message}")
    for line in _verdicts(done) if arguments.verbose else _errors(done):
        print_notice(line)
    if arguments.output:
        call.write([partial(_write_result, arguments.output, done.result)])
    call.out.json(json_chunks(done.grades))
    call.finish(complete=True)
    return EXIT_FAILED if arguments.fail and not done.grades.passed else EXIT_OK


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
