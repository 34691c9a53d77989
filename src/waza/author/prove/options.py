"""How suites are proved."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from waza.model.loaded import Project


class ProveOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to prove, and what is asked besides graders that need nothing."""

    project: Project
    programs: bool = False
    """Graders that run programs are asked, and hooks run."""
    judges: bool = False
    """Graders that ask a judge are asked: the judge of the suite's executor answers."""
    report: Callable[[int, int], None] = lambda _done, _all: None
    """Gets how many runs are done, of how many."""
    say: Callable[[str], None] = lambda _message: None
    """Gets what people should know before it happens."""
