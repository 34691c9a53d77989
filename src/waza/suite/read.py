"""Reading a file into a Document, and deciding which unknown keys are errors."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path

from waza.errors import UsageError
from waza.kit import yaml
from waza.kit.decode import Document, UnknownKeyAdvice, UnknownKeyHandler, fields_of, struct_keys
from waza.kit.names import did_you_mean, nearest_name
from waza.model.mock import MockBlock, SuiteMockBlock
from waza.model.mocks import CommandMock, McpMock
from waza.model.suite import GraderEntry, SuiteFile
from waza.model.task import TaskFile
from waza.model.wire import WireKeys
from waza.plugins import load_class as load_plugin
from waza.problem import Code, Problem, display_path

MAX_FILE = 20 * 1024 * 1024  # bytes of a YAML file

# Words that describe rather than command: at the wrong place they change nothing.
_DESCRIPTIVE = {"name", "description", "type", "id", "version", "category"}
# Words that other tools, and older forms of these files, use for checks.
_CHECKS = frozenset(
    [
        "assert",
        "assertion",
        "assertions",
        "asserts",
        "checks",
        "evaluator",
        "evaluators",
        "expect",
        "expectations",
        "expects",
        "grader",
        "scorers",
        "validation",
        "validations",
        "validator",
        "validators",
    ]
)
_CHECKS_HINT = "checks are written as 'graders:' of a suite or task, or under 'expected:' of a task"
# Their keys mean something only inside them.
_OWN_WORLDS = frozenset({MockBlock, SuiteMockBlock, McpMock, CommandMock, WireKeys})


def read_document(path: Path, what: str) -> Document | Problem:
    """Read a YAML file. `what` names the kind of file in messages (`suite`, `task`)."""
    file = display_path(path)
    try:
        status = path.stat()
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            return Problem(
                code="unreadable-file", file=file, message=f"is no regular file, so no {what} file"
            )
        if stat.S_ISREG(status.st_mode) and status.st_size > MAX_FILE:
            return Problem(
                code="unreadable-file",
                file=file,
                message=f"this {what} file is larger than {MAX_FILE // 2**20} MB",
            )
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        return Problem(code=_choose_code(error), file=file, message=_explain_unreadable(path, what, error))
    try:
        return Document(file, yaml.load(data))
    except yaml.YamlError as error:
        return error.in_file(file)


def _choose_code(error: OSError | ValueError) -> Code:
    return "missing-file" if isinstance(error, FileNotFoundError) else "unreadable-file"


def _explain_unreadable(path: Path, what: str, error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "is a link to nothing" if path.is_symlink() else f"there is no such {what} file"
    if isinstance(error, IsADirectoryError) or path.is_dir():
        return f"is a directory, not a {what} file"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return f"the {what} file cannot be read ({reason})"


def child(node: yaml.Node | None, *path: str | int) -> yaml.Node | None:
    """Return the node below `node` at a path, or None."""
    for part in path:
        if isinstance(part, int) and isinstance(node, yaml.Sequence):
            node = node.items[part] if part < len(node.items) else None
        elif isinstance(part, str) and isinstance(node, yaml.Mapping):
            node = node.entries.get(part)
        else:
            return None
    return node


def at(document: Document, *path: str | int) -> yaml.Node:
    """Return the key at a path, else the nearest node above it: the place of a Problem."""
    node: yaml.Node = document.root
    for part in path:
        below = child(node, part)
        if below is None:
            return node
        node = node.keys[part] if isinstance(node, yaml.Mapping) and part == path[-1] else below  # type: ignore[index]  # a mapping's part is a text
    return node


class UnknownKeyRule:
    """The rule for unknown keys: a warning, or an error where a check or a mock would be silently missing.

    Errors are: every unknown key of a struct with `strict_keys`, a key that is known at another level, and a
    word for checks of other tools. `strict`: scenario suites refuse every unknown key. `newer`: the suite
    declares a later minor version than ours, so that unknown keys are expected.
    """

    def __init__(self, *, strict: bool = False, newer: bool = False) -> None:
        self.strict, self.newer = strict, newer

    def of(self, document: Document, root: type) -> UnknownKeyHandler:
        """Return the rule for one document. `root` is the struct of the whole of it, such as `TaskFile`."""
        elsewhere = _Elsewhere(document, root)

        def unknown(struct: type, key: str, path: tuple[str | int, ...]) -> UnknownKeyAdvice:
            own = [field.key for field in fields_of(struct)]
            check = key in _CHECKS
            hint = "" if check else elsewhere.belongs(struct, key, path)
            misplaced = check or (bool(hint) and key not in _DESCRIPTIVE)
            near = nearest_name(key, own)
            if near and (check or not misplaced):
                hint = f"did you mean {near!r}?"
            hint = hint or (_CHECKS_HINT if check else did_you_mean(key, own))
            strict = misplaced or self.strict or getattr(struct, "strict_keys", False)
            return UnknownKeyAdvice("error" if strict and not self.newer else "warning", hint)

        return unknown


class _Elsewhere:
    """Where keys of a document are known, at its other levels and in the other kind of file."""

    def __init__(self, document: Document, root: type) -> None:
        self.document, self.root = document, root

    def belongs(self, struct: type, key: str, path: tuple[str | int, ...]) -> str:
        """Say where a key belongs that is known elsewhere, or nothing."""
        if struct is GraderEntry:
            kind = child(self.document.root, *path[:-1], "type")
            grader = _grader_class(kind.text) if isinstance(kind, yaml.Scalar) else None
            if grader is not None and key in {field.key for field in fields_of(grader)}:
                return "it belongs under 'config:' of this grader"
            return ""
        entry_keys = {field.key for field in fields_of(GraderEntry)}
        if len(path) > 2 and path[-2] == "config" and key in entry_keys:
            return "it belongs one level up, beside 'config:'"
        own = struct_keys(self.root, skip=_OWN_WORLDS).get(key, ())
        other, other_name = _OTHER.get(self.root, (None, ""))
        others = struct_keys(other, skip=_OWN_WORLDS).get(key, ()) if other else ()
        plain = [level for level in own if not _in_grader(level)]
        if plain or (own and all(map(_in_grader, others))):
            return f"it belongs {_describe_levels(plain or own)}"
        plain = [level for level in others if not _in_grader(level)]
        return f"it belongs in {other_name}, {_describe_levels(plain or others)}" if others else ""


def _grader_class(name: str) -> type | None:
    try:
        return load_plugin("waza.graders", name)
    except UsageError:
        return None  # reported where the grader is built


_OTHER: dict[type, tuple[type, str]] = {
    SuiteFile: (TaskFile, "a task file"),
    TaskFile: (SuiteFile, "eval.yaml"),
}


def _in_grader(level: str) -> bool:
    """Return whether a level is that of grader entries, which are the last that a key somewhere else was meant to be."""
    return level.rpartition(".")[2] == "graders"


def _describe_levels(levels: Iterable[str]) -> str:
    words = ["at the top level" if not level else f"under '{level}'" for level in levels]
    return " or ".join(words[:3])
