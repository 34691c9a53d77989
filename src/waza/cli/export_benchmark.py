"""`waza export --format benchmark`: a run in the files of Agent Skills evals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from waza.cli.open_results import open_run
from waza.cli.streams import print_json, print_notice
from waza.errors import EXIT_OK, UsageError
from waza.foreign.export.benchmark import make_benchmark
from waza.foreign.imported import write_files
from waza.kit.files import write_atomic
from waza.kit.json_nodes import dump
from waza.kit.text import pluralize

if TYPE_CHECKING:
    from waza.results.saved import SavedRun

FILE = "benchmark.json"


def export_benchmark(runs: Sequence[SavedRun], output: Path | None) -> int:
    """Print `benchmark.json` of a run, or write it: into a file, or with gradings into a directory.

    Raises UsageError for several runs, and for a directory that is not empty.
    """
    if len(runs) > 1:
        raise UsageError(f"a benchmark is of one run, and these are {len(runs)}; name one")
    outcome = open_run(runs[0])
    benchmark = make_benchmark(outcome)
    if output is None:
        print_json(benchmark.document)
    elif output.is_dir() or not output.suffix:
        files = {FILE: benchmark.document, **benchmark.files}
        write_files(output, {name: _encode(content) for name, content in files.items()})
        print_notice(f"{output}: {pluralize(len(files), 'file')} of {runs[0].name}")
    else:
        write_atomic(output, _encode(benchmark.document))
        print_notice(f"{output}: the benchmark of {runs[0].name}")
    return EXIT_OK


def _encode(content: dict[str, Any]) -> bytes:
    return dump(content).encode()
