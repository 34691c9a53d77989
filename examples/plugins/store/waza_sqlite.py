"""The store `sqlite`: results in a SQLite database."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from waza import Keys, NameTakenError, StoredObject, StoreError, StoreSetup

TABLE = (
    "CREATE TABLE IF NOT EXISTS results (name TEXT PRIMARY KEY, version INTEGER, labels TEXT, content BLOB)"
)
COLUMNS = "name, version, labels, length(content)"


class SqliteOptions(Keys, frozen=True, kw_only=True):
    """`storage.options`. An unknown key is an error, with its place in `.waza.yaml`."""

    file: str
    """The database, relative to `.waza.yaml`."""


class SqliteStore:
    """Keeps results. There is one for each command."""

    Options = SqliteOptions

    def __init__(self, setup: StoreSetup) -> None:
        self.file = setup.project.directory / setup.options(SqliteOptions).file
        self.place = str(self.file)

    async def start(self) -> None:
        """Get ready, or say what is missing."""
        await asyncio.to_thread(self._query, TABLE)

    async def put(self, name: str, source: Path, labels: Mapping[str, str], replaced: str | None) -> None:
        """Keep a file under a name, in place of nothing or of the version that was named."""

        def work() -> None:
            row = (json.dumps(dict(labels)), source.read_bytes(), name)
            with self._database() as database:
                try:
                    changed = (
                        database.execute("INSERT INTO results VALUES (?3, 1, ?1, ?2)", row)
                        if replaced is None
                        else database.execute(
                            "UPDATE results SET version = version + 1, labels = ?, content = ? WHERE name = ? AND version = ?",
                            (*row, int(replaced)),
                        )
                    ).rowcount
                except sqlite3.IntegrityError:
                    changed = 0
            if not changed:
                raise NameTakenError(f"{self.place} has another {name}")

        await asyncio.to_thread(work)

    async def list(self, prefix: str) -> AsyncIterator[StoredObject]:
        """Yield what is there, with its labels."""
        where = "WHERE substr(name, 1, length(?)) = ?"
        for row in await asyncio.to_thread(
            self._query, f"SELECT {COLUMNS} FROM results {where}", prefix, prefix
        ):
            yield self._stored(row)

    async def describe(self, name: str) -> StoredObject | None:
        """Return one of them."""
        rows = await asyncio.to_thread(self._query, f"SELECT {COLUMNS} FROM results WHERE name = ?", name)
        return self._stored(rows[0]) if rows else None

    async def get(self, name: str, target: Path) -> None:
        """Write its content into a file."""
        rows = await asyncio.to_thread(self._query, "SELECT content FROM results WHERE name = ?", name)
        if not rows:
            raise StoreError(f"there is no {name} in {self.place}")
        await asyncio.to_thread(target.write_bytes, rows[0][0])

    async def aclose(self) -> None:
        """Do nothing: each query has its own connection."""

    def _stored(self, row: tuple) -> StoredObject:
        name, version, labels, size = row
        return StoredObject(name=name, size=size, version=str(version), labels=json.loads(labels))

    def _query(self, query: str, *values: str) -> list[tuple]:
        with self._database() as database:
            return database.execute(query, values).fetchall()

    @contextmanager
    def _database(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.file)) as database, database:
                yield database
        except sqlite3.Error as error:
            raise StoreError(f"{self.place} cannot be used: {error}; check storage.options.file") from error
