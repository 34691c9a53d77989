"""Which run a command means: the newest one, a run by its id, a results file, or those in a directory."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import UsageError, WazaError
from waza.kit.line_file import is_locked, read_last_line
from waza.kit.text import list_first, pluralize
from waza.model.result import SuiteResult
from waza.problem import Problem, display_path
from waza.results.invocation_lines import (
    INVOCATIONS,
    RUNS,
    PlannedRun,
    numbered_invocations,
    read_planned,
)
from waza.results.journal_lines import JOURNAL, RESULTS, has_header, is_end, path_text, read_header
from waza.results.outcome import Outcome
from waza.results.read import is_results_file, load, open_results
from waza.results.verdict import NotStarted

_DEPTH = 3  # levels of folders below a directory: `--output-dir` writes DIR/STAMP/SKILL/MODEL.json
_LISTED = 5  # names in a message
_SUMMARY = "_summary.json"


class SavedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run on disk: in its directory, or as a results file elsewhere.

    `name` is the id of the run, or the path of the file. `results` is the results file; None while the run is in
    progress, and after it was killed. `directory` has the journal; None for a results file elsewhere.
    """

    name: str
    results: Path | None = None
    directory: Path | None = None

    @property
    def in_progress(self) -> bool:
        """Whether a process is writing its journal."""
        return self.directory is not None and is_locked(self.directory / JOURNAL)

    @property
    def unfinished(self) -> str:
        """Why there are no results, with what to do; empty where there are."""
        if self.results is not None or self.directory is None:
            return ""
        if self.in_progress:
            return f"{self.name} is in progress and has no results yet"
        run = read_header(self.directory)
        if run.transcripts:
            files = [word for one in run.transcripts for word in ("--transcript", one.file)]
            again = shlex.join(["waza", "grade", run.suite, *files])
            return f"{self.name} was cut off and has no results; grade its transcripts again: {again}"
        if run.packs:
            return (
                f"{self.name} was cut off and has no results; go on with it: call `waza adversarial` as then, with "
                f"--resume={run.id}"
            )
        chosen = run.selection.filters if run.selection else ()
        how = " ".join([shlex.join(["waza", "run", run.suite]), *chosen, shlex.join([f"--resume={run.id}"])])
        return f"{self.name} was cut off and has no results; go on with it: {how}"

    def load(self) -> tuple[SuiteResult, list[Problem]]:
        """Return the results, and warnings about the file.

        Raises UsageError for a run that has none, with what to do; SuiteError for a file that is no results file.
        """
        return load(self.file())

    def open(self) -> tuple[Outcome, list[Problem]]:
        """Return the results with their tasks read one at a time, and warnings about the file; raises as `load` does."""
        return open_results(self.file())

    def file(self) -> Path:
        """Return the results file. Raises UsageError for a run that has none, with what to do."""
        if self.results is None:
            raise UsageError(
                f"{self.unfinished}; to see the trials that have finished: {shlex.join(['waza', 'show', self.name])}"
            )
        return self.results


class FoundRuns(msgspec.Struct, frozen=True, kw_only=True):
    """The runs that an argument means, at least one. `notes` is what people should know about the choice.

    `not_started` is what the call that is meant as a whole was to run and did not; `notes` mention it as well.
    """

    argument: str
    runs: tuple[SavedRun, ...]
    notes: tuple[str, ...] = ()
    not_started: tuple[NotStarted, ...] = ()

    def only(self) -> SavedRun:
        """Return the one run. Raises UsageError where there are several, which names them."""
        if len(self.runs) > 1:
            names = list_first([one.name for one in self.runs], _LISTED)
            raise UsageError(f"{self.argument} holds {len(self.runs)} runs; name one: {names}")
        return self.runs[0]


def find_results(argument: str | None, project: Path) -> FoundRuns:
    """Return the runs that an argument of a command means.

    None is the newest run of the project (the directory that holds `.waza`): the last one that started of the newest
    invocation, as `--resume` counts them. Else it is

    - the path of a results file, or of the summary of several (`*_summary.json`);
    - a directory: that of a run, of a project (its newest run), or one with results files;
    - the id of a run or of an invocation, or the beginning of one, with or without `run-` or `inv-`.

    Raises UsageError where there is no such run, or several that begin so; WazaError where a record is damaged.
    """
    if argument is None:
        return _newest(project, "the newest run")
    path = Path(argument)
    if argument and path.is_dir():
        return _in_directory(path, argument)
    if path.name == JOURNAL and path.is_file():
        return FoundRuns(argument=argument, runs=(saved_run(path.parent, display_path(path.parent)),))
    if path.is_file():
        return _of_summary(path) if path.name.endswith(_SUMMARY) else _of_files(argument, [path])
    return _by_id(argument, project)


def saved_run(directory: Path, name: str = "") -> SavedRun:
    """Return the run in a directory; results that are older than the last part of the run do not count."""
    results = directory / RESULTS
    whole = is_end(read_last_line(directory / JOURNAL)) and results.is_file()
    return SavedRun(name=name or directory.name, results=results if whole else None, directory=directory)


def _of_files(argument: str, files: Sequence[Path], notes: Sequence[str] = ()) -> FoundRuns:
    runs = tuple(
        SavedRun(
            name=display_path(file),
            results=file,
            directory=file.parent if file.name == RESULTS and has_header(file.parent) else None,
        )
        for file in files
    )
    return FoundRuns(argument=argument, runs=runs, notes=tuple(notes))


def _newest(project: Path, argument: str) -> FoundRuns:
    """Return the newest run of a project."""
    runs, empty = project / RUNS, list[str]()
    for _, path in sorted(numbered_invocations(project / INVOCATIONS), reverse=True):
        started = [one for one in _planned_runs(path) if has_header(runs / one)]
        if started:
            *others, newest = started
            return FoundRuns(
                argument=argument,
                runs=(saved_run(runs / newest),),
                notes=(*_newer(empty), *_others(path, others)),
            )
        empty.append(path.stem)
    unplanned = _run_directories(runs)  # their invocations are gone
    if not unplanned:
        raise UsageError(
            f"there is no run in {display_path(runs)}; start one with `waza run`, or name a results file"
        )
    return FoundRuns(argument=argument, runs=(saved_run(unplanned[-1]),), notes=tuple(_newer(empty)))


def runs_of_suite(project: Path, suite: Path) -> Iterator[SavedRun]:
    """Yield the runs of a project that are of this suite file, the newest first."""
    for directory in reversed(_run_directories(project / RUNS)):
        if read_header(directory).suite == path_text(suite):
            yield saved_run(directory)


def _newer(invocations: Sequence[str]) -> Iterator[str]:
    if invocations:
        which = (
            "is newer, but no run of it is kept"
            if len(invocations) == 1
            else "are newer, but no run of them is kept"
        )
        yield f"{list_first(invocations, _LISTED)} {which}: no trial finished, or the run was not saved"


def _others(path: Path, runs: Sequence[str]) -> Iterator[str]:
    if runs:
        yield f"{path.stem} has {pluralize(len(runs), 'more run')}: {list_first(runs, _LISTED)}"


def _planned_runs(path: Path) -> list[str]:
    """Return the ids of the runs of an invocation, in their order."""
    return [one.run for one in read_planned(path) if one.run]


def _run_directories(runs: Path) -> list[Path]:
    return sorted(path.parent for path in runs.glob(f"*/{JOURNAL}") if has_header(path.parent))


def _in_directory(directory: Path, argument: str) -> FoundRuns:
    if has_header(directory):
        return FoundRuns(argument=argument, runs=(saved_run(directory, argument),))
    if (directory / RUNS).is_dir():
        return _newest(directory, argument)
    if runs := _run_directories(directory):
        return FoundRuns(argument=argument, runs=tuple(saved_run(one, display_path(one)) for one in runs))
    files, others = list[Path](), list[str]()
    for path in _json_files(directory):
        if is_results_file(path):
            files.append(path)
        elif not path.name.endswith(_SUMMARY):
            others.append(display_path(path))
    if not files:
        raise UsageError(
            f"{argument} has no run and no results file; write one with `waza run -o FILE`, or name another directory"
        )
    notes = [f"left out, since they are not results files: {list_first(others, _LISTED)}"] if others else []
    return _of_files(argument, files, notes)


def _json_files(directory: Path) -> list[Path]:
    """Return the JSON files in a directory and in folders of it that are not hidden, sorted."""
    found = [path for depth in range(_DEPTH) for path in directory.glob("*/" * depth + "*.json")]
    hidden = (path.relative_to(directory).parts for path in found)
    return sorted(
        path
        for path, parts in zip(found, hidden, strict=True)
        if path.is_file() and not any(part.startswith(".") for part in parts)
    )


def _of_summary(path: Path) -> FoundRuns:
    """Return the runs that the summary of several skills names, which are beside it."""
    summary = _read_summary(path)
    names = [name for skill in summary.skills for name in skill.output_files]
    if not names:
        raise UsageError(f"{path} names no results file; name the files, or the directory of the results")
    absent = [name for name in names if not (path.parent / name).is_file()]
    if absent:
        raise UsageError(
            f"{path} names files that are not beside it: {list_first(absent, _LISTED)}; put them there, or name the files"
        )
    not_started = tuple(
        NotStarted(
            skill=str(one.get("skill") or "?"),
            model=str(one.get("model") or ""),
            why=str(one.get("why") or "there are no results of it"),
        )
        for one in summary.not_started
    )
    left = [one.skill for one in not_started]
    notes = [f"{path}: did not start, so there are no results: {list_first(left, _LISTED)}"] if left else []
    found = _of_files(str(path), [path.parent / name for name in names], notes)
    return msgspec.structs.replace(found, not_started=not_started)


class _SkillOfSummary(msgspec.Struct):
    output_files: list[str] = []


class _Summary(msgspec.Struct):
    skills: list[_SkillOfSummary]
    not_started: list[dict[str, Any]] = []


def _read_summary(path: Path) -> _Summary:
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Summary)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not a summary of results: {error}; name the results files") from error


def _by_id(argument: str, project: Path) -> FoundRuns:
    """Return the run, or the runs of the invocation, whose id is the argument or begins so."""
    runs, invocations = project / RUNS, project / INVOCATIONS
    known = {path.name: path for path in _run_directories(runs)}
    known |= {path.stem: path for _, path in sorted(numbered_invocations(invocations))}
    found = [argument] if argument in known else []
    for start in (argument, f"run-{argument}", f"inv-{argument}"):
        found = found or [name for name in known if argument and name.startswith(start)]
    if not found:
        raise UsageError(
            f"{argument!r} is neither a file nor a directory nor the id of a run{_newest_id(project)}"
        )
    if len(found) > 1:
        raise UsageError(
            f"{argument!r} is the beginning of {len(found)} ids: {list_first(found, _LISTED)}; write more of it"
        )
    path = known[found[0]]
    if path.parent != invocations:
        return FoundRuns(argument=argument, runs=(saved_run(path),))
    planned = read_planned(path)
    started = [one for one in planned if one.run and has_header(runs / one.run)]
    if not started:
        raise UsageError(f"no run of {path.stem} is kept; name another one{_newest_id(project)}")
    read = {one.suite for one in planned if one.run}  # a suite that was mended is planned again
    rest = [one for one in planned if one not in started and (one.run or one.suite not in read)]
    notes = (f"{pluralize(len(rest), 'run')} of {path.stem} did not start",) if rest else ()
    return FoundRuns(
        argument=argument,
        runs=tuple(saved_run(runs / one.run) for one in started),
        notes=notes,
        not_started=tuple(_not_started(one) for one in rest),
    )


def _not_started(planned: PlannedRun) -> NotStarted:
    """Return a planned run without a record; the plan names a suite by its file, which is in the folder of its skill."""
    suite = Path(planned.suite)
    why = "no record of it is kept: it did not start" if planned.run else "its files have mistakes"
    name = suite.parent.name or suite.stem
    return NotStarted(skill=name, model=planned.model or "", why=why, unread=not planned.run)


def _newest_id(project: Path) -> str:
    with contextlib.suppress(WazaError):
        return f"; the newest run is {_newest(project, '').runs[0].name}"
    return f"; there are no runs in {display_path(project / RUNS)}"
