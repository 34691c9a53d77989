"""`waza cache`: what the cache of results holds, and emptying it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.options import complete_targets, executor_option, json_option, model_option
from waza.cli.paths import PATH

if TYPE_CHECKING:
    from pathlib import Path

_directory_option = click.option(
    "--cache-dir",
    type=PATH,
    metavar="DIR",
    help="Where the cache is [default: that of .waza.yaml, .waza-cache].",
)


@click.group()
def command() -> None:
    """Show what the cache of results (`waza run --cache`) holds, or empty it."""


@command.command(
    epilog="""Examples:

\b
  waza cache info                      how large the cache is
  waza cache info code-explainer       which of its tasks would come from the cache"""
)
@click.argument("targets", shell_complete=complete_targets, nargs=-1, metavar="[EVAL.YAML | SKILL]...")
@_directory_option
@executor_option("With targets: the agent engine of the run, instead of config.executor.")
@model_option("With targets: the model of the run, instead of config.model.")
@json_option("Print what is found as JSON.")
def info(
    *, targets: tuple[str, ...], cache_dir: Path | None, executor: str, model: str, as_json: bool
) -> int:
    """Show how many tasks the cache holds, and which tasks of suites would come from it.

    A task comes from the cache if nothing changed that could change its verdict; its key is made of all that.
    """
    from waza.cli.cache_command import show_cache

    return show_cache(targets, cache_dir, executor, model, as_json=as_json)


@command.command(epilog="Example: waza cache clear --cache-dir /tmp/cache")
@_directory_option
def clear(*, cache_dir: Path | None) -> int:
    """Remove the cache. A directory that holds anything else is left as it is, with exit code 2."""
    from waza.cli.cache_command import clear_cache

    return clear_cache(cache_dir)
