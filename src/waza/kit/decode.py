"""Turning a tree of YAML nodes into a typed value, and every mistake in it into a Problem.

The wanted shape is a msgspec Struct: its fields are the keys people may write, their types and
`msgspec.Meta` limits are the rules. All mistakes of a document are collected; each is placed at the value
or key that is wrong. An unknown key is reported with the nearest known one.
"""

from __future__ import annotations

import math
import operator
import re
import sys
import types
from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec

from waza.kit import yaml
from waza.kit._scalars import as_bool, as_number
from waza.kit.names import did_you_mean, nearest_name
from waza.problem import Code, Problem, Severity

T = TypeVar("T")
KeyPath = tuple[str | int, ...]
_BAD: Any = object()  # marks a value that could not be read; its Problem is on the list


class Document(msgspec.Struct, frozen=True):
    """One file in people's hands: the name they know it by, and its nodes.

    `error_paths` are those of the mistakes that decoding found, so that no consequences of them are reported.
    `placeholder_paths` are those of values and keys that are wrong or missing and were replaced by defaults.
    """

    file: str
    root: yaml.Node
    error_paths: tuple[str, ...] = ()
    placeholder_paths: frozenset[str] = frozenset()

    def has_error(self, *path: str | int) -> bool:
        """Return whether decoding found a mistake at a path or below it."""
        place = format_path(path)
        return any(
            fault == place or fault.startswith((f"{place}.", f"{place}[")) for fault in self.error_paths
        )

    def is_placeholder(self, *path: str | int) -> bool:
        """Return whether the value at a path, or one above it, is a default in place of a wrong or missing one."""
        return any(format_path(path[:end]) in self.placeholder_paths for end in range(1, len(path) + 1))

    def problem(
        self,
        code: Code,
        node: yaml.Node,
        path: KeyPath,
        message: str,
        hint: str = "",
        severity: Severity = "error",
    ) -> Problem:
        """Return a Problem at the place of `node`."""
        return Problem(
            code=code,
            file=self.file,
            line=node.line,
            column=node.column,
            path=format_path(path),
            message=message,
            hint=hint,
            severity=severity,
        )


class UnknownKeyAdvice(msgspec.Struct, frozen=True):
    """How an unknown key is reported."""

    severity: Severity
    hint: str


UnknownKeyHandler = Callable[[type, str, KeyPath], UnknownKeyAdvice]


def format_path(path: KeyPath) -> str:
    """Return `("graders", 0, "config")` as `graders[0].config`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def reject_unknown_key(struct: type, key: str, _path: KeyPath) -> UnknownKeyAdvice:
    """Treat every unknown key as an error."""
    return UnknownKeyAdvice("error", did_you_mean(key, (field.key for field in fields_of(struct))))


class Field(msgspec.Struct, frozen=True):
    """One key of a struct: the key in the file, the attribute, its type, and whether it may be left out."""

    key: str
    name: str
    type: Any
    required: bool


@cache
def fields_of(struct: type) -> tuple[Field, ...]:
    """Return the keys of a msgspec Struct."""
    hints = get_type_hints(struct, include_extras=True)
    return tuple(
        Field(item.encode_name, item.name, hints[item.name], item.required)
        for item in msgspec.structs.fields(struct)
        if not item.name.startswith("_")
    )


def find_unreadable_field(struct: type) -> str:
    """Return the first key of a struct, or of one in it, whose type Decoder cannot read; empty: it can read all."""
    return next((field.key for field in fields_of(struct) if not _is_readable(field.type, (struct,))), "")


def _is_readable(wanted: Any, above: tuple[type, ...]) -> bool:
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return _is_readable(args[0], above)
    if origin is Literal or wanted in (Any, object, types.NoneType):
        return True
    if origin in (Union, types.UnionType, list):
        return all(_is_readable(part, above) for part in args)
    if origin is tuple:
        return all(part is Ellipsis or _is_readable(part, above) for part in args)
    if origin is dict:
        return args[0] is str and _is_readable(args[1], above)
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        fields = () if wanted in above else fields_of(wanted)
        return all(_is_readable(field.type, (*above, wanted)) for field in fields)
    return wanted in TYPE_NAMES


class Decoder:
    """Reads typed values out of one Document and collects its Problems."""

    def __init__(self, document: Document, unknown: UnknownKeyHandler = reject_unknown_key) -> None:
        self.document, self.unknown = document, unknown
        self.problems: list[Problem] = []
        self._placeholders: set[str] = set()
        self._partial = False

    def read(self, wanted: type[T], node: yaml.Node | None = None, path: KeyPath = ()) -> T | None:
        """Return `node` (default: the root) as `wanted`, or None after a mistake; see `problems`."""
        before = len(self.problems)
        value = self._value(wanted, self.document.root if node is None else node, path)
        if value is _BAD or any(p.severity == "error" for p in self.problems[before:]):
            return None
        return value  # type: ignore[no-any-return]  # _value answers by the type it was handed

    def read_partial(
        self, wanted: type[T], node: yaml.Node | None = None, path: KeyPath = ()
    ) -> tuple[T | None, Document]:
        """Return `node` (default: the root) as `wanted`, and the document with its faults noted.

        Values with mistakes have their defaults, or empty values where they have none, so that lists keep their
        places and the rest can be checked. None: nothing could be read.
        """
        self._partial = True
        value = self._value(wanted, self.document.root if node is None else node, path)
        self._partial = False
        faults = tuple(p.path for p in self.problems if p.severity == "error")
        document = msgspec.structs.replace(
            self.document, error_paths=faults, placeholder_paths=frozenset(self._placeholders)
        )
        return None if value is _BAD else value, document

    def add_error(self, code: Code, node: yaml.Node, path: KeyPath, message: str, hint: str = "") -> Any:
        """Add an error at `node` to the problems."""
        self._placeholders.add(format_path(path))
        self.problems.append(self.document.problem(code, node, path, message, hint))
        return _BAD

    def _value(self, wanted: Any, node: yaml.Node, path: KeyPath, meta: msgspec.Meta | None = None) -> Any:
        origin = get_origin(wanted)
        if origin is Annotated:
            inner, *extras = get_args(wanted)
            found = next((extra for extra in extras if isinstance(extra, msgspec.Meta)), meta)
            return self._value(inner, node, path, found)
        if wanted is Any or wanted is object:
            return self._anything(node, path)
        if origin is Literal:
            return self._choice(get_args(wanted), node, path)
        if origin in (Union, types.UnionType):
            return self._union(get_args(wanted), node, path, meta)
        if origin in (list, tuple):
            return self._list(origin, get_args(wanted), node, path, meta)
        if origin is dict:
            return self._dict(get_args(wanted)[1], node, path)
        if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
            return self._struct(wanted, node, path)
        return self._scalar(wanted, node, path, meta)

    def _struct(self, wanted: type[msgspec.Struct], node: yaml.Node, path: KeyPath) -> Any:
        fields = fields_of(wanted)
        if not isinstance(node, yaml.Mapping):
            some = ", ".join(f"{field.key}:" for field in fields[:3])
            message = f"must be a mapping of keys, not {_found(node)}"
            return self.add_error("wrong-type", node, path, message, f"write keys, such as {some}")
        known = {field.key: field for field in fields}
        values: dict[str, Any] = {}
        for key, child in node.entries.items():
            field = known.get(key)
            if field is None:
                self._unknown_key(wanted, node.keys[key], (*path, key))
            elif not (isinstance(child, yaml.Scalar) and child.value is None) or _takes_none(field.type):
                values[field.name] = self._value(field.type, child, (*path, key))
            # else: a key without a value is a key left out
        missing = [field for field in fields if field.required and field.name not in values]
        for field in missing:
            meant = nearest_name(field.key, node.entries.keys() - known.keys())
            hint = f"{meant!r} is probably meant" if meant else ""
            self.problems.append(
                self.document.problem("missing-key", node, path, f"{field.key!r} is missing", hint)
            )
            self._placeholders.add(format_path((*path, field.key)))
        good = {name: value for name, value in values.items() if value is not _BAD}
        if self._partial:
            return _with_empty(wanted, good)
        whole = all(field.name in good for field in fields if field.required)
        return wanted(**good) if whole else _BAD

    def _unknown_key(self, wanted: type, key: yaml.Scalar, path: KeyPath) -> None:
        advice = self.unknown(wanted, key.text, path)
        message = f"unknown key {key.text!r}" + (", ignored" if advice.severity == "warning" else "")
        self.problems.append(
            self.document.problem("unknown-key", key, path, message, advice.hint, advice.severity)
        )

    def _list(self, kind: type, args: tuple[Any, ...], node: yaml.Node, path: KeyPath, meta: Any) -> Any:
        if not isinstance(node, yaml.Sequence):
            return self.add_error(
                "wrong-type",
                node,
                path,
                f"must be a list, not {_found(node)}",
                "start each item with '- '",
            )
        least, most = (meta.min_length, meta.max_length) if meta else (None, None)
        if kind is tuple and args[-1] is not Ellipsis:
            least = most = len(args)
        size = len(node.items)
        for limit, words, broken in ((least, "at least", operator.lt), (most, "at most", operator.gt)):
            if limit is not None and broken(size, limit):
                items = "1 item" if size == 1 else f"{size} items"
                return self.add_error(
                    "invalid-value", node, path, f"has {items}, but must have {words} {limit}"
                )
        values = [self._part(args[0], item, (*path, i)) for i, item in enumerate(node.items)]
        return _BAD if any(value is _BAD for value in values) else kind(values)

    def _dict(self, wanted: Any, node: yaml.Node, path: KeyPath) -> Any:
        if not isinstance(node, yaml.Mapping):
            return self.add_error("wrong-type", node, path, f"must be a mapping, not {_found(node)}")
        values = {key: self._part(wanted, child, (*path, key)) for key, child in node.entries.items()}
        return _BAD if any(value is _BAD for value in values.values()) else values

    def _part(self, wanted: Any, node: yaml.Node, path: KeyPath) -> Any:
        """Return an entry of a list or mapping; in a partial read, an empty value in the place of a bad one."""
        value = self._value(wanted, node, path)
        return _empty(wanted) if value is _BAD and self._partial else value

    def _choice(self, choices: tuple[Any, ...], node: yaml.Node, path: KeyPath, hint: str = "") -> Any:
        if isinstance(node, yaml.Scalar):
            value = node.value if node.value in choices and type(node.value) is not bool else node.text
            if value in choices:
                return choices[choices.index(value)]  # the object itself: encoders know defaults by identity
        names = ", ".join(str(choice) for choice in choices if choice != "")
        return self.add_error("invalid-value", node, path, f"{_found(node)} is not one of: {names}", hint)

    def _union(self, options: tuple[Any, ...], node: yaml.Node, path: KeyPath, meta: Any) -> Any:
        if isinstance(node, yaml.Scalar) and node.value is None and types.NoneType in options:
            return None
        others = [option for option in options if option is not types.NoneType]
        for option in others:
            if _fits(option, node):
                return self._value(option, node, path, meta)
        if get_origin(others[0]) is Literal and len(others) > 1:
            return self._choice(get_args(others[0]), node, path, _alternative(others[1]))
        return self._value(others[0], node, path, meta)

    def _anything(self, node: yaml.Node, path: KeyPath) -> Any:
        if isinstance(node, yaml.Scalar) and isinstance(node.value, float) and not math.isfinite(node.value):
            return self.add_error("invalid-value", node, path, f"{node.text} is not a finite number")
        if isinstance(node, yaml.Sequence):
            return self._list(list, (Any,), node, path, None)
        if isinstance(node, yaml.Mapping):
            return self._dict(Any, node, path)
        return node.value

    def _scalar(self, wanted: type, node: yaml.Node, path: KeyPath, meta: Any) -> Any:
        if not isinstance(node, yaml.Scalar):
            return self.add_error(
                "wrong-type", node, path, f"must be {TYPE_NAMES[wanted]}, not {_found(node)}"
            )
        if wanted is str:
            return self._text(node, path, meta)
        value: Any = node.value
        if wanted is bool:
            value = as_bool(value)
        else:
            value = None if node.quoted and isinstance(value, str) else as_number(value)
        if wanted is int and isinstance(value, float):
            value = int(value) if value.is_integer() else None
        too_large = wanted is float and value is not None and not abs(value) <= _LARGEST
        if value is None or too_large:
            if too_large:
                return self.add_error(
                    "invalid-value", node, path, f"is {node.text[:40]}, but must be a finite number"
                )
            kind = f"{TYPE_NAMES[wanted]}{_least(meta)}"
            return self.add_error("wrong-type", node, path, f"must be {kind}, not {_found(node)}")
        return self._check_limits(value, node, path, meta)

    def _text(self, node: yaml.Scalar, path: KeyPath, meta: Any) -> Any:
        text = "" if node.value is None else node.text
        if meta is None:
            return text
        least, most = meta.min_length, meta.max_length
        if least is not None and len(text.strip()) < least:
            fault = "must not be empty" if least == 1 else f"must have at least {least} characters"
        elif most is not None and len(text) > most:
            fault = f"has {len(text)} characters, but must have at most {most}"
        elif meta.pattern is not None and not re.search(meta.pattern, text):
            fault = f"must match the pattern {meta.pattern}"
        else:
            return text
        return self.add_error("invalid-value", node, path, fault)

    def _check_limits(self, value: float, node: yaml.Scalar, path: KeyPath, meta: Any) -> Any:
        limit = broken_limit(value, meta) if meta is not None else ""
        if limit:
            message = f"is {node.text[:40]}, but must be {limit}"
            return self.add_error("invalid-value", node, path, message, (meta.extra or {}).get("hint", ""))
        return value


_LARGEST = sys.float_info.max  # an int above it is no double, and neither are infinity and NaN
TYPE_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def _least(meta: Any) -> str:
    """Return the lower limit of a count, as words behind the kind of number."""
    limit = None if meta is None else meta.ge
    return "" if limit is None or limit < 0 else f" of at least {_number(limit)}"


def broken_limit(value: float, meta: msgspec.Meta) -> str:
    """Return the limit that a number does not keep, such as `at most 5`; empty if it keeps all."""
    for limit, words, broken in (
        (meta.ge, "at least", operator.lt),
        (meta.gt, "above", operator.le),
        (meta.le, "at most", operator.gt),
        (meta.lt, "below", operator.ge),
    ):
        if limit is not None and broken(value, limit):
            return f"{words} {_number(limit)}"
    return ""


def _number(limit: float) -> str:
    return f"{int(limit):,}" if float(limit).is_integer() else f"{limit:g}"


def _found(node: yaml.Node) -> str:
    if isinstance(node, yaml.Sequence):
        return "a list"
    if isinstance(node, yaml.Mapping):
        return "a mapping"
    if node.value is None:
        return "nothing"
    kind = {bool: "the boolean ", int: "the number ", float: "the number "}.get(type(node.value), "")
    text = excerpt(node)
    return f"{kind}{text}" if kind else f"the text {text!r}"


def excerpt(node: yaml.Scalar) -> str:
    """Return the text of a value, cut to a length that fits a message."""
    return node.text if len(node.text) <= 60 else node.text[:57] + "..."


def _alternative(option: Any) -> str:
    """Return what may be written in the place of one of some words; empty if that is no mapping."""
    if not (isinstance(option, type) and issubclass(option, msgspec.Struct)):
        return ""
    return f"or write a mapping with {', '.join(f'{field.key}:' for field in fields_of(option))}"


def _with_empty(struct: type[msgspec.Struct], values: dict[str, Any]) -> msgspec.Struct:
    """Return a struct with these values, and empty ones for required fields that are not among them."""
    fields = (field for field in fields_of(struct) if field.required and field.name not in values)
    return struct(**values, **{field.name: _empty(field.type) for field in fields})


def _empty(wanted: Any) -> Any:
    """Return an empty value of a type, in place of a bad one; it need not be within the limits of the type."""
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return _empty(args[0])
    if _takes_none(wanted):
        return None
    if origin in (Literal, Union, types.UnionType):
        return args[0] if origin is Literal else _empty(args[0])
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        return _with_empty(wanted, {})
    return (origin or wanted)()


@cache
def _takes_none(wanted: Any) -> bool:
    if get_origin(wanted) is Annotated:
        return _takes_none(get_args(wanted)[0])
    return wanted is Any or (
        get_origin(wanted) in (Union, types.UnionType) and types.NoneType in get_args(wanted)
    )


def _fits(wanted: Any, node: yaml.Node) -> bool:
    """Tell whether a member of a union is of the node's kind."""
    origin = get_origin(wanted)
    if origin is Annotated:
        return _fits(get_args(wanted)[0], node)
    if isinstance(node, yaml.Sequence):
        return origin in (list, tuple)
    if isinstance(node, yaml.Mapping):
        return origin is dict or (isinstance(wanted, type) and issubclass(wanted, msgspec.Struct))
    if wanted is float:
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if origin is Literal:
        return node.text in get_args(wanted)
    return wanted is Any or (isinstance(wanted, type) and isinstance(node.value, wanted))


@cache
def struct_keys(struct: type, skip: frozenset[type] = frozenset()) -> Mapping[str, tuple[str, ...]]:
    """Return every key in a struct and its nested structs, with the dotted levels where it is known.

    A level of `""` is the struct itself; structs in `skip` are left out. Used to say where a key at the
    wrong depth belongs.
    """
    levels: dict[str, list[str]] = {}
    for field in fields_of(struct):
        levels.setdefault(field.key, []).append("")
        for nested in _structs_in(field.type):
            if nested in skip:
                continue
            for key, below in struct_keys(nested, skip | {struct}).items():
                levels.setdefault(key, []).extend(f"{field.key}.{level}".rstrip(".") for level in below)
    return {key: tuple(dict.fromkeys(places)) for key, places in levels.items()}


def _structs_in(wanted: Any) -> list[type]:
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        return [wanted]
    return [struct for arg in get_args(wanted) if arg is not Ellipsis for struct in _structs_in(arg)]
