"""Which files the agent changed in a trial: from its snapshot where one was kept, else from its tool calls."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from waza.dashboard.pages import FileChange
from waza.model.observation import ToolEvent

LONGEST = 200_000
"""Characters of a text that is shown or compared."""
_MOST = 200  # files
# The names that tools of agents have for the arguments of a change.
_PATH = ("path", "file_path", "filePath", "filename", "target_file")
_WHOLE = ("file_text", "content", "contents", "text")
_OLD, _NEW = ("old_str", "old_string", "oldText"), ("new_str", "new_string", "newText")


def changes_of(calls: Sequence[ToolEvent], snapshot: bytes | None) -> list[FileChange]:
    """Return what is known to have changed: what a snapshot with this content has, then what calls wrote besides."""
    by_calls = {one.path: one for one in _of_calls(calls)}
    kept = list(_of_snapshot(snapshot, by_calls)) if snapshot is not None else []
    known = {one.path for one in kept}
    return [*kept, *(one for path, one in by_calls.items() if path not in known)][:_MOST]


class _Fixture(msgspec.Struct):
    path: str
    sha256: str = ""


class _File(msgspec.Struct):
    path: str
    content: str
    redacted: bool = False


class _Snapshot(msgspec.Struct, rename="camel"):
    fixtures: list[_Fixture] = []
    workspace_files: list[_File] = []


def _of_snapshot(data: bytes, by_calls: Mapping[str, FileChange]) -> Iterator[FileChange]:
    """Yield the files of a snapshot but those that are as they were put into the workspace."""
    try:
        snapshot = msgspec.json.decode(data, type=_Snapshot)
    except (msgspec.MsgspecError, RecursionError):  # `waza evidence verify` says so
        return
    before = {one.path: one.sha256 for one in snapshot.fixtures}
    for file in snapshot.workspace_files:
        now = "" if file.redacted else sha256(file.content.encode("utf-8", "surrogatepass")).hexdigest()
        if now and before.get(file.path) == now:
            continue
        yield FileChange(
            path=file.path,
            change="changed" if now and before.get(file.path) else "written",
            source="snapshot",
            diff=by_calls[file.path].diff if file.path in by_calls else file.content[:LONGEST],
            note=by_calls[file.path].note if file.path in by_calls else _LEFT,
        )


def _of_calls(calls: Sequence[ToolEvent]) -> list[FileChange]:
    """Return the changes that calls made, which succeeded and say what they wrote; the last writing of a file counts."""
    found: dict[str, list[FileChange]] = {}
    for call in calls:
        if call.success and isinstance(call.args, dict) and (change := _change(call.args)):
            found.setdefault(change.path, []).append(change)
    return [_merged(changes) for changes in found.values()]


def _change(arguments: Mapping[str, Any]) -> FileChange | None:
    path, whole = _first(arguments, _PATH), _first(arguments, _WHOLE)
    old, new = _first(arguments, _OLD), _first(arguments, _NEW)
    if not path:
        return None
    if old is not None and new is not None:
        return FileChange(
            path=path, change="changed", source="tool calls", diff=unified(path, old, new), note=_PARTS
        )
    if whole is not None:
        return FileChange(
            path=path, change="written", source="tool calls", diff=whole[:LONGEST], note=_UNKNOWN
        )
    return None


_LEFT = "the content that the agent left; what was there before is not in the snapshot"
_PARTS = "the replaced passages, as the tool calls have them"
_UNKNOWN = "the content that was written; what was there before is not recorded"


def _merged(changes: Sequence[FileChange]) -> FileChange:
    """Return several changes of a file as one: those since it was written as a whole for the last time."""
    first = max((i for i, one in enumerate(changes) if one.change == "written"), default=0)
    kept = changes[first:]
    if len(kept) == 1:
        return kept[0]
    return FileChange(
        path=kept[0].path,
        change=kept[0].change,
        source="tool calls",
        diff="\n".join(one.diff.rstrip("\n") for one in kept) + "\n",
        note=kept[-1].note if kept[0].change == "changed" else f"{_UNKNOWN}; then {_PARTS}",
    )


def _first(arguments: Mapping[str, Any], names: Sequence[str]) -> str | None:
    return next((value for name in names if isinstance(value := arguments.get(name), str)), None)


def unified(path: str, before: str, after: str) -> str:
    """Return the unified diff of two texts."""
    lines = difflib.unified_diff(
        before[:LONGEST].splitlines(), after[:LONGEST].splitlines(), f"a/{path}", f"b/{path}", lineterm=""
    )
    return "".join(f"{line}\n" for line in _bounded(lines))


def _bounded(lines: Iterator[str]) -> Iterator[str]:
    left = LONGEST
    for line in lines:
        left -= len(line)
        if left < 0:
            return
        yield line
