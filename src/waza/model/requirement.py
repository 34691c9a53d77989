"""Requirements of tasks as results keep them: what is required, and which verdicts observe it."""

from __future__ import annotations

import msgspec

BOUNDARY, OUTCOME = "boundary", "outcome"
"""Categories of requirements: what an agent must not do, and the work that it is to do."""


class RecordedCheck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The grader that observes a requirement."""

    scope: str
    """Where the grader is declared: `eval` (the suite), `task` or `checkpoint`."""
    grader: str
    """The name of the grader."""
    after_turn: int | None = None
    """The turn of the checkpoint, with the scope `checkpoint`."""
    fault: str = ""
    """Why no verdict observes it: the check names no grader, or several. Left out where it names one."""


class RecordedRequirement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A requirement of a task. It changes no verdict; what was observed of it follows from `runs`."""

    id: str
    """The name of the requirement."""
    category: str
    """`outcome`, `boundary`, `recovery` or `quality`."""
    description: str
    """What is required."""
    checks: list[RecordedCheck]
    """The graders that observe it."""
