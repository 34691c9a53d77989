"""What an import comes to: suites with their files, and notes; and writing them as files."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from waza.errors import UsageError
from waza.foreign.notes import Note
from waza.foreign.recognize import NAMES, Kind
from waza.kit import yaml
from waza.kit.files import write_error
from waza.kit.text import pluralize
from waza.report.markdown import make_markdown_draw
from waza.report.section import Table
from waza.report.transcripts import slug

SUITE_FILE = "eval.yaml"
NOTES_FILE = "IMPORT.md"
FIXTURES = "fixtures"
_HEAD = b"# Imported: IMPORT.md says from what, and what has no equal here.\n"


class ImportedTask(msgspec.Struct, frozen=True, kw_only=True):
    """A task to write: its keys, and where in the other tool's files it comes from."""

    keys: dict[str, Any]
    origin: str


class ImportedSuite(msgspec.Struct, frozen=True, kw_only=True):
    """A suite to write.

    `directory` is below that of the import, empty for that itself. A Path among the keys is written relative to
    the suite. `files` are its other files by their paths beside `eval.yaml`.
    """

    directory: str = ""
    keys: dict[str, Any]
    tasks: tuple[ImportedTask, ...] = ()
    trigger_tests: dict[str, Any] | None = None
    files: dict[str, bytes] = {}


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """Suites made of another tool's files. `origin` is the file or directory they were made of."""

    kind: Kind
    name: str
    origin: Path
    suites: tuple[ImportedSuite, ...]
    notes: tuple[Note, ...] = ()

    def suite_files(self) -> list[str]:
        """Return the paths of the suites, below the directory of the import."""
        return [(PurePosixPath(suite.directory) / SUITE_FILE).as_posix() for suite in self.suites]

    def render(self, target: Path) -> dict[str, bytes]:
        """Return every file by its path below `target`, where the import is to be."""
        files = {NOTES_FILE: describe_import(self, target).encode("utf-8", "replace")}
        for suite in self.suites:
            home = target / suite.directory if suite.directory else target
            for name, content in _suite_files(suite, home):
                files[(PurePosixPath(suite.directory) / name).as_posix()] = content
        return files


def digest_of(files: Mapping[str, bytes]) -> str:
    """Return the digest of the files of an import with their paths, as hex; its notes are for people only."""
    digest = hashlib.sha256()
    for name in sorted(files.keys() - {NOTES_FILE}):
        digest.update(name.encode("utf-8", "surrogateescape") + b"\0")
        digest.update(hashlib.sha256(files[name]).digest())
    return digest.hexdigest()


def read_files(target: Path) -> dict[str, bytes]:
    """Return the files below a directory by their paths, as `render` has them. Raises OSError."""
    return {
        path.relative_to(target).as_posix(): path.read_bytes() for path in target.rglob("*") if path.is_file()
    }


def write_files(target: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a directory that is new or empty: all of them or, after an error, none.

    Raises UsageError for a directory that is not empty, WazaError for what cannot be written.
    """
    refuse_filled(target)
    parent = target.absolute().parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
        staged = parent / f".waza-import-{secrets.token_hex(8)}"
        staged.mkdir()
    except OSError as error:
        raise write_error(target, error) from error
    try:
        for name, content in files.items():
            path = staged / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if target.is_dir():
            target.rmdir()
        staged.rename(target)
    except OSError as error:
        raise write_error(target, error) from error
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def refuse_filled(target: Path) -> None:
    """Raise UsageError where something is at a path, unless it is an empty directory."""
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_dir():
        raise UsageError(f"{target} is there already, and is not a directory; name a new one with -o")
    if any(target.iterdir()):
        raise UsageError(f"{target} is not empty; name a new or an empty directory with -o")


def _suite_files(suite: ImportedSuite, home: Path) -> Iterator[tuple[str, bytes]]:
    keys = dict(suite.keys)
    if suite.tasks:
        keys["tasks"] = ["tasks/*.yaml"]
    yield SUITE_FILE, _HEAD + _as_yaml(keys, home)
    width = len(str(len(suite.tasks)))
    for number, task in enumerate(suite.tasks, 1):
        # Numbered, since patterns are expanded in the order of names.
        yield f"tasks/{number:0{width}}-{slug(task.keys['id'])}.yaml", _as_yaml(task.keys, home)
    if suite.trigger_tests:
        yield "trigger_tests.yaml", _as_yaml(suite.trigger_tests, home)
    yield from suite.files.items()


def _as_yaml(keys: dict[str, Any], home: Path) -> bytes:
    return yaml.dump(_with_paths(keys, home)).encode()


def _with_paths(value: Any, home: Path) -> Any:
    if isinstance(value, Path):
        return relative_path(value, home)
    if isinstance(value, dict):
        return {key: _with_paths(item, home) for key, item in value.items()}
    return [_with_paths(item, home) for item in value] if isinstance(value, list) else value


def relative_path(path: Path, home: Path) -> str:
    """Return a path relative to a directory, with `/`; absolute where there is no way, as between drives."""
    try:
        return Path(os.path.relpath(os.path.realpath(path), os.path.realpath(home))).as_posix()
    except ValueError:
        return path.absolute().as_posix()


def describe_import(imported: Imported, target: Path) -> str:
    """Return as Markdown what was imported, what of it has no equal, and what became of the rest."""
    lines = ["# Import"]
    draw = make_markdown_draw(lines.append)
    what = f"{NAMES[imported.kind]}: {relative_path(imported.origin, target)}"
    draw("from", [f"Made by waza import of {what}"])
    gaps = [str(note) for note in imported.notes if note.unchecked]
    draw("not checked, or less strictly", gaps or ["Nothing"])
    draw("other differences", [str(note) for note in imported.notes if not note.unchecked] or ["None"])
    for suite in imported.suites:
        rows = [[task.keys["id"], task.origin, _graders(task)] for task in suite.tasks]
        draw(
            str(suite.keys["name"]), [Table(("task", "from", "graders"), rows)] if rows else _triggers(suite)
        )
    return "\n".join(lines).strip() + "\n"


def _graders(task: ImportedTask) -> str:
    return ", ".join(f"{one['name']} ({one['type']})" for one in task.keys.get("graders", ())) or "none"


def _triggers(suite: ImportedSuite) -> list[str]:
    tests = suite.trigger_tests or {}
    words = {
        "should_trigger_prompts": "on which the skill should fire",
        "should_not_trigger_prompts": "on which not",
    }
    return [f"{pluralize(len(tests.get(key, ())), 'prompt')} {text}" for key, text in words.items()]
