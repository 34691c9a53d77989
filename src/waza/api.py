"""The library: loading and running suites from Python."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from waza.engine.control import Control
from waza.engine.run import RunOptions
from waza.engine.together import run_alone
from waza.model.event import RunEvent
from waza.model.loaded import Suite
from waza.model.result import SuiteResult
from waza.suite.load import load as load_suite
from waza.suite.loading import Request
from waza.suite.project import find_project


def load(path: str | Path, *, executor: str = "", models: Sequence[str] = ()) -> Suite:
    """Read a suite and everything that it names. Raises SuiteError with every mistake in its files."""
    return load_suite(Path(path), Request(executor=executor, models=tuple(models)))


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
    on. Call it outside of an event loop.
    """
    request = Request(executor=executor, models=tuple(models), trials=trials)
    suite = load_suite(Path(path), request)
    options = RunOptions(project=find_project(Path.cwd()), save=save)
    return [asyncio.run(_run(suite, model, options, listener or (lambda _: None))) for model in suite.models]


async def _run(
    suite: Suite, model: str, options: RunOptions, emit: Callable[[RunEvent], None]
) -> SuiteResult:
    done = await run_alone(suite, model, options, emit, Control())
    try:
        baseline = done.outcome.head.baseline_outcome
        if baseline is not None:
            baseline = msgspec.structs.replace(baseline, tasks=list(done.outcome.baseline_tasks()))
        return msgspec.structs.replace(
            done.outcome.head, tasks=list(done.outcome.tasks()), baseline_outcome=baseline
        )
    finally:
        done.store.close()
