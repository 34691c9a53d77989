"""Transcript files: what was said in one task, for people to read (`--transcript-dir`)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from waza.kit.indented_json import indented_json
from waza.model.result import TaskResult, Validation
from waza.report.new_file import create

_LONGEST = 120  # bytes of a task's name in a file name; file systems allow 255 for the whole


def write_transcript(
    directory: Path, task: TaskResult, started_at: datetime, redact: Callable[[Any], Any]
) -> Path:
    """Write the transcript of a task and return its path; a file of the same second is never overwritten.

    `started_at` is when the task started, with a time zone. `redact` takes JSON data and returns it with
    the secrets taken out. Raises OSError.
    """
    content = redact(msgspec.to_builtins(_content(task, started_at)))
    text = indented_json(content)
    stem = f"{slug(task.display_name)}-{started_at:%Y%m%d-%H%M%S}"
    path, file = create(directory, stem, ".json")
    with file:
        file.write(text)
    return path


def slug(name: str) -> str:
    """Return a task's name as the beginning of a file name: lower case, `-` for blanks, or `unnamed`."""
    kept = "".join(char for char in name.strip().lower().replace(" ", "-") if char.isalnum() or char in "_-")
    return kept.encode()[:_LONGEST].decode(errors="ignore") or "unnamed"


def _content(task: TaskResult, started_at: datetime) -> dict[str, Any]:
    runs = task.runs
    took = sum(run.duration_ms for run in runs)
    validations: dict[str, Validation] = {}
    for run in runs:
        validations.update(run.validations or {})
    return {
        "task_id": task.test_id,
        "task_name": task.display_name,
        "status": task.status,
        "started_at": started_at.isoformat(),
        "completed_at": (started_at + timedelta(milliseconds=took)).isoformat(),
        "duration_ms": took,
        "prompt": next((run.prompt for run in runs if run.prompt), ""),
        "final_output": runs[-1].final_output if runs else "",
        "transcript": [event for run in runs for event in run.transcript],
        "validations": dict(sorted(validations.items())),
        "session": runs[-1].session_digest if runs else None,
        "error_msg": next((run.error_msg for run in reversed(runs) if run.error_msg.strip()), ""),
    }
