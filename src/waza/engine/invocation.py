"""An invocation: suites and models that are started together, and resumed together.

`waza.results.invocation_lines` says what is kept of it. The file is locked while the invocation lasts.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from waza.engine.journal import new_run_id
from waza.errors import UsageError, WazaError
from waza.kit.checksum import with_checksum
from waza.kit.git import ignore_in_git
from waza.kit.line_file import LineFile
from waza.kit.text import list_first
from waza.model.loaded import Suite
from waza.problem import display_path
from waza.results.invocation_lines import (
    INVOCATIONS,
    RUNS,
    InvocationHeader,
    InvocationLine,
    PlannedRun,
    numbered_invocations,
    read_planned,
)
from waza.results.journal_lines import JOURNAL, find_run_directory, path_text, read_header
from waza.suite.loading import LoadOptions
from waza.version import __version__


class Job(msgspec.Struct, frozen=True):
    """A suite that is to run on one of its models."""

    suite: Suite
    model: str
    request: LoadOptions | None = msgspec.field(default=None)
    """How the suite was loaded, for machines that load it again."""


class InvocationJournal:
    """An invocation while it lasts. Make one with `start`, `resume` or `unsaved`; close it at the end."""

    def __init__(self, identity: str, project: Path, file: LineFile | None) -> None:
        self.id, self.project, self._file = identity, project, file
        self._runs: dict[tuple[str, str], str] = {}
        self.planned: list[tuple[Path, str | None]] = []
        """The suites and models that belong to it; without a model, the files of the suite have mistakes."""

    @classmethod
    def unsaved(cls, project: Path) -> InvocationJournal:
        """Return an invocation of which nothing is kept."""
        return cls("", project, None)

    @classmethod
    def start(
        cls, project: Path, jobs: Sequence[Job], unread: Sequence[Path] = (), *, transcripts: bool = False
    ) -> InvocationJournal:
        """Start an invocation below `.waza` of a project, to which suites belong that are `unread` for now.

        `transcripts`: the trials ran elsewhere, so that no run is resumed by it. Raises WazaError where it cannot be written.
        """
        ignore_in_git(project / INVOCATIONS.parent)
        directory = project / INVOCATIONS
        number = max((number for number, _ in numbered_invocations(directory)), default=0) + 1
        identity = f"inv-{number:06d}-{secrets.token_hex(3)}"
        now = datetime.now().astimezone().isoformat()
        header = InvocationHeader(id=identity, number=number, waza=__version__, started=now)
        invocation = cls(identity, project, LineFile.open(directory / f"{identity}.ndjson"))
        try:
            invocation._write(InvocationLine(invocation=header))
            invocation._set_planned(jobs, unread)
            for path in unread:
                invocation._write(InvocationLine(planned=PlannedRun(suite=path_text(path))))
            invocation._plan(jobs, transcripts=transcripts)
        except BaseException:
            invocation.close()
            raise
        return invocation

    @classmethod
    def resume(
        cls, project: Path, jobs: Sequence[Job], identity: str, unread: Sequence[Path] = ()
    ) -> InvocationJournal | None:
        """Return the invocation with this id, or that of the run with this id, to resume it.

        An empty id: the newest invocation in which all these jobs were planned, or None. New jobs are added to an
        invocation that is named. Raises UsageError when the id belongs to none of the jobs, and WazaError when the
        invocation is still running.
        """
        path = _named(project, jobs, identity) if identity else _newest(project / INVOCATIONS, jobs, unread)
        if path is None:
            return None
        invocation = cls(path.stem, project, LineFile.open(path))
        try:
            invocation._set_planned(jobs, unread)
            planned = read_planned(path)
            if any(one.transcripts for one in planned):
                raise UsageError(
                    f"{path.stem} cannot be resumed: it is of transcripts, whose agents ran elsewhere; "
                    "grade them again: waza grade EVAL.YAML --transcript FILE"
                )
            invocation._runs = {(one.suite, one.model): one.run for one in planned if one.model is not None}
            if not any(_covers(planned, *_key(one)) for one in jobs):
                raise UsageError(
                    f"{path.stem} cannot be resumed: it is of other suites or models; {_RUN_WITHOUT_RESUME}"
                )
            invocation._plan(jobs)
        except BaseException:
            invocation.close()
            raise
        return invocation

    def run_directory(self, job: Job) -> Path | None:
        """Return the directory of the run of a job; None where nothing is kept."""
        run_id = self._runs.get(_key(job))
        return self.project / RUNS / run_id if run_id else None

    def close(self) -> None:
        """Close the invocation; another process may then resume it."""
        if self._file is not None:
            self._file.close()

    def _set_planned(self, jobs: Sequence[Job], unread: Sequence[Path]) -> None:
        self.planned = [(path, None) for path in unread]
        self.planned += [(job.suite.path, job.model) for job in jobs]

    def _plan(self, jobs: Sequence[Job], *, transcripts: bool = False) -> None:
        for job in jobs:
            key = _key(job)
            if key not in self._runs:
                run = new_run_id(datetime.now().astimezone())
                planned = PlannedRun(suite=key[0], model=job.model, run=run, transcripts=transcripts)
                self._write(InvocationLine(planned=planned))
                self._runs[key] = run

    def _write(self, line: InvocationLine) -> None:
        if self._file is not None:
            self._file.append(with_checksum(line))


_NAMED = 5  # runs that a message names
_RUN_WITHOUT_RESUME = "change it back, or run without --resume"


def _key(job: Job) -> tuple[str, str]:
    """Return what an invocation knows a job by. With packs a suite is another one than with its own tasks, and so is a shard of it."""
    packs = f"#{'+'.join(job.suite.packs)}" if job.suite.packs else ""
    part = job.suite.part
    shard = f"#shard-{part.shard.number}-of-{part.shard.of}" if part else ""
    return path_text(job.suite.path) + packs + shard, job.model


def _covers(planned: Sequence[PlannedRun], suite: str, model: str | None) -> bool:
    """Tell whether a suite was planned to run on a model; None, on either side, matches any."""
    return any(
        not one.transcripts and one.suite == suite and (model is None or one.model in (model, None))
        for one in planned
    )


def _newest(directory: Path, jobs: Sequence[Job], unread: Sequence[Path]) -> Path | None:
    """Return the newest invocation in which all these jobs were planned."""
    asked = [*map(_key, jobs), *((path_text(path), None) for path in unread)]
    for _, path in sorted(numbered_invocations(directory), reverse=True):
        planned = read_planned(path)
        if all(_covers(planned, suite, model) for suite, model in asked):
            return path
    return None


def describe_nearest(project: Path, jobs: Sequence[Job]) -> str:
    """Return what the newest invocation of one of these suites was of, and how to resume it, or an empty text."""
    suites = {_key(job)[0] for job in jobs}
    for _, path in sorted(numbered_invocations(project / INVOCATIONS), reverse=True):
        planned = read_planned(path)
        if suites & {one.suite for one in planned if not one.transcripts}:
            names = [
                f"{display_path(Path(one.suite))} on {one.model or 'the default model'}"
                for one in planned
                if one.model is not None
            ]
            what = list_first(names, _NAMED)
            return f"the newest one, {path.stem}, is of {what}; call waza as then to go on with it"
    return ""


def _named(project: Path, jobs: Sequence[Job], identity: str) -> Path:
    """Return the file of an invocation, given by its id or by that of one of its runs."""
    path = project / INVOCATIONS / f"{identity}.ndjson"
    if identity.startswith("inv-") and Path(identity).name == identity:
        if not path.is_file():
            raise UsageError(f"there is no invocation {identity!r} in {path.parent}; {_TAKE_NEWEST}")
        return path
    directory = find_run_directory(project / RUNS, identity)
    header = read_header(directory)
    suites, models = {path_text(job.suite.path) for job in jobs}, {job.model for job in jobs}
    changed = [
        what
        for what, before, now in (
            ("the suite file", header.suite, suites),
            ("the model", header.model, models),
        )
        if before not in now
    ]
    if changed:
        what = " and ".join(changed)
        raise UsageError(
            f"{identity} cannot be resumed: {what} changed since it started; {_RUN_WITHOUT_RESUME}"
        )
    path = project / INVOCATIONS / f"{header.invocation}.ndjson"
    if not path.is_file():
        raise WazaError(
            f"the record of {identity} is gone ({path}, of {directory / JOURNAL}); start a new run"
        )
    return path


_TAKE_NEWEST = "leave the id out to take the newest one"
