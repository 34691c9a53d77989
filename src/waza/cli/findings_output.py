"""Reports of findings in the form that was asked for: text, table, JSON, SARIF or annotations of GitHub."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from waza.author.check.annotations import annotation_lines
from waza.author.check.finding import Finding
from waza.cli.find_targets import repository_of
from waza.cli.streams import output_width, print_commands, print_json, print_line


class FindingsReport(Protocol):
    """A report that has findings."""

    @property
    def findings(self) -> Sequence[Finding]:
        """All findings."""
        ...

    def to_json(self) -> Any:
        """Return the report as `--format json` prints it."""
        ...


R = TypeVar("R", bound=FindingsReport)
Lines = Callable[[R, int], Iterable[str]]
"""Draws a report as lines of at most so many columns."""


def print_findings(
    report: R, form: str, *, text: Lines[R], table: Lines[R], command: str = "waza check"
) -> None:
    """Print a report; `text` and `table` draw it for people, `command` is what made it."""
    if form == "json":
        print_json(report.to_json())
    elif form == "sarif":
        from waza.author.check.sarif import to_sarif

        print_json(to_sarif(report.findings, repository_of(Path.cwd())))
    elif form == "github":
        print_commands(annotation_lines(report.findings, repository_of(Path.cwd()), command))
    else:
        lines = table if form == "table" else text
        print_line("\n".join(lines(report, output_width())))
