"""`waza grade`: recorded results, graded again."""

from __future__ import annotations

import sys
from pathlib import Path

import click

EPILOG = """
\b
Examples:
  waza grade eval.yaml --results results.json
  waza grade eval.yaml --results results.json -o regraded.json --fail
"""


@click.command(epilog=EPILOG)
@click.argument("suite_path", metavar="EVAL.YAML", type=click.Path(path_type=Path))
@click.option(
    "--results", "results_path", required=True, type=click.Path(path_type=Path), help="Recorded results."
)
@click.option("--task", default="", help="Grade only the task with this id.")
@click.option(
    "--workspace",
    default=".",
    type=click.Path(path_type=Path),
    help="Where file graders look [default: here].",
)
@click.option("--judge-model", default="", help="Model of prompt graders that name none.")
@click.option(
    "--executor", metavar="NAME", default="", help="Agent engine that judges, instead of config.executor."
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the results with the new verdicts."
)
@click.option("-v", "--verbose", is_flag=True, help="Show every grader's verdict on stderr.")
@click.option("--fail", is_flag=True, help="Exit with 1 when the verdict is 'failed'.")
def command(  # the options explain themselves in --help
    suite_path: Path,
    results_path: Path,
    task: str,
    workspace: Path,
    judge_model: str,
    executor: str,
    output: Path | None,
    *,
    verbose: bool,
    fail: bool,
) -> int:
    """Grade recorded results again, without running an agent. Prints the scores as JSON.

    Runs that broke before they were graded stay errors. Exit code 0 whatever the verdict, unless --fail.
    """
    import asyncio

    import msgspec

    from waza.engine.regrade import regrade
    from waza.errors import EXIT_FAILED, EXIT_OK, UsageError
    from waza.kit.files import write_atomic
    from waza.report.words import printer
    from waza.results.outcome import Outcome
    from waza.results.read import load as load_results
    from waza.results.write import encode
    from waza.suite.load import load
    from waza.suite.loading import Request
    from waza.suite.project import find_project

    tell = printer(sys.stderr)
    if not workspace.is_dir():
        raise UsageError(f"--workspace {workspace} is no directory")
    project = find_project(Path.cwd())
    judge_model = judge_model or project.keys.defaults.judgeModel
    suite = load(suite_path, Request(executor=executor, judge_model=judge_model))
    recorded, warnings = load_results(results_path)
    for warning in (*suite.warnings, *warnings):
        tell(str(warning))
    done = asyncio.run(regrade(suite, recorded, project, workspace=workspace.absolute(), only=task))
    for message in done.warnings if verbose else ():
        tell(f"warning: {message}")
    if verbose:
        _tell_verdicts(done.result, set(done.grades.tasks), tell)
    printer(sys.stdout)(msgspec.json.format(msgspec.json.encode(done.grades), indent=2).decode())
    if output:
        write_atomic(output, encode(Outcome.of(done.result)))
        tell(f"Written: {output}")
    return EXIT_FAILED if fail and not done.grades.passed else EXIT_OK


def _tell_verdicts(result: object, graded: set[str], tell: object) -> None:
    from waza.model.result import SuiteResult
    from waza.report.words import status_mark

    if not isinstance(result, SuiteResult) or not callable(tell):
        return
    for task in result.tasks:
        if task.test_id not in graded:
            continue
        for run in task.runs:
            tell(f"{task.display_name}, run {run.run_number}: {run.status}")
            for found in (run.validations or {}).values():
                mark = status_mark("passed" if found.passed else "failed")
                tell(f"  {mark} {found.identifier} {found.score:.2f}: {found.feedback}")
