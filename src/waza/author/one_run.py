"""A run of which nothing is kept."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from waza.engine.cancellation import Cancellation
from waza.engine.run import FinishedRun, RunOptions
from waza.engine.run_all import run_one
from waza.model.event import RunEvent
from waza.model.loaded import Suite


@asynccontextmanager
async def finished_run(
    suite: Suite,
    options: RunOptions,
    emit: Callable[[RunEvent], None],
    cancellation: Cancellation | None = None,
) -> AsyncIterator[FinishedRun]:
    """Give a run of the suite's first model that has ended; what it kept is removed afterwards. Raises what kept it from running."""
    done = await run_one(suite, suite.models[0], options, emit, cancellation or Cancellation())
    try:
        yield done
    finally:
        done.run_directory.close()
        if done.kept:
            shutil.rmtree(done.kept, ignore_errors=True)
