r"""Reading YAML 1.2: a tree of nodes that know their line, column and source text.

PyYAML's own loader follows YAML 1.1 (`on` is a boolean, `012` is 10, `12:30:00` is 45000), merges
duplicate keys in silence and forgets the places of values. So this reader takes the events of libyaml
and builds its own tree: scalars by the core schema of YAML 1.2, duplicate keys are mistakes, and
every node keeps its place. It is the only module that imports yaml.

JSON is YAML, but for one thing: JSON writes a character beyond U+FFFF as two escapes (`\ud83d\ude00`),
which libyaml refuses. `Surrogates` joins them where libyaml stops at one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias, cast

import msgspec
import yaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from waza.kit._scalars import MAX_DIGITS, TOO_LONG, Plain, resolve
from waza.kit._surrogates import Surrogates
from waza.problem import Code, Problem

MAX_NODES = 1_000_000  # after aliases are followed; an alias bomb grows past any number
MAX_DEPTH = 100  # of nesting; people's files need about ten


_CORE_TAGS = "tag:yaml.org,2002:"
_MERGE = "<<"

_BAD_ESCAPE = "Unicode character escape"
# What libyaml says (a part of it), and what people read. The first that fits is used.
_WORDINGS = (
    ("find expected ':'", "there is no ': ' behind this key"),
    (
        "mapping values are not",
        "a ': ' is not allowed here; put the value in quotes, or correct the indentation",
    ),
    ("unexpected end of stream", "the quote that opens here is never closed"),
    ("unexpected document indicator", "the quote that opens here is never closed"),
    ("',' or ']'", "a list in [...] wants a ',' between its items and a ']' at its end"),
    ("',' or '}'", "a mapping in {...} wants a ',' between its keys and a '}' at its end"),
    ("node content", "a value is missing, or a bracket is not closed"),
    (
        "'-' indicator",
        "this is no item of the list above; start it with '- ', or correct the indentation",
    ),
    ("block sequence entries", "a list cannot start here; start it on a line of its own, below its key"),
    ("expected key", "this does not fit the keys above; correct the indentation, or the quotes"),
    ("unknown escape character", "write a backslash in double quotes as two, or use single quotes"),
    (_BAD_ESCAPE, "this escape does not stand for a character; write the character itself"),
    ("alphabetic or numeric character", "a text that starts with '*' or '&' must be put in quotes"),
    ("cannot start any token", "a text that starts with this character must be put in quotes"),
    (
        "<document start>",
        "text after the end of the document; correct the brackets or the indentation",
    ),
    ("maximum nesting depth", f"nested deeper than {MAX_DEPTH} levels"),
)
_PLACED_AT_START = ("find expected ':'", "unexpected document indicator", "alphabetic or numeric")
_TAB = "a tab cannot indent in YAML; indent with spaces"


class YamlError(ValueError):
    """A file that cannot be read as YAML: what is wrong, and where (`line` and `column` count from 1)."""

    def __init__(self, message: str, line: int = 0, column: int = 0, code: Code = "syntax") -> None:
        super().__init__(message)
        self.message, self.line, self.column, self.code = message, line, column, code

    def in_file(self, file: str, hint: str = "") -> Problem:
        """Return the error as a Problem of the file."""
        return Problem(
            code=self.code, file=file, line=self.line, column=self.column, message=self.message, hint=hint
        )


class Scalar(msgspec.Struct, gc=False):
    """One value, with `text` as it is in the source (`1.10` stays `1.10`). `quoted`: or with a tag."""

    value: Plain
    text: str
    line: int
    column: int
    quoted: bool = False


class Sequence(msgspec.Struct):
    """A list of nodes."""

    items: list[Node]
    line: int
    column: int


class Mapping(msgspec.Struct):
    """A mapping. `entries` holds the values, `keys` the node of each key, in the order of the file."""

    entries: dict[str, Node]
    keys: dict[str, Scalar]
    line: int
    column: int


Node: TypeAlias = Scalar | Sequence | Mapping


def load(data: bytes, first_line: int = 1) -> Node:
    """Read the one document of `data` (UTF-8, with or without BOM) into nodes.

    `first_line` is the number of the first line in its file (frontmatter starts later than 1).
    An empty document is a Scalar of None, and an empty second document is ignored. Raises YamlError for
    anything that is not YAML 1.2, and for a second document.
    """
    try:
        source = Surrogates(_decode(data))
    except YamlError as error:
        raise YamlError(error.message, error.line + first_line - 1, error.column, error.code) from None
    while True:
        try:
            return _Builder(first_line - 1, source).build(yaml.parse(source.text, Loader=yaml.CLoader))
        except yaml.MarkedYAMLError as error:
            if (
                _BAD_ESCAPE in str(error.problem)
                and error.context_mark
                and source.join(error.context_mark.index)
            ):
                continue
            mark = _mistake_mark(error, source.text)
            message = _wording(error, source.text, mark)
            if mark is None:
                raise YamlError(message) from None
            raise YamlError(
                message, mark.line + first_line, source.column(mark.index, mark.column) + 1
            ) from None
        except yaml.YAMLError as error:
            raise YamlError(str(error)) from None


def to_plain(node: Node) -> object:
    """Return the node as plain dicts, lists and scalars."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [to_plain(item) for item in node.items]
    return {key: to_plain(value) for key, value in node.entries.items()}


def dump(value: object) -> str:
    """Return plain data as YAML in block style, keys in their order; texts of several lines become blocks.

    `load` gives the same data again, but for halves of surrogate pairs, which become U+FFFD.
    """
    return yaml.dump(
        value, Dumper=_Dumper, allow_unicode=True, default_flow_style=False, sort_keys=False, width=math.inf
    )


class _Dumper(yaml.SafeDumper):
    """Writes what YAML 1.2 and YAML 1.1 read alike."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002  # a method of PyYAML's
        """Write equal parts out, without anchors."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002  # as above
        """Indent lists below their keys."""
        super().increase_indent(flow, indentless=False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    text = _LONE_SURROGATE.sub("\ufffd", text)
    style = "|" if "\n" in text and text.strip() else None
    if not isinstance(resolve(text), str) or _OTHER_LINE_END.search(text):
        style = '"'  # a few of these are texts in YAML 1.1; line ends of Unicode need escapes
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_OTHER_LINE_END = re.compile("[\x85\u2028\u2029]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_Dumper.add_representer(str, _represent_text)


def _decode(data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # The decoder counts from behind a byte order mark.
        start = error.start + (len(data) - len(error.object))
        line = data.count(b"\n", 0, start) + 1
        column = start - (data.rfind(b"\n", 0, start) + 1) + 1
        raise YamlError(
            "the file is not UTF-8 text; save it as UTF-8", line, column, "unreadable-file"
        ) from None
    bad = _FORBIDDEN.search(text)
    if bad:
        line = text.count("\n", 0, bad.start()) + 1
        column = bad.start() - (text.rfind("\n", 0, bad.start()) + 1) + 1
        code = ord(bad.group())
        raise YamlError(
            f"the control character U+{code:04X} is not allowed in YAML; remove it, or write it as an escape in double quotes",
            line,
            column,
        )
    return text


_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ufffe\uffff]")


def _mistake_mark(error: yaml.MarkedYAMLError, text: str) -> yaml.Mark | None:
    """Return where a mistake is: where something begins that has no end, else where the parser stopped."""
    mark, start = error.problem_mark, error.context_mark
    if mark is None or start is None:
        return mark or start
    at_end = not text[mark.index :].strip()
    return start if at_end or any(part in str(error.problem) for part in _PLACED_AT_START) else mark


def _wording(error: yaml.MarkedYAMLError, text: str, mark: yaml.Mark | None) -> str:
    problem = str(error.problem or error.context or "this is not YAML")
    if "tab" in problem or (mark is not None and text[mark.index : mark.index + 1] == "\t"):
        return _TAB
    reason = next((words for part, words in _WORDINGS if part in problem), problem)
    return f"not valid YAML: {reason}"


class _Builder:
    """Builds nodes from events, without recursion."""

    def __init__(self, offset: int, source: Surrogates) -> None:
        self.offset, self.source = offset + 1, source
        self.anchors: dict[str, _Anchored] = {}
        self.nodes = 0

    def build(self, events: Iterator[Event]) -> Node:
        root: Node = Scalar(None, "", self.offset, 1)
        stack: list[_Frame] = []
        for event in events:
            if isinstance(event, ScalarEvent):
                node: Node = self._scalar(event)
            elif isinstance(event, AliasEvent):
                node = self._alias(event, stack)
            elif isinstance(event, MappingStartEvent | SequenceStartEvent):
                stack.append(self._open(event, len(stack)))
                continue
            elif isinstance(event, MappingEndEvent | SequenceEndEvent):
                node = self._close(stack)
            elif isinstance(event, DocumentEndEvent):
                self._end(events)
                break
            else:
                continue
            if stack:
                stack[-1].add(node)
            else:
                root = node
        return root

    def _end(self, events: Iterator[Event]) -> None:
        """Refuse a second document, unless it is empty and the last. Raises if something else follows."""
        following = next(events)
        if isinstance(following, StreamEndEvent):
            return
        content = next(events)
        empty = isinstance(content, ScalarEvent) and not content.value and content.implicit[0]
        if not (
            empty and isinstance(next(events), DocumentEndEvent) and isinstance(next(events), StreamEndEvent)
        ):
            message = "a second document starts here; a file holds one, so move it into a file of its own"
            raise self._error(message, following)

    def _count(self, more: int, event: Event) -> None:
        self.nodes += more
        if self.nodes > MAX_NODES:
            raise self._error(f"aliases make this file larger than {MAX_NODES:,} values", event)

    def _error(self, message: str, event: Event) -> YamlError:
        return YamlError(message, *self._place(event))

    def _place(self, event: Event) -> tuple[int, int]:
        mark = cast("yaml.Mark", event.start_mark)  # the parser always sets it; its type allows None
        return mark.line + self.offset, self.source.column(mark.index, mark.column) + 1

    def _scalar(self, event: ScalarEvent) -> Scalar:
        self._count(1, event)
        value = _value(event)
        if value is TOO_LONG:
            raise self._error(
                f"a number of more than {MAX_DIGITS} digits; put it in quotes if it is a text", event
            )
        kind = _Merge if event.value == _MERGE and event.implicit[0] else Scalar
        quoted = bool(event.tag) or not event.implicit[0]
        node = kind(value, event.value, *self._place(event), quoted)
        if event.anchor:
            self.anchors[event.anchor] = _Anchored(node, 1, 0)
        return node

    def _alias(self, event: AliasEvent, stack: list[_Frame]) -> Node:
        known = self.anchors.get(event.anchor or "")
        if known is None:
            raise self._error(f"the alias *{event.anchor} has no anchor &{event.anchor} before it", event)
        self._count(known.size, event)
        if len(stack) + known.height > MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} levels", event)
        if stack:
            stack[-1].rise(known.height)
        return known.node

    def _open(self, event: MappingStartEvent | SequenceStartEvent, depth: int) -> _Frame:
        self._count(1, event)
        if depth >= MAX_DEPTH:
            raise self._error(f"nested deeper than {MAX_DEPTH} levels", event)
        line, column = self._place(event)
        if isinstance(event, MappingStartEvent):
            return _Frame(Mapping({}, {}, line, column), event.anchor, self.nodes - 1)
        return _Frame(Sequence([], line, column), event.anchor, self.nodes - 1)

    def _close(self, stack: list[_Frame]) -> Node:
        frame = stack.pop()
        if stack:
            stack[-1].rise(frame.height)
        if frame.anchor:
            size = self.nodes - frame.nodes_before
            self.anchors[frame.anchor] = _Anchored(frame.node, size, frame.height)
        return frame.node


class _Merge(Scalar, gc=False):
    """`<<` without quotes: as a key it merges mappings into its own."""


class _Anchored(NamedTuple):
    """A node with an anchor: how many nodes it holds, and how many levels of collections."""

    node: Node
    size: int
    height: int


class _Frame:
    """A collection that is still open. `height` counts the levels of collections, itself included."""

    def __init__(self, node: Mapping | Sequence, anchor: str | None, nodes_before: int) -> None:
        self.node, self.anchor, self.nodes_before = node, anchor, nodes_before
        self.key: Scalar | None = None
        self.merged: set[str] = set()
        self.height = 1

    def rise(self, height: int) -> None:
        """Note a collection of `height` levels inside."""
        self.height = max(self.height, height + 1)

    def add(self, node: Node) -> None:
        if isinstance(self.node, Sequence):
            self.node.items.append(node)
        elif self.key is None:
            if not isinstance(node, Scalar):
                message = "a key must be a plain text; put a value that starts with '{' or '[' in quotes"
                raise YamlError(message, node.line, node.column)
            self.key = node
        else:
            self._entry(self.node, self.key, node)
            self.key = None

    def _entry(self, mapping: Mapping, key: Scalar, value: Node) -> None:
        name = key.text
        if isinstance(key, _Merge):
            self._merge(mapping, value)
            return
        if name in mapping.entries and name not in self.merged:
            first = mapping.keys[name].line
            raise YamlError(
                f"duplicate key {name!r}, on lines {first} and {key.line}; keep one of them",
                key.line,
                key.column,
                "duplicate-key",
            )
        self.merged.discard(name)
        mapping.entries[name] = value
        mapping.keys[name] = key

    def _merge(self, mapping: Mapping, value: Node) -> None:
        for source in value.items if isinstance(value, Sequence) else [value]:
            if not isinstance(source, Mapping):
                raise YamlError("'<<' takes a mapping or a list of mappings", value.line, value.column)
            for name, node in source.entries.items():
                if name not in mapping.entries:
                    mapping.entries[name] = node
                    mapping.keys[name] = source.keys[name]
                    self.merged.add(name)


def _value(event: ScalarEvent) -> Plain:
    """Return what a scalar means: by its tag, or by the core schema where it is plain; else its text."""
    tag, text = event.tag or "", event.value
    if not tag:
        return resolve(text) if event.implicit[0] else text
    if not tag.startswith(_CORE_TAGS) or tag == f"{_CORE_TAGS}str":
        return text
    value = resolve(text)
    return float(value) if tag == f"{_CORE_TAGS}float" and type(value) is int else value
