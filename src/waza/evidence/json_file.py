"""Reading the JSON files of evidence: strictly, and with the place of what is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from waza.errors import SuiteError
from waza.kit.decode import Document
from waza.kit.json_nodes import JsonError, load
from waza.kit.os_errors import describe_os_error
from waza.kit.text import replace_surrogates
from waza.problem import Code, Problem, display_path
from waza.suite.read import at

MAX_DEPTH = 250  # of nesting; waza cuts what is nested deeper than 200 levels


def read_json(path: Path) -> tuple[bytes, dict[str, Any]]:
    """Return the bytes of a file, and the JSON object that it holds.

    SuiteError: the file cannot be read, is not JSON (neither are duplicate keys, numbers that are not finite and half
    characters), or is nested too deeply.
    """
    file = display_path(path)
    if path.is_dir():
        refuse(file, "is a directory", hint="name a file in it", code="unreadable-file")
    try:
        data = path.read_bytes()
    except OSError as error:
        refuse(file, f"cannot be read: {describe_os_error(error)}", code="unreadable-file")
    try:
        value = json.loads(data.decode(), object_pairs_hook=_unique, parse_constant=_no_number)
    except RecursionError:
        refuse(file, "is nested too deeply", code="syntax")
    except ValueError as error:
        try:
            load(data)  # slower, but it knows the place
        except JsonError as found:
            raise SuiteError([found.in_file(file)]) from None
        refuse(file, f"is not valid JSON: {error}", code="syntax")
    if not isinstance(value, dict):
        refuse(file, "must be a JSON object", code="wrong-type")
    if fault := _fault(value):
        refuse(file, fault, code="syntax")
    return data, value


def _fault(value: Any) -> str:
    """Return why a value cannot be written again as it is, or an empty text."""
    rest = [(value, 0)]
    while rest:
        item, depth = rest.pop()
        if depth > MAX_DEPTH:
            return f"is nested deeper than {MAX_DEPTH} levels"
        if isinstance(item, dict):
            rest += [(inner, depth + 1) for pair in item.items() for inner in pair]
        elif isinstance(item, list):
            rest += [(inner, depth + 1) for inner in item]
        elif isinstance(item, float) and not math.isfinite(item):
            return "holds a number that is too large"
        elif isinstance(item, str) and item != replace_surrogates(item):
            return "holds half of a surrogate pair, which is no character"
    return ""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("duplicate keys")
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def refuse(file: str, message: str, path: str = "", hint: str = "", code: Code = "evidence") -> NoReturn:
    """Raise SuiteError with one problem of a file."""
    raise SuiteError([Problem(code=code, file=file, path=path, message=message, hint=hint)])


def problem_at(file: str, data: bytes, path: Sequence[str | int], message: str, hint: str = "") -> Problem:
    """Return a problem at a place of a JSON file, with line and column where these can be found."""
    try:
        document = Document(file, load(data))
    except JsonError:
        return Problem(code="evidence", file=file, path=".".join(map(str, path)), message=message, hint=hint)
    return document.problem("evidence", at(document, *path), tuple(path), message, hint)
