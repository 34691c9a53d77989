"""The library: loading and running suites, and loading results, from Python."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec

from waza.engine.cancellation import Cancellation
from waza.engine.run import RunOptions
from waza.engine.run_all import run_one
from waza.errors import UsageError
from waza.model.event import RunEvent
from waza.model.loaded import Suite
from waza.model.result import SuiteResult
from waza.results.absent import not_started_outcome
from waza.results.collection import Results
from waza.results.saved import find_results
from waza.results.verdict import NotStarted
from waza.suite.load import load as load_suite
from waza.suite.loading import LoadOptions
from waza.suite.project import find_project

Listener = Callable[[RunEvent], None]


def load(
    path: str | Path, *, executor: str = "", models: Sequence[str] = (), trials: int | None = None
) -> Suite:
    """Return the suite at a path, with everything that it names.

    `executor`, `models` and `trials` override what the suite says. Raises SuiteError with every mistake in its files.
    """
    return load_suite(Path(path), LoadOptions(executor=executor, models=tuple(models), trials=trials))


def run(
    suite: Suite | str | Path,
    *,
    executor: str = "",
    models: Sequence[str] = (),
    trials: int | None = None,
    save: bool = False,
    listener: Listener | None = None,
) -> list[SuiteResult]:
    """Run a suite on each of its models, one after another, and return the results in that order.

    `suite` is a path or a loaded suite; `executor`, `models` and `trials` override what a suite at a path says.
    `save` keeps a run directory below `.waza`. `listener` is called with each event, in the thread of the run.

    It can be called in any thread. Where an event loop is running already, as in a notebook, the suite runs in a
    thread of its own and the caller waits; `arun` does not block the loop.

    In the main thread, SIGINT and SIGTERM stop the run in order: its result says that it was interrupted, and the
    results of the remaining models that they did not start. Raises SuiteError for mistakes in files, UsageError for
    overrides of a loaded suite, RunError where a run could not go on, and whatever the listener raises.
    """
    loaded = _loaded(suite, executor, models, trials)
    control = Cancellation()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_run_models(loaded, control, save=save, listener=listener))
    return _run_in_thread(_run_models(loaded, control, save=save, listener=listener), control)


def _run_in_thread(work: Coroutine[Any, Any, list[SuiteResult]], control: Cancellation) -> list[SuiteResult]:
    """Return what a coroutine returns, run in a thread. A KeyboardInterrupt of this thread stops the run first."""
    loop = asyncio.new_event_loop()

    def run_loop() -> list[SuiteResult]:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            return runner.run(work)

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(run_loop)
        try:
            return done.result()
        except KeyboardInterrupt:
            loop.call_soon_threadsafe(control.handle_signal, signal.SIGINT)
            raise


async def arun(
    suite: Suite | str | Path,
    *,
    executor: str = "",
    models: Sequence[str] = (),
    trials: int | None = None,
    save: bool = False,
    listener: Listener | None = None,
) -> list[SuiteResult]:
    """Do what `run` does, in the running event loop: `results = await waza.arun("eval.yaml")`."""
    loaded = _loaded(suite, executor, models, trials)
    return await _run_models(loaded, Cancellation(), save=save, listener=listener)


def load_results(results: str | Path | None = None) -> Results:
    """Return results from disk: of a results file, a run id, or a directory; without an argument of the newest run.

    `waza show` and `waza export` find them in the same way. Raises UsageError where there are none, and SuiteError for
    a file that is not a results file.
    """
    found = find_results(None if results is None else str(results), find_project(Path.cwd()).directory)
    loaded = [run.load() for run in found.runs]
    warnings = [str(warning) for _, problems in loaded for warning in problems]
    return Results(tuple(one for one, _ in loaded), (*found.notes, *warnings))


def _loaded(suite: Suite | str | Path, executor: str, models: Sequence[str], trials: int | None) -> Suite:
    if not isinstance(suite, Suite):
        return load(suite, executor=executor, models=models, trials=trials)
    if executor or models or trials is not None:
        raise UsageError("executor, models and trials cannot override a loaded suite; pass them to waza.load")
    return suite


async def _run_models(
    suite: Suite, control: Cancellation, *, save: bool, listener: Listener | None
) -> list[SuiteResult]:
    options = RunOptions(project=find_project(Path.cwd()), save=save)
    return [
        await _run_model(suite, model, options, listener or _ignore, control)
        if control.stopped_by is None
        else not_started_outcome(
            NotStarted(skill=suite.file.skill or suite.name, model=model, why="interrupted")
        ).head
        for model in suite.models
    ]


def _ignore(event: RunEvent) -> None:
    del event


async def _run_model(
    suite: Suite, model: str, options: RunOptions, listener: Listener, control: Cancellation
) -> SuiteResult:
    done = await run_one(suite, model, options, listener, control)
    try:
        baseline = done.outcome.head.baseline_outcome
        if baseline is not None:
            baseline = msgspec.structs.replace(baseline, tasks=list(done.outcome.baseline_tasks()))
        return msgspec.structs.replace(
            done.outcome.head, tasks=list(done.outcome.tasks()), baseline_outcome=baseline
        )
    finally:
        done.run_directory.close()
