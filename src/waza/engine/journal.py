"""The journal of a run: one line a finished trial, written before the worker goes on.

`waza.results.journal_lines` says what the lines are.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from waza.errors import WazaError
from waza.kit.checksum import with_checksum
from waza.kit.line_file import LineFile
from waza.model.result import TrialResult
from waza.results.journal_lines import (
    JOURNAL,
    RESULTS,
    GraderFiles,
    JournalLine,
    NumberedLine,
    Resumed,
    RunEnd,
    RunHeader,
    TrialRecord,
    damaged_line_error,
    decode_trial,
    encoded_result,
    journal_lines,
    read_header,
)
from waza.results.write import tidied


class Journal:
    """An open journal, which belongs to this process alone."""

    def __init__(self, header: RunHeader, file: LineFile, directory: Path) -> None:
        self.header, self.file, self.directory = header.without_tasks(), file, directory
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
        """Write a finished trial, its result as results files have it; return where its line begins."""
        trial = msgspec.structs.replace(trial, result=tidied(trial.result))
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
        trial = decode_trial(self.file.read_at(offset))
        if trial is None:
            raise self._lost(offset)
        return trial.result

    def read_encoded(self, offset: int) -> msgspec.Raw:
        """Return the same as JSON, as `append_trial` wrote it."""
        result = encoded_result(self.file.read_at(offset))
        if result is None:
            raise self._lost(offset)
        return result

    def _lost(self, offset: int) -> WazaError:
        return WazaError(f"{self.file.path} has no trial at byte {offset}; the file was changed")

    def __iter__(self) -> Iterator[NumberedLine]:
        """Yield the lines behind the header. Raises WazaError with the number of a line that is damaged."""
        for found in journal_lines(self.directory):
            if found.number > 1:
                if found.line.run is not None:
                    raise damaged_line_error(self.directory, found.number, "a second header")
                yield found

    def close(self) -> None:
        """Close the journal; another process may then resume it."""
        self.file.close()


def new_run_id(now: datetime) -> str:
    """Return an id that two runs of one second do not share."""
    return f"run-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
