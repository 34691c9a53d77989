"""Adding a grader to a suite's file without touching the rest of it, comments and all."""

from __future__ import annotations

import json
from typing import Any

from waza.errors import UsageError
from waza.kit import yaml

_INDENT = "  "


def with_grader(text: str, entry: dict[str, Any]) -> str:
    """Return a suite's text with one more entry at the end of `graders`.

    The result is read again: UsageError if the file is laid out so that the entry cannot be put in safely.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    root = yaml.load(text.encode())
    if not isinstance(root, yaml.Mapping):
        raise UsageError("the suite is no mapping of keys, so nothing can be added to it")
    before: Any = yaml.plain(root)
    edited = newline.join(_inserted(lines, root, entry)) + newline
    wanted = {**before, "graders": [*(before.get("graders") or []), entry]}
    try:
        after = yaml.plain(yaml.load(edited.encode()))
    except yaml.YamlError:
        after = None
    if after != wanted:
        snippet = "\n".join(_block(entry, _INDENT))
        raise UsageError(
            f"the suite is laid out in a way that is not edited here; add this to graders:\n{snippet}"
        )
    return edited


def _inserted(lines: list[str], root: yaml.Mapping, entry: dict[str, Any]) -> list[str]:
    key = root.keys.get("graders")
    if key is None:
        return [*lines, "graders:", *_block(entry, _INDENT)]
    node = root.entries["graders"]
    empty = isinstance(node, yaml.Scalar) or (isinstance(node, yaml.Sequence) and not node.items)
    if empty:
        lines = [*lines]
        lines[key.line - 1] = "graders:"
        return [*lines[: key.line], *_block(entry, _INDENT), *lines[key.line :]]
    indent = _INDENT
    if isinstance(node, yaml.Sequence):
        first = lines[node.items[0].line - 1]
        indent = first[: len(first) - len(first.lstrip())]
    end = _end_of_block(lines, root, key.line)
    return [*lines[:end], *_block(entry, indent), *lines[end:]]


def _end_of_block(lines: list[str], root: yaml.Mapping, start: int) -> int:
    """Return the number of lines up to the end of a key's block, without blank lines and comments behind it."""
    later = sorted(key.line for key in root.keys.values() if key.line > start)
    end = later[0] - 1 if later else len(lines)
    while end > start and (not lines[end - 1].strip() or lines[end - 1].startswith("#")):
        end -= 1
    return end


def _block(entry: dict[str, Any], indent: str) -> list[str]:
    """Return an entry as the lines of a list item; values are JSON, which is YAML too."""
    lines = []
    for i, (key, value) in enumerate(entry.items()):
        start = f"{indent}- " if i == 0 else f"{indent}  "
        lines.append(f"{start}{key}: {json.dumps(value, ensure_ascii=False)}")
    return lines
