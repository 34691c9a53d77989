"""Checking nodes of JSON against parts: every mistake once, at its place, and what to do about it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import msgspec

from waza.kit import yaml
from waza.kit.decode import Document, KeyPath, fields_of, nearest
from waza.m365.document.objects import DocumentObject
from waza.problem import Code, Problem, Severity

Rule: TypeAlias = Callable[[Any, yaml.Node, KeyPath], bool]
"""Checks a value of a type, given without its mark, at a path; tells whether it is right."""

SIMILAR = 0.75  # how alike names are that people take for one another, from 0 to 1
_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


class Checker:
    """Checks the nodes of one document and collects Problems. `rules` are those that parts mark by name.

    Nothing is converted: a text is a text, null is none, and 2.0 is a whole number. Every method tells
    whether the value is right.
    """

    def __init__(self, document: Document, rules: Mapping[str, Rule]) -> None:
        self.document, self.rules = document, rules
        self.problems: list[Problem] = []

    def say(
        self,
        node: yaml.Node,
        path: KeyPath,
        message: str,
        hint: str = "",
        severity: Severity = "error",
        *,
        code: Code = "invalid-value",
    ) -> bool:
        """Note a mistake at a node."""
        self.problems.append(self.document.problem(code, node, path, message, hint, severity))
        return severity == "warning"

    def value(self, wanted: Any, node: yaml.Node, path: KeyPath, meta: msgspec.Meta | None = None) -> bool:
        """Check a value of any type that parts have."""
        origin, args = get_origin(wanted), get_args(wanted)
        if origin is Annotated:
            return self._annotated(args[0], args[1], node, path)
        if origin in (Union, UnionType):
            if NoneType in args and isinstance(node, yaml.Scalar) and node.value is None:
                return True
            return self.value(args[0], node, path, meta)  # the others stand for null and for no key
        if origin is Literal:
            return self._choice(args, node, path)
        if origin is list:
            return self._list(args[0], node, path, meta)
        if origin is dict:
            return self._mapping(args[1], node, path)
        if wanted is Any:
            return True
        return (
            self.part(wanted, node, path)
            if issubclass(wanted, DocumentObject)
            else self._scalar(wanted, node, path, meta)
        )

    def part(self, wanted: type[DocumentObject], node: yaml.Node, path: KeyPath) -> bool:
        """Check an object: its keys, and what they hold."""
        if not isinstance(node, yaml.Mapping):
            return self.mismatch(node, path, "an object")
        fields = {field.key: field for field in fields_of(wanted)}
        strange = [key for key in node.entries if key not in fields]
        missing = [key for key, field in fields.items() if field.required and key not in node.entries]
        right = not missing
        for key in missing:
            meant = nearest(key, strange, SIMILAR)
            if not meant or wanted.more:
                hint = f"{meant!r} is probably meant to be it" if meant else ""
                self.say(node, path, f"{key!r} is missing", hint, code="missing-key")
        if strange and not wanted.more:
            right = False
            for key in strange:
                self.unknown(wanted, node, key, path)
        for key, child in node.entries.items():
            if key in fields:
                right &= self.value(fields[key].type, child, (*path, key))
        return right

    def unknown(self, wanted: type[DocumentObject], node: yaml.Mapping, key: str, path: KeyPath) -> bool:
        """Note a key that a part does not have."""
        known = sorted(field.key for field in fields_of(wanted))
        meant = nearest(key, known, SIMILAR)
        other = f"did you mean {meant!r}?" if meant else wanted.otherwise or f"known: {', '.join(known)}"
        hint = wanted.advice.get(key, other)
        return self.say(node.keys[key], (*path, key), f"unknown key {key!r}", hint, code="unknown-key")

    def mismatch(self, node: yaml.Node, path: KeyPath, wanted: str, hint: str = "") -> bool:
        """Note a value of another type than the wanted one."""
        if isinstance(node, yaml.Scalar) and node.value is None and path and isinstance(path[-1], str):
            hint = hint or "leave the key out"
        return self.say(node, path, f"is {found(node)}, but must be {wanted}", hint, code="wrong-type")

    def _annotated(self, inner: Any, meta: msgspec.Meta, node: yaml.Node, path: KeyPath) -> bool:
        name = (meta.extra or {}).get("rule")
        return self.rules[name](inner, node, path) if name else self.value(inner, node, path, meta)

    def _choice(self, choices: tuple[Any, ...], node: yaml.Node, path: KeyPath) -> bool:
        if isinstance(node, yaml.Scalar) and node.value in choices:
            return True
        return self.mismatch(
            node, path, f"one of: {', '.join(choices)}" if len(choices) > 1 else f"{choices[0]!r}"
        )

    def _list(self, wanted: Any, node: yaml.Node, path: KeyPath, meta: msgspec.Meta | None) -> bool:
        if not isinstance(node, yaml.Sequence):
            return self.mismatch(node, path, "a list")
        size, least, most = len(node.items), meta and meta.min_length, meta and meta.max_length
        if least is not None and size < least:
            return self.say(node, path, "is empty, but must have at least one entry")
        if most is not None and size > most:
            return self.say(node, path, f"has {size} entries, but may have at most {most}")
        return every(self.value(wanted, item, (*path, i)) for i, item in enumerate(node.items))

    def _mapping(self, wanted: Any, node: yaml.Node, path: KeyPath) -> bool:
        if not isinstance(node, yaml.Mapping):
            return self.mismatch(node, path, "an object")
        return every(self.value(wanted, child, (*path, key)) for key, child in node.entries.items())

    def _scalar(self, wanted: type, node: yaml.Node, path: KeyPath, meta: msgspec.Meta | None) -> bool:
        value: Any = node.value if isinstance(node, yaml.Scalar) else None
        if not _is(wanted, value):
            return self.mismatch(node, path, _NAMES[wanted], _quotes(wanted, value))
        if meta is None:
            return True
        if meta.min_length and not value:
            return self.say(node, path, "must not be empty")
        for limit, words, broken in ((meta.ge, "at least", operator.lt), (meta.le, "at most", operator.gt)):
            if limit is not None and broken(value, limit):
                return self.say(node, path, f"is {found(node, kind=False)}, but must be {words} {limit:g}")
        return True


def every(checks: Iterable[bool]) -> bool:
    """Go through all checks, those behind a failed one as well; tell whether all are right."""
    return all(list(checks))


def found(node: yaml.Node, *, kind: bool = True) -> str:
    """Return what stands at a node, in words; without `kind` a number as it stands."""
    if isinstance(node, yaml.Mapping):
        return "an object"
    if isinstance(node, yaml.Sequence):
        return "a list"
    text = node.text if len(node.text) <= 60 else node.text[:57] + "..."
    if isinstance(node.value, str):
        return f"the text {text!r}"
    return f"the number {text}" if kind and _is(float, node.value) else text


def _is(wanted: type, value: object) -> bool:
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if wanted is int:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and not isinstance(value, bool)
    return isinstance(value, wanted)


def _quotes(wanted: type, value: object) -> str:
    """Return the advice for a value that has quotes too many or lacks them."""
    if isinstance(value, str) and wanted is not str:
        return "write it without quotes"
    return "put it in quotes" if wanted is str and value is not None else ""
