"""The result cache: results of tasks, under a key of everything that could change their verdicts.

Where a judge has a part in the verdict, the cache has the answer of the agent, and the judge is asked again
(`waza.engine.rejudge`). The workspaces of such trials are files next to the entry.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from hashlib import sha256
from pathlib import Path

import msgspec

from waza.engine.pinned_commits import pin_commits
from waza.engine.plan import make_plan
from waza.engine.record import recorded_event
from waza.engine.regrade import rebuild_observation
from waza.engine.saved_attempt import SavedAttempt
from waza.errors import WazaError
from waza.kit.files import write_atomic
from waza.model.loaded import Suite
from waza.model.result import TrialResult
from waza.model.task import Task
from waza.model.trial import Arm
from waza.model.verdict import BuiltGrader
from waza.results.stop_when import next_trials
from waza.suite.digest import cache_key, folder_digest, with_digest


class StoredTrial(msgspec.Struct, frozen=True):
    """A trial in an entry: without the verdicts of graders that are asked again, and with the digest of its packed workspace.

    The digest is empty for a trial without workspace. `why` says why the trial cannot be used again, if it cannot.
    """

    result: TrialResult = msgspec.field(name="run")
    workspace: str = ""
    why: str = ""


class CacheEntry(msgspec.Struct, frozen=True):
    """All trials of one task."""

    trials: list[StoredTrial]


class CachedTrial(msgspec.Struct, frozen=True):
    """A trial from the cache, and the workspace that its agent left, packed; None: it had none."""

    result: TrialResult
    workspace: Path | None = None


class CachedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task of an arm, its key, and whether the cache has it. `why`: why it is never cached, if so."""

    task: str
    arm: Arm
    key: str
    cached: bool
    why: str = ""


class Cache:
    """Task results in files named by their key. An entry that cannot be read is a miss."""

    def __init__(
        self, directory: Path, suite: Suite, model: str, outputs: Collection[Path] = frozenset()
    ) -> None:
        self.directory, self.suite, self.model = directory, suite, model
        self._ignored = {directory.absolute(), *outputs}
        self._off = _off_reason(suite)
        self._inputs: dict[Path, str] = {}
        # Digested now: what a run changes must not become part of its own keys.
        self._parts = {task.id: _without_judges(task) for task in suite.tasks}

    def get(self, task: Task, arm: Arm) -> dict[int, CachedTrial] | None:
        """Return the trials of a task by number, or None when they are not known or may not be reused."""
        if not self._usable(task):
            return None
        try:
            entry = msgspec.json.decode(self._path(task, arm).read_bytes(), type=CacheEntry)
            found = {kept.result.run_number: self._cached(task, arm, kept) for kept in entry.trials}
        except (OSError, WazaError, msgspec.MsgspecError):
            return None
        return found if found and not self._wanted(found) else None

    def _wanted(self, found: Mapping[int, CachedTrial]) -> list[int]:
        """Return the numbers of trials that an entry lacks."""
        config = self.suite.file.config
        statuses = {number: cached.result.status for number, cached in found.items()}
        return next_trials(config.stop_rule, config.pass_rule, statuses, config.trials_per_task)

    def describe(self, task: Task, arm: Arm) -> CachedTask:
        """Return whether the cache has a task."""
        return CachedTask(
            task=task.id,
            arm=arm,
            key=self._path(task, arm).stem,
            cached=self.get(task, arm) is not None,
            why=self._off or "; ".join(self._obstacles(task)),
        )

    def store_trial(
        self, task: Task, arm: Arm, trial: TrialResult, saved: SavedAttempt | None
    ) -> StoredTrial:
        """Write the workspace of a finished trial, and return the trial as it belongs in an entry.

        Blocks: call it in a thread.
        """
        if saved is None:
            return StoredTrial(trial)
        why = saved.why or (
            "" if _is_whole(task, trial, saved) else "its record does not hold all that a judge saw"
        )
        if why:
            return StoredTrial(trial, why=why)
        names = {built.spec.name for built in rejudged_graders(task)}
        verdicts = {name: one for name, one in (trial.validations or {}).items() if name not in names}
        kept = StoredTrial(
            msgspec.structs.replace(trial, validations=verdicts),
            "" if saved.files is None else sha256(saved.files).hexdigest(),
        )
        try:
            if saved.files is not None:
                write_atomic(self._packed(task, arm, trial.run_number), saved.files, private=True)
        except WazaError as error:
            return StoredTrial(trial, why=str(error))
        return kept

    def put(self, task: Task, arm: Arm, trials: Mapping[int, StoredTrial]) -> None:
        """Write the trials of a task, unless one of them broke. Raises WazaError if they cannot be kept."""
        if not self._usable(task):
            return
        ordered = [trials[number] for number in sorted(trials)]
        why = next((kept.why for kept in ordered if kept.why), "")
        if why or not all(kept.result.status in ("passed", "failed") for kept in ordered):
            for kept in ordered:
                self._packed(task, arm, kept.result.run_number).unlink(missing_ok=True)
            if why:
                raise WazaError(why)
            return
        write_atomic(self._path(task, arm), msgspec.json.encode(CacheEntry(ordered), enc_hook=str))

    def wants_workspace(self, task: Task) -> bool:
        """Tell whether the workspaces of a task are kept, for judges that are asked again."""
        return self._usable(task) and bool(rejudged_graders(task))

    def notes(self) -> list[str]:
        """Return sentences on what is not cached, and why."""
        if self._off:
            return [f"the cache is not used: {self._off}"]
        reasons = Counter(reason for task in self.suite.tasks for reason in self._obstacles(task))
        return [
            f"not cached: {count} {'task' if count == 1 else 'tasks'}, {reason}"
            for reason, count in sorted(reasons.items())
        ]

    def _usable(self, task: Task) -> bool:
        return not self._off and not self._obstacles(task)

    def _obstacles(self, task: Task) -> list[str]:
        """Return why a task is not cached."""
        why = list(_rejudge_obstacles(self.suite, task))
        if any(len(repo.commit) != 40 for repo in task.inputs.repos):
            why.append("because the commit of a repository is not known")
        return why

    def _roots(self, task: Task) -> list[Path]:
        """Return the folders and files that those graders read whose verdicts are kept."""
        kept = [getattr(built.grader, "extra_files", list) for built in task.all_graders if _repeats(built)]
        return sorted({root for reads in kept for root in reads()})

    def _input(self, root: Path) -> str:
        if root not in self._inputs:  # as it was when it was first asked for: agents may write there
            self._inputs[root] = folder_digest(root, self._ignored)
        return self._inputs[root]

    def _path(self, task: Task, arm: Arm) -> Path:
        inputs = [self._input(root) for root in self._roots(task)]
        if rejudged_graders(task):
            inputs.append("rejudged")  # else an entry without workspaces could be taken
        return self.directory / f"{cache_key(self.suite, self._parts[task.id], self.model, arm, inputs)}.json"

    def _packed(self, task: Task, arm: Arm, number: int) -> Path:
        entry = self._path(task, arm)
        return entry.with_name(f"{entry.stem}-{number}.tar")

    def _cached(self, task: Task, arm: Arm, kept: StoredTrial) -> CachedTrial:
        if not kept.workspace:
            return CachedTrial(kept.result)
        path = self._packed(task, arm, kept.result.run_number)
        if sha256(path.read_bytes()).hexdigest() != kept.workspace:
            raise WazaError(f"{path} belongs to another entry, or was changed")
        return CachedTrial(kept.result, path)


async def list_cached(directory: Path, suite: Suite, model: str) -> list[CachedTask]:
    """Return what a cache has of a suite on a model, as a run of it would look it up: the tasks of all arms."""
    pinned, _ = await pin_commits(suite, {})
    cache = Cache(directory, pinned, model)
    arms = make_plan(pinned, model).arms
    return [cache.describe(task, arm.arm) for arm in arms for task in arm.tasks]


def rejudged_graders(task: Task) -> list[BuiltGrader]:
    """Return the graders of a task whose verdicts depend on more than the inputs, such as judges."""
    return [built for built in task.graders if not _repeats(built)]


def _repeats(built: BuiltGrader) -> bool:
    return bool(getattr(built.grader, "repeatable", True))


def _without_judges(task: Task) -> Task:
    """Return the task without its judges, with the digest of what the answer and the kept verdicts depend on."""
    if not rejudged_graders(task):
        return task
    return with_digest(
        msgspec.structs.replace(
            task,
            graders=tuple(built for built in task.graders if _repeats(built)),
            mock=task.mock and task.mock.without_judge(),
            digest="",
        )
    )


def _is_whole(task: Task, trial: TrialResult, saved: SavedAttempt) -> bool:
    """Tell whether a record holds all that graders saw: nothing was redacted, cut or left out."""
    observation = saved.observation
    workspace = Path(observation.workspace) if observation.workspace else None
    back = rebuild_observation(task, trial, workspace, observation.baseline_output)
    events = tuple(recorded_event(event) for event in observation.transcript)
    return back == msgspec.structs.replace(observation, transcript=events)


def _off_reason(suite: Suite) -> str:
    if suite.file.scenario is not None:
        return "scenario suites are not cached"
    if not suite.capabilities.repeatable:
        return f"whether the agent behind {suite.file.config.executor} has changed cannot be known"
    return ""


def _rejudge_obstacles(suite: Suite, task: Task) -> Iterator[str]:
    """Yield why graders that may decide otherwise cannot be asked about a cached answer."""
    found = rejudged_graders(task)
    if found and suite.file.config.isolation == "trial":
        yield "because with isolation: trial, graders cannot be asked again without the process of the agent"
    for kind in sorted({built.spec.type for built in found if getattr(built.grader, "needs_session", False)}):
        yield f"because a {kind} grader asks in the agent's own session, which is not kept"
    if task.inputs.repos:
        for kind in sorted({built.spec.type for built in found}):
            yield f"because {kind} graders may decide otherwise, and git worktrees are not kept for them"
    middle = [built for point in task.checkpoints for built in point.graders if not _repeats(built)]
    for kind in sorted({built.spec.type for built in middle}):
        yield f"because {kind} graders of checkpoints may decide otherwise, and what they saw is not kept"
