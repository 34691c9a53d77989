"""`waza gate`: whether a run may ship, by its results and those of an earlier run."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from waza.cli.word import Word, option_name
from waza.errors import GateError

if TYPE_CHECKING:
    from waza.model.policy import GatePolicy
    from waza.model.result import SuiteResult
    from waza.results.gate import GateReport

FORMATS = ("human", "json", "markdown", "github-actions")
TREATMENTS = ("allow", "warn", "fail")


class Points(click.ParamType):  # type: ignore[type-arg]  # as above
    """A number of percentage points from 0 on."""

    name = "points"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number. Raises GateError."""
        del ctx
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and number >= 0):
            raise GateError(f"{option_name(param)}: {value!r} is not a number from 0 on, such as 2.5")
        return number


@click.command(epilog="Example: waza gate --baseline main.json --current pr.json --max-regression-pct 2")
@click.option(
    "--baseline",
    metavar="A.JSON",
    help="Results to compare with: a file, or a run by its id or directory.",
)
@click.option("--current", metavar="B.JSON", help="Results that are to pass.")
@click.option(
    "--max-regression-pct",
    type=Points(),
    default=0,
    show_default=True,
    help="By how many percentage points the pass rate may fall.",
)
@click.option(
    "--golden-must-pass/--no-golden-must-pass",
    default=True,
    show_default=True,
    help="Fail, with exit code 2, where a golden task does not pass.",
)
@click.option(
    "--on-new-tasks",
    type=Word(TREATMENTS),
    default="allow",
    show_default=True,
    help="Tasks that only the current run has.",
)
@click.option(
    "--on-removed-tasks",
    type=Word(TREATMENTS),
    default="warn",
    show_default=True,
    help="Tasks that only the baseline has.",
)
@click.option(
    "--policy", metavar="FILE", help="More limits, as YAML: by metric, group, tag, cost, latency, flakiness."
)
@click.option(
    "--strict",
    is_flag=True,
    help="Fail also where the runs were not measured alike: other models, graders or trials, tasks from the cache.",
)
@click.option(
    "-f",
    "--format",
    "form",
    type=Word(FORMATS),
    default="human",
    show_default=True,
    help="Form of the output.",
)
@click.option(
    "--release-policy",
    metavar="DIR",
    help="Decide by an experiment instead, by its directory: 0 if `waza experiment decide` passes, else 1.",
)
@click.pass_context
def command(
    context: click.Context,
    /,
    baseline: str | None,
    current: str | None,
    policy: str | None,
    form: str,
    release_policy: str | None,
    **rules: Any,
) -> int:
    """Decide whether a run may ship, by its results and those of an earlier run.

    Exit codes: 0 it may; 1 its pass rate fell too far, or another rule is broken; 2 a golden task did not pass;
    3 files or values of options cannot be used.
    """
    if release_policy is not None:
        _refuse_other_options(context, form)
        return _decide_by_experiment(Path(release_policy), form)
    if baseline is None or current is None:
        missing = "--baseline" if baseline is None else "--current"
        raise click.MissingParameter(param_hint=f"'{missing}'", param_type="option", ctx=context)
    from waza.cli.streams import print_notice
    from waza.report.gate import verdict_line
    from waza.results.gate import GateRules, decide

    limits = None if policy is None else _read_policy(policy)
    (before, first), (after, second) = _read(baseline), _read(current)
    if first.samefile(second):
        raise GateError(f"--baseline and --current are the same file, {first}; name the results of two runs")
    report = decide(before, after, GateRules(**rules), (baseline, current), limits)
    with _written_output():
        _print_report(report, form)
    if not report.passed:
        print_notice(verdict_line(report))
    return report.exit_code


@contextmanager
def _written_output() -> Iterator[None]:
    """Have what is printed written in the end. Raises GateError, as the code of other commands has a meaning here."""
    from waza.cli.std_streams import silence
    from waza.kit.os_errors import describe_os_error

    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        silence(sys.stdout)
        raise GateError(f"cannot write the output: {describe_os_error(error)}") from error


def _print_report(report: GateReport, form: str) -> None:
    """Print a report in a form."""
    from waza.cli.streams import print_json, print_line
    from waza.report.gate import box_lines, markdown_document

    if form == "json":
        print_json(report)
    elif form == "markdown":
        print_line(markdown_document(report).rstrip("\n"))
    elif form == "github-actions":
        from waza.cli.streams import print_commands
        from waza.report.gate import workflow_commands

        print_commands(workflow_commands(report))
        _append_step_summary(markdown_document(report))
    else:
        for line in box_lines(report):
            print_line(line)


def _refuse_other_options(context: click.Context, form: str) -> None:
    """Raise GateError for options that have no effect beside --release-policy."""
    from click.core import ParameterSource

    given = [
        option_name(param)
        for param in context.command.params
        if param.name not in ("release_policy", "form")
        and param.name is not None
        and context.get_parameter_source(param.name) == ParameterSource.COMMANDLINE
    ]
    if given:
        raise GateError(f"--release-policy cannot be combined with {', '.join(given)}; keep one")
    if form not in ("human", "json"):
        raise GateError(f"--release-policy has the forms human and json, not {form}")


def _decide_by_experiment(directory: Path, form: str) -> int:
    """Print the decision of an experiment and return 0 if it passes, else 1. Raises GateError: it is not admitted."""
    from waza.cli.experiment_report import print_decision
    from waza.cli.streams import make_output_draw, print_json
    from waza.errors import SuiteError
    from waza.experiment.decide import decide

    try:
        decision = decide(directory)
    except SuiteError as error:
        raise GateError(str(error)) from None
    with _written_output():
        if form == "json":
            print_json(decision)
        else:
            print_decision(decision, make_output_draw())
    return 0 if decision.exit_code == 0 else 1


def _read(file: str) -> tuple[SuiteResult, Path]:
    """Return the results in a file, or of a run by its id or directory, and their file; warnings are printed.

    Raises GateError for what cannot be used.
    """
    from waza.cli.open_results import find_runs, load_run
    from waza.cli.streams import print_problems
    from waza.errors import WazaError
    from waza.results.read import load
    from waza.suite.project import find_project

    path = Path(file)
    try:
        if path.exists() and not path.is_dir():
            result, warnings = load(path)
            print_problems(warnings)
        else:
            run = find_runs(file, find_project(Path.cwd()).directory).only()
            result, path = load_run(run), run.file()
    except WazaError as error:
        raise GateError(str(error)) from None
    return result, path


def _read_policy(file: str) -> GatePolicy:
    """Return the policy in a file. Raises GateError with every mistake in it."""
    from waza.errors import SuiteError
    from waza.results.gate_policy import read_policy

    try:
        return read_policy(Path(file))
    except SuiteError as error:
        raise GateError(str(error)) from None


def _append_step_summary(document: str) -> None:
    """Add Markdown to the summary of the job, where GitHub Actions names its file."""
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if not target:
        return
    try:
        with Path(target).open("a", encoding="utf-8", errors="replace") as file:
            file.write(document)
    except OSError as error:
        from waza.cli.streams import print_notice
        from waza.kit.os_errors import describe_os_error

        print_notice(f"warning: the summary of the job cannot be written: {describe_os_error(error)}")
