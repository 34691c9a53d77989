"""Trials on the workers of a Dask cluster: one that is reached by its scheduler, or processes on this machine.

The client hands out trials and journals what comes back, so that a worker that dies loses nothing: the scheduler gives
its trials to others, and of each trial one answer counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import secrets
from collections.abc import Mapping
from typing import Any

import msgspec
from distributed import Client, KilledWorker, LocalCluster

from waza.backends.bundle import pack, sendable
from waza.backends.dask_worker import AnnouncedRun, RunOrder, TrialAnswer, TrialOrder, run_order
from waza.engine.backend import BackendOptions, RemoteRun
from waza.engine.trial import FinishedTrial, RunContext, broken_trial
from waza.errors import ExecutorError, OutsideError, RunError, UsageError
from waza.model.loaded import TriggerTests
from waza.model.trial import Trial
from waza.results.assemble import Triggers
from waza.suite.definition import expand_home
from waza.suite.loading import LoadOptions
from waza.version import __version__

_CONNECT = 30  # seconds for the scheduler to answer, and for workers of this machine to start
_LEAVE = 10  # seconds for workers to end what runs
_NAMED = 3  # workers that a message names


class DaskBackend:
    """A Dask cluster. `--scheduler` names the address of one; without it, workers are processes on this machine."""

    def __init__(self, options: BackendOptions) -> None:
        self._options = options
        self._cluster: Any = None
        self._client: Any = None
        self.capacity = 1

    async def start(self) -> None:
        """Connect, and check that all workers have this version of waza. Raises UsageError."""
        options = self._options
        for name in ("distributed", "distributed.client"):  # what concerns the run, the run says
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            if options.scheduler:
                self._client = await Client(
                    options.scheduler, asynchronous=True, timeout=_CONNECT, set_as_default=False
                )
            else:
                self._cluster = await LocalCluster(
                    n_workers=options.workers or min(os.cpu_count() or 1, 8),
                    threads_per_worker=1,
                    processes=True,
                    asynchronous=True,
                    dashboard_address=None,
                    security=True,  # other users of this machine cannot reach the workers
                    silence_logs=50,
                )
                self._client = await Client(self._cluster, asynchronous=True, set_as_default=False)
        except (OSError, ValueError, ImportError) as error:
            where = options.scheduler or "workers on this machine"
            await self.aclose()
            raise UsageError(
                f"--backend dask: {where} cannot be reached: {error}; check the address, and that the scheduler runs"
            ) from error
        await self._check_versions()
        threads: Mapping[str, int] = await self._client.nthreads()
        self.capacity = options.workers or max(1, sum(threads.values()))

    async def _check_versions(self) -> None:
        """Raise UsageError where a worker lacks waza, or has another version of it."""

        def version() -> str:  # goes to workers by its code, since they may lack this module
            try:
                from waza.version import __version__ as found
            except ImportError:
                return ""
            return found

        found: Mapping[str, str] = await self._client.run(version)
        wrong = [
            f"{where} has {what or 'none'}" for where, what in sorted(found.items()) if what != __version__
        ]
        if wrong:
            await self.aclose()
            more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
            raise UsageError(
                f"--backend dask: workers need waza {__version__}: {', '.join(wrong[:_NAMED])}{more}; install the same "
                "version there"
            )

    async def open_run(self, run: RemoteRun, context: RunContext) -> DaskRunner:
        """Send the bundle of a suite to the workers. Raises UsageError where it cannot be made."""
        suite, request = run.job.suite, run.job.request or LoadOptions()
        bundle = await asyncio.to_thread(pack, suite, request, run.project)
        order = RunOrder(
            id=context.run_id,
            version=__version__,
            topic=f"waza-{context.run_id}",
            bundle=bundle.data,
            digest=bundle.digest,
            top=str(bundle.top),
            suite=bundle.place(suite.path),
            suite_digest=suite.digest,
            project=bundle.place(run.project.directory),
            keys=sendable(run.project.keys),
            model=run.job.model,
            request=msgspec.structs.replace(request, context_dir="", skill_dir=None),
            places=_places(request, bundle.place),
            skip_graders=run.skip_graders,
            redaction=run.redaction,
        )
        runner = DaskRunner(self._client, order, context, self._options.resources)
        await runner.start()
        return runner

    async def aclose(self) -> None:
        """Leave the cluster; workers of this machine end."""
        for one in (self._client, self._cluster):
            if one is not None:
                with contextlib.suppress(Exception):  # it may be gone already
                    await asyncio.wait_for(one.close(), _LEAVE)
        self._client = self._cluster = None


class DaskRunner:
    """Runs the trials of one run on a cluster."""

    def __init__(
        self, client: Any, order: RunOrder, context: RunContext, resources: Mapping[str, float]
    ) -> None:
        self._client, self._order, self._context, self._resources = client, order, context, resources
        self._seen: dict[
            str, tuple[str, int]
        ] = {}  # by token: the execution that is followed, and its events so far
        self._closed = False

    async def start(self) -> None:
        """Tell the workers of the run, and follow what happens there."""
        self._client.subscribe_topic(self._order.topic, self._handle)
        await self._client.register_plugin(AnnouncedRun(self._order))

    def _handle(self, event: tuple[float, Any]) -> None:
        """Emit what happened in a trial that is under way; when it runs again elsewhere, follow that."""
        _, message = event
        token, execution = message["token"], message["execution"]
        if token in self._seen:
            before, count = self._seen[token]
            self._seen[token] = (execution, count + 1 if execution == before else 1)
            self._context.emit(pickle.loads(message["event"]))  # noqa: S301  # of our own workers, as all of Dask is

    async def run_trial(self, trial: Trial) -> FinishedTrial:
        """Run a trial on some worker. One whose workers die again and again is a broken trial."""
        order = TrialOrder(
            run=self._order.id,
            version=__version__,
            token=secrets.token_hex(8),
            arm=trial.arm,
            task=trial.task.id,
            number=trial.number,
            max_attempts=trial.max_attempts,
            baseline_output=trial.baseline_output,
            **self._used(),
        )
        try:
            answer = await self._ask(order, f"{trial.arm} {trial.task.id} {trial.number}")
        except KilledWorker as error:
            died = f"{error.allowed_failures + 1} workers died while they ran it, the last one at {error.last_worker.address}"
            return broken_trial(self._context, trial, OutsideError(died))
        assert answer.trial is not None  # workers answer with it, or with a fault  # noqa: S101
        return answer.trial

    def _used(self) -> dict[str, Any]:
        """Return what the run has used of its limits, which a trial elsewhere keeps to."""
        meter = self._context.meter
        return {"spent": meter.account.spent, "seconds": meter.seconds}

    async def run_trigger_tests(self, tests: TriggerTests) -> Triggers | None:
        """Run the trigger tests on some worker, all of them on the same one."""
        del tests  # the worker has them with the suite
        order = TrialOrder(
            run=self._order.id, version=__version__, token=secrets.token_hex(8), **self._used()
        )
        try:
            answer = await self._ask(order, "trigger tests")
        except KilledWorker as error:
            raise ExecutorError(
                f"the workers that ran them died, the last one at {error.last_worker.address}"
            ) from error
        if answer.refusal:
            raise ExecutorError(answer.refusal)
        return answer.triggers

    async def _ask(self, order: TrialOrder, label: str) -> TrialAnswer:
        """Return the answer of a worker, after all events that led to it. Raises KilledWorker, and RunError."""
        self._seen[order.token] = ("", 0)
        future = self._client.submit(
            run_order,
            order,
            key=f"waza {self._order.id} {label} {order.token}",
            pure=False,
            resources=dict(self._resources) or None,
        )
        try:
            answer: TrialAnswer = await future
        except KilledWorker:
            raise
        except Exception as error:
            raise RunError(
                f"the cluster gave no answer: {type(error).__name__}: {error}; go on with --resume"
            ) from error
        finally:
            followed, count = self._seen.pop(order.token)
            if not future.done():
                with contextlib.suppress(Exception):  # the cluster may be gone
                    await future.cancel(force=True)
        if answer.fault:
            raise RunError(f"worker {answer.worker}: {answer.fault}")
        self._context.meter.count_elsewhere(answer.spent, answer.met)
        for event in answer.events[count if followed == answer.execution else 0 :]:
            self._context.emit(event)
        for warning in answer.warnings:
            self._context.warn(warning)
        return answer

    async def aclose(self) -> None:
        """End what runs on the workers, and free what they hold of the run."""
        if not self._closed:
            self._closed = True
            with contextlib.suppress(Exception):  # the cluster may be gone
                await asyncio.wait_for(self._client.unregister_worker_plugin(self._order.id), _LEAVE)
            with contextlib.suppress(Exception):  # as above
                self._client.unsubscribe_topic(self._order.topic)


def _places(request: LoadOptions, place: Any) -> tuple[tuple[str, str], ...]:
    """Return the names that paths of load options have in a bundle."""
    found = []
    if request.context_dir:
        found.append(("context_dir", place(expand_home(request.context_dir).absolute())))
    if request.skill_dir:
        found.append(("skill_dir", place(request.skill_dir.absolute())))
    return tuple(found)
