"""The journal of a run: its lines, and how they are read. `waza.engine.journal` writes it.

::

    {"run": {...}}                                     header: what is run
    {"read": {"files": {...}}}                         what graders read, as it was when its trials began
    {"trial": {"arm", "task", "clock", "run": ...}}    one a finished trial, in finishing order
    {"end": {"status", ...}}                           how this part of the run ended; none after a kill
    {"resumed": {...}}                                 another part begins

Every line carries a checksum (`waza.kit.checksum`). A trial is here again if its earlier record is an error:
the later one counts. A run is complete if its last line is an end with the status `complete`. A torn last line
is cut off when the journal is opened again, so a crash loses no finished trial.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from waza.errors import UsageError, WazaError
from waza.kit.checksum import checksum_matches
from waza.kit.line_file import read_lines
from waza.model.cost import Cost, Spent
from waza.model.observation import Usage
from waza.model.origin import CiJob, GitState
from waza.model.pass_rule import ALL, PassRule
from waza.model.recording import TranscriptRecord
from waza.model.requirement import RecordedRequirement
from waza.model.result import TrialResult, TriggerMatrix, TriggerMetrics, TriggerResult
from waza.model.selection import Selection
from waza.model.shard import WholeRun
from waza.model.stop_when import StopRule
from waza.model.trial import Arm

JOURNAL, RESULTS = "journal.ndjson", "results.json"

EndStatus = Literal["complete", "cancelled", "limit", "stopped"]
"""How a run ended: as planned; by a signal; at a limit of the suite; because its agent's server is broken."""


class PlannedTask(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task of a run, for those who look at it before it has results."""

    id: str = msgspec.field()
    name: str = msgspec.field()
    group: str = ""
    golden: bool = False
    tags: list[str] = []
    requirements: list[RecordedRequirement] = []


class RunHeader(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is of: `tasks` in each of the arms, with `trials` each. `digest` names everything that may change a verdict; `started` is RFC 3339.

    `invocation` is that of the suites and models that were started together, empty for an unsaved run. `options`
    are those parts of the digest that options of the command can change, to say which did. `commits` are those that
    the run is pinned to, by what names them. `git` and `ci` say where the suite comes from,
    `selection` which of its tasks were chosen, None for all, and `packs` whose tasks were run in their place. `transcripts` are what its trials are graded from, if these ran
    elsewhere: no agent can be run for them. `name`, `skill` and `executor` are those of the suite. `whole`: the run is a shard of this one.
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
    git: GitState | None = None
    ci: CiJob | None = None
    selection: Selection | None = None
    packs: list[str] = []
    transcripts: list[TranscriptRecord] = []
    name: str = ""
    skill: str = ""
    executor: str = ""
    trials: int = 0
    pass_rule: PassRule = ALL
    stop_when: StopRule | None = None
    tasks: list[PlannedTask] = []
    whole: WholeRun | None = None

    def without_tasks(self) -> RunHeader:
        """Return what most readers need: there may be thousands of tasks, in each of thousands of runs."""
        return msgspec.structs.replace(self, tasks=[])


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
    let start. `warnings` are those of the run as a whole, in all parts so far, and `spent` is what all of these used.
    `trigger_costs` are of the prompts whose tokens are known.
    `limit` says which limit was met.
    """

    status: EndStatus = msgspec.field()
    durations: dict[Arm, int] = {}
    stopped: dict[Arm, dict[str, str]] = {}
    skipped: dict[Arm, list[str]] = {}
    trigger_metrics: TriggerMetrics | None = None
    trigger_results: list[TriggerResult] = []
    trigger_matrix: TriggerMatrix | None = None
    trigger_usages: list[Usage | None] = []
    trigger_costs: list[Cost | None] = []
    warnings: list[str] = []
    spent: Spent = Spent()
    limit: str = ""


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


class _EncodedTrial(msgspec.Struct, frozen=True):
    result: msgspec.Raw = msgspec.field(name="run")


class _EncodedLine(msgspec.Struct, frozen=True):
    trial: _EncodedTrial | None = None


_decoder = msgspec.json.Decoder(JournalLine)
_encoded_decoder = msgspec.json.Decoder(_EncodedLine)


class NumberedLine(msgspec.Struct, frozen=True):
    """A line of a journal: its number, counted from 1, where it begins, what it holds, and its bytes with the newline."""

    number: int
    offset: int
    line: JournalLine
    size: int


def decode_trial(data: bytes) -> TrialRecord | None:
    """Return the trial of a line; None for a line that is damaged, or of something else."""
    try:
        return _decoder.decode(data).trial if checksum_matches(data) else None
    except msgspec.MsgspecError:
        return None


def encoded_result(data: bytes) -> msgspec.Raw | None:
    """Return the result of the trial of a line as JSON; None for a line that is damaged, or of something else."""
    try:
        trial = _encoded_decoder.decode(data).trial if checksum_matches(data) else None
    except msgspec.MsgspecError:
        return None
    return trial.result if trial else None


def is_end(data: bytes | None) -> bool:
    """Tell whether a line, if there is one, is the end of a part of a run."""
    try:
        return data is not None and checksum_matches(data) and _decoder.decode(data).end is not None
    except msgspec.MsgspecError:
        return False


def damaged_line_error(directory: Path, number: int, why: str) -> WazaError:
    """Return the error to raise for a line that cannot belong to the journal."""
    return WazaError(
        f"{directory / JOURNAL}:{number}: {why}: the file was damaged or changed; start a new run"
    )


def journal_lines(directory: Path, offset: int = 0, number: int = 1) -> Iterator[NumberedLine]:
    """Yield the lines of the journal in a directory, from the one with a `number` on, which begins at an `offset`.

    WazaError: a line is damaged. OSError: it cannot be read.
    """
    for count, (start, data) in enumerate(read_lines(directory / JOURNAL, offset), number):
        if not checksum_matches(data):
            raise damaged_line_error(directory, count, "the checksum of this line does not fit")
        try:
            line = _decoder.decode(data)
        except msgspec.MsgspecError as error:
            raise damaged_line_error(directory, count, str(error)) from error
        if sum(part is not None for part in msgspec.structs.astuple(line)) != 1:
            raise damaged_line_error(directory, count, "not a line of a journal")
        yield NumberedLine(count, start, line, len(data) + 1)


def read_header(directory: Path) -> RunHeader:
    """Return the header of a journal. Raises WazaError when it has none."""
    try:
        first = next(journal_lines(directory), None)
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


def find_run_directory(runs: Path, run_id: str) -> Path:
    """Return the directory of the run with this id. Raises UsageError when it does not exist."""
    if not re.fullmatch(r"[A-Za-z0-9._-]+", run_id) or not (runs / run_id / JOURNAL).is_file():
        raise UsageError(f"there is no run {run_id!r} in {runs}; leave the id out to take the newest one")
    return runs / run_id


def path_in(directory: Path, path: Path) -> str:
    """Return a path relative to the directory of a project, so that it is the same wherever that is checked out."""
    try:
        return path_text(Path(os.path.relpath(path, directory))).replace(os.sep, "/")
    except ValueError:  # another drive
        return path_text(path)


def path_text(path: Path) -> str:
    """Return a path as text for the journal, though names on disk may be any bytes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
