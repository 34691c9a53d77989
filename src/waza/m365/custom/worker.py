"""Stand-alone child of `workers`: imports one custom evaluator and calls it, one JSON line in, one out.

Run as `python -P worker.py`. The first line says what to import, every further one is a call; the answer
to either holds `loaded`, `returned` or `failed`. People's code has all rights of this process. What it
prints goes to stderr, so that it cannot be taken for an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import json
import numbers
import os
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

from waza.kit.exception_report import describe_exception
from waza.m365.custom import promptflow_shim

LONGEST = 2000  # characters of what is not the evaluator's own text
RESULT_KEYS = ("score", "reason", "error")


def main() -> None:
    """Answer questions until stdin is closed."""
    questions, answers = take_streams()
    evaluator: type | None = None
    folder = ""
    for line in questions:
        question = json.loads(line)
        try:
            if evaluator is None:
                folder = str(Path(question["wrapper"]).parent)
                evaluator = load_class(question)
                answer = encode_answer(question, {"loaded": evaluator.__name__})
            else:
                answer = encode_answer(question, call_evaluator(evaluator, question))
        except BaseException as error:  # noqa: BLE001 - also SystemExit is an answer, and not the end of this child
            text = describe_error(error, with_class=evaluator is None)
            if isinstance(error, json.JSONDecodeError) and "model_config" in question.get("settings", {}):
                text = f"could not parse score: the model did not answer well-formed JSON: {text}"
            failed = {"failed": text, **describe_traceback(error, folder)}
            answer = encode_answer(question, failed)
        for stream in (
            sys.stdout,
            sys.stderr,
        ):  # before the answer, so that its output is shown first
            with contextlib.suppress(Exception):
                stream.flush()
        answers.write(answer)
        answers.flush()


def encode_answer(question: dict[str, Any], answer: dict[str, object]) -> bytes:
    """Return an answer as a line of ASCII, in which lone surrogates survive."""
    return (
        json.dumps({"id": question["id"], "runtime": promptflow_shim.runtime_in_use(), **answer}).encode(
            "ascii"
        )
        + b"\n"
    )


def take_streams() -> tuple[BinaryIO, BinaryIO]:
    """Return stdin and stdout as binary files; in their place come the null device and stderr."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # printing must not fail for the system's encoding
            stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
    return questions, answers


def load_class(question: dict[str, Any]) -> type:
    """Import the wrapper and return the first of the named classes that it has."""
    wrapper = Path(question["wrapper"])
    sys.dont_write_bytecode = True  # people's folders stay as they are
    promptflow_shim.install(question["runtime"], question["retry_waits"])
    sys.meta_path.insert(0, WrapperModuleFinder(wrapper))
    sys.path.append(str(wrapper.parent))
    module = import_wrapper(wrapper)
    for name in question["classes"]:
        found = getattr(module, name, None)
        if isinstance(found, type):
            check_callable(found, [getattr(module, other, None) for other in question["classes"]])
            return found
    raise AttributeError(f"after its import there is no class {' or '.join(question['classes'])}")


def check_callable(evaluator: type, others: Sequence[object]) -> None:
    """Raise AttributeError for a class without `__call__` that comes before one that has it."""
    able = [one.__name__ for one in others if isinstance(one, type) and is_callable(one)]
    if able and not is_callable(evaluator):
        name = evaluator.__name__
        advice = f"put {able[0]} before it, or move {name} into a module beside it"
        raise AttributeError(f"the class {name}, the first one, has no method __call__; {advice}")


def is_callable(kind: type) -> bool:
    """Tell whether the instances of a class can be called."""
    return any("__call__" in vars(base) for base in kind.__mro__)


def import_wrapper(wrapper: Path) -> ModuleType:
    """Import a file under a name of its own: an evaluator may be named like a package that it uses."""
    name = f"custom_evaluator_{wrapper.stem}"
    loader = SourceFileLoader(name, str(wrapper))
    spec = ModuleSpec(name, loader, origin=str(wrapper))
    spec.has_location = True
    module = sys.modules[name] = module_from_spec(spec)
    loader.exec_module(module)
    return module


class WrapperModuleFinder:
    """Finds modules beside the wrapper before installed ones of the same name.

    It leaves the standard library alone, and the wrapper's own name, which may be that of a package.
    """

    def __init__(self, wrapper: Path) -> None:
        self._folder = str(wrapper.parent)
        self._not_ours = {*sys.stdlib_module_names, wrapper.stem}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a top-level module beside the wrapper is; a plain folder is not a module."""
        if path is not None or fullname in self._not_ours:
            return None
        spec = PathFinder.find_spec(fullname, [self._folder], target)
        return spec if spec and spec.loader else None


def call_evaluator(evaluator: type, question: dict[str, Any]) -> dict[str, object]:
    """Make an instance, call it, and return the part of its answer that is used."""
    instance: Any = evaluator(**question["settings"])
    returned = instance(**question["arguments"])
    if inspect.iscoroutine(returned):
        if not inspect.iscoroutinefunction(instance.__call__):
            returned.close()
            raise TypeError("__call__ returned a coroutine, but is not an async function")
        returned = asyncio.run(returned)
    raw = {"raw": short_text(returned, repr)} if question["debug"] else {}
    return {"returned": select_result(returned), **raw}


def select_result(returned: object) -> dict[str, object]:
    """Return the three keys that matter, with values that JSON can carry."""
    if not isinstance(returned, dict):
        name = type(returned).__name__
        raise TypeError(f'it returned {name} instead of a dict {{"score": ..., "reason": ...}}')
    return {key: to_scalar(returned[key]) for key in RESULT_KEYS if key in returned}


def to_scalar(value: Any) -> object:
    """Return a number of any kind as int or float; text, bool and None unchanged; anything else as its repr."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real | Decimal):
        return float(value)
    try:
        plain = value.item()  # numpy's bool, and arrays and tensors of one value
    except Exception:  # noqa: BLE001 - people's classes may raise anything
        plain = None
    return plain if isinstance(plain, bool | int | float) else short_text(value, repr)


def describe_error(error: BaseException, *, with_class: bool) -> str:
    """Return the text of an exception, with the name of its class if the text alone is unclear."""
    name, text = type(error).__name__, short_text(error, str)
    if isinstance(error, SystemExit):
        return f"it called sys.exit({text})"
    if not text:
        return name
    return f"{name}: {text}" if with_class or isinstance(error, KeyError) else text


def describe_traceback(error: BaseException, folder: str) -> dict[str, object]:
    """Return where the evaluator's code raised an exception, and the traceback; empty if it was not in that code."""
    try:
        fault = describe_exception(error, folder)
    except Exception:  # noqa: BLE001 - the stack or the memory may be used up
        return {}
    if fault.place is None:
        return {}
    file, line, column, code, _ = fault.place
    return {
        "traceback": fault.traceback,
        "file": file,
        "line": line,
        "column": column,
        "code": code[:LONGEST],
    }


def short_text(value: object, conversion: Callable[[object], str]) -> str:
    """Return the start of a value as text, also of one whose conversion fails."""
    try:
        return conversion(value)[:LONGEST]
    except BaseException:  # noqa: BLE001 - people's own classes may do anything here
        return f"<{type(value).__name__}>"


if __name__ == "__main__":
    main()
