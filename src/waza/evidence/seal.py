"""The seal of a directory of evidence: `evidence.json`, with the digest of every file and a word on every trial."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import SuiteError
from waza.evidence.json_file import read_json
from waza.evidence.manifest import EVIDENCE, check, own_digest
from waza.evidence.recorder import Recorder, SealedFile
from waza.kit.canonical_json import plain_json
from waza.kit.files import write_atomic
from waza.kit.json_nodes import dump
from waza.model.result import SuiteResult, TaskResult, TrialResult
from waza.model.selection import Selection
from waza.results.ending import came_to_its_end
from waza.results.outcome import Outcome
from waza.results.selection import read_selection
from waza.results.verdict import NotStarted
from waza.version import __version__

SEAL = "evidence.json"
KIND = "waza.evidence"
VERSION = "1.0"


class SealPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a seal."""


class SealedRun(SealPart, frozen=True, kw_only=True):
    """A run, with the number of its trials."""

    eval_id: str
    """The id of the run."""
    eval_name: str
    """The name of the suite."""
    skill: str
    """The target of the suite."""
    model: str
    """The model of the agent."""
    run_status: str
    """How the run ended."""
    trials: int
    """Its finished trials, those of the arm without skills included."""
    selection: Selection | None = None
    """Which part of the suite was run; null for all of it."""


class Seal(SealPart, frozen=True, kw_only=True):
    """The seal."""

    kind: str = KIND
    """`waza.evidence`."""
    schema_version: str = VERSION
    """The version of the format."""
    waza_version: str
    """The version of waza."""
    created_at: str
    """When the directory was sealed, in UTC, as RFC 3339."""
    complete: bool
    """Whether there is a snapshot of every trial of runs that came to their ends."""
    missing: list[str]
    """What is not there, and why."""
    runs: list[SealedRun]
    """The runs."""
    files: list[SealedFile]
    """The snapshots, sorted by name. No other file is in the directory but the seal."""
    sha256: str = ""
    """SHA-256 over the canonical JSON of the seal without this field."""


def seal_directory(
    recorder: Recorder, outcomes: Sequence[Outcome], not_started: Sequence[NotStarted] = ()
) -> tuple[Path, Seal]:
    """Write the seal of what a recorder wrote, and of earlier parts of these runs; return it with its path.

    Raises WazaError if it cannot be written.
    """
    sealed = _Sealing(recorder)
    for outcome in outcomes:
        sealed.add_run(outcome)
    for one in not_started:
        sealed.missing.append(f"{one.name} did not run: {one.why}")
    seal = sealed.seal()
    path = recorder.directory / SEAL
    write_atomic(path, encode_document(plain_json(seal)))
    return path, seal


def encode_document(document: dict[str, Any]) -> bytes:
    """Return a file of evidence as waza writes it."""
    return dump(document).encode()


class _Sealing:
    """Gathers what a seal holds."""

    def __init__(self, recorder: Recorder) -> None:
        self._directory = recorder.directory
        self._files = dict(recorder.written)
        self._known = {
            self._key(one.eval_id, one.arm, one.task_id, one.run_number) for one in self._files.values()
        }
        self._runs: list[SealedRun] = []
        self.missing: list[str] = []

    @staticmethod
    def _key(eval_id: str, arm: str, task_id: str, number: int) -> tuple[str, str, str, int]:
        return eval_id, arm, task_id, number

    def add_run(self, outcome: Outcome) -> None:
        """Add a run; its trials are those of earlier parts, too."""
        head, trials = outcome.head, 0
        for arm, tasks in (("main", outcome.tasks()), ("baseline", outcome.baseline_tasks())):
            trials += self._add_tasks(head, arm, tasks)
        status = str(head.metadata.get("run_status", ""))
        if not came_to_its_end(head):
            self.missing.append(f"{head.eval_id} did not come to its end: {status}")
        self._runs.append(
            SealedRun(
                eval_id=head.eval_id,
                eval_name=head.eval_name,
                skill=head.skill,
                model=head.config.model_id,
                run_status=status,
                trials=trials,
                selection=read_selection(head),
            )
        )

    def _add_tasks(self, head: SuiteResult, arm: str, tasks: Iterable[TaskResult]) -> int:
        trials = 0
        for task in tasks:
            trials += len(task.runs)
            if not task.runs:
                why = task.error_msg or task.status
                self.missing.append(f"{head.eval_id}, task {task.test_id} ({arm}) has no trials: {why}")
            for run in task.runs:
                if self._key(head.eval_id, arm, task.test_id, run.run_number) in self._known:
                    continue
                why = self._add_earlier(head.eval_id, arm, task.test_id, run)
                if why:
                    place = f"{head.eval_id}, task {task.test_id}, trial {run.run_number} ({arm})"
                    self.missing.append(f"{place} has no snapshot: {why}")
        return trials

    def _add_earlier(self, eval_id: str, arm: str, task_id: str, run: TrialResult) -> str:
        """Add the snapshot of a trial of an earlier part of the run; return why that cannot be done, or nothing."""
        if not run.snapshot_path:
            notes = [note.get("message") for note in run.evidence.get("diagnostics") or ()]
            return (
                "; ".join(str(note) for note in notes) or "that part of the run was not recorded as evidence"
            )
        path = self._directory / Path(run.snapshot_path).name
        try:
            data, document = read_json(path)
        except SuiteError as error:
            return str(error)
        manifest = document.get(EVIDENCE)
        if (
            not isinstance(manifest, dict)
            or manifest != run.evidence
            or next(check(document, path.name), None)
        ):
            return f"{path} is not as it was recorded"
        self._files[path.name] = SealedFile(
            file=path.name,
            size=len(data),
            sha256=hashlib.sha256(data).hexdigest(),
            eval_id=eval_id,
            task_id=task_id,
            arm=arm,
            run_number=run.run_number,
            status=run.status,
            manifest=str(manifest["sha256"]),
        )
        return ""

    def seal(self) -> Seal:
        """Return the seal, with its own digest."""
        open_seal = Seal(
            waza_version=__version__,
            created_at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            complete=not self.missing,
            missing=self.missing,
            runs=self._runs,
            files=[self._files[name] for name in sorted(self._files)],
        )
        return msgspec.structs.replace(open_seal, sha256=own_digest(plain_json(open_seal)))
