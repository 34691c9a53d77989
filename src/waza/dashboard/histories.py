"""Runs over time: the index of the project, and what else there is below the root."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from waza.dashboard.catalogue import Catalogue, ListedRun
from waza.dashboard.file_cache import FileCache
from waza.dashboard.pages import History, HistorySeries
from waza.errors import WazaError
from waza.history.index import read_entries
from waza.report.words import LEAVES_OUT_BROKEN
from waza.results.invocation_lines import RUNS
from waza.results.read import open_results
from waza.results.trend import Filter, RunEntry, make_entry, series_of


class Histories:
    """The entries of runs, each made once. Those of the project are kept in its index, as `waza history` does."""

    def __init__(self, catalogue: Catalogue, warn: Callable[[str], None]) -> None:
        self._catalogue, self._warn = catalogue, warn
        self._known = FileCache[RunEntry]()

    def history(self, *, suite: str | None, model: str | None, last: int) -> History:
        """Return the series of the runs that are wanted, of each the `last` ones."""
        root, runs = self._catalogue.root, self._catalogue.runs()
        entries = {root / RUNS / one.run: one for one in read_entries(root, self._warn) if one.path}
        for run in runs:
            elsewhere = run.head is not None and run.saved.directory not in entries
            if elsewhere and run.saved.results and (entry := self._entry(run, run.saved.results)):
                entries[run.saved.results] = entry
        wanted = Filter(suite=suite or "", model=model or "")
        found = series_of((one for one in entries.values() if wanted.accepts(one)), last)
        return History(
            series=[msgspec.convert(one.as_json(), HistorySeries) for one in found],
            score_note=LEAVES_OUT_BROKEN,
        )

    def _entry(self, run: ListedRun, results: Path) -> RunEntry | None:
        """Return the entry of results that are not in the index of the project; None where they cannot be read."""

        def make() -> RunEntry:
            outcome, _ = open_results(results)
            path = run.header.suite if run.header else outcome.head.eval_name
            return make_entry(outcome, run.id, path)

        try:
            return self._known.get(results, make)
        except (WazaError, OSError):  # the list of runs says so
            return None
