"""`waza replay`: whether the record of a trial is consistent, and where two records part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.options import json_option
from waza.cli.paths import PATH

if TYPE_CHECKING:
    from pathlib import Path


@click.command(
    epilog="""
\b
Examples:
  waza replay evidence/greets-run1.json
  waza replay before/greets-run1.json --bisect after/greets-run1.json

\b
Exit codes: 0 consistent, or the same; 1 not so; 2 not a snapshot, or one that was changed.
"""
)
@click.argument("snapshot", metavar="SNAPSHOT.JSON", type=PATH)
@click.option(
    "--mode",
    type=click.Choice(["model-replay", "live"]),
    default="model-replay",
    help="How to replay; live is refused, since nothing is run.",
)
@click.option(
    "--bisect",
    type=PATH,
    metavar="OTHER.JSON",
    help="Find the first tool call that differs.",
)
@click.option(
    "--strict/--no-strict",
    default=None,
    help="Check verdicts, too [default]; with --bisect: compare results and verdicts, too [default: no].",
)
@json_option("Print what was found as JSON.")
def command(snapshot: Path, mode: str, bisect: Path | None, *, strict: bool | None, as_json: bool) -> int:
    """Check the record of a trial, which `waza run --snapshot` wrote. Neither the agent nor graders are run.

    Tool calls must be numbered without a gap, and no grader may have passed with a score of 0.
    """
    from waza.errors import UsageError

    if mode == "live":
        raise UsageError(
            "--mode live is not available: a replay runs nothing; use `waza run` for a new trial"
        )
    if bisect is not None:
        return _bisect(snapshot, bisect, strict=bool(strict), as_json=as_json)
    return _replay(snapshot, strict=strict is not False, as_json=as_json)


def _replay(snapshot: Path, *, strict: bool, as_json: bool) -> int:
    from waza.cli.streams import print_json, print_line
    from waza.errors import EXIT_FAILED, EXIT_OK
    from waza.evidence.replay import replay
    from waza.kit.text import pluralize

    found = replay(snapshot, strict=strict)
    if as_json:
        print_json(found)
    else:
        for issue in found.issues:
            print_line(f"{issue.kind}: {issue.message}")
        counts = f"{pluralize(found.tool_events, 'tool call')}, {pluralize(found.graders, 'verdict')}"
        word = "consistent" if found.passed else "not consistent"
        print_line(f"{snapshot}: {word}; {counts}; the trial ended as {found.status or 'unknown'}")
    return EXIT_OK if found.passed else EXIT_FAILED


def _bisect(snapshot: Path, other: Path, *, strict: bool, as_json: bool) -> int:
    from waza.cli.streams import print_json, print_line
    from waza.errors import EXIT_FAILED, EXIT_OK
    from waza.evidence.replay import bisect

    found = bisect(snapshot, other, strict=strict)
    if as_json:
        print_json(found)
        return EXIT_OK if found.match else EXIT_FAILED
    if found.match:
        print_line("the records match")
        return EXIT_OK
    for divergence in found.divergences:
        turn = f" in turn {found.first_divergent_turn}" if found.first_divergent_turn else ""
        print_line(f"{divergence.kind}{turn}: {divergence.description}")
        print_line(f"  {found.baseline}: {divergence.baseline_value}")
        print_line(f"  {found.replayed}: {divergence.replayed_value}")
    return EXIT_FAILED
