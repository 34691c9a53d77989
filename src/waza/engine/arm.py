"""One arm of a run: its workers take trials from a schedule, and the results go into the journal."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from itertools import chain

import msgspec

from waza.engine.backend import TrialRunner
from waza.engine.cache import Cache, rejudged_graders
from waza.engine.error_streak import ErrorStreak
from waza.engine.lifecycle_hooks import LifecycleHooks
from waza.engine.plan import ArmPlan, has_pairwise, runs_in_order
from waza.engine.rejudge import rejudge
from waza.engine.run_directory import RunDirectory
from waza.engine.schedule import Schedule, TaskProgress
from waza.engine.tamper_check import TamperCheck
from waza.engine.trial import FinishedTrial, RunContext
from waza.errors import RunError, WazaError
from waza.kit import stats
from waza.model.event import SuiteStopped, TaskFinished, TaskStarted, TrialFinished, TrialStarted, Warned
from waza.model.suite import Hooks
from waza.model.task import Task
from waza.model.trial import Trial
from waza.results.ending import BAD
from waza.results.journal_lines import TrialRecord

PAUSE = 0.005  # seconds after which signals are taken at the latest, between two trials


class ArmRun:
    """One arm while it runs.

    `stopped` says why no more trials start, for a cause outside of the agent; `skipped` are the ids of the tasks that
    `fail_fast` kept from starting. A trial holds one of the `slots` while it runs; other runs may share them.
    """

    def __init__(
        self,
        plan: ArmPlan,
        context: RunContext,
        run_directory: RunDirectory,
        cache: Cache | None,
        slots: asyncio.Semaphore,
        runner: TrialRunner,
    ) -> None:
        suite = context.plan.suite
        self.arm, self.tasks = plan.arm, plan.tasks
        self.context, self.run_directory, self.cache, self.slots = context, run_directory, cache, slots
        self.runner = runner
        self.fold, self.emit, self.config = run_directory.fold, context.emit, suite.file.config
        self.hooks = LifecycleHooks(context)
        self.started = self.paused = time.monotonic()
        self.skipped: list[str] = []
        self.stopped = ""
        self.streak = ErrorStreak(self.config.stop_after_errors)
        self.schedule = Schedule(self._start_order(), in_order=lambda task: runs_in_order(suite, task))

    async def run(self) -> None:
        """Run all trials that the journal lacks. Raises RunError when a `before_run` hook failed that must not."""
        await self.hooks.before_run(self.arm)
        await self._record_files()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.context.plan.workers):
                    group.create_task(self._work())
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        if not self.stopped:
            self.skipped = [task.id for task in self.schedule.not_started() if self._missing(task)]
        if self.skipped:
            self.emit(SuiteStopped(reason="fail_fast: a task did not pass"))

    async def _record_files(self) -> None:
        """Record the files that graders read, after the hooks that may create them.

        Raises UsageError when they are not those that earlier parts of the run were graded with.
        """
        tamper_check = self.context.helpers.shared.get(TamperCheck)
        suite = self.context.plan.suite
        if tamper_check.has_recorded(suite):
            return
        for note in await asyncio.to_thread(tamper_check.record, suite, self.context.outputs):
            self.context.warn(note)
        self.run_directory.check_grader_files(tamper_check.digests())

    def _start_order(self) -> Iterator[tuple[int, Task]]:
        """Return the tasks with their numbers, first those that an earlier part of the run has begun.

        So `fail_fast` does not keep these from being finished.
        """
        begun = {
            task.id for task in self.tasks if self.fold.trials(self.arm, task.id) and self._missing(task)
        }
        first = (numbered for numbered in enumerate(self.tasks, 1) if numbered[1].id in begun)
        return chain(
            first, (numbered for numbered in enumerate(self.tasks, 1) if numbered[1].id not in begun)
        )

    def _missing(self, task: Task) -> list[int]:
        return self.run_directory.missing_trials(self.arm, task.id)

    async def _work(self) -> None:
        """Take trials until there are no more."""
        while await self.schedule.wait_for_work():
            async with self.slots:
                if met := self.context.meter.refusal():
                    self._stop(f"{met}; go on with --resume")
                taken = self.schedule.take()
                if taken is None:
                    continue
                progress, number = taken
                if number == 0:
                    self.schedule.task_opened(progress, await self._start_task(progress))
                    continue
                await self._pause()
                await self._run_trial(progress, number)
                if self.schedule.trial_ended(progress, self._missing):
                    await self._end_task(progress)

    async def _pause(self) -> None:
        """Let others go on: scripted trials never wait. Other workers have their turn before each trial, signals soon."""
        now = time.monotonic()
        if self.context.plan.workers > 1 or now - self.paused >= PAUSE:
            self.paused = now
            await asyncio.sleep(0)

    async def _start_task(self, progress: TaskProgress) -> list[int]:
        """Start a task; return the numbers of the trials to run, none if the task has ended already."""
        task = progress.task
        missing = self._missing(task)
        if not missing:
            self._apply_fail_fast(task)
            return []  # finished before this run was resumed
        try:
            await self.hooks.before_task(task)
        except RunError as error:
            self.fold.stop(self.arm, task.id, str(error))
            self._apply_fail_fast(task)
            self._report_task(progress, note=str(error))
            return []
        if self.hooks.hooks != Hooks():  # they may change what the task brings
            self.context.helpers.shared.get(TamperCheck).record_task(task)
        self.emit(TaskStarted(task_id=task.id, name=task.name, index=progress.index, total=len(self.tasks)))
        cached = await asyncio.to_thread(self.cache.get, task, self.arm) if self.cache else None
        if cached is None:
            return missing
        if rejudged_graders(task):
            progress.cached = cached
            return missing
        while missing and cached.keys() >= set(missing) and not self.stopped:
            for number in missing:
                self._add_result(
                    task,
                    FinishedTrial(msgspec.structs.replace(cached[number].result, cost=None)),
                    cached=True,
                )
            missing = self._missing(task)
        if missing and not self.stopped:
            return missing  # trials of an earlier part of the run, which are others, leave the task undecided
        await self._end_task(progress)
        return []

    async def _run_trial(self, progress: TaskProgress, number: int) -> None:
        task, trials = progress.task, self.config.trials_per_task
        trial = Trial(
            task=task,
            number=number,
            arm=self.arm,
            max_attempts=self.config.max_attempts,
            keep=self.cache is not None and self.cache.wants_workspace(task),
            baseline_output=self._baseline_output(task, number),
        )
        self.emit(TrialStarted(task_id=task.id, name=task.name, trial=number, trials=trials))
        cached = progress.cached.get(number)
        if cached is not None:
            finished = await rejudge(self.context, trial, cached)
        else:
            finished = await self.runner.run_trial(trial)
        if not self._add_result(task, finished, cached=cached is not None, rejudged=cached is not None):
            return
        if self.cache and cached is None:
            progress.cache_entries[number] = await asyncio.to_thread(
                self.cache.store_trial, task, self.arm, finished.result, finished.saved
            )
        self.emit(TrialFinished(task_id=task.id, name=task.name, trials=trials, result=finished.result))
        if reason := self.streak.add(finished.broke):
            self._stop(reason)

    def _add_result(
        self, task: Task, finished: FinishedTrial, *, cached: bool = False, rejudged: bool = False
    ) -> bool:
        """Add a finished trial to the journal and the figures; stop the run and return False where that fails."""
        clock = round((time.monotonic() - self.started) * 1000)
        try:
            self.run_directory.add_trial(
                TrialRecord(
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
            self._stop(f"{error}; then go on with --resume")
            return False
        return True

    def _stop(self, reason: str) -> None:
        """Start no more trials, for a cause outside of the agent. Trials that run are finished."""
        if not self.stopped:
            self.stopped = reason
            self.schedule.halt()
            self.emit(SuiteStopped(reason=reason))

    async def _end_task(self, progress: TaskProgress) -> None:
        """End a task after its last trial."""
        task = progress.task
        self._apply_fail_fast(task)
        figures = self.fold.tasks[self.arm][task.id]
        if self.cache and not figures.missing and len(progress.cache_entries) == len(figures.trials):
            try:
                self.cache.put(task, self.arm, progress.cache_entries)
            except WazaError as error:
                self.emit(Warned(message=f"the result of {task.name} is not cached: {error}"))
        await self.hooks.after_task(task)
        self._report_task(progress)

    def _baseline_output(self, task: Task, number: int) -> str | None:
        """Return the answer of the same trial in the arm without skills, for graders that compare with it."""
        if not self.context.plan.has_baseline or not has_pairwise(task):
            return None
        figures = self.fold.trials("baseline", task.id).get(number)
        return self.run_directory.journal.read_trial(figures.offset).final_output if figures else None

    def _apply_fail_fast(self, task: Task) -> None:
        """Start no more tasks if this one did not pass and the suite has `fail_fast`."""
        if self.config.fail_fast and self.fold.tasks[self.arm][task.id].status in BAD:
            self.schedule.stop_tasks()

    def _report_task(self, progress: TaskProgress, *, note: str = "") -> None:
        figures = self.fold.tasks[self.arm][progress.task.id]
        trials = figures.ordered
        self.emit(
            TaskFinished(
                task_id=progress.task.id,
                name=progress.task.name,
                index=progress.index,
                total=len(self.tasks),
                spared=self.config.trials_per_task - len(trials) if figures.ended_by else 0,
                status=figures.status,
                score=stats.mean([trial.score for trial in trials]),
                duration_ms=sum(trial.duration_ms for trial in trials),
                cached=figures.cached,
                rejudged=figures.rejudged,
                note=note,
            )
        )
