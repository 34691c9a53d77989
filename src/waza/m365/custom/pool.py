"""Calls custom evaluators, each in child processes of its own.

A wrapper may hang, exit, print, use up memory, or have a `helpers.py` like another one: none of this affects
waza, other evaluators, or the next call. It is not a sandbox: wrappers have all rights of waza.

    async with CustomPool() as pool:
        problems = await pool.start(discover(Path.cwd(), ["forbidden_terms"]).evaluators)
        outcome = await pool.call("forbidden_terms", threshold=1, options={}, ...)
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from waza.m365.custom.custom_result import (
    DEFAULT_THRESHOLD,
    CustomResult,
    Number,
    custom_result,
    failed_result,
)
from waza.m365.custom.discover import CustomEvaluator, import_failure
from waza.m365.custom.promptflow_shim import Runtime
from waza.m365.custom.prompty import RETRY_WAITS
from waza.m365.custom.workers import CallFailedError, CustomWorkers, ImportFailedError
from waza.problem import Problem

TIMEOUT = 300.0  # seconds for one call, and for the import of an evaluator
CHILDREN = 5  # as many as items run at the same time at most; of one evaluator at the same time

_log = logging.getLogger(__name__)


class CustomPool:
    """Runs custom evaluators; end it with `aclose`, or use it in `async with`.

    `timeout`: seconds for one call, and for an import. `children`: how many calls of one evaluator run at
    the same time, each in a process of its own. `runtime`: what `from promptflow.client import load_flow`
    gives, see `promptflow_shim`. `retry_waits`: seconds before each new try of a judge's question to its model.
    """

    def __init__(
        self,
        *,
        timeout: float = TIMEOUT,
        children: int = CHILDREN,
        runtime: Runtime = "auto",
        retry_waits: Sequence[float] = RETRY_WAITS,
    ) -> None:
        self._timeout = timeout
        self._children = children
        self._setup = {"runtime": runtime, "retry_waits": list(retry_waits)}
        self._started: dict[str, CustomWorkers] = {}
        self._broken: dict[str, Problem] = {}
        self._starting = asyncio.Lock()

    async def start(self, evaluators: Sequence[CustomEvaluator]) -> list[Problem]:
        """Import the evaluators, those that are started already not again.

        Returns a problem for each that cannot be imported.
        """
        names = [evaluator.name for evaluator in evaluators]
        async with self._starting:
            started = {
                evaluator.name: CustomWorkers(evaluator, self._setup, self._children, self._timeout)
                for evaluator in evaluators
                if evaluator.name not in self._started
            }
            self._started.update(started)
            cores = asyncio.Semaphore(os.cpu_count() or 1)

            async def start_one(children: CustomWorkers) -> Problem | None:
                async with cores:
                    return await _start_worker(children)

            found = await asyncio.gather(*map(start_one, started.values()))
            self._broken.update(
                {name: problem for name, problem in zip(started, found, strict=True) if problem}
            )
        return [self._broken[name] for name in names if name in self._broken]

    async def call(
        self,
        name: str,
        *,
        threshold: Number | None,
        options: Mapping[str, Any] | None,
        model_config: Mapping[str, Any] | None,
        key: str,
        prompt: str,
        response: str,
        expected_response: str = "",
        context: str = "",
    ) -> CustomResult:
        """Make a new instance of a started evaluator, call it, and check what it returns.

        A missing threshold is that of the kind, missing options are `{}`. `model_config`, without a key
        `type`, reaches judges only. `key` names the item or turn in debug messages. Every failure of the evaluator is a
        CustomResult with an error.
        """
        children = self._started[name]
        kind = children.evaluator.kind
        settings = {
            "threshold": DEFAULT_THRESHOLD[kind] if threshold is None else threshold,
            "options": dict(options or {}),
        }
        if kind == "judge":
            if model_config is None:
                return failed_result("it is a judge, and no model is configured for judges")
            settings["model_config"] = dict(model_config)
        arguments = {
            "prompt": prompt,
            "response": response,
            "expected_response": expected_response,
            "context": context,
        }
        debug = _log.isEnabledFor(logging.DEBUG)
        try:
            answer = await children.ask(settings=settings, arguments=arguments, debug=debug)
        except ImportFailedError as error:
            return CustomResult(
                error=_import_failure(children.evaluator, error).message,
                traceback=error.answer.traceback if error.answer else "",
            )
        except CallFailedError as error:
            return failed_result(str(error))
        _log.debug(
            "%s, %s: made with %s; load_flow: %s; returned %s",
            *(key, name, ", ".join(settings), answer.runtime or "none", answer.raw or answer.failed),
        )
        if answer.failed is None:
            return custom_result(kind, answer.returned)
        if answer.traceback:
            _log.debug("%s, %s: %s", key, name, answer.traceback.rstrip())
        return failed_result(answer.failed, answer.place, answer.traceback)

    async def aclose(self) -> None:
        """End all children. No call may be running."""
        await asyncio.gather(*(children.aclose() for children in self._started.values()))

    async def __aenter__(self) -> Self:
        """Return the pool itself."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all children."""
        await self.aclose()


def _import_failure(evaluator: CustomEvaluator, error: ImportFailedError) -> Problem:
    """Return the problem of an evaluator that cannot be imported, at the line that raised the exception."""
    where = error.answer
    if where is None or not where.file:
        return import_failure(evaluator, str(error))
    return import_failure(evaluator, str(error), (Path(where.file), where.line, where.column))


async def _start_worker(children: CustomWorkers) -> Problem | None:
    evaluator = children.evaluator
    try:
        loaded = await children.warm()
    except ImportFailedError as error:
        if error.answer and error.answer.traceback:
            _log.debug("%s: %s", evaluator.name, error.answer.traceback.rstrip())
        return _import_failure(evaluator, error)
    _log.debug("%s: %s evaluator, class %s of %s", evaluator.name, evaluator.kind, loaded, evaluator.wrapper)
    return None
