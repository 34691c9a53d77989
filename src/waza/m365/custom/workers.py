"""The child processes of one custom evaluator: started when needed, used again and again.

Each serves one call at a time. After a crash or a time limit it ends, and the next call gets a new one.
"""

from __future__ import annotations

import itertools
import json
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from waza.kit.line_process import LineProcess, ProcessPool, decode_answer
from waza.kit.process import ProcessDiedError
from waza.m365.custom import promptflow_shim
from waza.m365.custom.discover import CustomEvaluator
from waza.problem import display_path
from waza.registry.cache import cache_root

_LONGEST_LINE = 64 * 1024  # bytes of a line that does not end
_log = logging.getLogger(__name__)
# -P keeps the modules beside worker.py out of people's imports.
_ARGV = (sys.executable, "-P", str(Path(__file__).with_name("worker.py")))


class WorkerAnswer(msgspec.Struct):
    """The answer of a child: `failed` is the text of an exception, `returned` what is kept of the result.

    An exception has a `traceback`, and the last place of the evaluator's own files in it, with the `code` there.
    """

    id: int
    runtime: str
    failed: str | None = None
    loaded: str = ""
    returned: dict[str, Any] = {}
    raw: str = ""
    traceback: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    code: str = ""

    @property
    def place(self) -> str:
        """The place of an exception in words, with the code there; empty where it is not in a file."""
        where = f"{display_path(Path(self.file))}:{self.line}" if self.file else ""
        return f"{where}: {self.code}" if where and self.code else where


class ImportFailedError(Exception):
    """The wrapper cannot be imported; the text is the exception's, `answer` that of the child."""

    def __init__(self, text: str, answer: WorkerAnswer | None = None) -> None:
        super().__init__(text)
        self.answer = answer


class CallFailedError(Exception):
    """A child gave no answer to a call; the text says why."""


class CustomWorkers:
    """At most `limit` children of an evaluator. `timeout`, in seconds, limits each import and each call.

    `setup` has the keys `runtime` and `retry_waits`, which a child needs to import the evaluator.
    """

    def __init__(
        self, evaluator: CustomEvaluator, setup: Mapping[str, object], limit: int, timeout: float
    ) -> None:
        self.evaluator = evaluator
        self._setup = {**setup, "wrapper": str(evaluator.wrapper), "classes": evaluator.classes}
        self._timeout = timeout
        self._pool = ProcessPool(limit, self._start_child)
        self._loaded = ""
        self._ids = itertools.count(1)

    async def warm(self) -> str:
        """Have a child ready, and return the name of the class that it found. Raises ImportFailed."""
        async with self._pool.acquire():
            return self._loaded

    async def ask(self, **question: object) -> WorkerAnswer:
        """Have a call answered. Raises ImportFailed or CallFailed; the child has ended then."""
        async with self._pool.acquire() as child:
            try:
                return await self._ask_child(child, question)
            except TimeoutError:
                note = f"; it last wrote: {child.stderr_tail}" if child.stderr_tail else ""
                raise CallFailedError(f"it gave no result within {self._timeout:g} s{note}") from None
            except ProcessDiedError as error:
                raise CallFailedError(str(error)) from None

    async def aclose(self) -> None:
        """End the idle children."""
        await self._pool.aclose()

    async def _start_child(self) -> LineProcess:
        """Return a new child that has imported the evaluator."""
        child = LineProcess(_ARGV, env=_environment(), on_stderr=_OutputLog(self.evaluator.name))
        try:
            await child.start()
            answer = await self._ask_child(child, self._setup)
        except TimeoutError:
            raise ImportFailedError(f"it did not end within {self._timeout:g} s") from None
        except ProcessDiedError as error:
            raise ImportFailedError(str(error)) from None
        if answer.failed is not None:
            await child.aclose()
            raise ImportFailedError(answer.failed, answer)
        self._loaded = answer.loaded
        return child

    async def _ask_child(self, child: LineProcess, question: Mapping[str, object]) -> WorkerAnswer:
        number = next(self._ids)
        # ASCII, in which lone surrogates survive.
        line = json.dumps({"id": number, **question}).encode("ascii")
        answer = decode_answer(await child.ask(line, self._timeout), WorkerAnswer)
        if answer is None or answer.id != number:
            await child.aclose()
            raise ProcessDiedError(
                "its process wrote something that is not an answer; does it write to file descriptors that it did not open?"
            )
        return answer


class _OutputLog:
    """Logs what the code of an evaluator writes to stdout and stderr, a message a line."""

    def __init__(self, name: str) -> None:
        self._name, self._line = name, b""

    def __call__(self, data: bytes) -> None:
        """Log the lines that end here; no data ends the last one."""
        *lines, self._line = (self._line + (data or b"\n")).split(b"\n")
        if len(self._line) > _LONGEST_LINE:
            lines, self._line = [*lines, self._line], b""
        for line in lines:
            if (line or data) and _log.isEnabledFor(logging.DEBUG):
                _log.debug("%s: %s", self._name, line.decode("utf-8", "replace").rstrip("\r"))


def _environment() -> dict[str, str]:
    """Return our environment, with what a real promptflow must find there before it is imported."""
    home = {promptflow_shim.HOME_VARIABLE: str(cache_root(os.environ) / "promptflow")}
    return {**home, **os.environ, **promptflow_shim.QUIET}
