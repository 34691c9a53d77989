"""`run_suite`: one suite on one model, from hooks to results. Everything that happens is told to listeners."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from waza.engine.arm import ArmRun, WorkerLimits
from waza.engine.cache import Cache
from waza.engine.cancellation import Cancellation
from waza.engine.executor_factory import StartedExecutor, start_executor
from waza.engine.invocation import InvocationJournal
from waza.engine.journal import EndStatus, RunEnd
from waza.engine.pinned_commits import pin_commits
from waza.engine.plan import arms_of, workers_of
from waza.engine.record import make_redactor
from waza.engine.replay import Repeat
from waza.engine.run_directory import RunDirectory, commits_of, open_run_directory
from waza.engine.tamper_check import graders_of
from waza.engine.trial import RunContext
from waza.engine.trigger_tests import run_trigger_tests
from waza.errors import ExecutorError, WazaError
from waza.model.event import RunEvent, SuiteFinished, SuiteStarted, SuiteStopped, Warned
from waza.model.loaded import Project, Suite, TriggerTests
from waza.model.trial import Arm
from waza.model.verdict import Helpers, SharedResources
from waza.results.assemble import Triggers
from waza.results.outcome import Outcome
from waza.workspace.run_tempdir import RunTempdir, Worktree

Emit = Callable[[RunEvent], None]


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How suites are run, besides what they say themselves.

    `resume`: None starts anew, "" goes on with the newest invocation of these suites and models, else that with
    this id, or with a run of this id. `repeat` says which errors are run again then. `cache` is the directory of
    the result cache, or None. `save` false keeps the runs in temporary directories. `outputs` are the
    files and folders that the caller writes, which are nothing that a grader reads. `shared` is what graders need
    that was made before; the run ends it, if there is anything left to run.
    """

    project: Project
    skip_graders: bool = False
    keep_workspace: bool = False
    update_snapshots: bool = False
    cache: Path | None = None
    save: bool = True
    resume: str | None = None
    repeat: Repeat = "outside"
    outputs: frozenset[Path] = frozenset()
    shared: SharedResources | None = None


class FinishedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that ended. Close `run_directory` when its outcome has been read for the last time."""

    outcome: Outcome
    run_directory: RunDirectory
    interrupted: int | None = None
    kept: Path | None = None
    kept_worktrees: tuple[Worktree, ...] = ()


class SharedWorkers(msgspec.Struct, frozen=True):
    """What a run has in common with others that run at the same time.

    A trial runs while it holds one of the `slots`; `drained` is called when the run has no more trials to hand out.
    """

    slots: asyncio.Semaphore
    drained: Callable[[], None]


async def run_suite(
    suite: Suite,
    model: str,
    options: RunOptions,
    emit: Emit,
    cancellation: Cancellation,
    invocation: InvocationJournal,
    share: SharedWorkers,
) -> FinishedRun:
    """Run a suite on one model and write its results. RunError: the run as a whole could not go on."""
    arms, warning = arms_of(suite)
    graded = not options.skip_graders
    suite, commits = await pin_commits(suite, commits_of(invocation, suite, model))
    run_directory = open_run_directory(
        invocation,
        suite,
        model,
        arms,
        options.project,
        commits,
        graded=graded,
        repeat=options.repeat,
        warn=lambda message: emit(Warned(message=message)),
    )
    if run_directory.past.complete:
        emit(Warned(message=f"{run_directory.id} is finished: it is only reported again, nothing is run"))
        return FinishedRun(outcome=_finished(run_directory, "complete", emit), run_directory=run_directory)
    try:
        engine = await cancellation.run_cancellable(start_executor(suite, model, options.project))
        run = _Run(suite, model, options, emit, cancellation, engine, run_directory, share)
        status = await run.go(arms, [warning] if warning else [])
    except BaseException:
        run_directory.discard_if_empty()
        raise
    kept = run.tempdir.kept
    return FinishedRun(
        outcome=_finished(run_directory, status, emit),
        run_directory=run_directory,
        interrupted=cancellation.exit_code if status == "cancelled" else None,
        kept=kept,
        kept_worktrees=tuple(run.tempdir.kept_worktrees) if kept else (),
    )


def _finished(run_directory: RunDirectory, status: EndStatus, emit: Emit) -> Outcome:
    """Write the results of what finished, and say which metrics have no data."""
    outcome, warnings = run_directory.finish(status)
    for warning in warnings:
        emit(Warned(message=warning))
    return outcome


class _Run:
    """One run of one model while it lasts."""

    def __init__(
        self,
        suite: Suite,
        model: str,
        options: RunOptions,
        emit: Emit,
        cancellation: Cancellation,
        engine: StartedExecutor,
        run_directory: RunDirectory,
        share: SharedWorkers,
    ) -> None:
        self.suite, self.options, self.emit, self.cancellation = suite, options, emit, cancellation
        self.engine, self.run_directory, self.fold, self.share = (
            engine,
            run_directory,
            run_directory.fold,
            share,
        )
        self.tempdir = RunTempdir(keep=options.keep_workspace)
        self.shared = options.shared or SharedResources()
        # Who wants no verdicts, or new snapshots, cannot be served from the cache.
        fresh = options.skip_graders or options.update_snapshots
        self.cache = (
            Cache(options.cache, suite, model, options.outputs) if options.cache and not fresh else None
        )
        self.triggers: Triggers | None = run_directory.past.triggers
        self.workers, self.notice = workers_of(suite)
        self.durations = dict.fromkeys(run_directory.fold.durations, 0)  # of this part of the run
        self.skipped: dict[Arm, list[str]] = {}
        self.stopped = ""  # why the run was stopped for a cause outside of the agent
        config, limits = suite.file.config, options.project.keys.graders
        self.context = RunContext(
            suite=suite,
            model=model,
            executor=engine.executor,
            tempdir=self.tempdir,
            relay=engine.relay,
            helpers=Helpers(
                judge_model=config.judge_model or model,
                judge_effort=config.judge_reasoning_effort or "",
                judge_timeout=config.judge_timeout_seconds,
                shared=self.shared,
                program_timeout=limits.programTimeout,
                code_timeout=limits.codeTimeout,
                update_snapshots=options.update_snapshots,
            ),
            redactor=make_redactor(suite, options.project),
            outputs=options.outputs,
            emit=emit,
            run_id=run_directory.id,
            skip_graders=options.skip_graders,
            ab_run=len(run_directory.journal.header.arms) > 1,
        )

    async def go(self, arms: Sequence[Arm], warnings: Sequence[str]) -> EndStatus:
        """Run all arms and the trigger tests; return how the run ended, which the journal knows then as well."""
        try:
            for message in (*warnings, *self._notes()):
                self.emit(Warned(message=message))
            self.tempdir.open()
            self.run_directory.start_part()
            await self._work(arms)
        except asyncio.CancelledError:
            if self.cancellation.exit_code is None:
                raise
        finally:
            await self._close()
        interrupted = self.cancellation.exit_code is not None
        status: EndStatus = "cancelled" if interrupted else "stopped" if self.stopped else "complete"
        try:
            self.run_directory.end(self._end(status))
        except WazaError as error:  # what was found out is still told and written elsewhere
            self.emit(Warned(message=f"how the run ended could not be recorded: {error}"))
        return status

    def _notes(self) -> Iterator[str]:
        """Yield what should be known before the run starts."""
        if self.run_directory.resumed and not self.suite.capabilities.repeatable:
            executor = self.suite.file.config.executor
            what = f"whether the agent behind {executor} is still as it was cannot be known"
            yield f"{what}; trials before and after count alike"
        if self.run_directory.resumed and not self.options.skip_graders:
            open_ends = {
                built.spec.name
                for built in graders_of(self.suite)
                if not getattr(built.grader, "is_pinned", True)
            }
            for name in sorted(open_ends):
                what = f"whether the grader {name} is still as it was cannot be known, since its code was not found"
                yield f"{what}; list what it reads under cache_inputs"
        if self.cache:
            yield from self.cache.notes()

    async def _work(self, arms: Sequence[Arm]) -> None:
        for arm in arms:
            if self._may_go_on:
                await self._run_arm(arm, last=arm == arms[-1])
        if self.suite.trigger_tests and self.triggers is None and self._may_go_on:
            started = time.monotonic()
            try:
                await self.cancellation.run_cancellable(self._run_trigger_tests(self.suite.trigger_tests))
            except asyncio.CancelledError:
                self.emit(SuiteStopped(reason="the trigger tests were cut off"))
                raise
            finally:
                self._took("main", started)

    @property
    def _may_go_on(self) -> bool:
        return self.cancellation.stopped_by is None and not self.stopped

    async def _run_trigger_tests(self, tests: TriggerTests) -> None:
        try:
            self.triggers = await run_trigger_tests(self.context, tests)
        except ExecutorError as error:
            self.emit(Warned(message=f"the trigger tests could not run: {error}"))

    async def _run_arm(self, arm: Arm, *, last: bool) -> None:
        running = ArmRun(
            arm, self.context, self.run_directory, self.cache, WorkerLimits(self.workers, self.share.slots)
        )
        if last:
            running.schedule.on_drained = self.share.drained
        self.emit(self._suite_started(running))
        try:
            await self.cancellation.run_cancellable(running.run())
        finally:
            if not await self.cancellation.run_with_grace(running.hooks.after_run()):
                self.emit(Warned(message="an after_run hook was ended: it went on too long after the signal"))
            self._took(arm, running.started)
            self.stopped, self.skipped[arm] = running.stopped, running.skipped
            self.emit(self._suite_finished(arm))

    def _took(self, arm: Arm, started: float) -> None:
        took = round((time.monotonic() - started) * 1000)
        self.durations[arm] += took
        self.fold.durations[arm] += took

    def _end(self, status: EndStatus) -> RunEnd:
        triggers = self.triggers or Triggers()
        return RunEnd(
            status=status,
            durations=self.durations,
            stopped={
                arm: {task.task_id: task.stopped for task in tasks.values() if task.stopped}
                for arm, tasks in self.fold.tasks.items()
            },
            skipped=self.skipped,
            trigger_metrics=triggers.metrics,
            trigger_results=list(triggers.results),
            trigger_usages=list(triggers.usages),
        )

    def _suite_started(self, running: ArmRun) -> SuiteStarted:
        config = self.suite.file.config
        return SuiteStarted(
            suite=self.suite.name,
            path=str(self.suite.path),
            skill=self.suite.file.skill,
            executor=config.executor,
            model=self.context.model,
            judge_model=config.judge_model,
            workers=self.workers,
            tasks=len(running.tasks),
            trials=config.trials_per_task,
            arm=running.arm,
            run_id=self.context.run_id,
            resumed=self.run_directory.past.trials,
            notes=(self.notice,) if self.notice else (),
            selected=tuple((task.name, task.id) for task in running.tasks) if self.suite.filtered else (),
        )

    def _suite_finished(self, arm: Arm) -> SuiteFinished:
        tasks = self.fold.tasks[arm].values()
        statuses = [task.status for task in tasks]
        return SuiteFinished(
            cut_off=any(task.missing for task in tasks),
            total=len(statuses),
            passed=statuses.count("passed"),
            failed=statuses.count("failed"),
            errors=statuses.count("error"),
            skipped=statuses.count("skipped"),
            duration_ms=self.fold.durations.get(arm, 0),
        )

    async def _close(self) -> None:
        """Stop everything that belongs to this run alone; say what could not be removed."""
        await self.shared.aclose()
        await self.engine.aclose()
        for message in await self.tempdir.close():
            self.emit(Warned(message=message))
