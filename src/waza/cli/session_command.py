"""`waza session`, step by step: find the logs, and print what is in them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from waza.cli.streams import output_width, print_json, print_line, print_notice
from waza.errors import EXIT_OK, UsageError
from waza.kit.line_file import is_locked
from waza.kit.text import pluralize
from waza.report.session_view import SessionEvent, Timeline, read_event
from waza.report.wrap import wrap

_SUFFIXES = (".ndjson", "-session.jsonl")
_INDENT = " " * 12  # before the further lines of an event
_PAUSE = 0.2  # seconds between two looks at a log that grows


class LogFile(msgspec.Struct, frozen=True, kw_only=True):
    """A session log: its path, its lines, and when it was last written (seconds since the epoch)."""

    path: Path
    events: int
    modified: float


def list_logs(directory: Path) -> list[LogFile]:
    """Return the session logs in a directory, newest first. Raises UsageError if there is no such directory."""
    if not directory.is_dir():
        raise UsageError(f"there is no directory {directory}; name that of `--session-dir`")
    paths = [path for path in directory.iterdir() if path.name.endswith(_SUFFIXES) and path.is_file()]
    logs = [LogFile(path=path, events=_count_lines(path), modified=path.stat().st_mtime) for path in paths]
    return sorted(logs, key=lambda one: (-one.modified, one.path.name))


def _count_lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def view_log(file: Path | None, *, follow: bool, as_json: bool) -> int:
    """Print a log; return the exit code. Raises UsageError if there is no such log."""
    path = file or _newest()
    if not path.is_file():
        raise UsageError(
            f"there is no session log {path}; `waza session list --dir DIR` lists those of a directory"
        )
    damaged = _show(path, _read(path, follow=follow), as_json=as_json, follow=follow)
    if damaged:
        print_notice(f"{path}: {pluralize(damaged, 'line')} could not be read, and are left out")
    return EXIT_OK


def _newest() -> Path:
    logs = list_logs(Path())
    if not logs:
        raise UsageError(
            "there is no session log here; name a FILE, or write one with `waza run --session-log`"
        )
    return logs[0].path


def _show(path: Path, lines: Iterator[bytes], *, as_json: bool, follow: bool) -> int:
    """Print the events of lines; return how many lines could not be read."""
    timeline, damaged, shown, width = Timeline(), 0, 0, output_width()
    kept: list[SessionEvent] = []
    for line in lines:
        event = read_event(line)
        if event is None:
            damaged += 1
            continue
        shown += 1
        if as_json and follow:
            print_line(msgspec.json.encode(event).decode())
        elif as_json:
            kept.append(event)
        else:
            for text in timeline.lines(event):
                print_line("\n".join(wrap(text, width, "", _INDENT)))
        if follow:
            sys.stdout.flush()
    if as_json and not follow:
        print_json({"file": str(path), "events": kept, "damaged_lines": damaged})
    elif not shown:
        print_notice(f"{path} has no events")
    return damaged


def _read(path: Path, *, follow: bool) -> Iterator[bytes]:
    """Yield the lines of a log that are not empty; with `follow`, until no process writes it any more."""
    with path.open("rb") as file:
        rest = b""
        while True:
            growing = follow and is_locked(path)  # before reading: what is written until then is read below
            for data in file:
                line = rest + data
                if follow and not line.endswith(b"\n"):
                    rest = line
                    continue
                rest = b""
                if line.strip():
                    yield line
            if not growing:
                if rest.strip():
                    yield rest
                return
            time.sleep(_PAUSE)
