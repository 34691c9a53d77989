"""What runs on the workers of a Dask cluster: the trials of runs that were announced to them.

A worker unpacks the bundle of a suite, loads it, and starts its executor, once for a run. Trials run in an event loop
of their own, so that a grader that computes keeps no worker from answering its scheduler.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import secrets
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from distributed import Worker, WorkerPlugin, get_worker

from waza.backends.bundle import rebase, unpack
from waza.engine.executor_factory import StartedExecutor, start_executor
from waza.engine.limits import RunMeter
from waza.engine.plan import make_plan
from waza.engine.record import make_redactor
from waza.engine.run import make_helpers
from waza.engine.tamper_check import TamperCheck
from waza.engine.trial import FinishedTrial, RunContext, run_trial
from waza.engine.trigger_tests import run_trigger_tests
from waza.errors import ExecutorError, WazaError
from waza.kit.redact import RedactionPolicy
from waza.model.cost import Spent
from waza.model.event import RunEvent
from waza.model.loaded import Project, ProjectFile, Suite
from waza.model.result import TrialResult
from waza.model.task import Task
from waza.model.trial import Arm, Trial
from waza.model.verdict import SharedResources
from waza.results.assemble import Triggers
from waza.suite.load import load
from waza.suite.loading import LoadOptions
from waza.suite.prices import Prices
from waza.version import __version__
from waza.workspace.run_tempdir import RunTempdir, clear_stale_tempdirs

_CLOSING = 8  # seconds for trials, agents and mocks to end


class RunOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A run as workers are told of it. Paths are names in the bundle; no value of the environment is in it.

    `top` is the directory of the client that the bundle has the place of.
    """

    id: str
    version: str
    topic: str
    bundle: bytes
    digest: str
    top: str
    suite: str
    suite_digest: str
    project: str
    keys: ProjectFile
    model: str
    request: LoadOptions
    places: tuple[tuple[str, str], ...]
    skip_graders: bool
    redaction: RedactionPolicy


class TrialOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A trial that a worker is to run; without a task, the trigger tests of the run.

    `spent` and `seconds` are what the run has used of its limits so far.
    """

    run: str
    version: str
    token: str
    arm: Arm = "main"
    task: str = ""
    number: int = 0
    max_attempts: int = 1
    spent: Spent = Spent()
    seconds: float = 0
    baseline_output: str | None = None


class TrialAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a trial. `events` are those that were sent as they happened, `execution` names the execution that sent them.

    `spent` is what was used, `met` the limit of the run that was met. `fault`: the run as a whole cannot go on; `refusal`: the trigger tests could not run.
    """

    worker: str
    execution: str = ""
    trial: FinishedTrial | None = None
    triggers: Triggers | None = None
    spent: Spent = Spent()
    met: str = ""
    events: tuple[RunEvent, ...] = ()
    warnings: tuple[str, ...] = ()
    fault: str = ""
    refusal: str = ""


class AnnouncedRun(WorkerPlugin):
    """Tells every worker of a run, also those that join later; `teardown` frees what the run holds there."""

    idempotent = True

    def __init__(self, order: RunOrder) -> None:
        self.name, self._order = order.id, order

    def setup(self, worker: Worker) -> None:
        """Take the order. What it needs is started with the first trial."""
        if threading.current_thread() is threading.main_thread():
            # Ctrl-C reaches all processes of a terminal; the client ends the workers in order.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        _runs[self._order.id] = _WorkerRun(self._order, worker)

    def teardown(self, worker: Worker) -> None:
        """End the run here."""
        del worker
        if (run := _runs.pop(self._order.id, None)) is not None:
            run.close()


_runs: dict[str, _WorkerRun] = {}  # of this process, by their ids


def run_order(order: TrialOrder) -> TrialAnswer:
    """Run a trial, or the trigger tests, of a run that this worker knows."""
    worker = get_worker()
    if order.version != __version__:
        fault = f"it has waza {__version__}, and this is {order.version}; install the same version"
        return TrialAnswer(worker=worker.address, fault=fault)
    run = _runs.get(order.run)
    if run is None:
        return TrialAnswer(worker=worker.address, fault="it was not told of this run; run again")
    return run.answer(order, worker)


class _WorkerRun:
    """A run on a worker, with a thread for its event loop."""

    def __init__(self, order: RunOrder, worker: Worker) -> None:
        self.order, self.address = order, worker.address
        self._store = Path(
            worker.local_directory, f"waza-{order.id}"
        )  # Dask removes it after a worker that was killed
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"waza {order.id}", daemon=True)
        self._thread.start()
        self._started: asyncio.Task[_Ready] | None = None
        self._working: set[asyncio.Task[TrialAnswer]] = set()

    def answer(self, order: TrialOrder, worker: Worker) -> TrialAnswer:
        """Run a trial, and wait for it."""
        return asyncio.run_coroutine_threadsafe(self._keep(order, worker), self._loop).result()

    async def _keep(self, order: TrialOrder, worker: Worker) -> TrialAnswer:
        task = asyncio.ensure_future(self._answer(order, worker))
        self._working.add(task)
        try:
            return await task
        except asyncio.CancelledError:
            return TrialAnswer(worker=self.address, fault="the run was ended")
        finally:
            self._working.discard(task)

    async def _answer(self, order: TrialOrder, worker: Worker) -> TrialAnswer:
        try:
            ready = await self._ready()
        except (WazaError, OSError) as error:
            return TrialAnswer(worker=self.address, fault=str(error))
        execution, events, warnings = secrets.token_hex(4), list[RunEvent](), list[str]()

        def emit(event: RunEvent) -> None:
            clean = _redacted(event, ready.context)
            message = {"token": order.token, "execution": execution, "event": pickle.dumps(clean)}
            events.append(clean)
            worker.log_event(self.order.topic, message)

        suite = ready.context.plan.suite
        meter = RunMeter(
            suite.file.config.limits,
            ready.prices,
            scripted=suite.capabilities.scripted,
            before=order.spent,
            seconds=order.seconds,
        )
        context = msgspec.structs.replace(ready.context, emit=emit, warn=warnings.append, meter=meter)
        found = TrialAnswer(worker=self.address, execution=execution)
        if order.task:
            trial = Trial(
                task=ready.tasks[order.arm, order.task],
                number=order.number,
                arm=order.arm,
                max_attempts=order.max_attempts,
                baseline_output=order.baseline_output,
            )
            finished = await run_trial(context, trial)
            result = _relocated(finished.result, ready.directory, self.order.top)
            found = msgspec.structs.replace(found, trial=msgspec.structs.replace(finished, result=result))
        elif tests := suite.trigger_tests:
            try:
                found = msgspec.structs.replace(found, triggers=await run_trigger_tests(context, tests))
            except ExecutorError as error:
                found = msgspec.structs.replace(found, refusal=str(error))
        return msgspec.structs.replace(
            found,
            spent=meter.account.spent.since(order.spent),
            met=meter.met,
            events=tuple(events),
            warnings=tuple(warnings),
        )

    async def _ready(self) -> _Ready:
        if self._started is None:
            self._started = asyncio.ensure_future(_Ready.start(self.order, self._store))
        return await asyncio.shield(self._started)

    def close(self) -> None:
        """Cancel what runs, stop the executor, remove all files; wait for that, since the worker may end next."""
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._close(), self._loop).result(_CLOSING)
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _close(self) -> None:
        for task in list(self._working):
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)
        if self._started is not None:
            with contextlib.suppress(Exception, asyncio.CancelledError):
                if not self._started.done():
                    self._started.cancel()
                await (await self._started).aclose()
        await asyncio.to_thread(shutil.rmtree, self._store, ignore_errors=True)


class _Ready(msgspec.Struct, frozen=True, kw_only=True):
    """A run whose suite is loaded and whose executor is started."""

    directory: Path
    context: RunContext
    executor: StartedExecutor
    prices: Prices
    tasks: dict[tuple[Arm, str], Task]

    @classmethod
    async def start(cls, order: RunOrder, store: Path) -> _Ready:
        """Load the suite of a run and start its executor. Raises WazaError."""
        await clear_stale_tempdirs()  # of a worker that was killed here
        directory = await asyncio.to_thread(unpack, order.bundle, order.digest, store)
        request = rebase(order.request, order.places, directory)
        suite = await asyncio.to_thread(load, directory / order.suite, request)
        _check_same(suite, order)
        project = Project(directory=directory / order.project, keys=order.keys, found=True)
        plan, shared = make_plan(suite, order.model), SharedResources()
        helpers = make_helpers(plan, project, shared)
        await asyncio.to_thread(shared.get(TamperCheck).record, suite)
        executor = await start_executor(suite, order.model, project)
        tempdir = RunTempdir()
        tempdir.open()
        return cls(
            directory=directory,
            context=RunContext(
                plan=plan,
                executor=executor.executor,
                tempdir=tempdir,
                relay=executor.relay,
                wire=executor.wire,
                helpers=helpers,
                redactor=make_redactor(suite, project, order.redaction),
                emit=_ignore,
                warn=_ignore,
                run_id=order.id,
                skip_graders=order.skip_graders,
            ),
            executor=executor,
            prices=Prices.of(suite),
            tasks={(arm.arm, task.id): task for arm in plan.arms for task in arm.tasks},
        )

    async def aclose(self) -> None:
        await self.context.helpers.shared.aclose()
        await self.executor.aclose()
        await self.context.tempdir.close()


def _check_same(suite: Suite, order: RunOrder) -> None:
    if suite.digest != order.suite_digest:
        raise WazaError(
            "its suite is another one than here: an absolute path, a program of this machine, or an environment variable "
            "in the arguments of a grader may not be the same there"
        )


def _relocated(result: TrialResult, directory: Path, top: str) -> TrialResult:
    """Return a result that names files of the suite by their places on the client, since those here are gone soon."""
    encoded, here = msgspec.json.encode(result), msgspec.json.encode(str(directory))[1:-1]
    if here not in encoded:
        return result
    there = msgspec.json.encode(top.rstrip("/\\"))[1:-1]
    return msgspec.json.decode(encoded.replace(here, there), type=TrialResult)


def _redacted(event: RunEvent, context: RunContext) -> RunEvent:
    """Return an event without the secrets of this worker, which the client does not know."""
    clean: Callable[[Any], Any] = context.redactor.value
    return msgspec.convert(clean(msgspec.to_builtins(event)), type(event))


def _ignore(what: object) -> None:
    del what
