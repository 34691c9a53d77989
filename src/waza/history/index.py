"""The index of a project's runs: their entries, kept in SQLite so that only new files are read.

It is made of the files below `.waza/runs` and never in their place: an entry counts only while size and time of its
files are those that it was made of. One that is damaged, of another version or gone is made again.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import msgspec

from waza.errors import WazaError
from waza.kit.directory_lock import lock_directory
from waza.model.origin import GitState
from waza.results.invocation_lines import RUNS
from waza.results.journal_lines import JOURNAL, RESULTS, read_header
from waza.results.saved import saved_run
from waza.results.trend import CUT_OFF, IN_PROGRESS, UNREADABLE, RunEntry, make_entry

INDEX = ".waza/history.sqlite3"
_VERSION = 4  # of entries; another one is made again
_WAIT = 60.0  # seconds for another process, where the directory cannot be locked
_BATCH = 500  # entries that are written at once, so that an interrupted indexing goes on from there

Stamp = tuple[int, int, int, int]
"""Size and time of change of a run's journal and of its results file, in bytes and nanoseconds; -1: not there."""
Indexed = tuple[Stamp, RunEntry]


def read_entries(project: Path, warn: Callable[[str], None]) -> list[RunEntry]:
    """Return the entries of all runs of a project, oldest first; files that changed since the last call are read.

    One process at a time works on the index, others wait. Where it cannot be written it is made in memory, and `warn`
    is called. A run whose files cannot be read has an entry that says why.
    """
    if not (project / RUNS).is_dir():
        return []
    with lock_directory((project / INDEX).parent):
        try:
            return _entries(project, project / INDEX)
        except sqlite3.DatabaseError:  # damaged, unless it cannot be written at all
            with contextlib.suppress(OSError):
                _remove(project / INDEX)
        try:
            return _entries(project, project / INDEX)
        except sqlite3.DatabaseError as error:
            warn(f"the index of runs cannot be kept in {INDEX}, so all results are read: {error}")
            return _entries(project, None)


def _remove(path: Path) -> None:
    for suffix in ("", "-journal", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _entries(project: Path, path: Path | None) -> list[RunEntry]:
    with contextlib.closing(sqlite3.connect(path or ":memory:", timeout=_WAIT)) as database:
        known = _known(database)
        found: dict[str, Indexed] = {}
        fresh: dict[str, Indexed] = {}
        for directory in sorted(path.parent for path in (project / RUNS).glob(f"*/{JOURNAL}")):
            name, stamp = directory.name, _stamp(directory)
            if name in known and known[name][0] == stamp:
                found[name] = known[name]
                continue
            found[name] = stamp, _read(directory)
            if found[name][1].status not in (IN_PROGRESS, CUT_OFF):  # those change without a change of files
                fresh[name] = found[name]
            if len(fresh) == _BATCH:
                _write(database, fresh, ())
                fresh = {}
        _write(database, fresh, known.keys() - found.keys())
    return [entry for _, (_, entry) in sorted(found.items())]


def _known(database: sqlite3.Connection) -> dict[str, Indexed]:
    """Return what the index holds, nothing for another version. Raises DatabaseError where it is damaged."""
    (version,) = database.execute("PRAGMA user_version").fetchone()
    with database:
        if version != _VERSION:
            database.execute("DROP TABLE IF EXISTS runs")
            database.execute(f"PRAGMA user_version = {_VERSION}")
        database.execute(
            "CREATE TABLE IF NOT EXISTS runs (name TEXT PRIMARY KEY, journal_size INTEGER, journal_time INTEGER, "
            "results_size INTEGER, results_time INTEGER, entry BLOB NOT NULL)"
        )
    known: dict[str, Indexed] = {}
    columns = "name, journal_size, journal_time, results_size, results_time, entry"
    for name, *stamp, data in database.execute(f"SELECT {columns} FROM runs"):  # noqa: S608  constants
        with contextlib.suppress(msgspec.MsgspecError, TypeError):  # made again, as what is not there
            known[name] = (stamp[0], stamp[1], stamp[2], stamp[3]), msgspec.json.decode(data, type=RunEntry)
    return known


def _write(database: sqlite3.Connection, entries: Mapping[str, Indexed], gone: Iterable[str]) -> None:
    with database:
        database.executemany(
            "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)",
            [(name, *stamp, msgspec.json.encode(entry)) for name, (stamp, entry) in entries.items()],
        )
        database.executemany("DELETE FROM runs WHERE name = ?", [(name,) for name in gone])


def _stamp(directory: Path) -> Stamp:
    numbers = []
    for name in (JOURNAL, RESULTS):
        try:
            found = (directory / name).stat()
        except OSError:
            numbers += [-1, -1]
        else:
            numbers += [found.st_size, found.st_mtime_ns]
    return (numbers[0], numbers[1], numbers[2], numbers[3])


def _read(directory: Path) -> RunEntry:
    """Return the entry of a run, whatever state its files are in."""
    try:
        header = read_header(directory)
    except (WazaError, OSError) as error:
        return RunEntry(run=directory.name, suite="", status=UNREADABLE, error=str(error))
    git = header.git or GitState()
    entry = RunEntry(
        run=directory.name,
        suite="",
        path=header.suite,
        model=header.model,
        started=header.started,
        status=UNREADABLE,
        commit=git.commit,
        branch=git.branch,
        dirty=git.dirty,
    )
    run = saved_run(directory)
    if run.results is None:
        return msgspec.structs.replace(entry, status=IN_PROGRESS if run.in_progress else CUT_OFF)
    try:
        outcome, _ = run.open()
        return make_entry(outcome, directory.name, header.suite)
    except (WazaError, OSError) as error:
        return msgspec.structs.replace(entry, error=str(error))
