"""`waza coverage`: which skills and agents have suites, and what these hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.options import complete_targets, format_option
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
  waza coverage 'review-*'             some skills of it
  waza coverage --format markdown >> "$GITHUB_STEP_SUMMARY"

\b
Exit codes: 0 the report is printed, 2 bad usage, or there is no skill and no agent.
"""


@click.command(epilog=EPILOG)
@click.argument("targets", shell_complete=complete_targets, metavar="[ROOT | SKILL...]", nargs=-1)
@format_option(["text", "markdown", "json"])
@click.option(
    "--path",
    "more",
    multiple=True,
    type=PATH,
    metavar="DIR",
    help="A further directory with skills, agents or suites; can be repeated.",
)
def command(*, targets: tuple[str, ...], form: str, more: tuple[Path, ...]) -> int:
    """List skills and agents with their suites: tasks, types of graders, and how well each is covered.

    ROOT is a directory to look into, by default that of the project; SKILL is the name or path of a skill or agent, or a
    pattern, which the report is then about.
    """
    import os
    from pathlib import Path

    from waza.author.coverage import markdown_lines, measure, text_lines
    from waza.cli.find_targets import find_targets
    from waza.cli.open_project import open_project
    from waza.cli.streams import output_width, print_json, print_line, print_notice
    from waza.errors import EXIT_OK
    from waza.suite.definition import make_absolute

    root = targets[0] if len(targets) == 1 and os.path.isdir(targets[0]) else ""  # noqa: PTH112  # Path.is_dir raises for names that are too long
    here = make_absolute(Path(root))
    project = open_project(here)
    top = here if root or not project.found else project.directory
    only = [one.definition for one in find_targets(targets, project)] if targets and not root else []
    report = measure(top, project, tuple(map(make_absolute, more)), only)
    for warning in report.warnings:
        print_notice(f"warning: {warning}")
    if form == "json":
        print_json(report.to_json())
    else:
        lines = markdown_lines(report) if form == "markdown" else text_lines(report, output_width())
        print_line("\n".join(lines))
    return EXIT_OK
