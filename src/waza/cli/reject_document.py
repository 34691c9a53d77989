"""Evaluation documents of Microsoft 365 where a command wants a suite."""

from __future__ import annotations

from pathlib import Path

from waza.errors import UsageError


def refuse_document(path: Path, instead: str) -> None:
    """Raise UsageError for an evaluation document. `instead` says what to do."""
    if path.suffix.lower() != ".json":
        return
    from waza.foreign.recognize import recognize  # most calls do without it

    if recognize(path) == "m365-document":
        raise UsageError(f"{path} is an evaluation document, not a suite; {instead}")
