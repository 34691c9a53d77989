"""`waza cassette`: what `waza run --wire record` kept."""

from __future__ import annotations

import click

from waza.cli.numbers import COUNT_OR_NONE
from waza.cli.options import json_option


@click.group()
def command() -> None:
    """Look at cassettes, which `waza run --wire record` keeps and `--wire replay` plays."""


@command.command(
    "list",
    epilog="""Examples:

\b
  waza cassette list                     the cassettes of all runs
  waza cassette list evals/tidy/kept     those of a directory""",
)
@click.argument("place", metavar="[DIR | RUN]", default="")
@json_option("Print them as JSON.")
def list_command(place: str, *, as_json: bool) -> int:
    """List cassettes: whose they are, how many requests they have, how large they are."""
    from waza.cli.cassette_command import list_cassettes

    return list_cassettes(place, as_json=as_json)


@command.command(epilog="Example: waza cassette show run-20261201T080000Z-1a2b3c explain-csv")
@click.argument("place", metavar="DIR|RUN|FILE")
@click.argument("task", metavar="[TASK]", default="")
@json_option("Print all lines as JSON.")
def show(place: str, task: str, *, as_json: bool) -> int:
    """Show the requests of cassettes, and what was answered; of a directory or run those of a task, or of all."""
    from waza.cli.cassette_command import show_cassettes

    return show_cassettes(place, task, as_json=as_json)


@command.command(epilog="Example: waza cassette prune --keep 3")
@click.option(
    "--keep",
    type=COUNT_OR_NONE,
    required=True,
    metavar="N",
    help="Keep those of the N newest runs that have any.",
)
def prune(*, keep: int) -> int:
    """Remove the cassettes of older runs of this project. The runs and their results stay."""
    from waza.cli.cassette_command import prune_cassettes

    return prune_cassettes(keep)
