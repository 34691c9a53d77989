"""`waza schema`: the JSON Schemas of the file formats."""

from __future__ import annotations

import sys

import click

KINDS = (
    "suite",
    "task",
    "trigger-tests",
    "config",
    "results",
    "policy",
    "references",
    "snapshot",
    "evidence",
    "wgp-request",
    "wgp-response",
)


@click.command(epilog="Example: waza schema suite > eval.schema.json")
@click.argument("kind", type=click.Choice(KINDS))
def command(kind: str) -> int:
    """Print the JSON Schema of a file format, for editors and other programs."""
    import msgspec

    from waza.errors import EXIT_OK
    from waza.schemas import schema_of

    sys.stdout.write(msgspec.json.format(msgspec.json.encode(schema_of(kind)), indent=2).decode() + "\n")
    return EXIT_OK
