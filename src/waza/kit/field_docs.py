"""The structs of a file format, and the docstrings of their fields.

The docstring of a field, or of a constant, is a string literal after `name: type = value`. Python does not keep it, so
it is read from the source.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise
from typing import Any, get_args

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


def structs_in(root: type) -> list[type]:
    """Return a struct and those that its public fields lead to, each once, in the order of the fields."""
    found: dict[type, None] = {}
    left: list[Any] = [root]
    while left:
        kind = left.pop()
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
            left += reversed(get_args(kind))
        elif kind not in found:
            found[kind] = None
            left += [field.type for field in reversed(fields_of(kind))]
    return list(found)


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
