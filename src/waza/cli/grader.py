"""`waza grader`: write a grader of one's own, and try it."""

from __future__ import annotations

from pathlib import Path

import click

from waza.author.scaffold import LANGUAGES


@click.group()
def command() -> None:
    """Write graders of your own: start one, and try it on its goldens."""


@command.command(epilog="Example: waza grader new house-style --lang python")
@click.argument("name")
@click.option("--lang", type=click.Choice(LANGUAGES), required=True, help="Language to write it in.")
@click.option(
    "--dir",
    "parent",
    default=".",
    type=click.Path(path_type=Path),
    help="Directory in which that of the grader is made.",
)
def new(name: str, lang: str, parent: Path) -> int:
    """Start a grader that speaks WGP/1, as a module that a registry can offer."""
    from waza.author.scaffold import create_grader
    from waza.cli.streams import say
    from waza.errors import EXIT_OK

    made = create_grader(name, lang, parent)
    say(f"{made} holds the grader {name}; its README.md says how to go on")
    say(f"next: waza grader test {made}")
    return EXIT_OK


@command.command(epilog="Example: waza grader test house-style")
@click.argument("module", default=".", type=click.Path(path_type=Path), metavar="[DIR]")
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
def test(module: Path, *, as_json: bool) -> int:
    """Ask the graders of a module about its goldens. Exit code 1 when a verdict is not the expected one."""
    import asyncio

    import msgspec

    from waza.author.goldens import try_goldens
    from waza.cli.streams import say, say_json
    from waza.errors import EXIT_FAILED, EXIT_OK
    from waza.kit.text import pluralize
    from waza.report.words import FAILED, PASSED, one_line

    tried = asyncio.run(try_goldens(module.resolve()))
    failed = sum(not one.passed for one in tried)
    if as_json:
        document = {"passed": not failed, "goldens": msgspec.to_builtins(tried)}
        say_json(document)
        return EXIT_FAILED if failed else EXIT_OK
    for one in tried:
        said = one.why or f"it {'passed' if one.verdict.passed else 'failed'}, as it must"
        verdict = "" if one.verdict.error else f" (score {one.verdict.score:g}: {one.verdict.feedback})"
        say(f"{PASSED if one.passed else FAILED} {one.golden}: {one_line(said + verdict, 300)}")
    say(f"{pluralize(len(tried), 'golden')}, {failed} failed")
    return EXIT_FAILED if failed else EXIT_OK
