"""Options of `waza run` that do not go together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from waza.cli.outputs import Reporter, check_distinct
from waza.cli.resume_hint import check_resumption
from waza.errors import UsageError

if TYPE_CHECKING:
    from waza.cli.run_command import RunArguments


def check_options(arguments: RunArguments, reporters: Sequence[Reporter]) -> None:
    """Raise UsageError for options that exclude each other, or of which one would be lost."""
    check_resumption(no_save=arguments.no_save, resume=arguments.resume, retry_errors=arguments.retry_errors)
    if arguments.output and arguments.output_dir:
        raise UsageError("-o and --output-dir exclude each other; keep one")
    other = "--format github-comment" if arguments.form != "default" else "--interpret"
    if any(reporter.path is None for reporter in reporters) and (
        arguments.form != "default" or arguments.interpret
    ):
        raise UsageError(
            f"--json and {other} both write to standard output; leave one out, or use --reporter json:FILE"
        )
    if arguments.session_dir and arguments.session_log is False:
        raise UsageError("--session-dir says where the session log goes; leave it or --no-session-log out")
    check_distinct(arguments.output, reporters)


def outputs_of(arguments: RunArguments, reporters: Sequence[Reporter]) -> frozenset[Path]:
    """Return the files and folders that a command writes."""
    given = arguments
    places = [given.output, given.output_dir, given.transcript_dir, given.session_dir, Path(given.cache_dir)]
    places += [reporter.path for reporter in reporters]
    return frozenset(place.absolute() for place in places if place)
