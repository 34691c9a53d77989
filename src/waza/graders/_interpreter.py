"""Persistent python and node children that evaluate the assertions of `code` graders.

An assertion may loop, print, exit or eat memory, so none runs in waza's own process. A child serves
many gradings, one at a time; after any trouble it is killed and the next grading gets a fresh one.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from waza.errors import GraderError
from waza.kit.line_process import LineProcess, ProcessPool, decode_answer
from waza.kit.process import ProcessDiedError
from waza.kit.text import replace_surrogates

Language = Literal["python", "javascript"]

FALSY = "falsy"
"""What `Interpreters.evaluate` says of an assertion that is simply not true."""

ASSERTION_MS = 5000  # limit of one JavaScript assertion

_HERE = Path(__file__).parent
_ARGV: Mapping[Language, Sequence[str]] = {
    "python": (sys.executable, "-I", "-S", "-W", "ignore", str(_HERE / "_assertions.py")),
    # V8 reserves far more addresses than it uses, so its heap is limited and not its address space.
    "javascript": ("node", "--max-old-space-size=2048", str(_HERE / "_assertions.js")),
}
_INSTALL: Mapping[Language, str] = {
    "python": "run waza with an ordinary Python interpreter",
    "javascript": "install Node.js and put `node` on PATH, or write the assertions in Python",
}


class _Answer(msgspec.Struct):
    id: int
    results: list[str | None]


class Interpreters:
    """At most `limit` children of each language, started when needed and used again and again."""

    def __init__(self, limit: int | None = None) -> None:
        """`limit` defaults to the number of cores."""
        limit = limit or os.cpu_count() or 1
        self._pools = {
            language: ProcessPool(limit, partial(_start_interpreter, language)) for language in _ARGV
        }
        self._ids = itertools.count(1)

    async def evaluate(
        self, language: Language, names: Mapping[str, object], assertions: Sequence[str], timeout: float
    ) -> list[str | None]:
        """Evaluate the assertions of one grading, in order and in one scope.

        `names` are what they see, as data that JSON can carry; `output_length` and `errors` are derived
        from `output` and `transcript`. Returned for each: None for a pass, `FALSY`, or `ClassName:
        message` of the exception. `timeout`, in seconds, covers all of them, but not the wait for a free
        child. Raises GraderError when there is no verdict; the child is dead then.
        """
        number = next(self._ids)
        line = _line(language, id=number, names=names, assertions=list(assertions), limit_ms=ASSERTION_MS)
        try:
            async with self._pools[language].acquire() as child:
                answer = decode_answer(await child.ask(line, timeout), _Answer)
                if answer is None or (answer.id, len(answer.results)) != (number, len(assertions)):
                    raise GraderError(
                        f"the {language} interpreter answered nonsense; do assertions write to it?"
                    )
        except TimeoutError:
            raise GraderError(
                f"the {language} assertions did not end within {timeout:g} s; simplify them or raise the timeout"
            ) from None
        except ProcessDiedError as error:
            raise GraderError(f"the {language} interpreter failed: {error}") from error
        return [text if text is None else replace_surrogates(text) for text in answer.results]

    async def aclose(self) -> None:
        """End the children. Call it when no evaluation is under way."""
        for pool in self._pools.values():
            await pool.aclose()


async def _start_interpreter(language: Language) -> LineProcess:
    child = LineProcess(_ARGV[language], env=_environment())
    try:
        await child.start()
    except ProcessDiedError as error:
        raise GraderError(f"{error}; {_INSTALL[language]}") from error
    return child


def _environment() -> dict[str, str]:
    """Return our environment without the options that would make node print or load something first."""
    return {name: value for name, value in os.environ.items() if name != "NODE_OPTIONS"}


def _line(language: Language, **question: object) -> bytes:
    """Return the question as ASCII, in which lone surrogates survive. JavaScript's JSON knows no NaN."""
    try:
        return json.dumps(question, allow_nan=language == "python").encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise GraderError(f"what was seen cannot be handed to {language} assertions: {error}") from None
