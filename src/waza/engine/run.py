"""`run_model`: one suite on one model, from hooks to results. Everything that happens is told to listeners."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from waza.engine.cache import Cache
from waza.engine.control import Control
from waza.engine.engines import Engine, start_engine
from waza.engine.plan import arms_of, has_pairwise, tasks_of, workers_of
from waza.engine.record import redactor_of
from waza.engine.seals import Seals
from waza.engine.store import Store, earlier_store, new_store
from waza.engine.trial import World, run_trial, variables_of
from waza.engine.trigger import run_trigger_tests
from waza.errors import ExecutorError, RunError, WazaError
from waza.kit import stats
from waza.kit.process import kill_leftovers, leftovers
from waza.model.event import (
    HookRan,
    RunEvent,
    SuiteFinished,
    SuiteStarted,
    SuiteStopped,
    TaskFinished,
    TaskStarted,
    TrialFinished,
    Warned,
)
from waza.model.loaded import Project, Suite, TriggerTests
from waza.model.result import RunResult, TaskStatus
from waza.model.suite import Hook
from waza.model.task import Task
from waza.model.trial import Arm, Trial
from waza.model.verdict import Helpers, Shared
from waza.results.assemble import Triggers
from waza.results.outcome import Outcome
from waza.suite.discover import required_skills
from waza.workspace.hooks import run_hooks
from waza.workspace.room import Room, Worktree, clear_stale_rooms

Emit = Callable[[RunEvent], None]


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How a suite is run, besides what it says itself.

    `resume`: None starts a new run, "" goes on with the newest one, else the run with that id. `cache` is the
    directory of the result cache, or None. `save` false keeps the run in a temporary directory. `shared` is
    what graders need that was made before; the run ends it, if there is anything left to run.
    """

    project: Project
    skip_graders: bool = False
    keep_workspace: bool = False
    update_snapshots: bool = False
    cache: Path | None = None
    save: bool = True
    resume: str | None = None
    shared: Shared | None = None


class ModelRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that ended. Close `store` when its outcome has been read for the last time."""

    outcome: Outcome
    store: Store
    interrupted: int | None = None
    kept: Path | None = None
    kept_worktrees: tuple[Worktree, ...] = ()


async def run_model(suite: Suite, model: str, options: RunOptions, emit: Emit, control: Control) -> ModelRun:
    """Run a suite on one model and write its results. RunError: the run as a whole could not go on."""
    arms, warning = arms_of(suite)
    await clear_stale_rooms()
    project, graded = options.project.directory, not options.skip_graders
    earlier = None
    if options.resume is not None:
        earlier = earlier_store(suite, model, arms, project, options.resume, graded=graded)
    if earlier and earlier.complete:
        emit(Warned(message=f"{earlier.id} is finished: it is only reported again, nothing is run"))
        return ModelRun(outcome=_finished(earlier, earlier.triggers, emit), store=earlier)
    engine = await start_engine(suite, model, options.project)
    try:
        store = earlier or new_store(suite, model, arms, project, graded=graded, save=options.save)
    except BaseException:
        await engine.aclose()
        raise
    if options.resume is not None and earlier is None:
        what = f"no earlier run of {suite.path.name} on this model to go on with"
        emit(Warned(message=f"{what}: {store.id} is a new one"))
    if warning:
        emit(Warned(message=warning))
    run = _Run(suite, model, options, emit, control, engine, store)
    try:
        interrupted = await run.go(arms)
    except BaseException:
        store.discard_if_empty()
        raise
    outcome = _finished(store, run.triggers, emit, interrupted=interrupted is not None)
    kept = run.room.kept
    return ModelRun(
        outcome=outcome,
        store=store,
        interrupted=interrupted,
        kept=kept,
        kept_worktrees=tuple(run.room.kept_worktrees) if kept else (),
    )


def _finished(store: Store, triggers: Triggers, emit: Emit, *, interrupted: bool = False) -> Outcome:
    """Write the results of what finished, and say which metrics have no data."""
    outcome, warnings = store.finish(triggers, interrupted=interrupted)
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
        control: Control,
        engine: Engine,
        store: Store,
    ) -> None:
        self.suite, self.options, self.emit, self.control = suite, options, emit, control
        self.engine, self.store, self.fold = engine, store, store.fold
        self.room = Room(keep=options.keep_workspace)
        self.shared = options.shared or Shared()
        # Who wants no verdicts, or new snapshots, cannot be served from the cache.
        fresh = options.skip_graders or options.update_snapshots
        self.cache = Cache(options.cache, suite, model) if options.cache and not fresh else None
        self.triggers = store.triggers
        self.workers, self.notice = workers_of(suite)
        config, limits = suite.file.config, options.project.keys.graders
        self.world = World(
            suite=suite,
            model=model,
            executor=engine.executor,
            room=self.room,
            relay=engine.relay,
            helpers=Helpers(
                judge_model=config.judge_model or model,
                judge_effort=config.judge_reasoning_effort or "",
                shared=self.shared,
                program_timeout=limits.programTimeout,
                code_timeout=limits.codeTimeout,
                update_snapshots=options.update_snapshots,
            ),
            redactor=redactor_of(suite, options.project),
            emit=emit,
            run_id=store.id,
            skip_graders=options.skip_graders,
            ab_run=len(store.journal.header.arms) > 1,
        )

    async def go(self, arms: Sequence[Arm]) -> int | None:
        """Run all arms; return the exit code of an interrupt, or None."""
        with self.control.signals():
            self.room.open()
            try:
                await self._work(arms)
            except asyncio.CancelledError:
                if self.control.exit_code is None:
                    raise
            finally:
                await self._close()
        return self.control.exit_code

    async def _work(self, arms: Sequence[Arm]) -> None:
        for arm in arms:
            if self.control.stopped_by is None:
                await self._run_arm(arm)
        if self.suite.trigger_tests and self.control.may_start:
            await self._stoppable(self._run_trigger_tests(self.suite.trigger_tests))

    async def _stoppable(self, work: Coroutine[Any, Any, None]) -> None:
        """Do work that a signal cancels. What has to happen in any case stays outside of it."""
        task = asyncio.create_task(work)
        self.control.watch(task)
        await task

    async def _run_trigger_tests(self, tests: TriggerTests) -> None:
        try:
            self.triggers = await run_trigger_tests(self.world, tests)
        except ExecutorError as error:
            self.emit(Warned(message=f"the trigger tests could not run: {error}"))

    async def _run_arm(self, arm: Arm) -> None:
        started = time.monotonic()
        tasks = tasks_of(self.suite, arm)
        self.control.failed_fast = False
        self.emit(self._suite_started(arm, tasks))
        try:
            await self._stoppable(self._run_tasks(arm, tasks))
        finally:
            if not await self.control.finish(self._hooks("after_run", self.suite.file.hooks.after_run)):
                self.emit(Warned(message="an after_run hook was ended: it went on too long after the signal"))
            self.fold.durations[arm] = round((time.monotonic() - started) * 1000)
        self.emit(self._suite_finished(arm))

    async def _run_tasks(self, arm: Arm, tasks: Sequence[Task]) -> None:
        """Let workers take tasks from one iterator, until it or the run ends."""
        await self._hooks("before_run", self.suite.file.hooks.before_run)
        self.shared.get(Seals).take(self.suite)  # hooks may still have made files
        self._check_required(arm)
        left = iter(enumerate(tasks, 1))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.workers):
                    group.create_task(self._worker(arm, left, len(tasks)))
        except BaseExceptionGroup as broken:
            raise broken.exceptions[0] from None
        if self.control.failed_fast and next(left, None):
            self.emit(SuiteStopped(reason="fail_fast: a task did not pass"))

    async def _worker(self, arm: Arm, left: Iterator[tuple[int, Task]], total: int) -> None:
        for index, task in left:
            if not self.control.may_start:
                return
            await self._run_task(arm, task, index, total)

    async def _run_task(self, arm: Arm, task: Task, index: int, total: int) -> None:
        missing = [n for n in range(1, self._trials + 1) if n not in self.fold.trials(arm, task.id)]
        if not missing:
            self._fail_fast(self.fold.tasks[arm][task.id].status)
            return  # finished before this run was resumed
        hooks = self.suite.file.hooks
        variables = variables_of(task, self.world.run_id)
        try:
            await self._hooks("before_task", hooks.before_task, variables)
        except RunError as error:
            self.fold.stop(arm, task.id, str(error))
            self._task_finished(arm, task, index, total, note=str(error))
            return
        self.emit(TaskStarted(task_id=task.id, name=task.name, index=index, total=total))
        cached = await self._run_trials(arm, task, missing)
        await self._hooks("after_task", hooks.after_task, variables)
        self._task_finished(arm, task, index, total, cached=cached)

    async def _run_trials(self, arm: Arm, task: Task, missing: Sequence[int]) -> bool:
        """Run the missing trials of a task, or take them from the cache; tell whether it was the cache."""
        known = self.cache.get(task, arm) if self.cache else None
        if known is not None:
            for run in known:
                if run.run_number in missing:
                    self._finished(arm, task, run, cached=True)
            return True
        runs: list[RunResult] = []
        for number in missing:
            trial = Trial(task=task, number=number, arm=arm, max_attempts=self.suite.file.config.max_attempts)
            runs.append(await run_trial(self.world, trial, self._baseline_output(task, number)))
            self._finished(arm, task, runs[-1])
        if self.cache and len(runs) == self._trials:
            try:
                self.cache.put(task, arm, runs)
            except WazaError as error:
                self.emit(Warned(message=f"the result of {task.name} is not cached: {error}"))
        return False

    def _finished(self, arm: Arm, task: Task, run: RunResult, *, cached: bool = False) -> None:
        offset = self.store.journal.append(arm, task.id, run, cached=cached)
        self.fold.add(arm, task.id, run, offset, cached=cached)
        if not cached:
            self.emit(TrialFinished(task_id=task.id, name=task.name, trials=self._trials, run=run))

    def _baseline_output(self, task: Task, number: int) -> str | None:
        """Return what the arm without skills answered in the same trial, for graders that compare."""
        if not self.world.ab_run or not has_pairwise(task):
            return None
        figures = self.fold.trials("baseline", task.id).get(number)
        return self.store.journal.read(figures.offset).final_output if figures else None

    @property
    def _trials(self) -> int:
        return self.suite.file.config.trials_per_task

    async def _hooks(
        self, point: str, hooks: Sequence[Hook], variables: dict[str, str] | None = None
    ) -> None:
        """Run the hooks of a point. RunError: one that matters failed, where that stops something."""
        if not hooks:
            return
        if variables is None:
            shared = {f"Vars.{key}": value for key, value in self.suite.file.inputs.items()}
            now = datetime.now().astimezone().isoformat(timespec="seconds")
            fixed = {
                "JobID": self.world.run_id,
                "TaskName": "",
                "Iteration": "0",
                "Attempt": "0",
                "Timestamp": now,
            }
            variables = {**fixed, **shared}
        clean = self.world.redactor.text
        for run in await run_hooks(hooks, self.suite.directory, variables):
            self.emit(HookRan(point=point, command=run.command, output=run.output, ok=run.ok))
            if run.ok:
                continue
            message = f"the {point} hook `{run.command}` failed ({run.reason})"
            if run.fatal and point.startswith("before"):
                last = clean(run.output).strip().splitlines()[-1:]
                raise RunError(": ".join([clean(message), *last]))
            self.emit(Warned(message=clean(message)))

    def _check_required(self, arm: Arm) -> None:
        """Look again for required skills that a hook was to create."""
        names = self.suite.file.config.required_skills
        if arm != "main" or not names or self.suite.skills_off or not self.suite.file.hooks.before_run:
            return
        missing = required_skills(names, self.suite.skill_paths).missing
        if missing:
            raise RunError(f"required skills are missing after the before_run hooks: {', '.join(missing)}")

    def _task_finished(
        self, arm: Arm, task: Task, index: int, total: int, *, cached: bool = False, note: str = ""
    ) -> None:
        trials = list(self.fold.trials(arm, task.id).values())
        status = self.fold.tasks[arm][task.id].status
        self._fail_fast(status)
        self.emit(
            TaskFinished(
                task_id=task.id,
                name=task.name,
                index=index,
                total=total,
                status=status,
                score=stats.mean([trial.score for trial in trials]),
                duration_ms=sum(trial.duration_ms for trial in trials),
                cached=cached,
                note=note,
            )
        )

    def _fail_fast(self, status: TaskStatus) -> None:
        """Start no more tasks if the suite wants that after one that did not pass."""
        if self.suite.file.config.fail_fast and status in ("failed", "error"):
            self.control.failed_fast = True

    def _suite_started(self, arm: Arm, tasks: Sequence[Task]) -> SuiteStarted:
        config = self.suite.file.config
        off = self.cache.why_off() if self.cache else ""
        notes = [note for note in (self.notice, off and f"the cache is not used: {off}") if note]
        return SuiteStarted(
            suite=self.suite.name,
            path=str(self.suite.path),
            skill=self.suite.file.skill,
            executor=config.executor,
            model=self.world.model,
            judge_model=config.judge_model,
            workers=self.workers,
            tasks=len(tasks),
            arm=arm,
            run_id=self.world.run_id,
            resumed=self.store.resumed,
            notes=tuple(notes),
            selected=tuple((task.name, task.id) for task in tasks) if self.suite.filtered else (),
        )

    def _suite_finished(self, arm: Arm) -> SuiteFinished:
        statuses = [task.status for task in self.fold.tasks[arm].values()]
        return SuiteFinished(
            total=len(statuses),
            passed=statuses.count("passed"),
            failed=statuses.count("failed"),
            errors=statuses.count("error"),
            skipped=statuses.count("skipped"),
            duration_ms=self.fold.durations.get(arm, 0),
        )

    async def _close(self) -> None:
        """Stop everything; what is left over is counted, told, and ended."""
        await self.shared.aclose()
        await self.engine.aclose()
        left = await self.room.close()
        processes = leftovers()
        if processes:
            kill_leftovers()
            left.append(f"processes that were left over, and have been ended: {len(processes)}")
        for message in left:
            self.emit(Warned(message=message))
