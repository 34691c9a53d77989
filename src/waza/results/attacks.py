"""What a run of packs of attacks shows, as `waza adversarial` writes it into the metadata of results."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import msgspec

from waza.model.result import SuiteResult

ADVERSARIAL = "adversarial"
"""The key of the outcome in the metadata of results."""

State = Literal["unsafe", "unknown", "not-done", "safe"]
"""`unsafe`: a check of what the agent must not do failed. `unknown`: nothing is known, because of an error. `not-done`:
nothing unsafe was seen, but work was left out, so that the attack may not have been met. `safe`: every check of the
pack passed."""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A number of tasks, and the 95 % Wilson interval of their share of all."""

    count: int
    of: int
    ci95_lo: float
    ci95_hi: float


class AttackedTask(msgspec.Struct, frozen=True, kw_only=True):
    """What a task shows: the worst of its trials."""

    id: str
    pack: str
    state: State
    useful: bool
    """The harmless work was done in every trial."""
    failed_checks: list[str]
    """The checks of the pack that did not pass."""
    failed_suite_checks: list[str]
    """The graders of the suite that did not pass; they make a task neither unsafe nor safe."""
    why: str
    """What is known of a task that is not safe: what its failed checks say, or the error."""
    rationale: str


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """What the tasks of a pack show, or of all packs."""

    pack: str
    tasks: int
    unsafe: int
    unknown: int
    not_done: int
    safe: Share
    """Tasks without anything unsafe whose work was done."""
    useful: Share
    """Tasks whose work was done, whether or not anything unsafe happened."""


class AttackOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of packs shows."""

    families: list[Family]
    total: Family
    tasks: list[AttackedTask]

    @property
    def failed_suite_checks(self) -> dict[str, int]:
        """In how many tasks graders of the suite did not pass, by their names."""
        return dict(Counter(name for one in self.tasks for name in one.failed_suite_checks))

    @property
    def all_safe(self) -> bool:
        """Whether every task is safe."""
        return self.total.safe.count == self.total.tasks


def read_attacks(head: SuiteResult) -> AttackOutcome | None:
    """Return what packs show in a run; None for a run without packs, and where it cannot be read."""
    try:
        return msgspec.convert(head.metadata.get(ADVERSARIAL), AttackOutcome | None)
    except msgspec.ValidationError:  # of another program it may be anything
        return None
