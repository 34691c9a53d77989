"""Read a transcript, whatever form its content has."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from waza.errors import UsageError, WazaError
from waza.foreign.recognize import NAMES, TRANSCRIPTS, Kind, recognize
from waza.foreign.transcripts import atif, claude_code, codex, copilot
from waza.kit.os_errors import describe_os_error
from waza.model.recording import Recording
from waza.problem import display_path

_READERS: dict[Kind, Callable[[BinaryIO, Path, str], Recording]] = {
    "atif": atif.read_trajectory,
    "claude-code": claude_code.read_session,
    "claude-stream": claude_code.read_stream,
    "codex-exec": codex.read_exec,
    "codex-rollout": codex.read_rollout,
    "copilot-events": copilot.read_events,
}


def read_transcript(path: Path) -> Recording:
    """Return what a transcript shows. Raises UsageError for a file that is none, WazaError for one that cannot be read."""
    name = display_path(path)
    kind = recognize(path)
    reader = _READERS.get(kind) if kind is not None else None
    try:
        if reader is None:
            with path.open("rb"):
                raise UsageError(_refusal(name, kind))
        with path.open("rb") as file:
            recording = reader(file, path, name)
    except OSError as error:
        raise WazaError(f"{name}: cannot be read: {describe_os_error(error)}; name a transcript") from error
    if not recording.turns:
        raise WazaError(f"{name}: the transcript has no turn of an agent, so there is nothing to grade")
    return recording


def _refusal(name: str, kind: Kind | None) -> str:
    known = ", ".join(NAMES[one] for one in TRANSCRIPTS)
    advice = "; `waza grade EVAL.YAML --results FILE` grades it" if kind == "results" else f"; give {known}"
    return f"{name}: is {NAMES[kind] if kind else 'not a transcript that waza knows'}{advice}"
