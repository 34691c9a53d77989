"""The directory of a run, with its journal and its results: a new one, or that of a run to resume."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from waza.engine.invocation import InvocationJournal, Job
from waza.engine.journal import Journal, new_run_id
from waza.engine.live_state import LiveStateFile
from waza.engine.plan import Plan
from waza.engine.replay import Repeat, ReplayedRun, replay
from waza.errors import UsageError, WazaError
from waza.kit.files import write_atomic
from waza.kit.tempdirs import ProcessTempdir
from waza.kit.tree_digest import describe_changes
from waza.model.loaded import Project, Suite
from waza.model.origin import Origin
from waza.model.recording import TranscriptRecord
from waza.model.shard import PlannedSuite, WholeRun
from waza.model.trial import Arm, TrialKey
from waza.results.assemble import Fold, Triggers, groups_of
from waza.results.ending import LIMIT_MET
from waza.results.journal_lines import (
    EndStatus,
    PlannedTask,
    RunEnd,
    RunHeader,
    TrialRecord,
    has_header,
    path_in,
    path_text,
    read_header,
)
from waza.results.outcome import Outcome
from waza.results.selection import SELECTION
from waza.results.transcripts import TRANSCRIPTS
from waza.results.write import encode
from waza.version import __version__

UNGRADED = "-ungraded"


class RunDirectory:
    """A run on disk, and the fold over its journal. `past` is what its earlier parts did."""

    def __init__(
        self,
        journal: Journal,
        fold: Fold,
        past: ReplayedRun | None = None,
        *,
        temporary: ProcessTempdir | None = None,
    ) -> None:
        self.journal, self.fold, self.temporary = journal, fold, temporary
        self.past = past or ReplayedRun()
        self.resumed = past is not None
        self.triggers = self.past.triggers or Triggers()
        self.warnings = list(self.past.warnings)  # of the run as a whole
        self.limit = ""  # the limit that was met, in words
        self.saved: Path | None = None  # the results file, once it is written

    @property
    def id(self) -> str:
        """The run's id."""
        return self.journal.header.id

    def start_part(self) -> None:
        """Record that another part of the run begins, if there were earlier ones."""
        if self.resumed:
            self.journal.write_resumed(datetime.now().astimezone().isoformat())

    def follow(self, plan: Plan) -> LiveStateFile | None:
        """Return what keeps the state of the run beside its journal; None for a run that is not kept."""
        return LiveStateFile(self.journal.directory, plan) if self.temporary is None else None

    def check_grader_files(self, files: dict[str, str]) -> None:
        """Record the files that graders read. Raises UsageError when earlier trials were graded with other files."""
        if not self.past.trials:
            self.journal.write_grader_files(files)
        elif changes := describe_changes(self.past.read, files):
            raise _cannot_resume(self.id, changes)

    def missing_trials(self, arm: Arm, task_id: str) -> list[int]:
        """Return the numbers of the trials of a task that are to be run, as far as that is known by now."""
        trials = self.fold.trials(arm, task_id)
        repeated = [number for number in sorted(trials) if TrialKey(arm, task_id, number) in self.past.repeat]
        return sorted({*repeated, *self.fold.tasks[arm][task_id].next_trials(repeated)})

    def add_trial(self, trial: TrialRecord) -> None:
        """Append a finished trial to the journal, and add it to the figures."""
        offset = self.journal.append_trial(trial)
        self.fold.add(
            trial.arm, trial.task, trial.result, offset, cached=trial.cached, rejudged=trial.rejudged
        )
        self.past.repeat.discard(TrialKey(trial.arm, trial.task, trial.result.run_number))

    def add_warning(self, message: str) -> None:
        """Keep a warning of the run as a whole for its results, once."""
        if message not in self.warnings:
            self.warnings.append(message)

    def end(self, end: RunEnd) -> None:
        """Write the end of a part of the run. WazaError: it cannot be written."""
        self.triggers = Triggers(
            end.trigger_metrics,
            tuple(end.trigger_results),
            tuple(end.trigger_usages),
            end.trigger_matrix,
            tuple(end.trigger_costs),
        )
        self.limit = end.limit
        self.journal.write_end(end)

    def finish(self, status: EndStatus) -> tuple[Outcome, list[str]]:
        """Write the results file; return the outcome and warnings, also that the file cannot be written."""
        outcome, warnings = self.fold.outcome(
            self.journal,
            run_id=self.journal.header.id,
            timestamp=self.journal.header.started,
            triggers=self.triggers,
            warnings=self.warnings,
            metadata={
                "run_status": status,
                **({LIMIT_MET: self.limit} if self.limit else {}),
                "waza_version": __version__,
                **self._origin(),
            },
        )
        if error := self.save(outcome):
            warnings = [*warnings, error]
        return outcome, warnings

    def _origin(self) -> dict[str, Any]:
        """Return where suite and trials came from when the run began, and its selection, as metadata of results."""
        header = self.journal.header
        found = {
            "git": header.git,
            "ci": header.ci,
            SELECTION: header.selection,
            TRANSCRIPTS: header.transcripts or None,
        }
        return {key: msgspec.to_builtins(value) for key, value in found.items() if value is not None}

    def save(self, outcome: Outcome) -> str:
        """Write the results file of a run that is kept; return why it cannot be written, or nothing."""
        if self.temporary is None:
            self.saved = None
            try:
                # A killed write leaves its temporary file where the next run finds it.
                runs = self.journal.directory.parent
                write_atomic(self.journal.results, encode(outcome), temporary_in=runs)
            except WazaError as error:
                return str(error)
            self.saved = self.journal.results
        return ""

    def discard_if_empty(self) -> None:
        """Close the run, and remove it if nothing finished in it."""
        empty = self.journal.trials == 0 and not self.resumed
        self.close()
        if empty and self.temporary is None:
            shutil.rmtree(self.journal.directory, ignore_errors=True)

    def close(self) -> None:
        """Close the journal; a run that is not saved is gone then."""
        self.journal.close()
        if self.temporary is not None:
            self.temporary.remove()


def recorded_header(invocation: InvocationJournal, job: Job) -> RunHeader | None:
    """Return what the run of a job is of; None if it has not started."""
    directory = invocation.run_directory(job)
    return read_header(directory) if directory and has_header(directory) else None


def open_run_directory(
    invocation: InvocationJournal,
    plan: Plan,
    project: Project,
    commits: Mapping[str, str],
    origin: Origin,
    *,
    graded: bool,
    repeat: Repeat,
    warn: Callable[[str], None],
    transcripts: Sequence[TranscriptRecord] = (),
) -> RunDirectory:
    """Return the directory of a planned run: that of the run to resume, or a new one, pinned to `commits`.

    `origin` is recorded with a new run, and the `transcripts` that it grades; a resumed one keeps that of its start.
    A new run that cannot be written to its place is kept in a temporary directory, of which `warn` is given notice.
    A `graded` run is not resumed without grading, nor the other way round. Raises UsageError when the run to resume is
    a run of something else, WazaError when the run cannot be read or written.
    """
    suite, model, arms = plan.suite, plan.model, [arm.arm for arm in plan.arms]
    directory, fold = invocation.run_directory(Job(suite, model)), Fold(suite, model, arms)
    digest = _digest(suite.digest, project, graded=graded)
    if directory is not None and has_header(directory):
        _check_same(read_header(directory), suite, project, model, digest)
        journal = Journal.reopen(directory)
        try:
            return RunDirectory(journal, fold, replay(journal, fold, repeat))
        except BaseException:
            journal.close()
            raise
    now = datetime.now().astimezone()
    header = RunHeader(
        id=directory.name if directory else new_run_id(now),
        invocation=invocation.id,
        suite=path_text(suite.path),
        digest=digest,
        model=model,
        arms=arms,
        waza=__version__,
        started=now.isoformat(),
        options=_options(suite, project),
        commits=dict(commits),
        git=origin.git,
        ci=origin.ci,
        selection=suite.selection,
        packs=list(suite.packs),
        transcripts=list(transcripts),
        name=suite.name,
        skill=suite.file.skill,
        executor=suite.file.config.executor,
        trials=suite.file.config.trials_per_task,
        pass_rule=suite.file.config.pass_rule,
        stop_when=suite.file.config.stop_rule,
        tasks=[
            PlannedTask(
                id=task.id,
                name=task.name,
                group=", ".join(groups_of(suite, task, model)),
                golden=task.golden,
                tags=list(task.tags),
                requirements=list(task.requirements),
            )
            for task in suite.tasks
        ],
        whole=_whole(suite, project, invocation, graded=graded),
    )
    if directory is not None:
        try:
            return RunDirectory(Journal.create(directory, header), fold)
        except WazaError as error:
            if not isinstance(error.__cause__, OSError):
                raise
            shutil.rmtree(directory, ignore_errors=True)
            warn(f"{error}; this run is kept in a temporary directory, and cannot be resumed")
    temporary = ProcessTempdir("unsaved")
    try:
        return RunDirectory(Journal.create(temporary.path, header), fold, temporary=temporary)
    except BaseException:
        temporary.remove()
        raise


def _whole(suite: Suite, project: Project, invocation: InvocationJournal, *, graded: bool) -> WholeRun | None:
    """Return what the journal of a shard says of the run that it is a part of; None for a whole run."""
    part = suite.part
    if part is None:
        return None
    config = msgspec.structs.replace(
        suite.file.config, executor_options={}, mcp_servers={}
    )  # they may hold secrets
    return WholeRun(
        shard=part.shard,
        suite=path_in(project.directory, suite.path),
        digest=_digest(part.digest, project, graded=graded),
        tasks=len(part.tasks),
        places=list(part.places),
        selection=part.selection,
        trigger_tests=part.trigger_tests is not None,
        config=config,
        metrics=suite.file.metrics,
        capabilities=suite.capabilities,
        warnings=list(suite.warnings),
        planned=[
            PlannedSuite(path=path_in(project.directory, path), model=model)
            for path, model in invocation.planned
        ],
    )


def _digest(suite: str, project: Project, *, graded: bool) -> str:
    digest = _hashed([suite, _settings(project)])
    return digest if graded else f"{digest}{UNGRADED}"


def _settings(project: Project) -> str:
    """Return a digest of those settings of `.waza.yaml` that are not merged into the suite and change verdicts."""
    return _hashed(msgspec.to_builtins([project.keys.graders, project.keys.provider]))


def _check_same(header: RunHeader, suite: Suite, project: Project, model: str, digest: str) -> None:
    """Raise UsageError when the run to resume is of something else: its trials would not be comparable."""
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
        changed = ["--skip-graders"] if same else _changed_options(header, suite, project)
    if changed:
        what = " and ".join(changed)
        raise _cannot_resume(header.id, f"{what} changed")


def _cannot_resume(run_id: str, changes: str) -> UsageError:
    return UsageError(
        f"{run_id} cannot be resumed: {changes} since it started; change it back, or run without --resume"
    )


def _changed_options(header: RunHeader, suite: Suite, project: Project) -> list[str]:
    """Return why the digest of the suite is another one: by its options, else by its files."""
    options = _options(suite, project)
    changed = [name for name, now in options.items() if header.options.get(name, now) != now]
    return changed or [
        "the suite, a task, a grader, a skill, a file they name (programs of hooks and agents, too), an environment variable in the arguments of a grader, or what judges"
    ]


def _options(suite: Suite, project: Project) -> dict[str, Any]:
    """Return what options can change and the digest of the suite covers, by the words for people."""
    config = suite.file.config
    return {
        "the executor or agent (--executor, --agent)": _hashed([config.executor, config.executor_options]),
        "the judge (--judge-model, --judge)": config.judge_model,
        "the number of trials (--trials)": msgspec.to_builtins(config.stop_rule) or config.trials_per_task,
        "the wire (--wire, --cassettes)": _hashed(msgspec.to_builtins(config.wire)),
        "the time limit (--timeout)": config.timeout_seconds,
        "the choice of tasks or items (--task, --tags, -k, --shard)": _hashed(
            [task.id for task in suite.tasks]
        ),
        "the fixtures directory (--context-dir)": path_text(suite.fixtures),
        "the comparison with no skills (--baseline)": suite.file.baseline,
        "whether skills can be seen (--no-skills)": suite.skills_off,
        "the graders or provider of .waza.yaml": _settings(project),
    }


def _hashed(value: Any) -> str:
    """Return the digest of a long or secret value, as hex."""
    return sha256(repr(value).encode()).hexdigest()
