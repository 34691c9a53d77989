"""`waza coverage`: which skills and agents have suites, and what these hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.options import format_option
from waza.cli.paths import PATH

if TYPE_CHECKING:
    from pathlib import Path

EPILOG = """
\b
Full: tasks, and graders of two types at least. Partial: a suite that has less, or mistakes.
None: no suite.

\b
Examples:
  waza coverage                        the workspace around the current directory
  waza coverage plugins/a --path extra
  waza coverage --format markdown >> "$GITHUB_STEP_SUMMARY"

\b
Exit codes: 0 the report is printed, 2 bad usage, or there is no skill and no agent.
"""


@click.command(epilog=EPILOG)
@click.argument("root", metavar="[ROOT]", default=None, required=False, type=PATH)
@format_option(["text", "markdown", "json"])
@click.option(
    "--path",
    "more",
    multiple=True,
    type=PATH,
    metavar="DIR",
    help="A further directory with skills, agents or suites; can be repeated.",
)
def command(*, root: Path | None, form: str, more: tuple[Path, ...]) -> int:
    """List skills and agents with their suites: tasks, types of graders, and how well each is covered."""
    from pathlib import Path

    from waza.author.coverage import markdown_lines, measure, text_lines
    from waza.cli.streams import output_width, print_json, print_line, print_notice
    from waza.errors import EXIT_OK
    from waza.suite.definition import make_absolute
    from waza.suite.project import find_project

    here = make_absolute(root or Path())
    project = find_project(here)
    for problem in project.warnings:
        print_notice(str(problem))
    top = here if root or not project.found else project.directory
    report = measure(top, project, tuple(map(make_absolute, more)))
    for warning in report.warnings:
        print_notice(f"warning: {warning}")
    if form == "json":
        print_json(report.to_json())
    else:
        lines = markdown_lines(report) if form == "markdown" else text_lines(report, output_width())
        print_line("\n".join(lines))
    return EXIT_OK
