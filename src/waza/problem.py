"""Problem: one mistake in a user's file, with its place and how to fix it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

Severity = Literal["error", "warning"]

Code = Literal[
    "ambiguous-skill",
    "broken-link",
    "canary",
    "capability",
    "caveat",
    "changed-grader",
    "changed-module",
    "complexity",
    "conflicting-keys",
    "context-fixture",
    "dataset",
    "dead-link",
    "description-length",
    "description-too-long",
    "descriptive",
    "directory-link",
    "disabled-skill",
    "disabled-task",
    "duplicate-grader",
    "duplicate-key",
    "duplicate-name",
    "duplicate-task",
    "empty-check",
    "evaluator-class",
    "evaluator-import",
    "evaluator-input",
    "evaluator-name",
    "evaluator-threshold",
    "evidence",
    "failing-solution",
    "grader-collision",
    "grader-config",
    "invalid-lock",
    "invalid-module",
    "invalid-ref",
    "invalid-value",
    "judge-injection",
    "leaked-answer",
    "link-outside",
    "listing-limit",
    "mcp-documentation",
    "mcp-servers",
    "mcp-tool-collision",
    "metric",
    "missing-anti-triggers",
    "missing-context-dir",
    "missing-evaluator-file",
    "missing-file",
    "missing-frontmatter",
    "missing-instructions",
    "missing-judge",
    "missing-key",
    "missing-license",
    "missing-lock",
    "missing-module",
    "missing-price",
    "missing-prompty",
    "missing-repository",
    "missing-routing",
    "missing-solution",
    "missing-suite",
    "missing-triggers",
    "missing-version",
    "mock-fixture",
    "mocked-server",
    "module-count",
    "name-case",
    "name-format",
    "name-mismatch",
    "name-missing",
    "negative-delta-risk",
    "never-fails",
    "never-invoked",
    "no-effect",
    "no-evaluator",
    "no-task",
    "not-a-directory",
    "not-a-document",
    "not-assured",
    "not-checked",
    "not-locked",
    "not-proved",
    "older-form",
    "orphaned-file",
    "outside-path",
    "over-specificity",
    "pack",
    "passes-failing-agent",
    "preset-conflict",
    "procedural-content",
    "prompty",
    "prompty-input",
    "readable-suite",
    "reference-case",
    "required-skill",
    "requirement",
    "requirement-reference",
    "response-count",
    "scope-reduction",
    "shadowed-agent",
    "skill-definition",
    "skill-directory",
    "skill-not-found",
    "skills-off",
    "summary-counts",
    "syntax",
    "template",
    "token-hard-limit",
    "token-limit",
    "token-warning",
    "tool-boundary",
    "trigger-tests",
    "unchecked-task",
    "unconfirmed-executor",
    "unconfirmed-hook",
    "unconfirmed-program",
    "unconfirmed-repository",
    "unconfirmed-server",
    "uncovered-requirement",
    "unjudged-case",
    "unknown-evaluator",
    "unknown-executor",
    "unknown-grader",
    "unknown-key",
    "unknown-tool",
    "unmatched-pattern",
    "unmet-case",
    "unnoticed-change",
    "unreadable-file",
    "untrusted-module",
    "version",
    "wrong-type",
]
"""The kinds of mistakes. `waza.problem_codes` explains them."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """One mistake. `str()` returns the line that is shown: `file:line:col: path: message; hint`.

    `code` is the kind of the mistake; it stays the same where the message changes.

    `line` and `column` count from 1; 0 means the file as a whole. `path` is the
    place inside the document (`graders[0].config.contains`), empty for the document itself.
    """

    code: Code
    file: str
    message: str
    line: int = 0
    column: int = 0
    path: str = ""
    hint: str = ""
    severity: Severity = "error"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        parts = [place, *([self.path] if self.path else [])]
        warning = "warning: " if self.severity == "warning" else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{': '.join(parts)}: {warning}{self.message}{hint}"


def display_path(file: Path) -> str:
    """Return a path for messages: relative to the current directory if it is inside of it."""
    try:
        return str(file.relative_to(Path.cwd()))
    except ValueError:
        return str(file)
