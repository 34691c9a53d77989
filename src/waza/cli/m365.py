"""`waza m365`: evaluation documents of Microsoft 365 Copilot agents."""

from __future__ import annotations

from pathlib import Path

import click


@click.group()
def command() -> None:
    """Work with evaluation documents of Microsoft 365 Copilot agents."""


@command.command(epilog="Example: waza m365 validate evals/evals.json")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path), metavar="[FILE]...")
@click.option("--json", "as_json", is_flag=True, help="Print what is found as JSON.")
def validate(files: tuple[Path, ...], *, as_json: bool) -> int:
    """Check documents against the current schema, without looking for evaluators or running anything.

    Without a FILE, the document that is found here or in evals/. Exit code 0 when all are valid, 2 otherwise.
    """
    from waza.cli.documents import validate_files

    return validate_files(files, as_json=as_json)


@command.command(epilog="Example: waza m365 init my-agent")
@click.argument("directory", default=".", type=click.Path(path_type=Path), metavar="[DIR]")
def init(directory: Path) -> int:
    """Write a first document and a custom evaluator. Files that are there are never overwritten."""
    from waza.cli.documents import write_starter

    return write_starter(directory)


@command.command(epilog="Example: waza m365 upgrade prompts.json")
@click.argument("file", type=click.Path(path_type=Path))
def upgrade(file: Path) -> int:
    """Rewrite a document of an older form or version in the current one, and keep the old one beside it.

    The old file is kept as FILE.bak.<time>. A document that is current is not touched.
    """
    from waza.cli.documents import upgrade_file

    return upgrade_file(file)
