"""Where the trials of a run happen: in this process, or on machines that a backend reaches.

Plan, schedule, journal, figures and results stay in this process whatever runs the trials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from waza.engine.invocation import Job
from waza.engine.trial import FinishedTrial, RunContext, run_trial
from waza.engine.trigger_tests import run_trigger_tests
from waza.errors import ExecutorError, UsageError
from waza.kit.redact import RedactionPolicy
from waza.model.agent import AttemptWorkspace, Judge, Session
from waza.model.loaded import Project, Suite, TriggerTests
from waza.model.suite import Hooks
from waza.model.task import Task
from waza.model.trial import Attempt, Trial
from waza.model.wire import wire_keys
from waza.results.assemble import Triggers

if TYPE_CHECKING:
    from waza.engine.run import RunOptions


class TrialRunner(Protocol):
    """Runs the trials of one run."""

    async def run_trial(self, trial: Trial) -> FinishedTrial:
        """Run a trial, as `waza.engine.trial.run_trial` does. Raises RunError when the run as a whole cannot go on."""
        ...

    async def run_trigger_tests(self, tests: TriggerTests) -> Triggers | None:
        """Run the trigger tests; None: a limit ended them. Raises ExecutorError when they cannot run, RunError as above."""
        ...

    async def aclose(self) -> None:
        """Stop what is still running, and free what the run holds."""
        ...


class RemoteRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose trials are to happen elsewhere."""

    job: Job
    project: Project
    skip_graders: bool
    redaction: RedactionPolicy


class Backend(Protocol):
    """Machines that run trials. Its class is in the group `waza.backends`, and is made with a `BackendOptions`."""

    @property
    def capacity(self) -> int:
        """How many trials may be under way at the same time, once it is started."""
        ...

    async def start(self) -> None:
        """Reach the machines, and check that they have this version of waza. Raises UsageError and RunError."""
        ...

    async def open_run(self, run: RemoteRun, context: RunContext) -> TrialRunner:
        """Get ready for the trials of a run; events and warnings go to the context. Raises RunError."""
        ...

    async def aclose(self) -> None:
        """Leave the machines; nothing of waza goes on there."""
        ...


class BackendOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line says of a backend."""

    scheduler: str = ""
    """The address of what hands out work; empty: machines of its own, or processes on this one."""
    workers: int = 0
    """How many trials may be under way at the same time; 0: as many as there are places for."""
    resources: dict[str, float] = {}
    """What a trial needs of a worker, by the names that workers declare."""


class LocalRunner:
    """Runs trials in this process."""

    def __init__(self, context: RunContext) -> None:
        self._context = context

    async def run_trial(self, trial: Trial) -> FinishedTrial:
        """Run a trial."""
        return await run_trial(self._context, trial)

    async def run_trigger_tests(self, tests: TriggerTests) -> Triggers | None:
        """Run the trigger tests."""
        return await run_trigger_tests(self._context, tests)

    async def aclose(self) -> None:
        """Do nothing: the run closes what it opened."""


class AbsentExecutor:
    """Takes the place of the executor where trials run elsewhere: no agent is started here."""

    async def start(self) -> None:
        """Do nothing."""

    def works_in(self, task: Task) -> bool:
        """Tell that no workspace is needed."""
        del task
        return False

    async def open(self, attempt: Attempt, place: AttemptWorkspace) -> Session:
        """Refuse: trials run on the machines of the backend."""
        del attempt, place
        raise ExecutorError("the trials of this run happen on the machines of its backend, and not here")

    def judge(self, attempt: Attempt) -> Judge | None:
        """Return that there is no judge."""
        del attempt
        return None

    async def aclose(self) -> None:
        """Do nothing."""


def check_backend(name: str, suites: Sequence[Suite], options: RunOptions) -> None:
    """Raise UsageError for all that trials on other machines cannot do, so that nothing of it is left out silently."""
    lacking = list(
        dict.fromkeys([*_options(options), *(fault for suite in suites for fault in _keys(suite))])
    )
    if lacking:
        raise UsageError(
            f"--backend {name} cannot do this: {'; '.join(lacking)}. Leave it out, or run without --backend"
        )


def _options(options: RunOptions) -> Iterator[str]:
    given = {
        "--keep-workspace: workspaces are on the workers": options.keep_workspace,
        "--update-snapshots: expected files would be rewritten on the workers": options.update_snapshots,
        "--snapshot: evidence is recorded where the trial happens": options.recorder is not None,
        "--cache (use --no-cache): what the cache keeps of workspaces is on the workers": options.cache
        is not None,
        "--session-log: the times of its lines would not be those of the workers": options.detailed,
        "--otel-exporter: spans of trials begin where the trial happens": options.tracing is not None,
    }
    yield from (what for what, wanted in given.items() if wanted)
    provider = options.project.keys.provider
    if provider is not None and provider.headers:
        yield "provider.headers of .waza.yaml: they may hold secrets, and nothing secret is sent to workers"


def _keys(suite: Suite) -> Iterator[str]:
    if suite.file.hooks != Hooks():
        yield f"hooks of {suite.name}: they set up one machine, and trials run on others"
    if any(task.inputs.repos for task in suite.tasks):
        yield f"inputs.repos of {suite.name}: worktrees are of repositories on this machine"
    if wire_keys(suite.file.config.wire).has_cassettes:
        yield f"config.wire (--wire) of {suite.name}: cassettes are on this machine"
    limits = suite.file.config.limits
    if limits is not None and (limits.requests_per_minute or limits.max_concurrent_judges):
        yield (
            f"config.limits.requests_per_minute and max_concurrent_judges of {suite.name}: "
            "workers do not wait for one another"
        )
    graders = {
        built.spec.name
        for task in suite.tasks
        for built in task.all_graders
        if built.spec.module or built.module
    }
    if graders:
        yield f"graders from elsewhere of {suite.name} ({', '.join(sorted(graders))}): they are in the cache of this machine"
