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
        self, arm: Arm, world: RunContext, store: RunDirectory, cache: Cache | None, staff: WorkerLimits
    ) -> None:
        self.arm, self.world, self.store, self.cache, self.staff = arm, world, store, cache, staff
        self.fold, self.emit, self.config = store.fold, world.emit, world.suite.file.config
        self.tasks = tasks_of(world.suite, arm)
        self.around = LifecycleHooks(world)
        self.started = time.monotonic()
        self.skipped: list[str] = []
        self.streak = ErrorStreak(self.config.stop_after_errors)
        self.stopped = ""  # why nothing more is to start, for a cause outside of the agent
        self.schedule = Schedule(self._in_order_of_start(), in_order=lambda task: in_order(world.suite, task))

    def stop(self, why: str) -> None:
        """Start no other trial, for a cause outside of the agent. What runs comes to its end."""
        if not self.stopped:
            self.stopped = why
            self.schedule.halt()
            self.emit(SuiteStopped(reason=why))

    async def run(self) -> None:
        """Run all that is missing. RunError: a hook before the arm failed that matters."""
        await self.around.before_run(self.arm)
        await self._seal()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self.staff.workers):
                    group.create_task(self._worker())
        except BaseExceptionGroup as broken:
            raise broken.exceptions[0] from None
        if not self.stopped:
            self.skipped = [task.id for task in self.schedule.not_started() if self._missing(task)]
        if self.skipped:
            self.emit(SuiteStopped(reason="fail_fast: a task did not pass"))

    async def _seal(self) -> None:
        """Note what graders read, now that hooks have made what they make. UsageError: it is not what it was."""
        seals = self.world.helpers.shared.get(TamperCheck)
        if seals.are_taken(self.world.suite):
            return
        for note in await asyncio.to_thread(seals.take, self.world.suite, self.world.outputs):
            self.emit(Warned(message=note))
        self.store.read_by_graders(seals.digests())

    def _in_order_of_start(self) -> Sequence[tuple[int, Task]]:
        """Return the tasks with their numbers: first those of which an earlier part of the run left some trials.

        They have started already, so that `fail_fast` does not keep them from their end.
        """
        numbered = list(enumerate(self.tasks, 1))
        return sorted(numbered, key=lambda one: not (self._trials_of(one[1]) and self._missing(one[1])))

    def _trials_of(self, task: Task) -> int:
        return len(self.fold.trials(self.arm, task.id))

    def _missing(self, task: Task) -> list[int]:
        return self.store.missing(self.arm, task.id)

    async def _worker(self) -> None:
        while await self.schedule.ready():
            async with self.staff.slots:
                taken = self.schedule.take()
                if taken is None:
                    continue
                course, number = taken
                if number == 0:
                    self.schedule.opened(course, await self._open(course))
                    continue
                await self._run_trial(course, number)
                if self.schedule.ended(course):
                    await self._task_over(course)

    async def _open(self, course: TaskProgress) -> list[int]:
        """Start a task; return the trials to run: none if it has ended already, for whatever reason."""
        task = course.task
        missing = self._missing(task)
        if not missing:
            self._fail_fast(task)
            return []  # finished before this run was resumed
        try:
            await self.around.before_task(task)
        except RunError as error:
            self.fold.stop(self.arm, task.id, str(error))
            self._fail_fast(task)
            self._task_finished(course, note=str(error))
            return []
        if self.around.hooks != Hooks():
            self.world.helpers.shared.get(TamperCheck).renew(task)
        self.emit(TaskStarted(task_id=task.id, name=task.name, index=course.index, total=len(self.tasks)))
        known = await asyncio.to_thread(self.cache.get, task, self.arm) if self.cache else None
        if known is None:
            return missing
        if rejudged_graders(task):
            course.cached = known
            return missing
        for number in missing:
            self._keep(task, FinishedTrial(known[number].run), cached=True)
        await self._task_over(course)
        return []

    async def _run_trial(self, course: TaskProgress, number: int) -> None:
        task = course.task
        trials, baseline_output = self.config.trials_per_task, self._baseline_output(task, number)
        cached = course.cached.get(number)
        trial = Trial(
            task=task,
            number=number,
            arm=self.arm,
            max_attempts=self.config.max_attempts,
            keep=self.cache is not None and self.cache.wants_workspace(task),
        )
        self.emit(TrialStarted(task_id=task.id, name=task.name, trial=number, trials=trials))
        if cached is not None:
            ran = await rejudge(self.world, trial, cached, baseline_output)
        else:
            ran = await run_trial(self.world, trial, baseline_output)
        if not self._keep(task, ran, cached=cached is not None, anew=cached is not None):
            return
        if self.cache and cached is None:
            course.kept[number] = await asyncio.to_thread(self.cache.keep, task, self.arm, ran.run, ran.left)
        self.emit(TrialFinished(task_id=task.id, name=task.name, trials=trials, run=ran.run))
        if why := self.streak.add(ran.broke):
            self.stop(why)

    def _keep(self, task: Task, ran: FinishedTrial, *, cached: bool = False, anew: bool = False) -> bool:
        """Put a finished trial into the journal and the figures. Without a journal nothing goes on."""
        clock = round((time.monotonic() - self.started) * 1000)
        try:
            self.store.add(
                Record(
                    arm=self.arm,
                    task=task.id,
                    cached=cached,
                    judged_anew=anew,
                    outside=ran.outside,
                    clock=clock,
                    run=ran.run,
                )
            )
        except WazaError as error:  # the disk may be full
            self.stop(f"{error}; then go on with --resume")
            return False
        return True

    async def _task_over(self, course: TaskProgress) -> None:
        """End a task whose last trial has ended."""
        self._fail_fast(course.task)
        if self.cache and len(course.kept) == self.config.trials_per_task:
            try:
                self.cache.put(course.task, self.arm, course.kept)
            except WazaError as error:
                self.emit(Warned(message=f"the result of {course.task.name} is not cached: {error}"))
        await self.around.after_task(course.task)
        self._task_finished(course)

    def _baseline_output(self, task: Task, number: int) -> str | None:
        """Return what the arm without skills answered in the same trial, for graders that compare."""
        if not self.world.ab_run or not has_pairwise(task):
            return None
        figures = self.fold.trials("baseline", task.id).get(number)
        return self.store.journal.read(figures.offset).final_output if figures else None

    def _fail_fast(self, task: Task) -> None:
        """Start no more tasks if the suite wants that after one that did not pass."""
        if self.config.fail_fast and self.fold.tasks[self.arm][task.id].status in ("failed", "error"):
            self.schedule.start_no_more()

    def _task_finished(self, course: TaskProgress, *, note: str = "") -> None:
        figures = self.fold.tasks[self.arm][course.task.id]
        trials = figures.ordered
        self.emit(
            TaskFinished(
                task_id=course.task.id,
                name=course.task.name,
                index=course.index,
                total=len(self.tasks),
                status=figures.status,
                score=stats.mean([trial.score for trial in trials]),
                duration_ms=sum(trial.duration_ms for trial in trials),
                cached=figures.cached,
                judged_anew=figures.judged_anew,
                note=note,
            )
        )
