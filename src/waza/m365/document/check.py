"""Checking nodes of JSON against structs: every mistake once, with its place and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import msgspec

from waza.kit import yaml
from waza.kit.decode import TYPE_NAMES, Document, KeyPath, broken_limit, excerpt, fields_of
from waza.kit.names import nearest_name
from waza.m365.document.objects import DocumentObject
from waza.problem import Code, Problem, Severity

Rule: TypeAlias = Callable[[Any, yaml.Node, KeyPath], bool]
"""Checks the value at a path against a type, and returns whether it is valid."""

SIMILAR = 0.75  # how alike two names must be to be taken for one another, from 0 to 1


class Checker:
    """Checks the nodes of one document and collects Problems. `rules` are those that parts mark by name.

    Nothing is converted: only a text is a text, null is not a text, and 2.0 is a whole number. Every method
    returns whether the value is valid.
    """

    def __init__(self, document: Document, rules: Mapping[str, Rule]) -> None:
        self.document, self.rules = document, rules
        self.problems: list[Problem] = []

    def report(
        self,
        node: yaml.Node,
        path: KeyPath,
        message: str,
        hint: str = "",
        severity: Severity = "error",
        *,
        code: Code = "invalid-value",
    ) -> bool:
        """Add a problem at a node; return whether the node is valid all the same."""
        self.problems.append(self.document.problem(code, node, path, message, hint, severity))
        return severity == "warning"

    def check_value(
        self, wanted: Any, node: yaml.Node, path: KeyPath, meta: msgspec.Meta | None = None
    ) -> bool:
        """Check a value of any type that fields have."""
        origin, args = get_origin(wanted), get_args(wanted)
        if origin is Annotated:
            return self._annotated(args[0], args[1], node, path)
        if origin in (Union, UnionType):
            if NoneType in args and isinstance(node, yaml.Scalar) and node.value is None:
                return True
            return self.check_value(
                args[0], node, path, meta
            )  # the other types are for null and for a missing key
        if origin is Literal:
            return self._choice(args, node, path)
        if origin is list:
            return self._list(args[0], node, path, meta)
        if origin is dict:
            return self._mapping(args[1], node, path)
        if wanted is Any:
            return True
        return (
            self.check_object(wanted, node, path)
            if issubclass(wanted, DocumentObject)
            else self._scalar(wanted, node, path, meta)
        )

    def check_object(self, wanted: type[DocumentObject], node: yaml.Node, path: KeyPath) -> bool:
        """Check an object: its keys and their values."""
        if not isinstance(node, yaml.Mapping):
            return self.report_mismatch(node, path, "an object")
        fields = {field.key: field for field in fields_of(wanted)}
        strange = [key for key in node.entries if key not in fields]
        missing = [key for key, field in fields.items() if field.required and key not in node.entries]
        right = not missing
        for key in missing:
            meant = nearest_name(key, strange, SIMILAR)
            if not meant or wanted.more:
                hint = f"{meant!r} is probably meant" if meant else ""
                self.report(node, path, f"{key!r} is missing", hint, code="missing-key")
        if strange and not wanted.more:
            right = False
            for key in strange:
                self.report_unknown_key(wanted, node, key, path)
        for key, child in node.entries.items():
            if key in fields:
                right &= self.check_value(fields[key].type, child, (*path, key))
        return right

    def report_unknown_key(
        self, wanted: type[DocumentObject], node: yaml.Mapping, key: str, path: KeyPath
    ) -> bool:
        """Report an unknown key of an object."""
        known = sorted(field.key for field in fields_of(wanted))
        meant = nearest_name(key, known, SIMILAR)
        other = f"did you mean {meant!r}?" if meant else wanted.otherwise or f"known: {', '.join(known)}"
        hint = wanted.advice.get(key, other)
        return self.report(node.keys[key], (*path, key), f"unknown key {key!r}", hint, code="unknown-key")

    def report_mismatch(self, node: yaml.Node, path: KeyPath, wanted: str, hint: str = "") -> bool:
        """Report a value of another type than the wanted one."""
        if isinstance(node, yaml.Scalar) and node.value is None and path and isinstance(path[-1], str):
            hint = hint or "leave the key out"
        return self.report(
            node, path, f"is {describe_node(node)}, but must be {wanted}", hint, code="wrong-type"
        )

    def report_choice(self, node: yaml.Node, path: KeyPath, choices: Sequence[str]) -> bool:
        """Report a value that is not one of the choices."""
        wanted = f"one of: {', '.join(choices)}" if len(choices) > 1 else f"{choices[0]!r}"
        if not (isinstance(node, yaml.Scalar) and isinstance(node.value, str)):
            return self.report_mismatch(node, path, wanted)
        return self.report(node, path, f"is {describe_node(node)}, but must be {wanted}")

    def _annotated(self, inner: Any, meta: msgspec.Meta, node: yaml.Node, path: KeyPath) -> bool:
        name = (meta.extra or {}).get("rule")
        return self.rules[name](inner, node, path) if name else self.check_value(inner, node, path, meta)

    def _choice(self, choices: tuple[Any, ...], node: yaml.Node, path: KeyPath) -> bool:
        if isinstance(node, yaml.Scalar) and node.value in choices:
            return True
        return self.report_choice(node, path, choices)

    def _list(self, wanted: Any, node: yaml.Node, path: KeyPath, meta: msgspec.Meta | None) -> bool:
        if not isinstance(node, yaml.Sequence):
            return self.report_mismatch(node, path, "a list")
        size, least, most = len(node.items), meta and meta.min_length, meta and meta.max_length
        if least is not None and size < least:
            return self.report(node, path, "is empty, but must have at least one entry")
        if most is not None and size > most:
            return self.report(node, path, f"has {size} entries, but may have at most {most}")
        return check_all(self.check_value(wanted, item, (*path, i)) for i, item in enumerate(node.items))

    def _mapping(self, wanted: Any, node: yaml.Node, path: KeyPath) -> bool:
        if not isinstance(node, yaml.Mapping):
            return self.report_mismatch(node, path, "an object")
        return check_all(self.check_value(wanted, child, (*path, key)) for key, child in node.entries.items())

    def _scalar(self, wanted: type, node: yaml.Node, path: KeyPath, meta: msgspec.Meta | None) -> bool:
        value: Any = node.value if isinstance(node, yaml.Scalar) else None
        if not _is_type(wanted, value):
            return self.report_mismatch(node, path, TYPE_NAMES[wanted], _quoting_hint(wanted, value))
        if meta is None:
            return True
        if meta.min_length and not value:
            return self.report(node, path, "must not be empty")
        limit = "" if isinstance(value, str) else broken_limit(value, meta)
        if limit:
            return self.report(node, path, f"is {describe_node(node, kind=False)}, but must be {limit}")
        return True


def check_all(checks: Iterable[bool]) -> bool:
    """Run all checks, even after one failed, and return whether all passed."""
    return all(list(checks))


def describe_node(node: yaml.Node, *, kind: bool = True) -> str:
    """Describe the value of a node; without `kind`, a number is as written."""
    if isinstance(node, yaml.Mapping):
        return "an object"
    if isinstance(node, yaml.Sequence):
        return "a list"
    text = excerpt(node)
    if isinstance(node.value, str):
        return f"the text {text!r}"
    return f"the number {text}" if kind and _is_type(float, node.value) else text


def _is_type(wanted: type, value: object) -> bool:
    if wanted is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if wanted is int:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and not isinstance(value, bool)
    return isinstance(value, wanted)


def _quoting_hint(wanted: type, value: object) -> str:
    """Return the hint for a value with missing or unwanted quotes."""
    if isinstance(value, str) and wanted is not str:
        return "write it without quotes"
    return "put it in quotes" if wanted is str and value is not None else ""
