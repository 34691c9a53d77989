"""`waza preflight`: what a suite needs and what is missing, without running any of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.options import (
    complete_targets,
    context_dir_option,
    executor_option,
    format_option,
    json_option,
)

if TYPE_CHECKING:
    from waza.cli.choose_suites import Chosen

EPILOG = """
\b
Examples:
  waza preflight eval.yaml                   what there is, and what is missing
  waza preflight eval.yaml --executor mock   what a try without an agent would lack
  waza preflight                             the suites of all skills and agents of the workspace
  waza preflight eval.yaml --strict --json   for a pipeline: everything must be confirmed

\b
Exit codes: 0 nothing is invalid, 1 something is (--strict: or unresolved, or unsupported),
2 bad usage, or the report cannot be written.
"""


@click.command(epilog=EPILOG)
@click.argument("targets", shell_complete=complete_targets, metavar="[EVAL.YAML | SKILL]...", nargs=-1)
@format_option(["human", "json"])
@json_option("Print the report as JSON, same as --format json.")
@context_dir_option
@executor_option("Agent engine to examine the suites for, instead of config.executor.")
@click.option("--strict", is_flag=True, help="What cannot be confirmed is a failure, too.")
def command(
    *, targets: tuple[str, ...], form: str, as_json: bool, context_dir: str, executor: str, strict: bool
) -> int:
    """List what suites hold and need: tasks, requirements, dependencies, and each one's state.

    Without an argument these are the suites of the skills and agents around here. Only files are read: no agent, no
    grader, no hook and no other program is started, and no network is used. The JSON for an argument that means one suite
    is a report, else a list of reports.
    """
    from waza.cli.streams import Output
    from waza.errors import EXIT_FAILED, EXIT_OK
    from waza.kit.indented_json import indented_json
    from waza.model.preflight import worst
    from waza.preflight.inventory import inventory
    from waza.report.preflight import preflight_lines
    from waza.suite.loading import LoadOptions

    reports = [
        inventory(one.path, LoadOptions(executor=executor, context_dir=context_dir, skill_dir=one.skill_dir))
        for one in _suites(targets, strict=strict)
    ]
    out = Output()
    if as_json or form == "json":
        out.json([indented_json(reports[0] if len(targets) == len(reports) == 1 else reports)])
    else:
        out.line("\n\n".join("\n".join(preflight_lines(report)) for report in reports))
    out.close()
    bad = worst([state for report in reports for state in report.states()])
    return EXIT_FAILED if bad == "invalid" or (strict and bad != "verified") else EXIT_OK


def _suites(targets: tuple[str, ...], *, strict: bool) -> list[Chosen]:
    """Return the suites that arguments mean, each once; without any, those of the workspace."""
    from waza.cli.choose_suites import choose_suites
    from waza.cli.open_project import open_project
    from waza.cli.reject_document import refuse_document
    from waza.cli.streams import print_notice
    from waza.problem import display_path

    project = open_project()
    choice = choose_suites(targets, project, print_notice, discover=False, strict=strict)
    for one in choice.suites:
        refuse_document(one.path, f"`waza m365 validate {one.path}` checks it")
    for path in choice.others:
        print_notice(f"skipping {display_path(path)}: no skill around here is tested with it")
    return choice.suites
