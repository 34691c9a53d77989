"""`waza compare`: results files side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.options import format_option, json_option
from waza.cli.paths import PATH

if TYPE_CHECKING:
    from pathlib import Path


@click.command(epilog="Example: waza compare before.json after.json --format json")
@click.argument("files", nargs=-1, required=True, type=PATH, metavar="A.JSON B.JSON...")
@format_option(["table", "json"])
@json_option("Same as --format json.")
def command(files: tuple[Path, ...], form: str, *, as_json: bool) -> int:
    """Compare results files: scores, success rates, tasks and tool use. Deltas are last minus first."""
    from waza.cli.streams import make_output_draw, print_json, print_notice
    from waza.errors import EXIT_OK, UsageError
    from waza.report.compare_table import print_comparison
    from waza.results.compare import compare, doubts
    from waza.results.read import load

    if len(files) < 2:
        raise UsageError("compare needs at least two results files: waza compare A.json B.json")
    results = []
    for file in files:
        result, warnings = load(file)
        for warning in warnings:
            print_notice(str(warning))
        results.append((str(file), result))
    for doubt in doubts(results):
        print_notice(f"warning: {doubt}")
    found = compare(results)
    if as_json or form == "json":
        print_json(found)
    else:
        print_comparison(found, make_output_draw())
    return EXIT_OK
