"""Writing a results file, piece by piece, so that its tasks need never be in memory together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

import msgspec

from waza.model.result import SuiteResult, TaskResult, number
from waza.results.outcome import Outcome

Tidier = Callable[[Any], Any]

# Signs that an HTML page with the file inside could take for markup, and JavaScript for line ends. In
# JSON they stand in strings only, so they may be replaced wherever they are.
_ESCAPES = tuple((char.encode(), f"\\u{ord(char):04x}".encode()) for char in "<>&\u2028\u2029")


def encode(outcome: Outcome) -> Iterator[bytes]:
    """Yield the results file: UTF-8 JSON, indented by two blanks, without a newline at the end.

    Fields come in the order of the structs, the keys of maps sorted; whole floats are written without
    `.0`, save in what agents and graders sent, which stays as it was. Goes through the tasks once.
    """
    yield from _suite(outcome.head, outcome.tasks(), outcome.baseline_tasks())


def _suite(head: SuiteResult, tasks: Iterable[TaskResult], baseline: Iterable[TaskResult]) -> Iterator[bytes]:
    start = b"{"
    for field in msgspec.structs.fields(head):
        value = getattr(head, field.name)
        if not (field.required or value):
            continue
        yield start + b'\n  "' + field.encode_name.encode() + b'": '
        if field.name == "tasks":
            yield from _inside(_list(tasks))
        elif isinstance(value, SuiteResult):
            yield from _inside(_suite(value, baseline, ()))
        else:
            yield from _inside([_text(value, field.type)])
        start = b","
    yield b"\n}"


def _list(tasks: Iterable[TaskResult]) -> Iterator[bytes]:
    start = b"["
    for task in tasks:
        yield start + b"\n  "
        yield from _inside([_text(task, TaskResult)])
        start = b","
    yield b"[]" if start == b"[" else b"\n]"


def _inside(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Move lines right by one level. JSON writes the newlines of strings as escapes."""
    for piece in pieces:
        yield piece.replace(b"\n", b"\n  ")


def _text(value: Any, wanted: Any) -> bytes:
    tidy = _tidier(wanted)
    encoded = msgspec.json.encode(tidy(value) if tidy else value)
    text = msgspec.json.format(encoded, indent=2)
    for char, escaped in _ESCAPES:
        text = text.replace(char, escaped)
    return text


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
    return _struct if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct) else None


def _list_tidier(tidy: Tidier | None) -> Tidier | None:
    return tidy and (lambda items: [tidy(item) for item in items])


def _map_tidier(tidy: Tidier | None) -> Tidier:
    return lambda items: {key: tidy(items[key]) if tidy else items[key] for key in sorted(items)}


def _struct(value: msgspec.Struct) -> msgspec.Struct:
    changes = {}
    for name, tidy in _plan(type(value)):
        found = getattr(value, name)
        if (found or isinstance(found, float)) and (new := tidy(found)) is not found:
            changes[name] = new
    return msgspec.structs.replace(value, **changes) if changes else value


@cache
def _plan(struct: type[msgspec.Struct]) -> list[tuple[str, Tidier]]:
    fields = [(field.name, _tidier(field.type)) for field in msgspec.structs.fields(struct)]
    return [(name, tidy) for name, tidy in fields if tidy]
