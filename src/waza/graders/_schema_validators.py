"""Holding a value against a JSON Schema in a child process with limits, for schemas whose work nobody can foresee.

Twelve levels of `anyOf` over references are some hundred bytes and a hundred million comparisons. The engine cannot
be interrupted, so such schemas are given to children, which can. They are used again and again.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import msgspec

from waza.errors import GraderError
from waza.kit.line_process import LineProcess, ProcessPool, decode_answer
from waza.kit.process import ProcessDiedError

_MEMORY = 2 << 30  # bytes of address space
_ARGV = (sys.executable, "-I", "-c", "from waza.graders._schema_validators import serve; serve()")
_REFERENCES = ('"$ref"', '"$dynamicRef"', '"$recursiveRef"')
_FORESEEN = 50_000_000  # characters of schema times characters of value


def is_cheap(schema: str, value: str) -> bool:
    """Tell whether little work is to be done: without references it is at most schema times value."""
    return len(schema) * len(value) <= _FORESEEN and not any(name in schema for name in _REFERENCES)


class _Answer(msgspec.Struct):
    errors: list[str] = []
    fault: str = ""


class Validators:
    """The children of a run, one for each core at most."""

    def __init__(self) -> None:
        self._pool = ProcessPool(os.cpu_count() or 1, _start_validator)

    async def errors(
        self, schema: str, file: Path | None, root: Path | None, value: object, timeout: float
    ) -> list[str]:
        """Return what does not fit, as `waza.kit.schema.Schema.errors` does.

        Raises GraderError if the child fails, or needs more than `timeout` seconds.
        """
        question = {"schema": schema, "file": file and str(file), "root": root and str(root), "value": value}
        try:
            async with self._pool.acquire() as child:
                answer = decode_answer(
                    await child.ask(json.dumps(question).encode("ascii"), timeout), _Answer
                )
                if answer is None:
                    raise ProcessDiedError("its process answered nonsense")
        except TimeoutError:
            raise GraderError(
                f"the output cannot be held against the schema within {timeout:g} s; simplify the schema"
            ) from None
        except ProcessDiedError as error:
            raise GraderError(f"the output cannot be held against the schema: {error}") from error
        if answer.fault:
            raise GraderError(answer.fault)
        return answer.errors

    async def aclose(self) -> None:
        """End the children."""
        await self._pool.aclose()


async def _start_validator() -> LineProcess:
    child = LineProcess(_ARGV)
    await child.start()
    return child


def serve() -> None:
    """Answer questions, one a line: the work of a child."""
    from waza.graders.json_schema import compile_text

    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    answers = sys.stdout.buffer
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        file, root = (asked[key] and Path(asked[key]) for key in ("file", "root"))
        try:
            answer = _Answer(errors=compile_text(asked["schema"], file, root).errors(asked["value"]))
        except ValueError as error:
            answer = _Answer(fault=str(error))
        answers.write(json.dumps(msgspec.to_builtins(answer)).encode("ascii") + b"\n")
        answers.flush()
