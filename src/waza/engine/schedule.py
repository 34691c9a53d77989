"""Which trial a worker takes next: those of tasks that have started come first, then another task starts.

Workers take trials, not tasks. A task is opened once, by the worker that takes it first (which runs its hooks), and
closed by the one that ends its last trial. Trials of a task run in order and one at a time where `in_order` says
so, else side by side.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from waza.engine.cache import CachedTrial, StoredTrial
from waza.model.task import Task


class TaskProgress:
    """A task on its way through its trials; `index` counts from 1.

    By number: `cached` are answers from the cache that are judged again, `cache_entries` the finished trials for the cache.
    """

    def __init__(self, index: int, task: Task, *, in_order: bool) -> None:
        self.index, self.task, self.in_order = index, task, in_order
        self.pending: deque[int] = deque()
        self.running = 0
        self.cached: dict[int, CachedTrial] = {}
        self.cache_entries: dict[int, StoredTrial] = {}

    @property
    def has_work(self) -> bool:
        """Whether a trial of it can be taken now."""
        return bool(self.pending) and not (self.in_order and self.running)

    @property
    def is_over(self) -> bool:
        """Whether all its trials have ended."""
        return not (self.pending or self.running)


class Schedule:
    """The tasks of one arm, given with their numbers, handed out to its workers.

    `on_drained` is called when the last trial that is known of has been handed out, or nothing more is to start: other
    runs may then use the workers.
    """

    def __init__(self, tasks: Iterable[tuple[int, Task]], in_order: Callable[[Task], bool]) -> None:
        self._tasks = iter(tasks)
        self._next = next(self._tasks, None)
        self._in_order = in_order
        self.on_drained: Callable[[], None] = lambda: None
        self._open: list[TaskProgress] = []  # with trials left
        self._busy = self._opening = 0
        self._changed = asyncio.Event()
        self._no_tasks = self._halted = False

    def not_started(self) -> list[Task]:
        """Return the tasks that have not started, when all workers have ended."""
        return [task for _, task in ([self._next] if self._next else []) + list(self._tasks)]

    def stop_tasks(self) -> None:
        """Start no other task; those that have started run to their end."""
        self._no_tasks = True
        self._notify()

    def halt(self) -> None:
        """Start nothing more, neither tasks nor trials."""
        self._halted = True
        self._notify()

    async def wait_for_work(self) -> bool:
        """Wait until there is something to take; False when there will be nothing any more."""
        while not self._halted:
            if self._has_work():
                return True
            if not self._busy:  # no worker is left that could open a task or free its next trial
                return False
            self._changed.clear()
            await self._changed.wait()
        return False

    def take(self) -> tuple[TaskProgress, int] | None:
        """Return a task and the number of its trial to run, 0 where the task is to be opened first.

        None: another worker was faster. What is taken must be given back by `task_opened` or `trial_ended`.
        """
        if self._halted:
            return None
        progress = next((progress for progress in self._open if progress.has_work), None)
        if progress is not None:
            number = progress.pending.popleft()
            progress.running += 1
            if not progress.pending:
                self._open.remove(progress)
        elif self._next is not None and not self._no_tasks:
            (index, task), number = self._next, 0
            self._next = next(self._tasks, None)
            self._opening += 1
            progress = TaskProgress(index, task, in_order=self._in_order(task))
        else:
            return None
        self._busy += 1
        self._look()
        return progress, number

    def task_opened(self, progress: TaskProgress, numbers: Iterable[int]) -> None:
        """Note that a task has started and has these trials to run; none: it is over already."""
        self._opening -= 1
        progress.pending.extend(numbers)
        if progress.pending:
            self._open.append(progress)
        self._freed()

    def trial_ended(
        self, progress: TaskProgress, more: Callable[[Task], Iterable[int]] = lambda _: ()
    ) -> bool:
        """Note that a trial of a task has ended; return whether it was the last one of the task.

        When all that were planned have ended, `more` is asked which ones are to follow.
        """
        progress.running -= 1
        if progress.is_over and not self._halted:
            progress.pending.extend(more(progress.task))
            if progress.pending:
                self._open.append(progress)
        self._freed()
        return progress.is_over

    def _freed(self) -> None:
        self._busy -= 1
        self._notify()

    def _has_work(self) -> bool:
        may_open = self._next is not None and not self._no_tasks
        return may_open or any(progress.has_work for progress in self._open)

    def _notify(self) -> None:
        self._changed.set()
        self._look()

    def _look(self) -> None:
        none_starts = self._next is None or self._no_tasks
        if self._halted or (none_starts and not self._open and not self._opening):
            self.on_drained()
