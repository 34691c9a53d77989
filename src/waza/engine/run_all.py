"""`run_all`: the suites and models of one invocation, one after another or sharing their workers.

Suites with `parallel` that follow one another share workers: when a run has handed out its last trial, the next one
starts, while the first still waits for its last answers. Any other suite runs alone. What is told of a run waits
until all before it are told of, so that nothing depends on which of them ends first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Protocol

import msgspec

from waza.engine.cancellation import Cancellation
from waza.engine.invocation import InvocationJournal
from waza.engine.plan import fewer_workers, shared_workers
from waza.engine.run import Emit, FinishedRun, RunOptions, SharedWorkers, run_suite
from waza.errors import WazaError
from waza.kit.process import find_leftovers, kill_leftovers
from waza.model.event import RunEvent, Warned
from waza.model.loaded import Suite
from waza.workspace.run_tempdir import clear_stale_tempdirs

JobResult = FinishedRun | WazaError | None
"""How a job ended: with results; because of an error; or it did not start, since the invocation was interrupted."""


class Job(msgspec.Struct, frozen=True):
    """A suite that is to run on one of its models."""

    suite: Suite
    model: str


class InvocationListener(Protocol):
    """Who is told how an invocation goes. Jobs are known by their places in the list."""

    def invocation_started(self, invocation: InvocationJournal) -> None:
        """Take note of the invocation, before anything of it runs."""
        ...

    def job_started(self, index: int) -> Emit:
        """Return who is told of the events of a job that starts, at once."""
        ...

    def job_shown(self, index: int) -> None:
        """All jobs before one that has started have been told of: what happens in it may be shown now."""
        ...

    def job_finished(self, index: int, result: JobResult) -> None:
        """Take the result of a job that is over, as are all before it."""
        ...

    def warn(self, message: str) -> None:
        """Hear what should be known of the invocation as a whole."""
        ...


async def run_all(
    jobs: Sequence[Job],
    options: RunOptions,
    cancellation: Cancellation,
    listener: InvocationListener,
    *,
    unread: Sequence[Path] = (),
) -> None:
    """Run all jobs as one invocation, or go on with one. Whatever befalls a job stops no other, but for signals.

    `unread` are suites that belong to the invocation, and cannot be read for now.
    """
    if not jobs:
        return
    invocation = _invocation(jobs, options, listener.warn, unread)
    try:
        with cancellation.handle_signals():  # from the first word on: who reads it may interrupt the run
            listener.invocation_started(invocation)
            if notice := fewer_workers([job.suite for job in jobs]):
                listener.warn(notice)
            await clear_stale_tempdirs()
            await _All(jobs, options, cancellation, listener, invocation).run()
    finally:
        invocation.close()


async def run_one(
    suite: Suite,
    model: str,
    options: RunOptions,
    emit: Emit,
    cancellation: Cancellation,
    invocation_started: Callable[[str], None] = lambda _: None,
) -> FinishedRun:
    """Run one suite on one model; `invocation_started` gets the id of the invocation, empty where nothing is kept.

    Raises what prevented the run.
    """
    listener = _Alone(emit, invocation_started)
    await run_all([Job(suite, model)], options, cancellation, listener)
    if isinstance(listener.result, FinishedRun):
        return listener.result
    if listener.result is not None:
        raise listener.result
    stopped = WazaError("interrupted before anything was run")
    stopped.exit_code = cancellation.exit_code or stopped.exit_code
    raise stopped


class _Alone:
    """The audience of a single job."""

    def __init__(self, emit: Callable[[RunEvent], None], invocation_started: Callable[[str], None]) -> None:
        self._emit, self._begun = emit, invocation_started
        self.result: JobResult = None

    def invocation_started(self, invocation: InvocationJournal) -> None:
        self._begun(invocation.id)

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


def _invocation(
    jobs: Sequence[Job], options: RunOptions, warn: Callable[[str], None], unread: Sequence[Path]
) -> InvocationJournal:
    project, wanted = options.project.directory, [(job.suite, job.model) for job in jobs]
    if not options.save:
        return InvocationJournal.unsaved(project)
    if options.resume is not None:
        earlier = InvocationJournal.resume(project, wanted, options.resume, unread)
        if earlier is not None:
            return earlier
        warn("there is no earlier run of these suites and models to go on with: a new one starts")
    try:
        return InvocationJournal.start(project, wanted, unread)
    except WazaError as error:
        warn(f"{error}; this run is kept in a temporary directory, and cannot be resumed")
        return InvocationJournal.unsaved(project)


class _All:
    """The jobs of an invocation while they run."""

    def __init__(
        self,
        jobs: Sequence[Job],
        options: RunOptions,
        cancellation: Cancellation,
        listener: InvocationListener,
        invocation: InvocationJournal,
    ) -> None:
        self.jobs, self.options, self.cancellation = jobs, options, cancellation
        self.listener, self.invocation = listener, invocation
        self._started: set[int] = set()
        self._results: dict[int, JobResult] = {}
        self._finished = 0  # how many jobs have been told of
        self._ahead = asyncio.Semaphore(1)

    async def run(self) -> None:
        for batch in _batches(self.jobs):
            await self._run_batch(batch)
            left = find_leftovers()  # of all runs at once: they are processes of one program
            if left:
                kill_leftovers()
                self.listener.warn(f"processes that were left over, and have been ended: {len(left)}")

    async def _run_batch(self, places: Sequence[int]) -> None:
        size = shared_workers([self.jobs[index].suite for index in places])
        slots = asyncio.Semaphore(size)
        self._ahead = asyncio.Semaphore(size)  # what has been held back of later runs is in memory
        try:
            async with asyncio.TaskGroup() as group:
                for index in places:
                    await self._ahead.acquire()
                    if self.cancellation.stopped_by is not None:
                        self._over(index, None)
                        continue
                    drained = asyncio.Event()
                    group.create_task(self._run_one(index, SharedWorkers(slots, drained.set)))
                    await drained.wait()
        except BaseExceptionGroup as broken:
            raise broken.exceptions[0] from None

    async def _run_one(self, index: int, share: SharedWorkers) -> None:
        job = self.jobs[index]
        result: JobResult = None
        try:
            emit = self.listener.job_started(index)
            self._started.add(index)
            if index == self._finished:
                self.listener.job_shown(index)
            result = await run_suite(
                job.suite, job.model, self.options, emit, self.cancellation, self.invocation, share
            )
        except WazaError as error:
            result = error
        except asyncio.CancelledError:
            if self.cancellation.exit_code is None:
                raise
        finally:
            share.drained()
        self._over(index, result)

    def _over(self, index: int, result: JobResult) -> None:
        """Tell of a job that is over, and of those behind it that waited for it."""
        self._results[index] = result
        while self._finished in self._results:
            self.listener.job_finished(self._finished, self._results.pop(self._finished))
            self._finished += 1
            self._ahead.release()
            if self._finished in self._started:
                self.listener.job_shown(self._finished)


def _batches(jobs: Sequence[Job]) -> Iterator[list[int]]:
    """Yield the places of jobs that run at the same time: neighbours with `parallel`, else one alone."""

    def together(index: int) -> int:
        return -1 if jobs[index].suite.file.config.parallel else index

    for _, places in groupby(range(len(jobs)), together):
        yield list(places)
