"""Older forms of the document, and keys that the schema refuses, turned into the current form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from waza.kit import yaml
from waza.kit.decode import Document, KeyPath
from waza.kit.json_nodes import JsonError, dump, load
from waza.m365.document.model import DOCUMENTED
from waza.m365.document.validate import is_thread, older_form
from waza.m365.document.version import SCHEMA_VERSION, is_older
from waza.problem import Problem

Kind = Literal["form", "added", "version", "moved"]
_MOVED = "is not a key of the format, moved under 'extensions'"
_VERSION = re.compile(r'("schemaVersion"\s*:\s*)"[^"]*"')
_START = re.compile(r"\s*\{(\s*)")


class Change(msgspec.Struct, frozen=True):
    """A change: the node before it, and its path in the upgraded document."""

    kind: Kind
    message: str
    node: yaml.Node
    path: KeyPath = ()


class UpgradeResult(msgspec.Struct, frozen=True):
    """A document in its current form, whose nodes keep their places, and what had to be changed for it."""

    document: Document
    changes: tuple[Change, ...]
    problems: tuple[Problem, ...] = ()


def upgrade(document: Document) -> UpgradeResult:
    """Return the document in the current form; it need not be valid, before or after.

    A bare list of prompts, two lists of prompts and expected responses, a missing or an older version are
    turned into the current form. Keys of items that other documentation knows are moved under 'extensions',
    as far as these do not have them yet.
    """
    changes: list[Change] = []
    problems = list(_check_lengths(document))
    root = document.root
    if not problems and (form := older_form(root)):
        changes.append(Change("form", f"turned {form} into items", root))
        root = _convert_prompts(root)
    if isinstance(root, yaml.Mapping) and not problems:
        root = _set_version(root, changes)
        root = _upgrade_items(root, changes)
    return UpgradeResult(Document(document.file, root), tuple(changes), tuple(problems))


def rewrite(text: str, upgraded: UpgradeResult) -> str:
    """Return the text of the document in its current form; its layout stays if only the version changes."""
    wanted = yaml.to_plain(upgraded.document.root)
    kinds = {change.kind for change in upgraded.changes}
    edited = ""
    if kinds == {"version"}:
        edited = _VERSION.sub(rf'\g<1>"{SCHEMA_VERSION}"', text, count=1)
    elif kinds == {"added"}:
        edited = _START.sub(_insert_version, text, count=1)
    return edited if _parses_to(edited, wanted) else dump(wanted)


def _insert_version(start: re.Match[str]) -> str:
    return f'{start.group()}"schemaVersion": "{SCHEMA_VERSION}",{start.group(1) or " "}'


def _parses_to(text: str, wanted: object) -> bool:
    try:
        return yaml.to_plain(load(text.encode())) == wanted
    except JsonError:
        return False


def _check_lengths(document: Document) -> list[Problem]:
    """Return what keeps two lists from becoming items."""
    root = document.root
    if not (isinstance(root, yaml.Mapping) and older_form(root)):
        return []
    prompts, expected = root.entries["prompts"], root.entries.get("expected_responses")
    for name, node in (("prompts", prompts), ("expected_responses", expected)):
        if node is not None and not isinstance(node, yaml.Sequence):
            return [document.problem("wrong-type", node, (name,), "must be a list")]
    if isinstance(prompts, yaml.Sequence) and isinstance(expected, yaml.Sequence):
        counts = len(prompts.items), len(expected.items)
        if counts[0] != counts[1]:
            message = f"its length is {counts[1]}, that of 'prompts' {counts[0]}"
            hint = "give each prompt one, or null where nothing is expected"
            return [document.problem("response-count", expected, ("expected_responses",), message, hint)]
    return []


def _convert_prompts(root: yaml.Node) -> yaml.Mapping:
    """Return the document of an older form with `items`."""
    if isinstance(root, yaml.Sequence):
        return _mapping(root, {"items": root})
    if not isinstance(root, yaml.Mapping):
        raise TypeError(root)  # older_form excludes it
    prompts, expected = root.entries["prompts"], root.entries.get("expected_responses")
    answers = expected.items if isinstance(expected, yaml.Sequence) else []
    items: list[yaml.Node] = []
    for i, prompt in enumerate(prompts.items if isinstance(prompts, yaml.Sequence) else []):
        entries: dict[str, yaml.Node] = {"prompt": prompt}
        if i < len(answers) and not _is_null(answers[i]):
            entries["expected_response"] = answers[i]
        items.append(_mapping(prompt, entries))
    others = {key: node for key, node in root.entries.items() if key not in ("prompts", "expected_responses")}
    return _mapping(root, {**others, "items": yaml.Sequence(items, prompts.line, prompts.column)})


def _set_version(root: yaml.Mapping, changes: list[Change]) -> yaml.Mapping:
    node = root.entries.get("schemaVersion")
    current = yaml.Scalar(SCHEMA_VERSION, SCHEMA_VERSION, root.line, root.column)
    if node is None:
        if not changes:
            changes.append(Change("added", f"added version {SCHEMA_VERSION}", root))
        return _mapping(root, {"schemaVersion": current, **root.entries})
    if isinstance(node, yaml.Scalar) and is_older(node.text):
        changes.append(Change("version", f"{node.text} became {SCHEMA_VERSION}", node, ("schemaVersion",)))
        return _mapping(root, {**root.entries, "schemaVersion": current})
    return root


def _upgrade_items(root: yaml.Mapping, changes: list[Change]) -> yaml.Mapping:
    items = root.entries.get("items")
    if not isinstance(items, yaml.Sequence):
        return root
    moved = [_upgrade_item(item, ("items", i), changes) for i, item in enumerate(items.items)]
    return _mapping(root, {**root.entries, "items": yaml.Sequence(moved, items.line, items.column)})


def _upgrade_item(item: yaml.Node, path: KeyPath, changes: list[Change]) -> yaml.Node:
    if not isinstance(item, yaml.Mapping):
        return item
    thread = is_thread(item)
    item = _move_keys(item, path, changes, [key for key in DOCUMENTED if not (thread and key == "name")])
    turns = item.entries.get("turns")
    if not isinstance(turns, yaml.Sequence):
        return item
    moved = [
        _move_keys(turn, (*path, "turns", i), changes, DOCUMENTED) if isinstance(turn, yaml.Mapping) else turn
        for i, turn in enumerate(turns.items)
    ]
    return _mapping(item, {**item.entries, "turns": yaml.Sequence(moved, turns.line, turns.column)})


def _move_keys(part: yaml.Mapping, path: KeyPath, changes: list[Change], keys: Sequence[str]) -> yaml.Mapping:
    """Return an item or turn whose keys of these names are under its extensions."""
    extensions = part.entries.get("extensions", yaml.Mapping({}, {}, part.line, part.column))
    if not isinstance(extensions, yaml.Mapping):
        return part
    own = [key for key in keys if key in part.entries and key not in extensions.entries]
    if not own:
        return part
    changes += [Change("moved", _MOVED, part.keys[key], (*path, key)) for key in own]
    under = yaml.Mapping(
        {**extensions.entries, **{key: part.entries[key] for key in own}},
        {**extensions.keys, **{key: part.keys[key] for key in own}},
        extensions.line,
        extensions.column,
    )
    left = {key: node for key, node in part.entries.items() if key not in own}
    return _mapping(part, {**left, "extensions": under})


def _mapping(place: yaml.Node, entries: dict[str, yaml.Node]) -> yaml.Mapping:
    """Return an object at the place of a node; keys that the node does not have get its place, too."""
    known = place.keys if isinstance(place, yaml.Mapping) else {}
    keys = {key: known.get(key, yaml.Scalar(key, key, place.line, place.column)) for key in entries}
    return yaml.Mapping(entries, keys, place.line, place.column)


def _is_null(node: yaml.Node) -> bool:
    return isinstance(node, yaml.Scalar) and node.value is None
