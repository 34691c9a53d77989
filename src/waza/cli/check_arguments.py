"""The arguments and options of `waza check`, and its exit code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from waza.author.check.finding import Finding
from waza.errors import EXIT_FAILED, EXIT_OK


class CheckArguments(NamedTuple):
    """The arguments and options of the command."""

    targets: tuple[str, ...]
    form: str
    fail_on: str
    fix: bool
    offline: bool
    tokenizer: str
    prove: bool
    integrity: bool
    programs: bool
    judges: bool

    def exit_code(self, findings: Iterable[Finding]) -> int:
        """Return 1 where `--fail-on` names the severity of a finding, or a milder one, else 0."""
        bad = {"error": ("error",), "warning": ("error", "warning")}.get(self.fail_on, ())
        return EXIT_FAILED if any(one.severity in bad for one in findings) else EXIT_OK
