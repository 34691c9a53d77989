"""`waza results`: what is in the store of a project, and bringing results there and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.moment import Moment
from waza.cli.options import format_option, json_option, model_option, output_option
from waza.cli.paths import PATH

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from pathlib import Path

_skill_option = click.option("--skill", default="", help="Runs with this target.")
_since_option = click.option(
    "--since", type=Moment(), metavar="DATE", help="Runs that began on this date or later."
)


@click.group()
def command() -> None:
    """List, fetch and compare the results in the store that `.waza.yaml` names (`storage`)."""


@command.command("list", epilog="Example: waza results list --skill review --since 2026-01-01")
@_skill_option
@model_option("Runs on this model.")
@_since_option
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, help="At most so many runs."
)
@format_option(["table", "json"])
@json_option("Same as --format json.")
def list_command(
    skill: str, model: str, since: datetime | None, limit: int, form: str, *, as_json: bool
) -> int:
    """List stored runs, newest first."""
    from waza.cli.results_command import ListArguments, list_runs

    arguments = ListArguments(
        skill=skill, model=model, since=since, limit=limit, as_json=as_json or form == "json"
    )
    return list_runs(arguments)


@command.command(epilog="Example: waza results get run-20260131T142530Z-0c3f5a -o before.json")
@click.argument("name", metavar="ID")
@output_option("File to write [default: ID.json]; - prints it.")
def get(name: str, output: Path | None) -> int:
    """Fetch the results file of a run, as it was uploaded. ID may be the beginning of one."""
    from waza.cli.results_command import get_run

    return get_run(name, output)


@command.command(epilog="Example: waza results push results/")
@click.argument("files", nargs=-1, metavar="[FILE...]")
def push(files: Sequence[str]) -> int:
    """Upload results: those that could not be uploaded yet, or these.

    FILE is a results file, the id of a run, or a directory of results.
    """
    from waza.cli.results_command import push_runs

    return push_runs(files)


@command.command(epilog="Example: waza results pull --skill review --since 2026-01-01")
@_skill_option
@model_option("Runs on this model.")
@_since_option
@click.option(
    "-o", "--output-dir", type=PATH, metavar="DIR", help="Where to [default: `paths.results` of .waza.yaml]."
)
def pull(skill: str, model: str, since: datetime | None, output_dir: Path | None) -> int:
    """Fetch the results files of all runs, or of some, into SKILL/ID.json; those that are there are not fetched again."""
    from waza.cli.results_command import ListArguments, pull_runs

    return pull_runs(ListArguments(skill=skill, model=model, since=since), output_dir)


@command.command(
    epilog="Example: waza results compare run-20260131T142530Z-0c3f5a run-20260201T090000Z-77ab01"
)
@click.argument("first", metavar="ID1")
@click.argument("second", metavar="ID2")
@format_option(["table", "json"])
@json_option("Same as --format json.")
def compare(first: str, second: str, form: str, *, as_json: bool) -> int:
    """Compare two stored runs: the second against the first, and what chance explains, as `waza compare` does."""
    from waza.cli.results_command import compare_runs

    return compare_runs(first, second, as_json=as_json or form == "json")
