"""The journal of a run: one line a finished trial, written before the worker goes on.

::

    {"run": {...}}                                     header: what is run
    {"read": {"files": {...}}}                         what graders read, as it was when its trials began
    {"trial": {"arm", "task", "clock", "run": ...}}    one a finished trial, in finishing order
    {"end": {"status", ...}}                           how this part of the run ended; none after a kill
    {"resumed": {...}}                                 another part begins

Every line carries a checksum (`waza.engine.checksum`). A trial is here again if its earlier record is an error:
the later one counts. A run is complete if its last line is an end with the status `complete`. A torn last line
is cut off when the journal is opened again, so a crash loses no finished trial.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from waza.engine.checksum import checksum_matches, with_checksum
from waza.errors import UsageError, WazaError
from waza.kit.line_file import LineFile, read_lines
from waza.model.observation import Usage
from waza.model.result import TrialResult, TriggerMetrics, TriggerResult
from waza.model.trial import Arm

JOURNAL, RESULTS = "journal.ndjson", "results.json"

EndStatus = Literal["complete", "cancelled", "limit", "stopped"]
"""How a run ended: as planned; by a signal; at a limit of the suite; because its agent's server is broken."""


class RunHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is of. `digest` names everything that may change a verdict; `started` is RFC 3339.

    `invocation` is that of the suites and models that were started together, empty for an unsaved run. `options`
    are those parts of the digest that options of the command can change, to say which did. `commits` are those that
    the run is pinned to, by what names them.
    """

    id: str
    invocation: str = ""
    suite: str
    digest: str
    model: str
    arms: list[Arm]
    waza: str
    started: str
    options: dict[str, Any] = {}
    commits: dict[str, str] = {}


class TrialRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A finished trial, as the journal has it.

    `clock` is how many milliseconds its arm had been running in this part. `outside`: it broke for a cause outside
    of the agent, so a resumed run repeats it. `rejudged`: the answer is cached, and the judges were asked now.
    """

    arm: Arm
    task: str
    cached: bool = False
    rejudged: bool = msgspec.field(default=False, name="judged_anew")
    outside: bool = False
    clock: int = 0
    result: TrialResult = msgspec.field(name="run")


class RunEnd(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a part of a run knows at its end besides its trials. `durations` are milliseconds by arm.

    `stopped` are the tasks that a `before_task` hook aborted, and why; `skipped` those that `fail_fast` did not
    let start.
    """

    status: EndStatus = msgspec.field()
    durations: dict[Arm, int] = {}
    stopped: dict[Arm, dict[str, str]] = {}
    skipped: dict[Arm, list[str]] = {}
    trigger_metrics: TriggerMetrics | None = None
    trigger_results: list[TriggerResult] = []
    trigger_usages: list[Usage | None] = []


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """Another part of a run begins; `at` is RFC 3339."""

    at: str


class GraderFiles(msgspec.Struct, frozen=True, kw_only=True):
    """What graders read, as it was when trials of the run began: digests by path."""

    files: dict[str, str]


class JournalLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the journal: exactly one of its fields is set."""

    run: RunHeader | None = None
    read: GraderFiles | None = None
    trial: TrialRecord | None = None
    end: RunEnd | None = None
    resumed: Resumed | None = None


_decoder = msgspec.json.Decoder(JournalLine)


class NumberedLine(msgspec.Struct, frozen=True):
    """A line of a journal: its number, counted from 1, where it begins, and what it holds."""

    number: int
    offset: int
    line: JournalLine


class Journal:
    """An open journal, which belongs to this process alone."""

    def __init__(self, header: RunHeader, file: LineFile, directory: Path) -> None:
        self.header, self.file, self.directory = header, file, directory
        self.trials = 0  # that this process has added

    @property
    def results(self) -> Path:
        """Where the results file of this run belongs."""
        return self.directory / RESULTS

    @classmethod
    def create(cls, directory: Path, header: RunHeader) -> Journal:
        """Start the journal of a new run in its directory. WazaError: there is one already, or it cannot be written."""
        file = LineFile.open(directory / JOURNAL)
        try:
            if next(iter(file), None) is not None:
                raise WazaError(f"{directory} holds a run already; choose another place")
            file.append(with_checksum(JournalLine(run=header)))
        except BaseException:
            file.close()
            raise
        return cls(header, file, directory)

    @classmethod
    def reopen(cls, directory: Path) -> Journal:
        """Open the journal of an earlier run, to resume it or to report it again."""
        file = LineFile.open(directory / JOURNAL)
        try:
            return cls(read_header(directory), file, directory)
        except BaseException:
            file.close()
            raise

    def append_trial(self, trial: TrialRecord) -> int:
        """Write a finished trial; return where its line begins."""
        offset = self.file.append(with_checksum(JournalLine(trial=trial)))
        self.trials += 1
        return offset

    def write_grader_files(self, files: dict[str, str]) -> None:
        """Write what graders read, before the first trial."""
        self.file.append(with_checksum(JournalLine(read=GraderFiles(files=files))))

    def write_resumed(self, at: str) -> None:
        """Write that another part of the run begins."""
        self.file.append(with_checksum(JournalLine(resumed=Resumed(at=at))))

    def write_end(self, what: RunEnd) -> None:
        """Write how this part of the run ended, and wait until all of it is on disk."""
        self.file.append(with_checksum(JournalLine(end=what)))
        self.file.sync()

    def read_trial(self, offset: int) -> TrialResult:
        """Return the record of the trial whose line begins at `offset`."""
        data = self.file.read_at(offset)
        trial = _decoder.decode(data).trial if checksum_matches(data) else None
        if trial is None:
            raise WazaError(f"{self.file.path} has no trial at byte {offset}; the file was changed")
        return trial.result

    def __iter__(self) -> Iterator[NumberedLine]:
        """Yield the lines behind the header. Raises WazaError with the number of a line that is damaged."""
        for found in _lines(self.directory):
            if found.number > 1:
                if found.line.run is not None:
                    raise damaged_line_error(self.directory, found.number, "a second header")
                yield found

    def close(self) -> None:
        """Close the journal; another process may then resume it."""
        self.file.close()


def damaged_line_error(directory: Path, number: int, why: str) -> WazaError:
    """Return the error to raise for a line that cannot belong to the journal."""
    return WazaError(
        f"{directory / JOURNAL}:{number}: {why}: the file was damaged or changed; start a new run"
    )


def _lines(directory: Path) -> Iterator[NumberedLine]:
    for number, (offset, data) in enumerate(read_lines(directory / JOURNAL), 1):
        if not checksum_matches(data):
            raise damaged_line_error(directory, number, "the checksum of this line does not fit")
        try:
            line = _decoder.decode(data)
        except msgspec.MsgspecError as error:
            raise damaged_line_error(directory, number, str(error)) from error
        if sum(part is not None for part in msgspec.structs.astuple(line)) != 1:
            raise damaged_line_error(directory, number, "not a line of a journal")
        yield NumberedLine(number, offset, line)


def read_header(directory: Path) -> RunHeader:
    """Return the header of a journal. Raises WazaError when it has none."""
    try:
        first = next(_lines(directory), None)
    except OSError as error:
        raise WazaError(
            f"the run in {directory} cannot be read ({error.strerror}); start a new run"
        ) from error
    if first is None or first.line.run is None:
        raise WazaError(f"the run in {directory} was never started; start a new run")
    return first.line.run


def has_header(directory: Path) -> bool:
    """Tell whether the journal in a directory has its first line; a killed run may lack it."""
    try:
        return next(read_lines(directory / JOURNAL), None) is not None
    except OSError:
        return False


def new_run_id(now: datetime) -> str:
    """Return an id that two runs of one second do not share."""
    return f"run-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def find_run_directory(runs: Path, run_id: str) -> Path:
    """Return the directory of the run with this id. Raises UsageError when it does not exist."""
    if not re.fullmatch(r"[A-Za-z0-9._-]+", run_id) or not (runs / run_id / JOURNAL).is_file():
        raise UsageError(f"there is no run {run_id!r} in {runs}; leave the id out to take the newest one")
    return runs / run_id


def path_text(path: Path) -> str:
    """Return a path as text for the journal, though names on disk may be any bytes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
