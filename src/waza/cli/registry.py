"""`waza registry`: add graders from elsewhere, search for them, verify them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from waza.cli.numbers import FINITE
from waza.cli.options import format_option, json_option
from waza.cli.paths import PATH

if TYPE_CHECKING:
    from waza.registry.search import IndexHit

WIDEST = 60  # columns of a description
SET_HELP = (
    "Set a key of its config; repeatable. VALUE is YAML: 3, true, some text, '[a, b]', '{x: 1}'. Dots go deeper: "
    "limits.wall_seconds=10. KEY and config.KEY mean the same."
)


@click.group()
def command() -> None:
    """Work with graders from elsewhere: add, search, verify."""


@command.command(epilog="Example: waza registry add github.com/acme/graders#tone@v1.2.0 --set threshold=0.9")
@click.argument("ref")
@click.option("--eval", "suite", default="eval.yaml", type=PATH, help="Suite to add it to.")
@click.option("--name", default="", help="Name of the grader in the suite.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help=SET_HELP)
@click.option("--weight", type=FINITE, metavar="N", help="Weight of the grader.")
@click.option("--allow-exec", is_flag=True, help="Trust a grader that runs a program.")
@click.option("--dry-run", is_flag=True, help="Show the change, write nothing.")
@click.option("-y", "--yes", is_flag=True, help="Answer yes to the question whether to trust a program.")
def add(
    ref: str, suite: Path, name: str, settings: tuple[str, ...], weight: float | None, **flags: bool
) -> int:
    """Add a grader to a suite, and pin it in the lock. The suite's comments are kept."""
    import asyncio

    from waza.cli.registry_add import Addition, add_grader

    addition = Addition(
        ref=ref.strip(),
        suite=suite,
        name=name,
        settings=settings,
        weight=weight,
        allow_exec=flags["allow_exec"],
        yes=flags["yes"],
        dry_run=flags["dry_run"],
    )
    return asyncio.run(add_grader(addition))


@command.command(epilog="Example: waza registry search tone --kind grader")
@click.argument("query")
@click.option("--kind", default="", help="Only this kind: grader, eval, dataset.")
@click.option("--registry", "only", default="", help="Only the registry of this name.")
@format_option(["table", "json"])
@json_option("Same as --format json.")
def search(query: str, kind: str, only: str, form: str, *, as_json: bool) -> int:
    """Search the index files of the configured registries (`registries` in .waza.yaml)."""
    from waza.cli.streams import print_json, print_line, print_notice
    from waza.errors import EXIT_ERROR, EXIT_OK, UsageError
    from waza.registry.search import DEFAULT
    from waza.registry.search import search as find
    from waza.suite.project import find_project

    project = find_project(Path.cwd())
    sources = project.keys.registries or [DEFAULT]
    chosen = [source for source in sources if only in ("", source.name)]
    if not chosen:
        raise UsageError(
            f"there is no registry {only!r}; there are: {', '.join(source.name for source in sources)}"
        )
    hits, failures = find(query, chosen, project.directory, kind)
    for failure in failures:
        print_notice(f"warning: not reachable: {failure}")
    if as_json or form == "json":
        print_json(hits)
    elif hits:
        print_line(_table(hits))
    elif len(failures) < len(chosen):
        print_line(f"nothing was found for {query!r}")
    return EXIT_ERROR if len(failures) == len(chosen) else EXIT_OK


def _table(hits: Sequence[IndexHit]) -> str:
    """Return hits as a table. Refs stay whole, since people copy them."""
    from waza.report.words import one_line

    rows = [("REF", "KIND", "REGISTRY", "DESCRIPTION", "STARS")]
    rows += [
        (hit.ref, hit.kind, hit.registry, one_line(hit.description, WIDEST), str(hit.stars)) for hit in hits
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines)


@command.command(epilog="Example: waza registry verify evals/my-skill/eval.yaml")
@click.argument("suite", default="eval.yaml", type=PATH)
def verify(suite: Path) -> int:
    """Recompute digest and tree of every module in the suite's lock. Exit code 1 when one is missing or changed."""
    import os

    from waza.cli.streams import print_line
    from waza.errors import EXIT_FAILED, EXIT_OK, UsageError
    from waza.registry.cache import ModuleError, cache_root, is_intact, module_directory
    from waza.registry.lock import FILE, read_lock
    from waza.registry.ref import RefError, parse_ref
    from waza.report.words import FAILED, PASSED

    lock = read_lock(suite.absolute().parent)
    if lock is None:
        raise UsageError(f"there is no {FILE} next to {suite}; run `waza get {suite}`")
    bad = 0
    for entry in lock.graders:
        try:
            directory = module_directory(cache_root(os.environ), parse_ref(entry.ref), entry.commit)
            fault = "" if directory.is_dir() else "not in the cache; run `waza get`"
            if not fault and not is_intact(directory, entry.digest, entry.tree):
                fault = f"changed; remove {directory} and run `waza get`"
        except (ModuleError, RefError) as error:
            fault = str(error)
        bad += bool(fault)
        print_line(f"{FAILED if fault else PASSED} {entry.ref}: {fault or entry.digest}")
    return EXIT_FAILED if bad else EXIT_OK
