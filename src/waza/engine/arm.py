"""One arm of a run: its workers take trials from a schedule, and what they find goes into the journal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

import msgspec

from waza.engine.cache import Cache, rejudged_graders
from waza.engine.error_streak import ErrorStreak
from waza.engine.journal import TrialRecord as Record
from waza.engine.lifecycle_hooks import LifecycleHooks
from waza.engine.plan import has_pairwise, in_order, tasks_of
from waza.engine.rejudge import rejudge
from waza.engine.run_directory import RunDirectory
from waza.engine.schedule import Schedule, TaskProgress
from waza.engine.tamper_check import TamperCheck
from waza.engine.trial import FinishedTrial, RunContext, run_trial
from waza.errors import RunError, WazaError
from waza.kit import stats
from waza.model.event import SuiteStopped, TaskFinished, TaskStarted, TrialFinished, TrialStarted, Warned
from waza.model.suite import Hooks
from waza.model.task import Task
from waza.model.trial import Arm, Trial


class WorkerLimits(msgspec.Struct, frozen=True):
    """How many trials of a run may run at once. Each holds one of the `slots`, which other runs may use as well."""

    workers: int
    slots: asyncio.Semaphore


class ArmRun:
    """One arm while it runs. `stop` ends it early, `skipped` are the tasks that `fail_fast` did not let start."""

    def __init__(
        self,
        arm: Arm,
        context: RunContext,
        run_directory: RunDirectory,
        cache: Cache | None,
        limits: WorkerLimits,
    ) -> None:
        self.arm, self.context, self.run_directory, self.cache, self.limits = (
            arm,
            context,
            run_directory,
            cache,
            limits,
        )
        self.fold, self.emit, self.config = run_directory.fold, context.emit, context.suite.file.config
        self.tasks = tasks_of(context.suite, arm)
        self.hooks = LifecycleHooks(context)
        self.started = time.monotonic()
        self.skipped: list[str] = []
        self.streak = ErrorStreak(self.config.stop_after_errors)
        self.stopped = ""  # why nothing more is to start, for a cause outside of the agent
        self.schedule = Schedule(
            self._in_order_of_start(), in_order=lambda task: in_order(context.suite, task)
        )

    def stop(self, why: str) -> None:
        """Start no other trial, for a cause outside of the agent. What runs comes to its end."""
        if not self.stopped:
            self.stopped = why
            self.schedule.halt()
            self.emit(SuiteStopped(reason=why))

    async def run(self) -> None:
        """Run all that is missing. RunError: a hook before the arm failed that matters."""
        await self.hooks.before_run(self.arm)
        await self._seal()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.limits.workers):
                    group.create_task(self._worker())
        except BaseExceptionGroup as broken:
            raise broken.exceptions[0] from None
        if not self.stopped:
            self.skipped = [task.id for task in self.schedule.not_started() if self._missing(task)]
        if self.skipped:
            self.emit(SuiteStopped(reason="fail_fast: a task did not pass"))

    async def _seal(self) -> None:
        """Note what graders read, now that hooks have made what they make. UsageError: it is not what it was."""
        tamper_check = self.context.helpers.shared.get(TamperCheck)
        if tamper_check.has_recorded(self.context.suite):
            return
        for note in await asyncio.to_thread(tamper_check.record, self.context.suite, self.context.outputs):
            self.emit(Warned(message=note))
        self.run_directory.check_grader_files(tamper_check.digests())

    def _in_order_of_start(self) -> Sequence[tuple[int, Task]]:
        """Return the tasks with their numbers: first those of which an earlier part of the run left some trials.

        They have started already, so that `fail_fast` does not keep them from their end.
        """
        numbered = list(enumerate(self.tasks, 1))
        return sorted(numbered, key=lambda one: not (self._trials_of(one[1]) and self._missing(one[1])))

    def _trials_of(self, task: Task) -> int:
        return len(self.fold.trials(self.arm, task.id))

    def _missing(self, task: Task) -> list[int]:
        return self.run_directory.missing_trials(self.arm, task.id)

    async def _worker(self) -> None:
        while await self.schedule.wait_for_work():
            async with self.limits.slots:
                taken = self.schedule.take()
                if taken is None:
                    continue
                progress, number = taken
                if number == 0:
                    self.schedule.task_opened(progress, await self._open(progress))
                    continue
                await self._run_trial(progress, number)
                if self.schedule.trial_ended(progress):
                    await self._task_over(progress)

    async def _open(self, progress: TaskProgress) -> list[int]:
        """Start a task; return the trials to run: none if it has ended already, for whatever reason."""
        task = progress.task
        missing = self._missing(task)
        if not missing:
            self._fail_fast(task)
            return []  # finished before this run was resumed
        try:
            await self.hooks.before_task(task)
        except RunError as error:
            self.fold.stop(self.arm, task.id, str(error))
            self._fail_fast(task)
            self._task_finished(progress, note=str(error))
            return []
        if self.hooks.hooks != Hooks():
            self.context.helpers.shared.get(TamperCheck).record_task(task)
        self.emit(TaskStarted(task_id=task.id, name=task.name, index=progress.index, total=len(self.tasks)))
        known = await asyncio.to_thread(self.cache.get, task, self.arm) if self.cache else None
        if known is None:
            return missing
        if rejudged_graders(task):
            progress.cached = known
            return missing
        for number in missing:
            self._keep(task, FinishedTrial(known[number].result), cached=True)
        await self._task_over(progress)
        return []

    async def _run_trial(self, progress: TaskProgress, number: int) -> None:
        task = progress.task
        trials, baseline_output = self.config.trials_per_task, self._baseline_output(task, number)
        cached = progress.cached.get(number)
        trial = Trial(
            task=task,
            number=number,
            arm=self.arm,
            max_attempts=self.config.max_attempts,
            keep=self.cache is not None and self.cache.wants_workspace(task),
        )
        self.emit(TrialStarted(task_id=task.id, name=task.name, trial=number, trials=trials))
        if cached is not None:
            finished = await rejudge(self.context, trial, cached, baseline_output)
        else:
            finished = await run_trial(self.context, trial, baseline_output)
        if not self._keep(task, finished, cached=cached is not None, rejudged=cached is not None):
            return
        if self.cache and cached is None:
            progress.cache_entries[number] = await asyncio.to_thread(
                self.cache.keep, task, self.arm, finished.result, finished.left
            )
        self.emit(TrialFinished(task_id=task.id, name=task.name, trials=trials, result=finished.result))
        if why := self.streak.add(finished.broke):
            self.stop(why)

    def _keep(
        self, task: Task, finished: FinishedTrial, *, cached: bool = False, rejudged: bool = False
    ) -> bool:
        """Put a finished trial into the journal and the figures. Without a journal nothing goes on."""
        clock = round((time.monotonic() - self.started) * 1000)
        try:
            self.run_directory.add_trial(
                Record(
                    arm=self.arm,
                    task=task.id,
                    cached=cached,
                    rejudged=rejudged,
                    outside=finished.outside,
                    clock=clock,
                    result=finished.result,
                )
            )
        except WazaError as error:  # the disk may be full
            self.stop(f"{error}; then go on with --resume")
            return False
        return True

    async def _task_over(self, progress: TaskProgress) -> None:
        """End a task whose last trial has ended."""
        self._fail_fast(progress.task)
        if self.cache and len(progress.cache_entries) == self.config.trials_per_task:
            try:
                self.cache.put(progress.task, self.arm, progress.cache_entries)
            except WazaError as error:
                self.emit(Warned(message=f"the result of {progress.task.name} is not cached: {error}"))
        await self.hooks.after_task(progress.task)
        self._task_finished(progress)

    def _baseline_output(self, task: Task, number: int) -> str | None:
        """Return what the arm without skills answered in the same trial, for graders that compare."""
        if not self.context.ab_run or not has_pairwise(task):
            return None
        figures = self.fold.trials("baseline", task.id).get(number)
        return self.run_directory.journal.read_trial(figures.offset).final_output if figures else None

    def _fail_fast(self, task: Task) -> None:
        """Start no more tasks if the suite wants that after one that did not pass."""
        if self.config.fail_fast and self.fold.tasks[self.arm][task.id].status in ("failed", "error"):
            self.schedule.stop_tasks()

    def _task_finished(self, progress: TaskProgress, *, note: str = "") -> None:
        figures = self.fold.tasks[self.arm][progress.task.id]
        trials = figures.ordered
        self.emit(
            TaskFinished(
                task_id=progress.task.id,
                name=progress.task.name,
                index=progress.index,
                total=len(self.tasks),
                status=figures.status,
                score=stats.mean([trial.score for trial in trials]),
                duration_ms=sum(trial.duration_ms for trial in trials),
                cached=figures.cached,
                rejudged=figures.rejudged,
                note=note,
            )
        )
