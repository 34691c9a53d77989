"""The ledger of a collection: what was run, in order, each line sealed together with all lines before it.

::

    {"started": {"block", "arm", "invocation"}, "seal": "..."}
    {"collected": {"block", "arm", "run", "results", "journal"}, "seal": "..."}    digests of its files
    {"ended": {"why"}, "seal": "..."}

The seal of a line is the SHA-256 of the seal before it (at first: that of the plan) and of the line. A changed, removed
or moved line is found at its place; without the last lines, the collection has not ended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import msgspec

from waza.errors import SuiteError
from waza.experiment.plan import ArmName
from waza.kit.line_file import LineFile, read_lines
from waza.problem import Problem, display_path

LEDGER = "collection.ndjson"


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """An arm of a block began, as an invocation that can be resumed."""

    block: int
    arm: ArmName
    invocation: str


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """An arm of a block came to its end. The later record of the same counts: broken trials can be repeated."""

    block: int
    arm: ArmName
    run: str
    results: str
    """SHA-256 of its results file."""
    journal: str
    """SHA-256 of its journal."""


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """The collection is finished."""

    why: str


class LedgerLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line: exactly one of its fields is set."""

    started: Started | None = None
    collected: Collected | None = None
    ended: Ended | None = None


class Ledger:
    """The ledger while a collection goes on. Make one with `open_ledger`, and close it."""

    def __init__(self, file: LineFile, seal: str, lines: list[LedgerLine]) -> None:
        self._file, self._seal = file, seal
        self.lines = lines

    def append(self, line: LedgerLine) -> None:
        """Append a line, sealed. Raises WazaError if it cannot be written."""
        body = msgspec.json.encode(line)
        self._seal = _seal(self._seal, body)
        self._file.append(body[:-1] + b',"seal":"' + self._seal.encode() + b'"}')
        self.lines.append(line)

    def close(self) -> None:
        """Close the file; another process may go on with the collection."""
        self._file.close()


def open_ledger(path: Path, seal: str) -> Ledger:
    """Open a ledger to go on with it, or a new one; `seal` is that of its plan. Raises SuiteError where it was changed."""
    file = LineFile.open(path)
    try:
        lines = list(_read(path, seal))
        return Ledger(file, lines[-1][1] if lines else seal, [line for line, _ in lines])
    except BaseException:
        file.close()
        raise


def read_ledger(path: Path, seal: str) -> list[LedgerLine]:
    """Return the lines of a ledger. Raises SuiteError, with the line, where one is not as it was written."""
    return [line for line, _ in _read(path, seal)]


def _read(path: Path, seal: str) -> Iterator[tuple[LedgerLine, str]]:
    try:
        found = [data for _, data in read_lines(path)]
    except OSError as error:
        raise _refused(path, 0, f"cannot be read: {error.strerror}") from error
    for number, data in enumerate(found, 1):
        body, _, end = data.rpartition(b',"seal":"')
        body += b"}"
        seal = _seal(seal, body)
        if end != seal.encode() + b'"}':
            raise _refused(path, number, "is not as it was written, or a line before it is missing")
        yield msgspec.json.decode(body, type=LedgerLine), seal


def _seal(before: str, body: bytes) -> str:
    return hashlib.sha256(before.encode() + body).hexdigest()


def _refused(path: Path, line: int, message: str) -> SuiteError:
    hint = "get an unchanged copy, or collect again"
    return SuiteError(
        [
            Problem(
                code="evidence",
                file=display_path(path),
                line=line,
                column=min(line, 1),
                message=message,
                hint=hint,
            )
        ]
    )
