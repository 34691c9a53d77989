"""`run_suite`: a run, which is one suite on one model, from its plan to its results."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from waza.engine.arm import ArmRun
from waza.engine.backend import AbsentExecutor, Backend, LocalRunner, RemoteRun, TrialRunner
from waza.engine.cache import Cache
from waza.engine.cancellation import Cancellation
from waza.engine.cassettes import Cassettes
from waza.engine.executor_factory import StartedExecutor, start_executor
from waza.engine.invocation import InvocationJournal, Job
from waza.engine.limits import RunMeter
from waza.engine.origin import Origins
from waza.engine.pinned_commits import pin_commits
from waza.engine.plan import ArmPlan, Plan, make_plan
from waza.engine.record import make_redactor
from waza.engine.replay import Repeat
from waza.engine.run_directory import RunDirectory, open_run_directory, recorded_header
from waza.engine.trial import RunContext
from waza.errors import ExecutorError, RunError, WazaError
from waza.kit.redact import DEFAULT_POLICY, RedactionPolicy, Redactor
from waza.model.event import (
    RunEvent,
    RunFinished,
    RunStarted,
    SuiteFinished,
    SuiteStarted,
    SuiteStopped,
    Warned,
)
from waza.model.loaded import Project, Suite
from waza.model.origin import Origin
from waza.model.tracing import RunTracer, Tracing
from waza.model.trial import Arm
from waza.model.verdict import Helpers, SharedResources
from waza.model.wire import wire_keys
from waza.results.assemble import Triggers
from waza.results.journal_lines import EndStatus, RunEnd
from waza.results.outcome import Outcome
from waza.suite.prices import Prices
from waza.workspace.run_tempdir import RunTempdir, Worktree

if TYPE_CHECKING:
    from waza.evidence.recorder import Recorder

Emit = Callable[[RunEvent], None]


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How suites are run, apart from what their files say."""

    project: Project
    skip_graders: bool = False
    keep_workspace: bool = False
    update_snapshots: bool = False
    cache: Path | None = None
    """The directory of the result cache; None: no cache."""
    save: bool = True
    """False: runs are kept in temporary directories."""
    resume: str | None = None
    """None: start a new invocation. "": resume the newest invocation of these suites and models. Otherwise the
    id of an invocation, or of one of its runs, to resume."""
    repeat: Repeat = "outside"
    """Which errors a resumed run repeats."""
    outputs: frozenset[Path] = frozenset()
    """Files and directories that the caller writes; they are no input of any grader."""
    redaction: RedactionPolicy = DEFAULT_POLICY
    """What snapshots, logs and artifacts must not hold."""
    recorder: Recorder | None = None
    """Writes evidence. The cache is not used then: a snapshot is of what this run observed."""
    detailed: bool = False
    """Listeners get also what happens inside attempts (`model.attempt_event`)."""
    only_judges: bool = False
    """Scripts of the mock executor play the agents, and the executor of the suite only judges."""
    tracing: Tracing | None = None
    """Follows the runs. Their details are emitted then, too."""
    backend: Backend | None = None
    """Runs the trials, once it is started; None: this process does."""
    shared: SharedResources | None = None
    """Resources of graders that exist already. The run closes them, unless there is nothing left to run."""


class FinishedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that ended. Close `run_directory` after its outcome has been read for the last time.

    `interrupted` is the exit code of the signal that ended it. `kept` is the directory of workspaces that stay.
    """

    outcome: Outcome
    run_directory: RunDirectory
    interrupted: int | None = None
    kept: Path | None = None
    kept_worktrees: tuple[Worktree, ...] = ()


class SharedWorkers(msgspec.Struct, frozen=True):
    """The workers that runs share which are under way at the same time.

    A trial holds one of the `slots` while it runs. A run calls `drained` when it has no more trials to hand out.
    """

    slots: asyncio.Semaphore
    drained: Callable[[], None]


async def run_suite(
    job: Job,
    options: RunOptions,
    emit: Emit,
    cancellation: Cancellation,
    invocation: InvocationJournal,
    workers: SharedWorkers,
    origins: Origins,
) -> FinishedRun:
    """Run a suite on one model and write its results. Raises RunError when the run as a whole cannot go on."""

    def warn(message: str) -> None:
        emit(Warned(message=message))

    recorded = recorded_header(invocation, job)
    suite, commits = await pin_commits(job.suite, recorded.commits if recorded else {})
    plan, origin = _plan(suite, job.model, options.backend), Origin()
    redactor = make_redactor(suite, options.project, options.redaction)
    if recorded is None:
        origin = await cancellation.run_cancellable(origins.find(suite.path, redactor, warn))
    run_directory = open_run_directory(
        invocation,
        plan,
        options.project,
        commits,
        origin,
        graded=not options.skip_graders,
        repeat=options.repeat,
        warn=warn,
    )
    if run_directory.past.complete:
        emit(Warned(message=f"{run_directory.id} is finished: it is only reported again, nothing is run"))
        return FinishedRun(
            outcome=_write_results(run_directory, "complete", emit), run_directory=run_directory
        )
    if plan.is_empty:
        run_directory.end(RunEnd(status="complete"))
        return FinishedRun(
            outcome=_write_results(run_directory, "complete", emit), run_directory=run_directory
        )
    live = run_directory.follow(plan)
    if live is not None:
        emit = _tee(live.handle, emit)
    tracer: RunTracer | None = None
    if options.tracing is not None:
        tracer = options.tracing.run_tracer(redactor.full_value)
        emit = _tee(tracer.handle, emit)
    emit(_run_started(plan, run_directory.id))
    try:
        cassettes = _cassettes(plan, run_directory, redactor, warn)
        executor = await cancellation.run_cancellable(_start_executor(suite, job.model, options, cassettes))
        run = _Run(job, plan, options, emit, cancellation, executor, run_directory, workers, redactor, tracer)
        status = await run.execute()
    except BaseException as error:
        cancelled = isinstance(error, asyncio.CancelledError)
        why = "" if cancelled else redactor.text(str(error))
        emit(RunFinished(status="cancelled" if cancelled else "error", error=why))
        if live is not None:
            live.close()
        run_directory.discard_if_empty()
        raise
    kept = run.tempdir.kept_path
    outcome = _write_results(run_directory, status, emit)
    if live is not None:
        live.close()
    emit(RunFinished(status=status, error=run.stopped or run.meter.met, verdict=outcome.verdict.status))
    return FinishedRun(
        outcome=outcome,
        run_directory=run_directory,
        interrupted=cancellation.exit_code if status == "cancelled" else None,
        kept=kept,
        kept_worktrees=tuple(run.tempdir.kept_worktrees) if kept else (),
    )


def _plan(suite: Suite, model: str, backend: Backend | None) -> Plan:
    """Return the plan of a run, with as many workers as the backend has places for, if there is one."""
    plan = make_plan(suite, model)
    return plan if backend is None else msgspec.structs.replace(plan, workers=backend.capacity, notices=())


def _cassettes(
    plan: Plan, run_directory: RunDirectory, redactor: Redactor, warn: Callable[[str], None]
) -> Cassettes | None:
    """Return the cassettes of a run that records or replays them, else None. `warn` takes what they are not of."""
    keys = wire_keys(plan.suite.file.config.wire)
    if not keys.has_cassettes:
        return None
    place = run_directory.journal.directory
    if run_directory.temporary is not None and keys.mode == "record":
        raise RunError(
            "cassettes are recorded into the directory of the run, which is not kept: leave --no-save out"
        )
    cassettes = Cassettes(plan.suite, plan.model, run_directory.id, place, redactor)
    for note in cassettes.notes:
        warn(note)
    return cassettes


async def _start_executor(
    suite: Suite, model: str, options: RunOptions, cassettes: Cassettes | None
) -> StartedExecutor:
    """Start the executor of a run, unless the machines of a backend do."""
    if options.backend is not None:
        return StartedExecutor(AbsentExecutor())
    return await start_executor(
        suite, model, options.project, only_judges=options.only_judges, cassettes=cassettes
    )


def _tee(*takers: Emit) -> Emit:
    def emit(event: RunEvent) -> None:
        for take in takers:
            take(event)

    return emit


def _run_started(plan: Plan, run_id: str) -> RunStarted:
    return RunStarted(
        suite=plan.suite.name,
        path=str(plan.suite.path),
        skill=plan.suite.file.skill,
        executor=plan.suite.file.config.executor,
        model=plan.model,
        run_id=run_id,
    )


def _write_results(run_directory: RunDirectory, status: EndStatus, emit: Emit) -> Outcome:
    """Write the results of the finished trials, and warn of metrics without data."""
    outcome, warnings = run_directory.finish(status)
    for warning in warnings:
        emit(Warned(message=warning))
    return outcome


def make_helpers(plan: Plan, project: Project, shared: SharedResources) -> Helpers:
    """Return what the graders of a run get besides what was observed; `shared` are the resources that they have in common."""
    config, limits = plan.suite.file.config, project.keys.graders
    return Helpers(
        judge_model=config.judge_model or plan.model,
        judge_effort=config.judge_reasoning_effort or "",
        judge_timeout=config.judge_timeout_seconds,
        shared=shared,
        program_timeout=limits.programTimeout,
        code_timeout=limits.codeTimeout,
    )


class _Run:
    """A run while it lasts."""

    def __init__(
        self,
        job: Job,
        plan: Plan,
        options: RunOptions,
        emit: Emit,
        cancellation: Cancellation,
        executor: StartedExecutor,
        run_directory: RunDirectory,
        workers: SharedWorkers,
        redactor: Redactor,
        tracer: RunTracer | None,
    ) -> None:
        self.job, self.plan, self.options = job, plan, options
        self.emit, self.cancellation = emit, cancellation
        self.executor, self.run_directory, self.workers = executor, run_directory, workers
        self.fold = run_directory.fold
        self.tempdir = RunTempdir(keep=options.keep_workspace)
        self.shared = options.shared or SharedResources()
        # The cache holds neither trials without verdicts nor new snapshots, and nothing that this run observes.
        fresh = options.skip_graders or options.update_snapshots or options.recorder is not None
        fresh = fresh or wire_keys(plan.suite.file.config.wire).has_cassettes
        self.cache = (
            Cache(options.cache, plan.suite, plan.model, options.outputs)
            if options.cache and not fresh
            else None
        )
        self.triggers: Triggers | None = run_directory.past.triggers
        self.durations = dict.fromkeys(self.fold.durations, 0)  # of this part of the run
        self.skipped: dict[Arm, list[str]] = {}
        self.stopped = ""  # why the run was stopped: a limit was met, or a cause outside of the agent
        self.meter = RunMeter(
            plan.suite.file.config.limits,
            Prices.of(plan.suite),
            scripted=plan.suite.capabilities.scripted,
            before=run_directory.past.spent,
            seconds=sum(self.fold.durations.values()) / 1000,
        )
        self.context = RunContext(
            plan=plan,
            executor=executor.executor,
            tempdir=self.tempdir,
            relay=executor.relay,
            wire=executor.wire,
            helpers=msgspec.structs.replace(
                make_helpers(plan, options.project, self.shared), update_snapshots=options.update_snapshots
            ),
            redactor=redactor,
            recorder=(
                options.recorder.of_run(plan.suite, plan.model, run_directory.id)
                if options.recorder
                else None
            ),
            outputs=options.outputs,
            emit=emit,
            warn=self._warn,
            run_id=run_directory.id,
            skip_graders=options.skip_graders,
            detailed=options.detailed or tracer is not None,
            tracer=tracer,
            meter=self.meter,
        )
        self.runner: TrialRunner = LocalRunner(self.context)

    async def _open_runner(self) -> None:
        """Get the machines of the backend ready for the trials of this run, if it has one."""
        if self.options.backend is not None:
            run = RemoteRun(
                job=self.job,
                project=self.options.project,
                skip_graders=self.options.skip_graders,
                redaction=self.options.redaction,
            )
            self.runner = await self.cancellation.run_cancellable(
                self.options.backend.open_run(run, self.context)
            )

    async def execute(self) -> EndStatus:
        """Run what the plan holds and the journal lacks; return how the run ended, as the journal records it."""
        try:
            for message in self._warnings():
                self._warn(message)
            for note in self._cache_notes():
                self.emit(Warned(message=note))
            self.tempdir.open()
            await self._open_runner()
            self.run_directory.start_part()
            for arm in self.plan.arms:
                await self._run_arm(arm)
            await self._run_trigger_tests()
        except asyncio.CancelledError:
            if self.cancellation.exit_code is None:
                raise
        finally:
            await self._close()
        return self._record_end()

    def _warn(self, message: str) -> None:
        """Warn of what concerns the run as a whole: now, and in its results."""
        message = self.context.redactor.text(message)
        self.run_directory.add_warning(message)
        self.emit(Warned(message=message))

    def _warnings(self) -> Iterator[str]:
        """Yield what users should know before the run starts, and when they read its results."""
        suite = self.plan.suite
        yield from self.plan.warnings
        if self.run_directory.resumed and not suite.capabilities.repeatable:
            yield (
                f"whether the agent behind {suite.file.config.executor} is still as it was cannot be known; "
                "trials before and after count alike"
            )
        if self.run_directory.resumed and not self.options.skip_graders:
            graders = [built for task in suite.tasks for built in task.all_graders]
            for name in sorted(
                {one.spec.name for one in graders if not getattr(one.grader, "is_pinned", True)}
            ):
                yield (
                    f"whether the grader {name} is still as it was cannot be known, since its code was not found; "
                    "list what it reads under cache_inputs"
                )

    def _cache_notes(self) -> Iterator[str]:
        """Yield what is not cached, and why."""
        if self.cache:
            yield from self.cache.notes()
        elif self.options.cache and self.options.recorder:
            yield "the cache is not used: a snapshot is of what this run observes"

    @property
    def _may_go_on(self) -> bool:
        if self.cancellation.stopped_by is not None or self.stopped:
            return False
        if met := self.meter.refusal():
            self._stop(met)
        return not self.stopped

    def _stop(self, limit: str) -> None:
        """Start no more arms and no trigger tests, since a limit was met."""
        self.stopped = f"{limit}; go on with --resume"
        self.emit(SuiteStopped(reason=self.stopped))

    async def _run_arm(self, arm: ArmPlan) -> None:
        if not self._may_go_on:
            return
        running = ArmRun(arm, self.context, self.run_directory, self.cache, self.workers.slots, self.runner)
        if arm == self.plan.arms[-1]:
            running.schedule.on_drained = self.workers.drained
        self.emit(self._suite_started(arm))
        try:
            await self.cancellation.run_cancellable(running.run())
        finally:
            if not await self.cancellation.run_with_grace(running.hooks.after_run()):
                self._warn("an after_run hook was ended: it went on too long after the signal")
            self._add_duration(arm.arm, running.started)
            self.stopped, self.skipped[arm.arm] = running.stopped, running.skipped
            self.emit(self._suite_finished(arm.arm))

    async def _run_trigger_tests(self) -> None:
        tests = self.plan.suite.trigger_tests
        if tests is None or self.triggers is not None or not self._may_go_on:
            return
        started = time.monotonic()
        try:
            self.triggers = await self.cancellation.run_cancellable(self.runner.run_trigger_tests(tests))
            if self.triggers is None:
                self._stop(self.meter.met)
        except ExecutorError as error:
            self._warn(f"the trigger tests could not run: {error}")
        except asyncio.CancelledError:
            self.emit(SuiteStopped(reason="the trigger tests were cut off"))
            raise
        finally:
            self._add_duration("main", started)

    def _add_duration(self, arm: Arm, started: float) -> None:
        duration = round((time.monotonic() - started) * 1000)
        self.durations[arm] += duration
        self.fold.durations[arm] += duration

    def _record_end(self) -> EndStatus:
        """Write how this part of the run ended; what cannot be written is a warning, the results still count."""
        interrupted = self.cancellation.exit_code is not None
        limit = self.meter.end()
        status: EndStatus = "stopped" if self.stopped else "complete"
        status = "cancelled" if interrupted else "limit" if limit else status
        triggers = self.triggers or Triggers()
        end = RunEnd(
            status=status,
            durations=self.durations,
            stopped={
                arm: {task.task_id: task.stopped for task in tasks.values() if task.stopped}
                for arm, tasks in self.fold.tasks.items()
            },
            skipped=self.skipped,
            trigger_metrics=triggers.metrics,
            trigger_results=list(triggers.results),
            trigger_matrix=triggers.matrix,
            trigger_usages=list(triggers.usages),
            trigger_costs=list(triggers.costs),
            warnings=self.run_directory.warnings,
            spent=self.meter.account.spent,
            limit=limit if status == "limit" else "",
        )
        try:
            self.run_directory.end(end)
        except WazaError as error:
            self._warn(f"how the run ended could not be recorded: {error}")
        return status

    def _suite_started(self, arm: ArmPlan) -> SuiteStarted:
        suite, config = self.plan.suite, self.plan.suite.file.config
        return SuiteStarted(
            suite=suite.name,
            path=str(suite.path),
            skill=suite.file.skill,
            executor=config.executor,
            model=self.plan.model,
            judge_model=config.judge_model,
            workers=self.plan.workers,
            tasks=len(arm.tasks),
            trials=config.trials_per_task,
            arm=arm.arm,
            run_id=self.run_directory.id,
            resumed=self.run_directory.past.trials,
            notes=self.plan.notices,
            selected=tuple((task.name, task.id) for task in arm.tasks) if suite.filtered else (),
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
        """Close what belongs to this run alone, and warn of what could not be removed."""
        await self.runner.aclose()
        await self.shared.aclose()
        if fault := await self.executor.aclose():
            self._warn(fault)
        for message in await self.tempdir.close():
            self._warn(message)
