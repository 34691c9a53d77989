"""`waza merge`: the results of a run, made of its shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.options import json_option, output_option, reporter_option
from waza.cli.paths import PATH

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    epilog="""
\b
Examples:
  waza merge shard-1 shard-2 shard-3 -o results.json
  waza merge artifacts --reporter junit:report.xml

\b
Exit codes: 0 the whole run passed, 1 it did not, 2 shards are missing or do not fit.
"""
)
@click.argument("shards", metavar="DIR...", nargs=-1, required=True, type=PATH)
@output_option("Write the results of the whole run into this file.")
@reporter_option("json:PATH, html:PATH, junit:PATH, markdown:PATH")
@json_option("Print the results as JSON, same as --reporter json.")
@click.option(
    "-v", "--verbose/--no-verbose", default=False, help="Show every task, and not only what did not pass."
)
@click.option("--interpret", is_flag=True, help="Say in plain words what the figures mean.")
def command(
    shards: tuple[Path, ...],
    output: Path | None,
    reporters: tuple[str, ...],
    *,
    as_json: bool,
    verbose: bool,
    interpret: bool,
) -> int:
    """Make one run of its shards, which `waza run --shard I/N` ran: figures, gates and the verdict of the whole.

    A shard is named by its run directory (.waza/runs/RUN), or by a directory that has it somewhere below, such as an
    unpacked artifact. All shards of a run must be there, each once, of the same suite, model, options and version of waza.
    """
    from waza.cli.merge_command import merge_command

    return merge_command(shards, output, reporters, as_json=as_json, verbose=verbose, interpret=interpret)
