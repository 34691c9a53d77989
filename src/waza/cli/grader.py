"""`waza grader`: look graders up, write your own, and try it."""

from __future__ import annotations

from pathlib import Path

import click

from waza.author.scaffold import LANGUAGES
from waza.cli.options import json_option
from waza.cli.paths import PATH


@click.group()
def command() -> None:
    """Look graders up, and write your own: start one, and try it on its goldens."""


@command.command(epilog="Example: waza grader new house-style --lang python")
@click.argument("name")
@click.option("--lang", type=click.Choice(LANGUAGES), required=True, help="Language to write it in.")
@click.option(
    "--dir",
    "parent",
    default=".",
    type=PATH,
    help="Directory in which that of the grader is made.",
)
def new(name: str, lang: str, parent: Path) -> int:
    """Start a grader that speaks WGP/1, as a module that a registry can offer."""
    from waza.author.scaffold.grader import create_grader
    from waza.cli.streams import print_line
    from waza.errors import EXIT_OK

    made = create_grader(name, lang, parent)
    print_line(f"{made} holds the grader {name}; its README.md says how to go on")
    print_line(f"next: waza grader test {made}")
    return EXIT_OK


@command.command(epilog="Example: waza grader test house-style")
@click.argument("module", default=".", type=PATH, metavar="[DIR]")
@json_option("Print the verdicts as JSON.")
def test(module: Path, *, as_json: bool) -> int:
    """Ask the graders of a module about its goldens. Exit code 1 when a verdict is not the expected one."""
    import asyncio

    import msgspec

    from waza.author.goldens import try_goldens
    from waza.cli.streams import print_json, print_line
    from waza.errors import EXIT_FAILED, EXIT_OK
    from waza.kit.text import pluralize
    from waza.report.words import FAILED, PASSED, one_line

    tried = asyncio.run(try_goldens(module.resolve()))
    failed = sum(not one.passed for one in tried)
    if as_json:
        document = {"passed": not failed, "goldens": msgspec.to_builtins(tried)}
        print_json(document)
        return EXIT_FAILED if failed else EXIT_OK
    for one in tried:
        outcome = one.why or f"it {'passed' if one.verdict.passed else 'failed'}, as it must"
        verdict = "" if one.verdict.error else f" (score {one.verdict.score:g}: {one.verdict.feedback})"
        print_line(f"{PASSED if one.passed else FAILED} {one.golden}: {one_line(outcome + verdict, 300)}")
    print_line(f"{pluralize(len(tried), 'golden')}, {failed} failed")
    return EXIT_FAILED if failed else EXIT_OK


@command.command(epilog="Example: waza grader show text")
@click.argument("name", required=False, metavar="[TYPE]")
@json_option("Print the JSON Schema of its config.")
def show(name: str | None, *, as_json: bool) -> int:
    """Print what a grader type checks, the keys of its config and an example; without a type, list all types."""
    from waza.cli.grader_text import grader_text
    from waza.cli.streams import print_json, print_line
    from waza.errors import EXIT_OK, UsageError
    from waza.plugins import list_names
    from waza.reference import grader_page
    from waza.report.words import ERROR, one_line
    from waza.schemas import grader_schema

    types = list_names("waza.graders")
    if name is None:
        if as_json:
            raise UsageError("--json needs a type; see `waza grader show`")
        width = max(map(len, types))
        for known in types:
            try:
                summary = grader_page(known).summary
            except UsageError as error:
                summary = f"{ERROR} {one_line(str(error), 300)}"
            print_line(f"{known:{width}}  {summary}".rstrip())
        return EXIT_OK
    page = grader_page(name)
    if as_json:
        print_json(grader_schema(name))
    else:
        print_line(grader_text(page))
    return EXIT_OK
