"""`run_all`: the jobs of one invocation, one after another or sharing their workers.

Suites with `parallel` that follow one another share workers: when a run has handed out its last trial, the next one
starts, while the first still waits for its last answers. Any other suite runs alone. A run is reported after all runs
before it, so nothing depends on which of them ends first.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Protocol

from waza.engine.backend import Backend
from waza.engine.cancellation import Cancellation
from waza.engine.invocation import InvocationJournal, Job, describe_nearest
from waza.engine.origin import Origins
from waza.engine.plan import shared_workers, worker_notice
from waza.engine.run import Emit, FinishedRun, RunOptions, SharedWorkers, run_suite
from waza.errors import WazaError
from waza.kit.process import find_leftovers, kill_leftovers
from waza.model.event import Warned
from waza.model.loaded import Suite
from waza.workspace.run_tempdir import clear_stale_tempdirs

JobResult = FinishedRun | WazaError | None
"""How a job ended: with results, with an error, or not at all, since the invocation was interrupted before."""


class InvocationListener(Protocol):
    """Receives what happens in an invocation. Jobs are numbered from 0, in the order in which they were given."""

    def invocation_started(self, invocation: InvocationJournal) -> None:
        """Note the invocation, before anything of it runs."""
        ...

    def job_started(self, index: int) -> Emit:
        """Return the function that receives the events of a job as they happen."""
        ...

    def job_shown(self, index: int) -> None:
        """Show the events of a job from now on: all jobs before it are finished, and it has started."""
        ...

    def job_finished(self, index: int, result: JobResult) -> None:
        """Report a job that is finished, as are all jobs before it."""
        ...

    def warn(self, message: str) -> None:
        """Show a warning about the invocation as a whole."""
        ...


async def run_all(
    jobs: Sequence[Job],
    options: RunOptions,
    cancellation: Cancellation,
    listener: InvocationListener,
    *,
    unread: Sequence[Path] = (),
) -> None:
    """Run all jobs as one invocation, or resume one. A job that fails stops no other job; a signal stops them all.

    `unread` are suites that belong to the invocation but have mistakes in their files. Raises UsageError when the
    invocation to resume is not one of these jobs.
    """
    if not jobs:
        return
    invocation = _open_invocation(jobs, options, listener.warn, unread)
    try:
        with (
            cancellation.handle_signals()
        ):  # before the first output, which may lead users to interrupt the run
            listener.invocation_started(invocation)
            if options.backend is not None:
                await _start_backend(options.backend, cancellation)
            elif notice := worker_notice([job.suite for job in jobs]):
                listener.warn(notice)
            await clear_stale_tempdirs()
            await _Invocation(jobs, options, cancellation, listener, invocation).run()
    finally:
        if options.backend is not None:
            await options.backend.aclose()
        invocation.close()


async def _start_backend(backend: Backend, cancellation: Cancellation) -> None:
    """Start a backend, unless a signal comes first: then no job starts."""
    try:
        await cancellation.run_cancellable(backend.start())
    except asyncio.CancelledError:
        if cancellation.exit_code is None:
            raise


async def run_one(
    suite: Suite,
    model: str,
    options: RunOptions,
    emit: Emit,
    cancellation: Cancellation,
    on_start: Callable[[str], None] = lambda _: None,
) -> FinishedRun:
    """Run one suite on one model. Raises the error that prevented the run.

    `on_start` is called with the id of the invocation, which is empty where nothing is kept.
    """
    listener = _SingleJobListener(emit, on_start)
    await run_all([Job(suite, model)], options, cancellation, listener)
    if isinstance(listener.result, FinishedRun):
        return listener.result
    if listener.result is not None:
        raise listener.result
    interrupted = WazaError("interrupted before anything was run")
    interrupted.exit_code = cancellation.exit_code or interrupted.exit_code
    raise interrupted


class _SingleJobListener:
    """Keeps the result of a single job."""

    def __init__(self, emit: Emit, on_start: Callable[[str], None]) -> None:
        self._emit, self._on_start = emit, on_start
        self.result: JobResult = None

    def invocation_started(self, invocation: InvocationJournal) -> None:
        self._on_start(invocation.id)

    def job_started(self, index: int) -> Emit:
        del index
        return self._emit

    def job_shown(self, index: int) -> None:
        del index

    def job_finished(self, index: int, result: JobResult) -> None:
        del index
        self.result = result

    def warn(self, message: str) -> None:
        self._emit(Warned(message=message))


def _open_invocation(
    jobs: Sequence[Job], options: RunOptions, warn: Callable[[str], None], unread: Sequence[Path]
) -> InvocationJournal:
    project = options.project.directory
    if not options.save:
        return InvocationJournal.unsaved(project)
    if options.resume is not None:
        earlier = InvocationJournal.resume(project, jobs, options.resume, unread)
        if earlier is not None:
            return earlier
        nearest = describe_nearest(project, jobs)
        warn(
            "there is no earlier run of these suites and models to go on with: a new one starts"
            + (f"; {nearest}" if nearest else "")
        )
    try:
        return InvocationJournal.start(project, jobs, unread)
    except WazaError as error:
        warn(f"{error}; this run is kept in a temporary directory, and cannot be resumed")
        return InvocationJournal.unsaved(project)


class _Invocation:
    """The jobs of an invocation while they run."""

    def __init__(
        self,
        jobs: Sequence[Job],
        options: RunOptions,
        cancellation: Cancellation,
        listener: InvocationListener,
        journal: InvocationJournal,
    ) -> None:
        self.jobs, self.options, self.cancellation = jobs, options, cancellation
        self.listener, self.journal = listener, journal
        self._origins = Origins(os.environ)
        self._started: set[int] = set()
        self._results: dict[int, JobResult] = {}  # of finished jobs that wait for a job before them
        self._reported = 0  # jobs
        self._unreported_slots = asyncio.Semaphore(1)

    async def run(self) -> None:
        for batch in _batches(self.jobs):
            await self._run_batch(batch)
            leftovers = find_leftovers()  # of all runs at once: they are processes of one program
            if leftovers:
                kill_leftovers()
                self.listener.warn(f"processes that were left over, and have been ended: {len(leftovers)}")

    async def _run_batch(self, indexes: Sequence[int]) -> None:
        backend = self.options.backend
        size = backend.capacity if backend else shared_workers([self.jobs[index].suite for index in indexes])
        slots = asyncio.Semaphore(size)
        self._unreported_slots = asyncio.Semaphore(size)  # the events of runs not yet shown are in memory
        try:
            async with asyncio.TaskGroup() as group:
                for index in indexes:
                    await self._unreported_slots.acquire()
                    if self.cancellation.stopped_by is not None:
                        self._finish(index, None)
                        continue
                    drained = asyncio.Event()
                    group.create_task(self._run_job(index, SharedWorkers(slots, drained.set)))
                    await drained.wait()
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def _run_job(self, index: int, workers: SharedWorkers) -> None:
        result: JobResult = None
        try:
            emit = self.listener.job_started(index)
            self._started.add(index)
            if index == self._reported:
                self.listener.job_shown(index)
            result = await run_suite(
                self.jobs[index],
                self.options,
                emit,
                self.cancellation,
                self.journal,
                workers,
                self._origins,
            )
        except WazaError as error:
            result = error
        except asyncio.CancelledError:
            if self.cancellation.exit_code is None:
                raise
        finally:
            workers.drained()
        self._finish(index, result)

    def _finish(self, index: int, result: JobResult) -> None:
        """Report a finished job when all before it are reported, then those after it that waited for it."""
        self._results[index] = result
        while self._reported in self._results:
            self.listener.job_finished(self._reported, self._results.pop(self._reported))
            self._reported += 1
            self._unreported_slots.release()
            if self._reported in self._started:
                self.listener.job_shown(self._reported)


def _batches(jobs: Sequence[Job]) -> Iterator[list[int]]:
    """Yield the indexes of jobs that run at the same time: neighbours with `parallel`, else one alone."""

    def batch_of(index: int) -> int:
        return -1 if jobs[index].suite.file.config.parallel else index

    for _, indexes in groupby(range(len(jobs)), batch_of):
        yield list(indexes)
