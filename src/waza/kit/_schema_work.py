"""How much work a JSON Schema can be: its alternatives multiply where references share them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MAX_WORK = 1_000_000  # subschemas that one value is held against at most

_NAMES = (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", ""))
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_DATA = ("const", "enum", "default", "examples")
_DEFINITIONS = ("$defs", "definitions")


def too_much_work(schema: object) -> bool:
    """Tell whether the subschemas of a schema, each counted as often as it is reached, are too many.

    References within the schema are followed, those that go in circles once.
    """
    try:
        return _count(schema, schema, dict(_collect_names(schema)), {}) > MAX_WORK
    except RecursionError:
        return True


def _collect_names(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield what anchors and ids in a schema name."""
    if isinstance(node, dict):
        for key, prefix in _NAMES:
            if isinstance(node.get(key), str):
                yield prefix + node[key], node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from _collect_names(child)


def _count(node: Any, root: Any, named: dict[str, Any], known: dict[int, int]) -> int:
    if isinstance(node, list):
        return sum(_count(item, root, named, known) for item in node)
    if not isinstance(node, dict):
        return 0
    if id(node) not in known:
        known[id(node)] = 0  # reached again before it is counted: a circle
        below = [
            _count(value, root, named, known)
            for key, value in node.items()
            if key not in _DATA and key not in _DEFINITIONS
        ]
        targets = [_target(node[key], root, named) for key in _REFERENCES if isinstance(node.get(key), str)]
        known[id(node)] = min(
            1 + sum(below) + sum(_count(target, root, named, known) for target in targets), MAX_WORK + 1
        )
    return known[id(node)]


def _target(reference: str, root: Any, named: dict[str, Any]) -> Any:
    """Return what a reference within the schema leads to, or None."""
    if reference in named:
        return named[reference]
    if reference != "#" and not reference.startswith("#/"):
        return None
    node = root
    for part in reference.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict):
            node = node.get(key)
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            return None
    return node
