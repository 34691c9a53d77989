"""What a file or directory is, by its content and not by its name."""

from __future__ import annotations

import codecs
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import msgspec

from waza.kit.json_text import read_loose_json

Kind = Literal[
    "agent-skills",
    "atif",
    "benchmark",
    "claude-code",
    "claude-stream",
    "codex-exec",
    "codex-rollout",
    "copilot-events",
    "grading",
    "inspect-log",
    "m365-document",
    "plugin-eval-results",
    "plugin-evals",
    "promptfoo",
    "results",
    "session-log",
    "suite",
    "task",
    "trigger-queries",
]

NAMES: dict[Kind, str] = {
    "agent-skills": "Agent Skills evals",
    "atif": "a trajectory in ATIF",
    "benchmark": "a benchmark of Agent Skills evals, which holds results",
    "claude-code": "a session of Claude Code",
    "claude-stream": "the output of a session of Claude Code (stream-json)",
    "codex-exec": "the output of `codex exec --json`",
    "codex-rollout": "a session of Codex",
    "copilot-events": "the events of a Copilot session",
    "grading": "the grading of an Agent Skills eval, which holds results",
    "inspect-log": "a log of Inspect, which holds results",
    "m365-document": "a Microsoft 365 evaluation document",
    "plugin-eval-results": "the results of Claude Code plugin evals",
    "plugin-evals": "Claude Code plugin evals",
    "promptfoo": "the results of promptfoo",
    "results": "a results file of waza",
    "session-log": "a session log of waza",
    "suite": "a suite of waza",
    "task": "a task of waza",
    "trigger-queries": "a list of trigger queries",
}
"""What each kind is called in messages."""

SUITES: tuple[Kind, ...] = ("agent-skills", "trigger-queries", "plugin-evals")
"""Suites of other tools, which are imported."""
TRANSCRIPTS: tuple[Kind, ...] = (
    *("atif", "claude-code", "claude-stream", "codex-exec", "codex-rollout", "copilot-events"),
)
"""Transcripts of other agents."""

MAX_FILE = 256 * 1024 * 1024  # bytes; transcripts of long sessions are large, too
_MAX_TEXT = 4 * 1024 * 1024  # bytes of a file that is not JSON
_LINES = 50  # of a JSONL file that are looked at; the first ones may be of unknown types
_DEPTH, _FOLDERS = 5, 2_000  # how far folders are searched for cases

_CASE_FILES = ("prompt.md", "case.yaml")

_Fields: TypeAlias = dict[str, msgspec.Raw]


def recognize(path: Path) -> Kind | None:
    """Return what a file or directory is; None for what cannot be read or is nothing known."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISDIR(mode):
        return _recognize_directory(path)
    if not stat.S_ISREG(mode):
        return None
    if path.name == "prompt.md" and _is_case(path.parent):
        return "plugin-evals"  # of which this is the name
    return _recognize_file(path)


def is_unfinished_case(path: Path) -> bool:
    """Tell whether what is nothing known may be meant as plugin evals: a file of a case, or a directory with such files."""
    if path.is_file():
        return path.name in _CASE_FILES
    return any((folder / name).is_file() for folder in _folders(path) for name in _CASE_FILES)


def _recognize_file(path: Path) -> Kind | None:
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(512)
            if start.startswith(b"PK"):
                return "inspect-log" if _is_inspect_archive(path) else None
            text = start.removeprefix(codecs.BOM_UTF8).lstrip()
            is_json = text.startswith((b"{", b"["))
            file.seek(0)
            if kind := _recognize_start(file):
                return kind
            file.seek(len(start))
            if size > (MAX_FILE if is_json else _MAX_TEXT):
                return None
            data = start + file.read()
    except OSError:
        return None
    data = data.removeprefix(codecs.BOM_UTF8)
    return _recognize_json(data) if is_json else _recognize_text(data)


def _recognize_start(file: BinaryIO) -> Kind | None:
    """Return which JSON Lines a file begins with: transcripts are larger than what is read of other files."""
    for _ in range(_LINES):
        line = file.readline(_MAX_TEXT).removeprefix(codecs.BOM_UTF8)
        if not line.endswith(b"\n"):
            return None
        found = _decode(line, _Fields) if line.strip() else {}
        if found is None or _first(_OBJECTS, found):
            return None
        if kind := _first(_LINES_OF, found):
            return kind
    return None


def _is_inspect_archive(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return bool({"header.json", "_journal/start.json"} & set(archive.namelist()))
    except (OSError, zipfile.BadZipFile, ValueError):
        return False


def _recognize_json(data: bytes) -> Kind | None:
    if data.lstrip().startswith(b"["):
        items = _decode(data, list[msgspec.Raw])
        return _recognize_list(items) if items else None
    whole = _decode(data, _Fields) or _decode_loosely(data)
    if whole is None:
        return _recognize_lines(data)
    return _first(_OBJECTS, whole) or _first(_LINES_OF, whole)


def _recognize_list(items: list[msgspec.Raw]) -> Kind | None:
    objects = [found for item in items if (found := _decode(item, _Fields)) is not None]
    if any({"query", "should_trigger"} <= one.keys() for one in objects):
        return "trigger-queries"
    if any({"prompt", "turns"} & one.keys() for one in objects):
        return "m365-document"  # of an older form
    return None


def _recognize_lines(data: bytes) -> Kind | None:
    """Return which JSON Lines these are: the first line of a known type decides."""
    for line in data.split(b"\n", _LINES)[:_LINES]:
        found = _decode(line, _Fields) if line.strip() else None
        kind = _first(_LINES_OF, found) if found else None
        if kind:
            return kind
    return None


def _recognize_text(data: bytes) -> Kind | None:
    """Return which YAML this is. A quick look comes first, since suites are read again when they are loaded."""
    if not re.search(rb"(?m)^(schema_version|name|id|inputs|tasks|tasks_from|config)[ \t]*:", data):
        return None
    from waza.kit import yaml

    try:
        root = yaml.load(data)
    except yaml.YamlError:
        return None
    keys = root.entries.keys() if isinstance(root, yaml.Mapping) else set()
    if "schema_version" in keys and {"execution", "graders"} & keys:
        return "plugin-evals"
    if {"tasks", "tasks_from"} & keys:
        return "suite"
    return "task" if {"inputs", "triggers"} & keys else None


def _text(fields: _Fields, key: str) -> str:
    return _decode(fields[key], str) or "" if key in fields else ""


def _object(fields: _Fields, key: str) -> _Fields:
    return _decode(fields[key], _Fields) or {} if key in fields else {}


def _list(fields: _Fields, key: str) -> list[msgspec.Raw] | None:
    return _decode(fields[key], list[msgspec.Raw]) if key in fields else None


def _items(fields: _Fields, key: str) -> Iterator[_Fields]:
    for item in _list(fields, key) or ():
        if (found := _decode(item, _Fields)) is not None:
            yield found


def _decode(data: bytes | msgspec.Raw, kind: Any) -> Any:
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None


def _decode_loosely(data: bytes) -> _Fields | None:
    """Return the fields of an object in JSON that is not strict, as some agents write it."""
    try:
        found = read_loose_json(data)
    except (ValueError, RecursionError):
        return None
    return _decode(msgspec.json.encode(found), _Fields) if isinstance(found, dict) else None


def _first(signs: dict[Kind, Callable[[_Fields], bool]], fields: _Fields) -> Kind | None:
    return next((kind for kind, sign in signs.items() if sign(fields)), None)


def _is_plugin_result(one: _Fields) -> bool:
    return {"schemaVersion", "claudeVersion", "cases"} <= one.keys()


def _is_agent_skills(one: _Fields) -> bool:
    return any("prompt" in item for item in _items(one, "evals"))


def _is_document(one: _Fields) -> bool:
    return _list(one, "items") is not None or _list(one, "prompts") is not None


def _is_grading(one: _Fields) -> bool:
    rated = "pass_rate" in _object(one, "summary")
    return rated and bool({"expectations", "assertion_results"} & one.keys())


def _is_inspect(one: _Fields) -> bool:
    return "task" in _object(one, "eval") and _text(one, "status") in (
        *("started", "success", "cancelled", "error"),
    )


def _is_promptfoo(one: _Fields) -> bool:
    return "evalId" in one and _list(_object(one, "results"), "results") is not None


# In the order in which they are tried: what comes first is the more specific.
_OBJECTS: dict[Kind, Callable[[_Fields], bool]] = {
    "atif": lambda one: _text(one, "schema_version").startswith("ATIF-v"),
    "plugin-eval-results": _is_plugin_result,
    "results": lambda one: {"eval_id", "summary", "tasks"} <= one.keys(),
    "agent-skills": _is_agent_skills,
    "benchmark": lambda one: "run_summary" in one,
    "grading": _is_grading,
    "inspect-log": _is_inspect,
    "promptfoo": _is_promptfoo,
    "m365-document": _is_document,
}


_CODEX_TYPES = ("session_meta", "response_item", "event_msg", "turn_context")


def _is_copilot(one: _Fields) -> bool:
    return "." in _text(one, "type") and bool(_object(one, "data")) and {"id", "parentId"} <= one.keys()


def _is_claude_code(one: _Fields) -> bool:
    if _text(one, "type") in ("user", "assistant"):
        return {"uuid", "parentUuid", "message"} <= one.keys()
    return False


def _is_claude_stream(one: _Fields) -> bool:
    kind = _text(one, "type")
    return "session_id" in one and (
        kind in ("system", "result") or (kind == "assistant" and "message" in one)
    )


_LINES_OF: dict[Kind, Callable[[_Fields], bool]] = {
    "codex-rollout": lambda one: _text(one, "type") in _CODEX_TYPES and "payload" in one,
    "codex-exec": lambda one: _text(one, "type").startswith(("thread.", "turn.", "item.")),
    "copilot-events": _is_copilot,
    "claude-stream": _is_claude_stream,
    "claude-code": _is_claude_code,
    "session-log": lambda one: {"type", "data", "timestamp"} <= one.keys() and "id" not in one,
}


def _recognize_directory(path: Path) -> Kind | None:
    if any(map(_is_case, _folders(path))):
        return "plugin-evals"
    for folder in (path, path / "evals"):
        try:
            files = sorted(one for one in folder.iterdir() if one.suffix.lower() == ".json")
        except OSError:
            continue
        kinds = [_recognize_file(one) for one in files if one.is_file()]
        for kind in ("agent-skills", "trigger-queries"):
            if kind in kinds:
                return kind
    return None


def _folders(path: Path) -> Iterator[Path]:
    """Yield a directory and those below it, without hidden ones, links and packages of others."""
    for count, (folder, names, _) in enumerate(os.walk(path)):
        depth = len(Path(folder).relative_to(path).parts)
        names[:] = sorted(
            name for name in names if depth < _DEPTH and not name.startswith(".") and name != "node_modules"
        )
        if count >= _FOLDERS:
            return
        yield Path(folder)


def _is_case(folder: Path) -> bool:
    """Tell whether a folder surely is a case: it has a prompt and graders, in their files or in `case.yaml`."""
    if (folder / "case.yaml").is_file() and _recognize_file(folder / "case.yaml") == "plugin-evals":
        return True
    return (folder / "prompt.md").is_file() and any((folder / "graders").glob("*.md"))
