"""The results that a command reads: with the notes on the choice of runs, and the warnings about files, printed."""

from __future__ import annotations

from pathlib import Path

from waza.cli.streams import print_notice, print_problems
from waza.model.result import SuiteResult
from waza.results.outcome import Outcome
from waza.results.saved import FoundRuns, SavedRun, find_results


def find_runs(argument: str | None, project: Path) -> FoundRuns:
    """Return the runs that an argument means, as `find_results` does, and print the notes on the choice."""
    found = find_results(argument, project)
    print_notes(found)
    return found


def print_notes(found: FoundRuns) -> None:
    """Print what people should know about the choice of runs."""
    for note in found.notes:
        print_notice(f"note: {note}")


def load_run(run: SavedRun) -> SuiteResult:
    """Return the results of a run, as `SavedRun.load` does, and print the warnings about their file."""
    result, warnings = run.load()
    print_problems(warnings)
    return result


def open_run(run: SavedRun) -> Outcome:
    """Return the results of a run with their tasks read one at a time, and print the warnings about their file."""
    outcome, warnings = run.open()
    print_problems(warnings)
    return outcome
