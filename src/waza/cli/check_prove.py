"""What `waza check --prove` and `--integrity` do with their options."""

from __future__ import annotations

from pathlib import Path

from waza.author.check.annotations import annotation_lines
from waza.author.prove.options import ProveOptions
from waza.author.prove.report import ProveReport
from waza.author.prove.suites import SuiteToProve, prove_suites
from waza.author.prove.text import report_lines, table_lines
from waza.cli.check_arguments import CheckArguments
from waza.cli.choose_suites import choose_suites
from waza.cli.find_targets import repository_of
from waza.cli.streams import output_width, print_commands, print_json, print_line, print_notice
from waza.errors import EXIT_ERROR, UsageError
from waza.suite.project import find_project

_STEP = 500  # runs between two lines of progress


def run_prove(given: CheckArguments) -> int:
    """Prove suites, print the report, and return the exit code."""
    if given.fix:
        raise UsageError("--fix corrects skills and agents; leave out --prove and --integrity")
    project = find_project(Path.cwd())
    for warning in project.warnings:
        print_notice(str(warning))
    chosen = choose_suites(given.targets, project, print_notice, discover=False, strict=False)
    report = prove_suites(
        [SuiteToProve(one.path, one.skill_dir) for one in chosen.suites],
        ProveOptions(
            project=project,
            programs=given.programs,
            judges=given.judges,
            report=_show_progress,
            say=print_notice,
        ),
        graders=given.prove,
        secrets=given.integrity,
    )
    _print(report, given.form)
    unreadable = [suite.path for suite in report.suites if not suite.readable]
    if unreadable:
        print_notice(f"Error: cannot be read as a suite: {', '.join(unreadable)}")
        return EXIT_ERROR
    return given.exit_code(report.findings)


def _show_progress(done: int, of: int) -> None:
    if done % _STEP == 0 and done < of:
        print_notice(f"ran {done} of {of} probes")


def _print(report: ProveReport, form: str) -> None:
    if form == "json":
        print_json(report.to_json())
    elif form == "sarif":
        from waza.author.check.sarif import to_sarif

        print_json(to_sarif(report.findings, repository_of(Path.cwd())))
    elif form == "github":
        print_commands(annotation_lines(report.findings, repository_of(Path.cwd())))
    else:
        lines = table_lines if form == "table" else report_lines
        print_line("\n".join(lines(report, output_width())))
