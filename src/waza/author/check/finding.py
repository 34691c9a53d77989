"""Finding: one thing that `waza check` says about a file, with its place and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from waza.problem import Code, Problem

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""From worst to mildest. An error keeps a skill from being ready, a note is only for information."""


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding. `file` is as it is shown to people; `line` and `column` count from 1; `remedy` is what to do."""

    code: Code
    severity: Severity
    file: str
    line: int = 1
    column: int = 1
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        remedy = f"; {self.remedy}" if self.remedy else ""
        return f"{self.file}:{self.line}:{self.column}: {self.severity} {self.code}: {self.message}{remedy}"


def of_problem(problem: Problem) -> Finding:
    """Return a mistake in a file as a finding; one of the file as a whole is placed at its beginning."""
    path = f"{problem.path}: " if problem.path else ""
    return Finding(
        code=problem.code,
        severity=problem.severity,
        file=problem.file,
        line=max(problem.line, 1),
        column=max(problem.column, 1),
        message=f"{path}{problem.message}",
        remedy=problem.hint,
    )


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings by file and place, each once; files in the order of their first finding."""
    once = dict.fromkeys(findings)
    files = {file: number for number, file in enumerate(dict.fromkeys(one.file for one in once))}
    return tuple(sorted(once, key=lambda one: (files[one.file], one.line, one.column)))


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Return findings by severity, errors first; equal ones stay in their order."""
    return sorted(findings, key=lambda one: SEVERITIES.index(one.severity))


def path_below(file: str, root: Path) -> str:
    """Return the path of a finding's file below a directory, links followed, with slashes; an absolute one outside of it."""
    path, top = Path(os.path.realpath(file)), Path(os.path.realpath(root))
    return (path.relative_to(top) if path.is_relative_to(top) else path).as_posix()
