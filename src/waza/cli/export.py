"""`waza export`: results as rows of a table, trials as trajectories, or a run as a benchmark of Agent Skills evals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from waza.cli.options import format_option, output_option

if TYPE_CHECKING:
    from waza.results.rows import Row, RowKind
    from waza.results.saved import SavedRun


EPILOG = """
\b
Examples:
  waza export .waza/runs --rows verdicts --format jsonl -o verdicts.jsonl
  waza export results.json --format atif -o trajectories
  waza export results.json --format benchmark -o workspace/iteration-1
"""


@click.command(epilog=EPILOG)
@click.argument("results", nargs=-1, metavar="[RESULTS]...")
@format_option(["csv", "jsonl", "parquet", "atif", "benchmark"])
@click.option(
    "--rows",
    type=click.Choice(["trials", "verdicts"]),
    help="What a row is: a trial [the default] or a verdict.",
)
@output_option(
    "Write into this file instead of standard output; trajectories of several trials, and a benchmark with its "
    "gradings, into this directory."
)
def command(results: tuple[str, ...], form: str, rows: str | None, output: Path | None) -> int:
    """Write results as a table with a row for each trial or verdict, as trajectories (ATIF), or as a benchmark.

    RESULTS are results files, ids of runs, or directories; without any, the newest run is taken. CSV is for
    spreadsheets: a text that they would compute gets an apostrophe before it. JSON Lines and Parquet hold the data as
    it is. docs/reference/rows.md lists the columns. Trajectories are of version 1.8, one file for each trial. A
    benchmark is that of Agent Skills evals: benchmark.json, and in a directory also grading.json and timing.json of each
    trial.
    """
    import sys

    from waza.cli.streams import print_document, print_notice
    from waza.errors import EXIT_OK, UsageError
    from waza.kit.files import write_atomic
    from waza.kit.text import pluralize
    from waza.kit.unsafe_text import escape_unsafe_json
    from waza.results.row_files import encode_rows

    if form == "parquet" and output is None and sys.stdout.isatty():
        raise UsageError("Parquet is not text for a terminal; give a file: -o rows.parquet")
    one = {"atif": "a trajectory is of one trial", "benchmark": "a benchmark is of one run"}.get(form)
    if one and rows is not None:
        raise UsageError(f"--rows is of tables; {one}")
    runs = _find(results)
    if output is not None and any(run.results and _same(run.results, output) for run in runs):
        raise UsageError(f"{output} is one of the results files to export; give another file with -o")
    if form == "atif":
        from waza.cli.export_trajectories import export_trajectories

        return export_trajectories(runs, output)
    if form == "benchmark":
        from waza.cli.export_benchmark import export_benchmark

        return export_benchmark(runs, output)
    rows = rows or "trials"
    table = _Rows(runs, rows)  # type: ignore[arg-type]  # click has checked the choice
    chunks = encode_rows(table, rows, form)  # type: ignore[arg-type]  # as above
    if output is not None:
        write_atomic(output, chunks)
        print_notice(f"{output}: {pluralize(table.count, 'row')} of {pluralize(len(runs), 'run')}")
    elif form == "jsonl":
        print_document(escape_unsafe_json(chunk.decode()).encode() for chunk in chunks)
    else:
        print_document(chunks)
    return EXIT_OK


def _find(arguments: Sequence[str]) -> list[SavedRun]:
    """Return the runs that the arguments mean, those without results left out with a notice."""
    from waza.cli.open_results import find_runs
    from waza.cli.streams import print_notice
    from waza.errors import UsageError
    from waza.suite.project import find_project

    project = find_project(Path.cwd()).directory
    found = [find_runs(argument, project) for argument in arguments or (None,)]
    runs = [run for one in found for run in one.runs]
    ready = [run for run in runs if run.results]
    lacking = [run for run in runs if not run.results]
    if not ready:
        raise UsageError(lacking[0].unfinished)
    for run in lacking:
        print_notice(f"warning: left out: {run.unfinished}")
    return ready


def _same(one: Path, other: Path) -> bool:
    return other.exists() and one.samefile(other)


class _Rows:
    """The rows of runs, which are read one run after another; `count` is how many were taken."""

    def __init__(self, runs: Sequence[SavedRun], kind: RowKind) -> None:
        self._runs, self._kind = runs, kind
        self.count = 0

    def __iter__(self) -> Iterator[Row]:
        from waza.cli.open_results import open_run
        from waza.cli.streams import print_notice
        from waza.results.rows import rows_of

        for run in self._runs:
            outcome = open_run(run)
            before = self.count
            for row in rows_of(outcome, self._kind):
                self.count += 1
                yield row
            if self.count == before:
                print_notice(f"{run.name} has no {self._kind}")
