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
    from waza.errors import EXIT_OK
    from waza.kit.indented_json import indented_json
    from waza.schemas import schema_of

    sys.stdout.write(indented_json(schema_of(kind)).decode())
    return EXIT_OK
