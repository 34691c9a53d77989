"""Where a run is kept: its directory, its journal, its results; new, or an earlier one to go on with."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from waza.engine.journal import Header, Journal, Line, find_run, new_run_id, path_text, read_header
from waza.errors import UsageError, WazaError
from waza.kit.files import read_lines, write_atomic
from waza.kit.temporary import OwnDirectory
from waza.model.loaded import Suite
from waza.model.observation import Usage
from waza.model.result import TriggerMetrics, TriggerResult
from waza.model.trial import Arm
from waza.results.assemble import Fold, Triggers
from waza.results.outcome import Outcome
from waza.results.write import encode
from waza.version import __version__

UNGRADED = "-ungraded"
RUNS = Path(".waza", "runs")


class End(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a complete run knows besides its trials."""

    durations: dict[str, int] = {}
    stopped: dict[str, dict[str, str]] = {}
    trigger_metrics: TriggerMetrics | None = None
    trigger_results: list[TriggerResult] = []
    trigger_usages: list[Usage | None] = []


class Store:
    """A run on disk, and the fold over its journal."""

    def __init__(self, journal: Journal, fold: Fold, *, temporary: OwnDirectory | None = None) -> None:
        self.journal, self.fold, self.temporary = journal, fold, temporary
        self.complete = False
        self.triggers = Triggers()
        self.resumed = 0

    @property
    def id(self) -> str:
        """The run's id."""
        return self.journal.header.id

    def replay(self) -> None:
        """Take what the journal holds into the fold."""
        for offset, trial in self.journal:
            self.fold.add(trial.arm, trial.task, trial.run, offset, cached=trial.cached)
            self.resumed += 1
        end = _end(self.journal)
        if end is None:
            return
        self.complete = True
        self.triggers = Triggers(end.trigger_metrics, tuple(end.trigger_results), tuple(end.trigger_usages))
        for arm in self.journal.header.arms:
            self.fold.durations[arm] = end.durations.get(arm, 0)
            for task_id, reason in end.stopped.get(arm, {}).items():
                self.fold.stop(arm, task_id, reason)

    def finish(self, triggers: Triggers, *, interrupted: bool) -> tuple[Outcome, list[str]]:
        """Write the end of the run and its results file; return the outcome and warnings."""
        if not (interrupted or self.complete):
            self.journal.end(msgspec.to_builtins(self._end(triggers)))
        outcome, warnings = self.fold.outcome(
            self.journal.read,
            run_id=self.journal.header.id,
            timestamp=self.journal.header.started,
            triggers=triggers,
            metadata=_metadata(interrupted=interrupted),
        )
        if self.temporary is None:
            write_atomic(self.journal.results, encode(outcome))
        return outcome, warnings

    def _end(self, triggers: Triggers) -> End:
        return End(
            durations={str(arm): took for arm, took in self.fold.durations.items()},
            stopped={
                str(arm): {task.task_id: task.stopped for task in tasks.values() if task.stopped}
                for arm, tasks in self.fold.tasks.items()
            },
            trigger_metrics=triggers.metrics,
            trigger_results=list(triggers.results),
            trigger_usages=list(triggers.usages),
        )

    def discard_if_empty(self) -> None:
        """Close the run, and remove it if nothing finished in it."""
        empty = self.journal.trials == 0 and self.resumed == 0
        self.close()
        if empty and self.temporary is None:
            shutil.rmtree(self.journal.directory, ignore_errors=True)

    def close(self) -> None:
        """Close the journal; a run that is not saved is gone then."""
        self.journal.close()
        if self.temporary is not None:
            self.temporary.remove()


def earlier_store(
    suite: Suite, model: str, arms: Sequence[Arm], project: Path, resume: str, *, graded: bool
) -> Store | None:
    """Return the run to go on with (`resume`, see RunOptions), or None. UsageError: it is one of something else.

    A run that is `graded` is not gone on with without grading, nor the other way round.
    """
    directory = find_run(project / RUNS, suite.path, model, resume)
    if directory is None:
        return None
    _check_same(read_header(directory), suite, model, _digest(suite, graded=graded))
    store = Store(Journal.reopen(directory), Fold(suite, model, arms))
    store.replay()
    return store


def new_store(
    suite: Suite, model: str, arms: Sequence[Arm], project: Path, *, graded: bool, save: bool
) -> Store:
    """Start a run. Raises WazaError where it cannot be kept."""
    now = datetime.now().astimezone()
    header = Header(
        id=new_run_id(now),
        suite=path_text(suite.path),
        digest=_digest(suite, graded=graded),
        model=model,
        arms=list(arms),
        waza=__version__,
        started=now.isoformat(),
        options=_options(suite),
    )
    fold = Fold(suite, model, arms)
    if not save:
        temporary = OwnDirectory("unsaved")
        return Store(Journal.create(temporary.path, header), fold, temporary=temporary)
    _ignore_in_git(project / RUNS.parent)
    return Store(Journal.create(project / RUNS, header), fold)


def _digest(suite: Suite, *, graded: bool) -> str:
    return suite.digest if graded else f"{suite.digest}{UNGRADED}"


def _ignore_in_git(directory: Path) -> None:
    ignore = directory / ".gitignore"
    if not ignore.exists():
        write_atomic(ignore, b"*\n")


def _check_same(header: Header, suite: Suite, model: str, digest: str) -> None:
    """Refuse to go on with a run of something else: its trials would not be comparable."""
    changed = [
        name
        for name, before, now in (
            ("the suite file", header.suite, path_text(suite.path)),
            ("the model", header.model, model),
            ("waza's version", header.waza, __version__),
        )
        if before != now
    ]
    if not changed and header.digest != digest:
        same = header.digest.removesuffix(UNGRADED) == digest.removesuffix(UNGRADED)
        changed = ["--skip-graders"] if same else _changed_options(header, suite)
    if changed:
        what = " and ".join(changed)
        raise UsageError(
            f"{header.id} cannot be resumed: {what} changed since it started; change it back, or run without --resume"
        )


def _changed_options(header: Header, suite: Suite) -> list[str]:
    """Return why the digest of the suite is another one: by its options, else by its files."""
    options = _options(suite)
    changed = [name for name, now in options.items() if header.options.get(name, now) != now]
    return changed or ["the suite, a task, a grader, a skill, a file they name or what judges"]


def _options(suite: Suite) -> dict[str, Any]:
    """Return what options can change and the digest of the suite covers, by the words for people."""
    config = suite.file.config
    return {
        "the executor or agent (--executor, --agent)": _hashed([config.executor, config.executor_options]),
        "the judge (--judge-model, --judge)": config.judge_model,
        "the number of trials (--trials)": config.trials_per_task,
        "the time limit (--timeout)": config.timeout_seconds,
        "the choice of tasks or items (--task, --tags)": _hashed([task.id for task in suite.tasks]),
        "the fixtures directory (--context-dir)": path_text(suite.fixtures),
        "the comparison with no skills (--baseline)": suite.file.baseline,
        "whether skills can be seen (--no-skills)": suite.skills_off,
    }


def _hashed(value: Any) -> str:
    """Return what tells long or secret values apart, as hex."""
    return sha256(repr(value).encode()).hexdigest()


def _end(journal: Journal) -> End | None:
    for _, data in read_lines(journal.file.path):
        if data.startswith(b'{"end"'):
            try:
                return msgspec.convert(msgspec.json.decode(data, type=Line).end, End)
            except msgspec.MsgspecError as error:
                raise WazaError(f"{journal.file.path} is damaged ({error}); start a new run") from error
    return None


def _metadata(*, interrupted: bool) -> dict[str, Any]:
    return {"run_status": "cancelled" if interrupted else "complete", "waza_version": __version__}
