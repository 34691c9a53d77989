"""Progress on the console while a run goes on: whole lines, and on a terminal a bar below them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from waza.model.event import (
    RunEvent,
    SuiteFinished,
    SuiteStarted,
    SuiteStopped,
    TaskFinished,
    TrialFinished,
    Warned,
)
from waza.report import verbose_lines
from waza.report.bar import Bar
from waza.report.lines import finished_line, header, hook_lines, run_error
from waza.report.words import ERROR, indented, printer

Redact = Callable[[Any], Any]


class Console(Protocol):
    """What progress is written to, such as `sys.stderr`."""

    def write(self, text: str, /) -> object:
        """Write text."""
        ...

    def flush(self) -> None:
        """Show what was written."""
        ...

    def isatty(self) -> bool:
        """Tell whether people look at it."""
        ...


def is_live(stream: Console, environ: Mapping[str, str]) -> bool:
    """Tell whether a bar can be drawn: on a terminal that can move its cursor, and not in a CI job."""
    return stream.isatty() and not environ.get("CI") and environ.get("TERM") != "dumb"
