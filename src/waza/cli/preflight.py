"""`waza preflight`: what a suite needs and what is missing, without running any of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.options import context_dir_option, format_option, json_option
from waza.cli.paths import PATH

if TYPE_CHECKING:
    from pathlib import Path

EPILOG = """
\b
Examples:
  waza preflight eval.yaml                   what there is, and what is missing
  waza preflight eval.yaml --strict --json   for a pipeline: everything must be confirmed

\b
Exit codes: 0 nothing is invalid, 1 something is (--strict: or unresolved, or unsupported),
2 bad usage, or the report cannot be written.
"""


@click.command(epilog=EPILOG)
@click.argument("suite", metavar="EVAL.YAML", type=PATH)
@format_option(["human", "json"])
@json_option("Print the report as JSON, same as --format json.")
@context_dir_option
@click.option("--strict", is_flag=True, help="What cannot be confirmed is a failure, too.")
def command(*, suite: Path, form: str, as_json: bool, context_dir: str, strict: bool) -> int:
    """List what a suite holds and needs: tasks, requirements, dependencies, and each one's state.

    Only files are read: no agent, no grader, no hook and no other program is started, and no network is used.
    """
    from pathlib import Path

    import msgspec

    from waza.cli.reject_document import refuse_document
    from waza.cli.streams import Output, print_notice
    from waza.errors import EXIT_FAILED, EXIT_OK
    from waza.model.preflight import worst
    from waza.preflight.inventory import inventory
    from waza.report.preflight import preflight_lines
    from waza.suite.loading import LoadOptions
    from waza.suite.project import find_project

    refuse_document(suite, f"`waza m365 validate {suite}` checks it")
    project = find_project(Path.cwd())
    for warning in project.warnings:
        print_notice(str(warning))
    report = inventory(suite, LoadOptions(context_dir=context_dir))
    out = Output()
    if as_json or form == "json":
        out.json([msgspec.json.format(msgspec.json.encode(report), indent=2), b"\n"])
    else:
        out.line("\n".join(preflight_lines(report)))
    out.close()
    bad = worst(report.states())
    return EXIT_FAILED if bad == "invalid" or (strict and bad != "verified") else EXIT_OK
