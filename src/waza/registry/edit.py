"""Adding a grader to a suite's file without touching the rest of it, comments and all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from waza.errors import UsageError
from waza.kit import yaml
from waza.registry.scalar import format_scalar

_BOM = "\ufeff"
_INDENT = "  "
# Lines as YAML counts them: with these ends, which only the last one may lack.
_ENDS = ("\r\n", "\r", "\n", "\x85", "\u2028", "\u2029")
_LINE = re.compile("[^{0}]*(?:\r\n|[{0}])|[^{0}]+\\Z".format("".join(_ENDS)))
_NOTHING = re.compile(r"\[[ \t]*\]|null|~", re.IGNORECASE)


def insert_grader(text: str, entry: dict[str, Any]) -> str:
    """Return a suite's text with one more entry at the end of `graders`; all other lines stay as they are.

    The result is read again. Raises UsageError if the text is no suite, or is laid out so that the entry
    cannot be put in safely.
    """
    body = text.removeprefix(_BOM)
    root = _read(body)
    before: Any = yaml.to_plain(root) if isinstance(root, yaml.Mapping) else None
    graders = before.get("graders") or [] if before else None
    if not isinstance(root, yaml.Mapping) or not isinstance(graders, list):
        raise UsageError(
            "the suite is not a mapping of keys with a list of graders, so no grader can be added"
        )
    edited = "".join(_insert(_LINE.findall(body), root, entry))
    try:
        after = yaml.to_plain(_read(edited))
    except UsageError:
        after = None
    if after != {**before, "graders": [*graders, entry]}:
        snippet = "\n".join(_format_item(entry, _INDENT))
        message = "the suite is laid out in a way that is not edited here; add this to its graders yourself"
        raise UsageError(f"{message}:\n{snippet}")
    return text[: len(text) - len(body)] + edited


def _read(text: str) -> yaml.Node:
    try:
        return yaml.load(text.encode())
    except yaml.YamlError as error:
        raise UsageError(f"the suite cannot be read, line {error.line}: {error.message}") from error


def _insert(lines: list[str], root: yaml.Mapping, entry: dict[str, Any]) -> list[str]:
    """Return the lines with the entry in its place."""
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    key, base = root.keys.get("graders"), " " * (root.column - 1)
    node = root.entries.get("graders")
    if key is None:
        end, new = len(lines), [f"{base}graders:", *_format_item(entry, base + _INDENT)]
    elif isinstance(node, yaml.Sequence) and node.items:
        end, new = _end_of_block(lines, root, key.line), _format_item(entry, _find_indent(lines[key.line :]))
    else:
        lines = _without_value(lines, key, node)
        end, new = key.line, _format_item(entry, base + _INDENT)
    head = [*lines[:end]]
    if head and not head[-1].endswith(_ENDS):
        head[-1] += newline
    return [*head, *(line + newline for line in new), *lines[end:]]


def _without_value(lines: list[str], key: yaml.Scalar, node: yaml.Node | None) -> list[str]:
    """Return the lines without the `[]` or `null` behind the key; a comment behind it stays."""
    line = lines[key.line - 1]
    start = node.column - 1 if node is not None and node.line == key.line else len(line)
    value = _NOTHING.match(line, start)
    kept = line[:start].rstrip() + line[value.end() :] if value else line
    return [*lines[: key.line - 1], kept, *lines[key.line :]]


def _find_indent(lines: list[str]) -> str:
    first = next((line for line in lines if line.lstrip().startswith("-")), "")
    return first[: len(first) - len(first.lstrip())]


def _end_of_block(lines: list[str], root: yaml.Mapping, start: int) -> int:
    """Return the number of lines up to the end of a key's block, without blank lines and comments behind it."""
    later = sorted(key.line for key in root.keys.values() if key.line > start)
    end = later[0] - 1 if later else len(lines)
    while end > start and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return end


def _format_item(entry: dict[str, Any], indent: str) -> list[str]:
    """Return an entry as the lines of a list item."""
    first, *others = _format_keys(entry)
    return [f"{indent}- {first}", *(f"{indent}  {line}" for line in others)]


def _format_keys(mapping: dict[str, Any]) -> Iterator[str]:
    for key, value in mapping.items():
        if isinstance(value, dict) and value:
            yield f"{format_scalar(key)}:"
            yield from (f"  {line}" for line in _format_keys(value))
        else:
            yield f"{format_scalar(key)}: {format_scalar(value)}"
