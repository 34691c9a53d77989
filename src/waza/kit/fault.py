"""Exceptions of other people's code: what they say in one line, and their traceback without our frames."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import NamedTuple

LONGEST = 16_000  # characters of a traceback, whose end counts
_OURS = str(Path(__file__).parents[1])


class Fault(NamedTuple):
    """`text` names the exception and where it was raised; `traceback` shows how it came to that."""

    text: str
    traceback: str


def fault_of(error: BaseException) -> Fault:
    """Return what can be told of an exception that other people's code raised."""
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if not frame.filename.startswith(_OURS)] or frames[-1:]
    place = ""
    if theirs:
        last = theirs[-1]
        place = f" ({last.filename}:{last.lineno}, in {last.name}: {last.line})"
    shown = traceback.TracebackException.from_exception(error)
    shown.stack = traceback.StackSummary.from_list(theirs)
    return Fault(f"{type(error).__name__}: {error}{place}", "".join(shown.format())[-LONGEST:])
