"""The journal of a run: one line a finished trial, on disk before the next one counts.

::

    {"run": {...}}                                     header: what is run
    {"trial": {"arm", "task", "cached", "run": ...}}   one per finished trial, in finishing order
    {"end": {...}}                                     only after a complete run

A torn last line is cut off when the journal is opened again, so a crash loses no finished trial.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import UsageError, WazaError
from waza.kit.files import LineFile, read_lines
from waza.model.result import RunResult
from waza.model.trial import Arm

JOURNAL, RESULTS = "journal.ndjson", "results.json"


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is of. `digest` names everything that may change a verdict; `started` is RFC 3339.

    `options` are those parts of the digest that options of the command can change, to say which did.
    """

    id: str
    suite: str
    digest: str
    model: str
    arms: list[Arm]
    waza: str
    started: str
    options: dict[str, Any] = {}


class Trial(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finished trial as it stands in the journal."""

    arm: Arm
    task: str
    cached: bool = False
    run: RunResult


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the journal: exactly one of its fields is set."""

    run: Header | None = None
    trial: Trial | None = None
    end: dict[str, Any] | None = None


_encoder = msgspec.json.Encoder(enc_hook=str)
_decoder = msgspec.json.Decoder(Line)


class Journal:
    """An open journal, which belongs to this process alone."""

    def __init__(self, header: Header, file: LineFile, directory: Path) -> None:
        self.header, self.file, self.directory = header, file, directory
        self.trials = 0

    @property
    def results(self) -> Path:
        """Where the results file of this run belongs."""
        return self.directory / RESULTS

    @classmethod
    def create(cls, runs: Path, header: Header) -> Journal:
        """Start the journal of a new run in its directory below `runs`."""
        directory = runs / header.id
        file = LineFile.open(directory / JOURNAL)
        file.append(_encoder.encode(Line(run=header)))
        return cls(header, file, directory)

    @classmethod
    def reopen(cls, directory: Path) -> Journal:
        """Open the journal of an unfinished run, to go on with it."""
        file = LineFile.open(directory / JOURNAL)
        try:
            return cls(read_header(directory), file, directory)
        except BaseException:
            file.close()
            raise

    def append(self, arm: Arm, task_id: str, run: RunResult, *, cached: bool = False) -> int:
        """Write a finished trial; return where its line begins."""
        offset = self.file.append(
            _encoder.encode(Line(trial=Trial(arm=arm, task=task_id, cached=cached, run=run)))
        )
        self.trials += 1
        return offset

    def end(self, what: dict[str, Any]) -> None:
        """Write that the run is complete."""
        self.file.append(_encoder.encode(Line(end=what)))

    def read(self, offset: int) -> RunResult:
        """Return the record of the trial whose line begins at `offset`."""
        line = _decoder.decode(self.file.read_at(offset))
        if line.trial is None:
            raise WazaError(f"{self.file.path} has no trial at byte {offset}; the file was changed")
        return line.trial.run

    def __iter__(self) -> Iterator[tuple[int, Trial]]:
        for offset, line in _lines(self.directory):
            if line.trial is not None:
                yield offset, line.trial

    def close(self) -> None:
        """Close the journal; another process may then go on with it."""
        self.file.close()


def _lines(directory: Path) -> Iterator[tuple[int, Line]]:
    path = directory / JOURNAL
    for offset, data in read_lines(path):
        try:
            yield offset, _decoder.decode(data)
        except msgspec.MsgspecError as error:
            raise WazaError(f"{path} is damaged at byte {offset} ({error}); start a new run") from error


def read_header(directory: Path) -> Header:
    """Return the header of a journal. Raises WazaError where there is none."""
    try:
        first = next(_lines(directory), None)
    except OSError as error:
        raise WazaError(
            f"the run in {directory} cannot be read ({error.strerror}); start a new run"
        ) from error
    if first is None or first[1].run is None:
        raise WazaError(f"the run in {directory} was never started; start a new run")
    return first[1].run


def is_complete(directory: Path) -> bool:
    """Tell whether a run ended."""
    return any(line.end is not None for _, line in _lines(directory))


def new_run_id(now: datetime) -> str:
    """Return an id that two runs of one second do not share."""
    return f"run-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def find_run(runs: Path, suite: Path, model: str, wanted: str = "") -> Path | None:
    """Return the directory of the run with the id `wanted`, else of the newest run of a suite and model.

    Raises UsageError for an id that does not exist.
    """
    if wanted:
        if not re.fullmatch(r"[A-Za-z0-9._-]+", wanted) or not (runs / wanted / JOURNAL).is_file():
            raise UsageError(f"there is no run {wanted!r} in {runs}; leave the id out to take the newest one")
        return runs / wanted
    newest = sorted(
        (path for path in runs.glob("run-*") if (path / JOURNAL).is_file()), key=_started, reverse=True
    )
    for directory in newest:
        try:
            header = read_header(directory)
        except WazaError:
            continue  # a run that was killed before its first line
        if header.suite == path_text(suite) and header.model == model:
            return directory
    return None


def path_text(path: Path) -> str:
    """Return a path as text for the journal, though names on disk may be any bytes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _started(directory: Path) -> tuple[str, float]:
    return directory.name.rsplit("-", 1)[0], (directory / JOURNAL).stat().st_mtime
