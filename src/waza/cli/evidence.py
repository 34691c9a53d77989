"""`waza evidence`: what `waza run --snapshot` wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.options import json_option
from waza.cli.paths import PATH

if TYPE_CHECKING:
    from pathlib import Path


@click.group()
def command() -> None:
    """Look at evidence, which `waza run --snapshot` writes."""


@command.command(
    epilog="""
\b
Examples:
  waza evidence verify evidence
  waza evidence verify evidence --sha256 5f2c...

\b
Exit codes: 0 unchanged, 1 something was changed, removed or added, 2 no such directory.
"""
)
@click.argument("directory", metavar="DIR", type=PATH)
@click.option("--sha256", default="", metavar="DIGEST", help="The digest of the seal, as the run printed it.")
@json_option("Print what was found as JSON.")
def verify(directory: Path, sha256: str, *, as_json: bool) -> int:
    """Verify that every file of a directory of evidence is byte for byte what waza wrote.

    Names each file that was changed, removed or added. Those who can change all files can write a new seal, too: compare
    its digest with the one that the run printed.
    """
    from waza.cli.streams import print_json, print_line, print_notice
    from waza.errors import EXIT_FAILED, EXIT_OK
    from waza.evidence.verify import verify as verify_directory
    from waza.kit.text import pluralize

    found = verify_directory(directory, sha256)
    seal = found.seal
    if as_json:
        print_json({
            "directory": str(directory),
            "unchanged": not found.problems,
            "sha256": seal.sha256 if seal else "",
            "complete": bool(seal and seal.complete),
            "missing": seal.missing if seal else [],
            "snapshots": len(seal.files) if seal else 0,
            "problems": found.problems,
        })  # fmt: skip
        return EXIT_FAILED if found.problems else EXIT_OK
    for problem in found.problems:
        print_line(str(problem))
    for line in seal.missing if seal else ():
        print_notice(f"warning: not in the evidence: {line}")
    if found.problems:
        print_line(f"{directory}: not as it was written: {pluralize(len(found.problems), 'fault')}")
        return EXIT_FAILED
    if seal is not None:
        print_line(f"{directory}: {pluralize(len(seal.files), 'snapshot')}, unchanged; sha256 {seal.sha256}")
    return EXIT_OK
