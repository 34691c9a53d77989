"""An invocation: suites and models that are started together, and resumed together.

::

    .waza/invocations/inv-000012-3fa9c1.ndjson
      {"invocation": {"id", "number", "waza", "started"}}
      {"planned": {"suite", "model", "run"}}        one a suite and model, before any of them starts
      {"planned": {"suite"}}                        a suite whose files have mistakes

Every planned run has its id from the start, so it is known what did not start: the runs without a journal. Invocations
are counted, since clocks can be set back. The file is locked while the invocation lasts.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from waza.engine.checksum import checksum_matches, with_checksum
from waza.engine.journal import JOURNAL, find_run_directory, new_run_id, path_text, read_header
from waza.errors import UsageError, WazaError
from waza.kit.files import write_atomic
from waza.kit.line_file import LineFile, read_lines
from waza.model.loaded import Suite
from waza.version import __version__

RUNS, INVOCATIONS = Path(".waza", "runs"), Path(".waza", "invocations")


class Job(msgspec.Struct, frozen=True):
    """A suite that is to run on one of its models."""

    suite: Suite
    model: str


class InvocationHeader(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of an invocation; `number` is higher than those of all earlier ones."""

    id: str
    number: int
    waza: str
    started: str


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A suite that is to be run on a model, and the id of that run; neither is known while it cannot be read."""

    suite: str
    model: str | None = None
    run: str = ""


class InvocationLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the file: exactly one of its fields is set."""

    invocation: InvocationHeader | None = None
    planned: PlannedRun | None = None


_decoder = msgspec.json.Decoder(InvocationLine)


class InvocationJournal:
    """An invocation while it lasts. Make one with `start`, `resume` or `unsaved`; close it at the end."""

    def __init__(self, identity: str, project: Path, file: LineFile | None) -> None:
        self.id, self.project, self._file = identity, project, file
        self._runs: dict[tuple[str, str], str] = {}

    @classmethod
    def unsaved(cls, project: Path) -> InvocationJournal:
        """Return an invocation of which nothing is kept."""
        return cls("", project, None)

    @classmethod
    def start(cls, project: Path, jobs: Sequence[Job], unread: Sequence[Path] = ()) -> InvocationJournal:
        """Start an invocation below `.waza` of a project, to which suites belong that are `unread` for now.

        Raises WazaError where it cannot be written.
        """
        _ignore_in_git(project / INVOCATIONS.parent)
        directory = project / INVOCATIONS
        number = max((number for number, _ in _numbered(directory)), default=0) + 1
        identity = f"inv-{number:06d}-{secrets.token_hex(3)}"
        now = datetime.now().astimezone().isoformat()
        header = InvocationHeader(id=identity, number=number, waza=__version__, started=now)
        invocation = cls(identity, project, LineFile.open(directory / f"{identity}.ndjson"))
        try:
            invocation._write(InvocationLine(invocation=header))
            for path in unread:
                invocation._write(InvocationLine(planned=PlannedRun(suite=path_text(path))))
            invocation._plan(jobs)
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
            planned = _planned(path)
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

    def _plan(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            key = _key(job)
            if key not in self._runs:
                run = new_run_id(datetime.now().astimezone())
                self._write(InvocationLine(planned=PlannedRun(suite=key[0], model=job.model, run=run)))
                self._runs[key] = run

    def _write(self, line: InvocationLine) -> None:
        if self._file is not None:
            self._file.append(with_checksum(line))


_RUN_WITHOUT_RESUME = "change it back, or run without --resume"


def _key(job: Job) -> tuple[str, str]:
    return path_text(job.suite.path), job.model


def _ignore_in_git(directory: Path) -> None:
    ignore = directory / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, b"*\n")


def _numbered(directory: Path) -> Iterator[tuple[int, Path]]:
    """Yield the invocations of a project with their numbers."""
    for path in directory.glob("inv-*.ndjson"):
        with contextlib.suppress(ValueError):  # not a file of ours
            yield int(path.stem.split("-")[1]), path


def _planned(path: Path) -> list[PlannedRun]:
    """Return what was planned in an invocation. Raises WazaError with the number of a line that is damaged."""
    found = []
    for number, (_, data) in enumerate(read_lines(path), 1):
        try:
            line = _decoder.decode(data) if checksum_matches(data) else None
        except msgspec.MsgspecError:
            line = None
        if line is None:
            raise WazaError(f"{path}:{number}: this line is damaged; start a new run")
        if line.planned is not None:
            found.append(line.planned)
    return found


def _covers(planned: Sequence[PlannedRun], suite: str, model: str | None) -> bool:
    """Tell whether a suite was planned on a model; None, on either side, matches any."""
    return any(one.suite == suite and (model is None or one.model in (model, None)) for one in planned)


def _newest(directory: Path, jobs: Sequence[Job], unread: Sequence[Path]) -> Path | None:
    """Return the newest invocation in which all these jobs were planned."""
    asked = [*map(_key, jobs), *((path_text(path), None) for path in unread)]
    for _, path in sorted(_numbered(directory), reverse=True):
        planned = _planned(path)
        if all(_covers(planned, suite, model) for suite, model in asked):
            return path
    return None


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
