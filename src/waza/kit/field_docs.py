"""The structs of a file format, and the docstrings of their fields.

The docstring of a field, or of a constant, is a string literal after `name: type = value`. Python does not keep it, so
it is read from the source.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any, get_args, get_origin

import msgspec

from waza.kit.decode import fields_of


def field_docs(kind: type) -> dict[str, str]:
    """Return the docstrings of the fields of a class and its bases, each on one line, by the name of the field.

    A class whose source is not there, as in an interactive session, has none.
    """
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        found |= _classes(base.__module__).get(base.__qualname__, {})
    return found


def structs_in(root: type, prefix: str = "") -> dict[type, str]:
    """Return a struct and those that its public fields lead to, the nearest first, each with the path of its keys.

    The path of the root is `prefix`; `[]` is any item of a list, `.*` any value of a map: `tasks[].runs[]`.
    """
    found = {root: prefix}
    queue = [root]
    for struct in queue:
        for field in fields_of(struct):
            for kind, path in _structs(field.type, f"{found[struct]}.{field.key}".lstrip(".")):
                if kind not in found:
                    found[kind] = path
                    queue.append(kind)
    return found


def _structs(kind: Any, path: str) -> Iterator[tuple[type, str]]:
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind, path
    step = {list: "[]", dict: ".*"}.get(get_origin(kind), "")
    for part in get_args(kind):
        yield from _structs(part, path + step)


def constant_docs(module: str) -> dict[str, str]:
    """Return the docstrings of the constants of an imported module, each on one line, by name."""
    return _docstrings(_body(module))


@cache
def _classes(module: str) -> dict[str, dict[str, str]]:
    """Return the docstrings of fields by the class at the top of a module."""
    return {node.name: _docstrings(node.body) for node in _body(module) if isinstance(node, ast.ClassDef)}


def _body(module: str) -> list[ast.stmt]:
    try:
        return ast.parse(inspect.getsource(sys.modules[module])).body
    except (OSError, TypeError):  # TypeError: a module that is built in
        return []


def _docstrings(body: list[ast.stmt]) -> dict[str, str]:
    found = {}
    for statement, following in pairwise(body):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)) | ast.Assign(targets=[ast.Name(id=name)]),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found
