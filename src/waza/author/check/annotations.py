"""Findings as annotations of GitHub Actions, beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from waza.author.check.finding import Finding, Severity, path_below, worst_first
from waza.report.workflow_command import workflow_command

MOST = (
    10  # errors, warnings and notices each; GitHub shows no more of a step, and drops the rest without a word
)
_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}


def annotation_lines(found: Sequence[Finding], root: Path, command: str = "waza check") -> Iterator[str]:
    """Yield workflow commands, worst findings first, and for each level how many are left out.

    Paths are relative to `root`, the top of the repository; `command` is what found them.
    """
    for severity, level in _LEVELS.items():
        findings = [one for one in worst_first(found) if one.severity == severity]
        shown = findings if len(findings) <= MOST else findings[: MOST - 1]
        for finding in shown:
            yield _annotation(level, finding, root, command)
        if len(findings) > len(shown):
            rest = f"and {len(findings) - len(shown)} more; {command} lists them all"
            yield workflow_command(level, command, rest)


def _annotation(level: str, finding: Finding, root: Path, command: str) -> str:
    remedy = f". {finding.remedy}" if finding.remedy else ""
    return workflow_command(
        level,
        f"{command}: {finding.code}",
        f"{finding.message}{remedy}",
        file=path_below(finding.file, root),
        line=finding.line,
        col=finding.column,
    )
