"""`waza session`: session logs, as `run --session-log` writes them."""

from __future__ import annotations

from pathlib import Path

import click

from waza.cli.options import json_option
from waza.cli.paths import PATH


@click.group()
def command() -> None:
    """List and view session logs, which `waza run --session-log` writes."""


@command.command("list", epilog="Example: waza session list --dir logs")
@click.option(
    "--dir", "directory", default=".", type=PATH, metavar="DIR", help="Directory of the logs [default: .]."
)
@json_option("Print the list as JSON.")
def list_command(*, directory: Path, as_json: bool) -> int:
    """List session logs, newest first."""
    from datetime import UTC, datetime

    from waza.cli.session_command import list_logs
    from waza.cli.streams import make_output_draw, print_json, print_line
    from waza.errors import EXIT_OK
    from waza.report.section import Table

    logs = list_logs(directory)
    if as_json:
        print_json([{"file": one.path.name, "events": one.events, "modified": one.modified} for one in logs])
    elif not logs:
        print_line(
            f"no session log in {directory}; write one with `waza run --session-log --session-dir {directory}`"
        )
    else:
        rows = [
            (
                one.path.name,
                str(one.events),
                f"{datetime.fromtimestamp(one.modified, UTC):%Y-%m-%d %H:%M:%S} UTC",
            )
            for one in logs
        ]
        make_output_draw()("SESSION LOGS", [Table(("File", "Events", "Modified"), rows)])
    return EXIT_OK


@command.command(
    epilog="""
\b
Examples:
  waza session view session-20260131T142530Z.ndjson
  waza session view --follow      the newest log here, while it grows
"""
)
@click.argument("file", required=False, type=PATH, metavar="[FILE]")
@click.option("--follow", is_flag=True, help="Go on until the run has ended.")
@json_option("Print the events as JSON, with --follow one a line.")
def view(*, file: Path | None, follow: bool, as_json: bool) -> int:
    """Show a session log as a timeline; without a FILE, the newest one of the current directory.

    Each line begins with the time since the first event.
    """
    from waza.cli.session_command import view_log

    return view_log(file, follow=follow, as_json=as_json)
