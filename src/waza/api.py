"""The library: loading and running suites from Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from waza.engine.cancellation import Cancellation
from waza.engine.run import RunOptions
from waza.engine.run_all import run_one
from waza.model.event import RunEvent
from waza.model.loaded import Suite
from waza.model.result import SuiteResult
from waza.suite.load import load as load_suite
from waza.suite.loading import LoadOptions
from waza.suite.project import find_project


def load(path: str | Path, *, executor: str = "", models: Sequence[str] = ()) -> Suite:
    """Read a suite and everything that it names. Raises SuiteError with every mistake in its files."""
    return load_suite(Path(path), LoadOptions(executor=executor, models=tuple(models)))


def run(
    path: str | Path,
    *,
    executor: str = "",
    models: Sequence[str] = (),
    trials: int | None = None,
    save: bool = False,
    listener: Callable[[RunEvent], None] | None = None,
) -> list[SuiteResult]:
    """Run a suite on each of its models, one after another; return the results.

    `executor`, `models` and `trials` override the suite, `save` keeps a run directory below `.waza`, and
    `listener` is told what happens. Raises SuiteError for mistakes in files, RunError when a run could not go
    on. It may be called anywhere: where an event loop runs (a notebook), the run has a thread of its own, and
    whoever calls waits. Signals are only taken in the main thread.
    """
    request = LoadOptions(executor=executor, models=tuple(models), trials=trials)
    suite = load_suite(Path(path), request)
    options = RunOptions(project=find_project(Path.cwd()), save=save)
    emit = listener or (lambda _: None)
    return [_waited_for(partial(_run, suite, model, options, emit)) for model in suite.models]


def _waited_for(work: Callable[[], Coroutine[Any, Any, SuiteResult]]) -> SuiteResult:
    """Run a coroutine to its end, in a thread where this one has a running event loop already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work())
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()


async def _run(
    suite: Suite, model: str, options: RunOptions, emit: Callable[[RunEvent], None]
) -> SuiteResult:
    done = await run_one(suite, model, options, emit, Cancellation())
    try:
        baseline = done.outcome.head.baseline_outcome
        if baseline is not None:
            baseline = msgspec.structs.replace(baseline, tasks=list(done.outcome.baseline_tasks()))
        return msgspec.structs.replace(
            done.outcome.head, tasks=list(done.outcome.tasks()), baseline_outcome=baseline
        )
    finally:
        done.run_directory.close()
