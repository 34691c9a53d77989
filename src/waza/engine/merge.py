"""`merge`: the journals of all shards of a run become the results that one run would have had, by the same fold.

Journals are read, since results files do not hold all that the fold needs: sessions of repeated trials, ends of
tasks by hooks, metrics without data. Only figures are kept; records are read again from their journals.
"""

from __future__ import annotations

import bisect
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.engine.replay import replay
from waza.engine.run_directory import UNGRADED
from waza.errors import UsageError, WazaError
from waza.kit.line_file import is_locked, read_last_line
from waza.kit.text import list_first
from waza.model.loaded import Suite, TriggerTests
from waza.model.result import TrialResult
from waza.model.shard import WholeRun
from waza.model.suite import SuiteFile
from waza.model.task import Task
from waza.problem import display_path
from waza.results.assemble import Fold, Triggers
from waza.results.ending import COMPLETE, LIMIT_MET
from waza.results.journal_lines import (
    JOURNAL,
    RESULTS,
    EndStatus,
    NumberedLine,
    PlannedTask,
    RunHeader,
    decode_trial,
    encoded_result,
    has_header,
    is_end,
    journal_lines,
    read_header,
)
from waza.results.outcome import Outcome
from waza.results.selection import SELECTION
from waza.suite.shard import TRIGGER_SHARD
from waza.version import __version__

SHARDS = "shards"  # the key in the metadata of results
_NAMED = 5  # names in a message
_ENDS: tuple[EndStatus, ...] = ("cancelled", "stopped", "limit")  # what of several ends is that of the whole


class ShardRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A shard of a merged run: `metadata.shards`."""

    number: int
    """Which of the shards it was, from 1."""
    eval_id: str
    """The id of its run."""
    timestamp: str
    """When it began, as RFC 3339."""
    tasks: int
    """How many tasks it had."""


class MergedRun(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a suite on a model, made of all its shards; `warnings` are those of the merge itself."""

    outcome: Outcome
    skill: str
    shards: int
    warnings: tuple[str, ...] = ()


class _Found(msgspec.Struct, frozen=True):
    """The journal of a shard."""

    directory: Path
    header: RunHeader
    whole: WholeRun

    @property
    def name(self) -> str:
        return display_path(self.directory)

    @property
    def tasks(self) -> Iterator[tuple[int, PlannedTask]]:
        """Its tasks with their places in the whole."""
        return zip(self.whole.places, self.header.tasks, strict=True)


def merge(arguments: Sequence[Path]) -> list[MergedRun]:
    """Return the whole of each suite and model whose shards are found, in the order in which they began.

    An argument is the directory of a run, a file in it, or a directory with such directories below. Raises UsageError
    where shards are missing, overlap, do not fit or are not finished, and WazaError for a damaged journal.
    """
    found = [_read(path) for path in _find(arguments)]
    groups: dict[tuple[str, str], list[_Found]] = {}
    for one in sorted(found, key=lambda one: (one.whole.shard.number, one.header.started, one.header.id)):
        groups.setdefault((one.whole.suite, one.header.model), []).append(one)
    faults = [fault for group in groups.values() for fault in _faults(group)]
    faults += _absent(found, groups)
    if faults:
        raise UsageError("; ".join(dict.fromkeys(faults)))
    return [_merge(group) for group in groups.values()]


def _find(arguments: Sequence[Path]) -> list[Path]:
    """Return the directories of runs that arguments mean, each once. Raises UsageError for an argument without one."""
    found = dict[Path, None]()
    for path in arguments:
        if path.is_dir():
            journals = [path / JOURNAL] if (path / JOURNAL).is_file() else sorted(path.rglob(JOURNAL))
        else:
            journals = [path.parent / JOURNAL] if path.name in (JOURNAL, RESULTS) else []
        journals = [journal for journal in journals if journal.is_file()]
        if not journals:
            raise UsageError(_not_a_shard(path))
        found |= dict.fromkeys(journal.parent.resolve() for journal in journals)
    return list(found)


def _not_a_shard(path: Path) -> str:
    if not path.exists():
        return f"there is no {path}; name the run directories of all shards, or a directory that holds them"
    what = f"{path} holds no {JOURNAL}" if path.is_dir() else f"{path} is not in the directory of a run"
    return (
        f"{what}; shards are merged from their run directories, .waza/runs/RUN, "
        "since results files do not hold all that is needed"
    )


def _read(directory: Path) -> _Found:
    if not has_header(directory):
        raise UsageError(f"{display_path(directory)}: the run was never started; run this shard again")
    header = read_header(directory)
    if header.whole is None:
        raise UsageError(
            f"{display_path(directory)} is a whole run of {header.name}, and not a shard; leave it out"
        )
    return _Found(directory, header, header.whole)


def _faults(group: Sequence[_Found]) -> Iterator[str]:
    """Yield why these shards of a suite on a model are not one run; the first of them is what others are compared with."""
    first = group[0]
    of, what = first.whole.shard.of, _label(first.whole.suite, first.header.model)
    if changes := [fault for one in group[1:] for fault in _differences(first, one)]:
        yield from (f"{what}: {fault}" for fault in changes)
        return
    by_number: dict[int, list[_Found]] = {}
    for one in group:
        by_number.setdefault(one.whole.shard.number, []).append(one)
    for number, same in by_number.items():
        if len(same) > 1:
            names = " and ".join(one.name for one in same)
            yield f"{what}: shard {number}/{of} is there {len(same)} times: {names}; name one of them"
    missing = [str(number) for number in range(1, of + 1) if number not in by_number]
    if missing:
        which = (
            f"shard {missing[0]} of {of} is"
            if len(missing) == 1
            else f"shards {list_first(missing, _NAMED)} of {of} are"
        )
        yield f"{what}: {which} missing"
        return
    yield from (f"{what}: {fault}" for one in group if (fault := _unfinished(one)))
    places = sorted(place for same in by_number.values() for place in same[0].whole.places)
    if places != list(range(first.whole.tasks)):
        yield f"{what}: the tasks of the shards are not all {first.whole.tasks}, each once"


def _differences(first: _Found, other: _Found) -> Iterator[str]:
    """Yield how a shard differs from the first one in what must be the same for all."""
    one, two = first.whole, other.whole
    compared = [
        ("waza's version", first.header.waza, other.header.waza),
        ("the number of shards", one.shard.of, two.shard.of),
        ("the file of --durations", one.shard.durations, two.shard.durations),
        ("the choice of tasks", one.selection, two.selection),
        ("the comparison with no skills (--baseline)", first.header.arms, other.header.arms),
        ("--skip-graders", one.digest.endswith(UNGRADED), two.digest.endswith(UNGRADED)),
    ]
    changed = [name for name, before, now in compared if before != now]
    if not changed and one.digest != two.digest:
        changed = [
            "the suite, a task, a grader, a skill, a file they name, or an option that changes verdicts"
            if one.config == two.config
            else "config of the suite, or an option that changes it"
        ]
    if changed:
        shards = f"shard {one.shard} ({first.name}) and shard {two.shard} ({other.name})"
        yield f"{shards} differ in {' and '.join(changed)}"


def _unfinished(one: _Found) -> str:
    """Return why a shard cannot be merged yet, with what to do; nothing where it has ended."""
    shard = one.whole.shard
    if is_locked(one.directory / JOURNAL):
        return f"shard {shard} ({one.name}) is in progress; wait until it has ended"
    if not is_end(read_last_line(one.directory / JOURNAL)):
        return f"shard {shard} ({one.name}) was cut off; go on with it where it ran: `waza run` as then, with --resume"
    return ""


def _absent(found: Iterable[_Found], groups: dict[tuple[str, str], list[_Found]]) -> Iterator[str]:
    """Yield the suites and models that were to run in the same calls and of which there is no shard."""
    suites = {suite for suite, _ in groups}
    for planned in dict.fromkeys((run.path, run.model) for one in found for run in one.whole.planned):
        path, model = planned
        if model is None and path not in suites:
            yield f"{path}: no shard of it is there: its files had mistakes, so it did not run"
        elif model is not None and (path, model) not in groups:
            yield f"{_label(path, model)}: no shard of it is there, though it was to run with the others"


def _label(suite: str, model: str) -> str:
    return f"{suite} on {model}" if model else suite


def _merge(group: Sequence[_Found]) -> MergedRun:
    """Return the whole of shards that fit."""
    first = group[0]
    suite = _suite(group)
    fold = Fold(suite, first.header.model, first.header.arms)
    reader = _Journals([one.directory for one in group])
    triggers, warnings = Triggers(), dict[str, None]()
    ends: set[EndStatus] = set()
    limits: list[str] = []
    for one, journal in zip(group, reader.journals, strict=True):
        past = replay(journal, fold, "outside", {task.id for task in one.header.tasks})
        end = past.end
        assert end is not None  # `_unfinished` has refused shards without one  # noqa: S101
        for arm, tasks in end.stopped.items():
            for task_id, reason in tasks.items():
                fold.stop(arm, task_id, reason)
        if one.whole.shard.number == TRIGGER_SHARD:
            triggers = Triggers(
                end.trigger_metrics,
                tuple(end.trigger_results),
                tuple(end.trigger_usages),
                end.trigger_matrix,
                tuple(end.trigger_costs),
            )
        warnings |= dict.fromkeys(end.warnings)
        ends.add(end.status)
        limits += [f"shard {one.whole.shard.number}: {end.limit}"] if end.limit else []
    outcome, unmeasured = fold.outcome(
        reader,
        run_id=_run_id(group),
        timestamp=min(one.header.started for one in group),
        triggers=triggers,
        warnings=list(warnings),
        metadata={
            "run_status": next((status for status in _ENDS if status in ends), COMPLETE),
            **({LIMIT_MET: "; ".join(limits)} if limits else {}),
            "waza_version": __version__,
            **_origin(group),
        },
    )
    return MergedRun(
        outcome=outcome,
        skill=first.header.skill or first.header.name,
        shards=first.whole.shard.of,
        warnings=(*unmeasured, *_notes(group)),
    )


def _origin(group: Sequence[_Found]) -> dict[str, Any]:
    """Return where suite and trials came from, as metadata: what is the same for all shards, and what they were."""
    first = group[0]
    git = first.header.git
    found = {
        "git": git if all(one.header.git == git for one in group) else None,
        SELECTION: first.whole.selection,
        SHARDS: [
            ShardRecord(
                number=one.whole.shard.number,
                eval_id=one.header.id,
                timestamp=one.header.started,
                tasks=len(one.header.tasks),
            )
            for one in group
        ],
    }
    return {key: msgspec.to_builtins(value) for key, value in found.items() if value is not None}


def _notes(group: Sequence[_Found]) -> Iterator[str]:
    if any(one.header.git != group[0].header.git for one in group):
        yield "the shards ran on different states of the repository, though their suites are the same; metadata.git is left out"


def _run_id(group: Sequence[_Found]) -> str:
    """Return an id that the same shards always give."""
    ids = "\n".join(one.header.id for one in group)
    return f"merged-{hashlib.sha256(ids.encode()).hexdigest()[:12]}"


def _suite(group: Sequence[_Found]) -> Suite:
    """Return what the fold needs of the suite, as the journals have it; it cannot be run."""
    header, whole = group[0].header, group[0].whole
    path = Path(header.suite)
    placed = sorted((placed for one in group for placed in one.tasks), key=lambda placed: placed[0])
    return Suite(
        path=path,
        directory=path.parent,
        fixtures=path.parent,
        file=SuiteFile(name=header.name, skill=header.skill, config=whole.config, metrics=whole.metrics),
        tasks=tuple(
            Task(
                id=task.id,
                name=task.name,
                file="",
                prompt="",
                golden=task.golden,
                tags=tuple(task.tags),
                requirements=tuple(task.requirements),
                home=path.parent,
                fixtures=path.parent,
            )
            for _, task in placed
        ),
        models=(header.model,),
        capabilities=whole.capabilities,
        trigger_tests=TriggerTests(skill=header.skill or header.name) if whole.trigger_tests else None,
        warnings=tuple(whole.warnings),
    )


class _ShardJournal:
    """The journal of a shard, whose records are counted on behind those of other shards: from `base` on."""

    def __init__(self, directory: Path, base: int) -> None:
        self._directory, self.base = directory, base

    @property
    def directory(self) -> Path:
        """Where it is."""
        return self._directory

    def __iter__(self) -> Iterator[NumberedLine]:
        """Yield the lines behind the header."""
        for found in journal_lines(self.directory):
            if found.number > 1:
                yield msgspec.structs.replace(found, offset=self.base + found.offset)

    def read_line(self, offset: int) -> bytes:
        """Return the line that begins at an offset."""
        with (self.directory / JOURNAL).open("rb") as file:
            file.seek(offset - self.base)
            return file.readline().removesuffix(b"\n")


class _Journals:
    """The journals of all shards, one behind the other; reads the records of trials."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self.journals: list[_ShardJournal] = []
        base = 0
        for directory in directories:
            self.journals.append(_ShardJournal(directory, base))
            base += (directory / JOURNAL).stat().st_size
        self._bases = [journal.base for journal in self.journals]

    def read_trial(self, offset: int) -> TrialResult:
        """Return a record."""
        found = decode_trial(self._line(offset))
        if found is None:
            raise self._lost(offset)
        return found.result

    def read_encoded(self, offset: int) -> msgspec.Raw:
        """Return a record as it is in results files."""
        found = encoded_result(self._line(offset))
        if found is None:
            raise self._lost(offset)
        return found

    def _journal(self, offset: int) -> _ShardJournal:
        return self.journals[bisect.bisect_right(self._bases, offset) - 1]

    def _line(self, offset: int) -> bytes:
        return self._journal(offset).read_line(offset)

    def _lost(self, offset: int) -> WazaError:
        return WazaError(
            f"{self._journal(offset).directory / JOURNAL} changed while it was read; merge again"
        )
