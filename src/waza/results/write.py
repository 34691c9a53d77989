"""Writing a results file, piece by piece, so that its tasks need never be in memory together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

from waza.model.result import SuiteResult, TaskResult, TrialResult, number
from waza.results.outcome import Outcome

Tidier = Callable[[Any], Any]

# Signs that an HTML page with the file inside could take for markup, and JavaScript for line ends. In
# JSON they stand in strings only, so they may be replaced wherever they are.
_ESCAPES = tuple((char.encode(), f"\\u{ord(char):04x}".encode()) for char in "<>&\u2028\u2029")
_BLOCK = 1 << 16  # bytes that are escaped and written at once


def encode(outcome: Outcome) -> Iterator[bytes]:
    """Yield the results file: UTF-8 JSON, indented by two blanks, without a newline at the end.

    Fields come in the order of the structs, the keys of maps sorted; whole floats are written without
    `.0`, save in what agents and graders sent, which stays as it was. Goes through the tasks once.
    """
    block = bytearray()
    for piece in _suite(outcome.head, outcome.tasks(encoded=True), outcome.baseline_tasks(encoded=True)):
        block += piece
        if len(block) >= _BLOCK:
            yield _escaped(bytes(block))
            block.clear()
    yield _escaped(bytes(block))


def _escaped(text: bytes) -> bytes:
    for char, escaped in _ESCAPES:
        text = text.replace(char, escaped)
    return text


def _suite(
    head: SuiteResult, tasks: Iterable[TaskResult], baseline: Iterable[TaskResult], newline: bytes = b"\n"
) -> Iterator[bytes]:
    """Yield a suite; `newline` begins its lines. JSON writes the newlines of strings as escapes."""
    inside, start = newline + b"  ", b"{"
    for field in msgspec.structs.fields(head):
        value = getattr(head, field.name)
        if not (field.required or value):
            continue
        yield start + inside + b'"' + field.encode_name.encode() + b'": '
        if field.name == "tasks":
            yield from _list(tasks, inside)
        elif isinstance(value, SuiteResult):
            yield from _suite(value, baseline, (), inside)
        else:
            yield _text(value, field.type, inside)
        start = b","
    yield newline + b"}"


def _list(tasks: Iterable[TaskResult], newline: bytes) -> Iterator[bytes]:
    inside, start = newline + b"  ", b"["
    for task in tasks:
        yield start + inside + _text(task, TaskResult, inside)
        start = b","
    yield b"[]" if start == b"[" else newline + b"]"


def _text(value: Any, wanted: Any, newline: bytes) -> bytes:
    tidy = _tidier(wanted)
    encoded = msgspec.json.encode(tidy(value) if tidy else value)
    return msgspec.json.format(encoded, indent=2).replace(b"\n", newline)


def tidied(result: TrialResult) -> TrialResult:
    """Return a trial as results files have it: the keys of maps sorted, whole floats as ints."""
    tidy = _tidier(TrialResult)
    found: TrialResult = tidy(result) if tidy else result
    return found


@cache
def _tidier(wanted: Any) -> Tidier | None:
    """Return what sorts the maps and makes ints of the whole floats in values of a type.

    None: nothing in them is to be changed. So it is with Any: what agents and graders sent is written
    as it came.
    """
    origin, args = get_origin(wanted), get_args(wanted)
    if wanted is float:
        return number
    if origin in (Union, UnionType):
        return _tidier(next(arg for arg in args if arg is not NoneType))
    if origin is list:
        return _list_tidier(_tidier(args[0]))
    if origin is dict:
        return _map_tidier(_tidier(args[1]))
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        return _struct_tidier(wanted)
    return None


def _list_tidier(tidy: Tidier | None) -> Tidier | None:
    return tidy and (lambda items: [tidy(item) for item in items])


def _map_tidier(tidy: Tidier | None) -> Tidier:
    return lambda items: {key: tidy(items[key]) if tidy else items[key] for key in sorted(items)}


def _struct_tidier(struct: type[msgspec.Struct]) -> Tidier | None:
    fields = msgspec.structs.fields(struct)
    floats = [field.name for field in fields if _tidier(field.type) is number]
    others = [(field.name, tidy) for field in fields if (tidy := _tidier(field.type)) not in (None, number)]

    def tidy_struct(value: msgspec.Struct | msgspec.Raw) -> msgspec.Struct | msgspec.Raw:
        if isinstance(value, msgspec.Raw):  # it was tidy when it was encoded
            return value
        changes: dict[str, Any] = {
            name: number(found) for name in floats if isinstance(found := getattr(value, name), float)
        }
        for name, tidy in others:
            if found := getattr(value, name):
                changes[name] = tidy(found)
        return msgspec.structs.replace(value, **changes) if changes else value

    return tidy_struct if floats or others else None
