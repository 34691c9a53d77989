"""What a skill or agent promises: by its description, the phrases of what it is and is not for, and its parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from waza.author.check.compliance import leading_text, list_anti_triggers, list_triggers
from waza.author.check.source import Source
from waza.kit import yaml

Kind = Literal["description", "use", "dont", "param"]

_KEYS = ("parameters", "params", "inputs")
_TITLES = frozenset(("parameter", "parameters", "input", "inputs", "argument", "arguments"))
_NAMED = re.compile(r"[`*_]*(?P<name>[^:`*_\s][^:`*]*?)[`*_]*\s*(?::| [-\u2013\u2014] )\s*(?P<text>\S.*)")


class SourceLines(msgspec.Struct, frozen=True, rename="camel"):
    """Where a promise is written; lines count from 1."""

    file: str
    start_line: int
    end_line: int


class Promise(msgspec.Struct, frozen=True):
    """What tasks should exercise: its id, its kind, and its text. Reports call it a requirement of the skill."""

    id: str
    kind: Kind
    text: str
    source: SourceLines


def list_promises(source: Source) -> list[Promise]:
    """Return what a skill or agent promises, with numbered ids such as `req-use-001`."""
    found: list[tuple[Kind, str, tuple[int, int]]] = []
    description = source.target.description
    if leading := leading_text(description):
        found.append(("description", leading, _span(source, leading)))
    found += [("use", phrase, _span(source, phrase)) for phrase in list_triggers(description)]
    found += [("dont", phrase, _span(source, phrase)) for phrase in list_anti_triggers(description)]
    found += [("param", text, (line, line)) for text, line in _list_parameters(source)]
    return list(_number(source.file, found))


def _number(file: str, found: list[tuple[Kind, str, tuple[int, int]]]) -> Iterator[Promise]:
    counts: dict[Kind, int] = {}
    for kind, text, (start, end) in dict.fromkeys(found):
        counts[kind] = counts.get(kind, 0) + 1
        yield Promise(f"req-{kind}-{counts[kind]:03}", kind, text, SourceLines(file, start, end))


def _span(source: Source, phrase: str) -> tuple[int, int]:
    """Return the lines of the frontmatter that have a phrase, however its words are wrapped there."""
    first, _ = source.place("description")
    head = source.text.split("\n")[first - 1 : source.body_line]
    text = "\n".join(head)
    words = [re.escape(word) for word in phrase.split()]
    found = re.search(r"\s+".join(words), text)
    if found is None:
        return first, first
    start = first + text.count("\n", 0, found.start())
    return start, start + found.group().count("\n")


def _list_parameters(source: Source) -> Iterator[tuple[str, int]]:
    """Yield parameters of the frontmatter, then those in sections of the text, with their lines."""
    for key in _KEYS:
        node = source.meta.entries.get(key) if source.meta else None
        if node is not None:
            yield from _list_nodes(node)
    headings = source.markdown.headings
    for number, heading in enumerate(headings):
        if heading.text.strip(" :*_").lower() not in _TITLES:
            continue
        following = (one.line for one in headings[number + 1 :] if one.level <= heading.level)
        end = next(following, source.body_line + source.body.count("\n") + 2)
        for item in source.markdown.items:
            if heading.line < item.line < end and (named := _NAMED.match(item.text)):
                yield f"{named['name']}: {named['text']}", item.line
        for row in source.markdown.rows:
            if heading.line < row.line < end and not row.header and any(row.cells):
                yield ": ".join(cell.strip("`*_ ") for cell in row.cells[:2] if cell), row.line


def _list_nodes(node: yaml.Node) -> Iterator[tuple[str, int]]:
    """Yield the parameters that a list, a map or a single text declares."""
    if isinstance(node, yaml.Mapping):
        for key, value in node.entries.items():
            text = value.text if isinstance(value, yaml.Scalar) and value.value is not None else ""
            if isinstance(value, yaml.Mapping):
                text = _text(value, "description")
            yield (f"{key}: {text}" if text else key), node.keys[key].line
    elif isinstance(node, yaml.Sequence):
        for item in node.items:
            if isinstance(item, yaml.Mapping):
                name, text = _text(item, "name"), _text(item, "description")
                yield ": ".join(filter(None, (name, text))) or next(iter(item.entries), ""), item.line
            elif isinstance(item, yaml.Scalar) and item.text.strip():
                yield item.text.strip(), item.line
    elif node.value is not None and node.text.strip():
        yield node.text.strip(), node.line


def _text(node: yaml.Mapping, key: str) -> str:
    value = node.entries.get(key)
    return value.text.strip() if isinstance(value, yaml.Scalar) and value.value is not None else ""
