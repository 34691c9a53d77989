"""`waza report`: saved runs as one HTML file."""

from __future__ import annotations

from pathlib import Path

import click

from waza.cli.numbers import Number
from waza.cli.options import output_option

MEGABYTES = Number("a number of megabytes above 0, such as 10", float, least=0.1)


@click.command(epilog="Example: waza report .waza/runs -o report.html")
@click.argument("results", nargs=-1, metavar="[RESULTS]...")
@output_option("The file to write [default: report.html].")
@click.option(
    "--max-size",
    type=MEGABYTES,
    metavar="MB",
    help="Leave trials out, those that passed first, to keep the file below so many megabytes [default: 10].",
)
def command(results: tuple[str, ...], output: Path | None, max_size: float | None) -> int:
    """Write runs as one HTML file to read, mail and archive; it needs no other file and no network.

    RESULTS are results files, ids of runs or invocations, or directories, or one evaluation document with results;
    without any, the newest run is taken. The file has the pages of `waza serve`, with every trial. Where scripts do not run, as in mail programs, it shows
    the verdict, plots and what failed.
    """
    from waza.cli.report_file import LARGEST, write_saved_report

    return write_saved_report(results, output or Path("report.html"), max_size or LARGEST)
