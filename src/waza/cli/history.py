"""`waza history`: the runs of a project over time."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from waza.cli.moment import Moment
from waza.cli.options import json_option, model_option


@click.command(epilog="Example: waza history eval.yaml --branch main --since 2026-01-01")
@click.argument("suite", default="", metavar="[EVAL]")
@click.option("--skill", default="", help="Runs with this target.")
@model_option("Runs on this model.")
@click.option("--since", type=Moment(), metavar="DATE", help="Runs that began on this date or later.")
@click.option(
    "--until", type=Moment(after=True), metavar="DATE", help="Runs that began on this date or earlier."
)
@click.option("--commit", default="", help="Runs of this commit, or of those that begin so.")
@click.option("--branch", default="", help="Runs of this branch.")
@click.option(
    "--last", type=click.IntRange(min=1), default=200, show_default=True, help="Runs of each suite and model."
)
@json_option("Print everything as JSON.")
@click.option("--csv", "as_csv", is_flag=True, help="Print a row for each run as CSV.")
def command(
    suite: str,
    skill: str,
    model: str,
    since: datetime | None,
    until: datetime | None,
    commit: str,
    branch: str,
    last: int,
    *,
    as_json: bool,
    as_csv: bool,
) -> int:
    """Show the runs of a project over time: success rate, score, cost and duration, where they changed, and tasks that flip.

    EVAL is a suite file, a directory, or the name of a suite. Runs that did not measure all of their tasks are
    marked with ! and left out of changes and flips. docs/history.md explains the figures.
    """
    from waza.cli.streams import make_output_draw, print_document, print_json, print_notice
    from waza.errors import EXIT_OK, UsageError
    from waza.history.index import read_entries
    from waza.report.history_page import history_csv, print_history
    from waza.results.trend import Filter, series_of
    from waza.suite.project import find_project

    if as_json and as_csv:
        raise UsageError("--json and --csv are two forms of the same output; give one of them")
    project = find_project(Path.cwd()).directory
    entries = read_entries(project, lambda message: print_notice(f"warning: {message}"))
    for entry in entries:
        if not entry.path:
            print_notice(f"warning: left out: {entry.run} cannot be read: {entry.error}")
    wanted = Filter(
        suite=str(Path(suite).resolve()) if suite and Path(suite).exists() else suite,
        skill=skill,
        model=model,
        since=since,
        before=until,
        commit=commit.lower(),
        branch=branch,
    )
    known = [entry for entry in entries if entry.path]
    found = series_of((entry for entry in known if wanted.accepts(entry)), last)
    if not found:
        suites = sorted({entry.suite for entry in known if entry.suite})
        raise UsageError(
            f"no run of the project in {project} matches; there are runs of: {', '.join(suites)}"
            if suites
            else f"there is no run of the project in {project}; start one with `waza run`"
        )
    if as_json:
        print_json({"series": [one.as_json() for one in found]})
    elif as_csv:
        print_document(line.encode() for line in history_csv(found))
    else:
        print_history(found, make_output_draw())
    return EXIT_OK
