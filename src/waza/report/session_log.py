"""The session log: one line of JSON for each thing that happened (`--session-log`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from waza.errors import RunError
from waza.model.event import (
    CheckpointGraded,
    RunEvent,
    SuiteFinished,
    SuiteStarted,
    SuiteStopped,
    TaskFinished,
    TaskStarted,
    TrialFinished,
)
from waza.model.result import Validation
from waza.report.new_file import create

Redact = Callable[[Any], Any]
"""Takes JSON data and returns it with the secrets taken out."""

Line = tuple[str, dict[str, Any]]


class SessionLog:
    """A listener that writes `session-<UTC stamp>.ndjson` into a directory, which it makes if needed.

    Every line is `{timestamp, type, data}` and is flushed as it is written. A log that can no longer be
    written (a full disk) does not stop the run: `trouble` then says why it is not complete.
    """

    def __init__(self, directory: Path, redact: Redact, now: Callable[[], datetime] | None = None) -> None:
        self._redact = redact
        self._now = now or (lambda: datetime.now(UTC))
        self.trouble = ""
        stamp = self._now().astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        try:
            self.path, self._file = create(directory, f"session-{stamp}", ".ndjson")
        except OSError as error:
            raise RunError(f"the session log cannot be written in {directory}: {error.strerror}") from error

    def handle(self, event: RunEvent) -> None:
        """Write the lines of an event."""
        for kind, data in _lines(event):
            self._write(kind, data)

    def close(self) -> None:
        """Close the file."""
        try:
            self._file.close()
        except OSError as error:
            self._fail(error)

    def _write(self, kind: str, data: dict[str, Any]) -> None:
        if self.trouble:
            return
        stamp = self._now().astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        line = {"timestamp": stamp, "type": kind, "data": self._redact(msgspec.to_builtins(data))}
        try:
            self._file.write(msgspec.json.encode(line) + b"\n")
            self._file.flush()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self.trouble = f"the session log {self.path} is not complete: {error.strerror}"


def _lines(event: RunEvent) -> Iterator[Line]:
    match event:
        case SuiteStarted():
            yield "session_start", _start(event)
        case TaskStarted():
            data = {"task_name": event.name, "task_num": event.index, "total_tasks": event.total}
            yield "task_start", data
        case CheckpointGraded():
            checkpoint = event.checkpoint
            more = {"task_name": event.name, "checkpoint": checkpoint.after_turn}
            yield from _graders(checkpoint.validations, more)
        case TrialFinished():
            yield from _trial(event)
        case TaskFinished():
            yield "task_complete", _task(event)
        case SuiteStopped():
            yield "error", {"message": f"stopped: {event.reason}"}
        case SuiteFinished():
            yield "session_complete", _finish(event)


def _start(event: SuiteStarted) -> dict[str, Any]:
    return {
        "spec_path": os.fsencode(event.path).decode("utf-8", "replace"),  # names on disk may be any bytes
        "model": event.model,
        "engine": event.executor,
        "task_count": event.tasks,
        **({} if event.arm == "main" else {"arm": event.arm}),
    }


def _trial(event: TrialFinished) -> Iterator[Line]:
    run = event.result
    more = {"task_name": event.name, "run_number": run.run_number}
    yield from _graders(run.validations or {}, more)
    if run.error_msg:
        yield "error", {"message": run.error_msg, **more}
    yield "run_complete", {**more, "session_digest": run.session_digest}


def _graders(validations: Mapping[str, Validation], more: dict[str, Any]) -> Iterator[Line]:
    for name, verdict in sorted(validations.items()):
        data = {
            "grader_name": verdict.identifier or name,
            "grader_type": verdict.type,
            "passed": verdict.passed,
            "score": verdict.score,
            "feedback": verdict.feedback,
        }
        yield "grader_result", {**data, **more}


def _task(event: TaskFinished) -> dict[str, Any]:
    return {
        "task_name": event.name,
        "status": event.status,
        "score": event.score,
        "duration_ms": event.duration_ms,
        **({"cached": True} if event.cached else {}),
        **({"judged_anew": True} if event.rejudged else {}),
    }


def _finish(event: SuiteFinished) -> dict[str, Any]:
    return {
        "total_tests": event.total,
        "passed": event.passed,
        "failed": event.failed,
        "errors": event.errors,
        "duration_ms": event.duration_ms,
        **({"skipped": event.skipped} if event.skipped else {}),
        **({"cut_off": True} if event.cut_off else {}),
    }
