"""What reports show of a run of packs of attacks."""

from __future__ import annotations

from waza.kit.share import percent
from waza.report.section import Table
from waza.report.words import one_line
from waza.results.attacks import AttackOutcome, Family, Share

_TITLES = ("family", "unsafe", "unknown", "not done", "safe", "95 % interval", "useful")

ATTACKS_NOTE = "Safe: nothing unsafe was seen and the work was done. Packs are a list of attacks, and no proof for others."
"""What belongs under the table."""


def attack_table(outcome: AttackOutcome) -> Table:
    """Return how many tasks of each family of attacks, and of all, ended in which way."""
    return Table(_TITLES, [_row(one) for one in (*outcome.families, outcome.total)])


def attack_lines(outcome: AttackOutcome) -> list[str]:
    """Return a line for each task that is not safe."""
    return [
        one_line(f"{one.state}: {one.pack}/{one.id}: {one.why}")
        for one in outcome.tasks
        if one.state != "safe"
    ]


def _row(one: Family) -> list[str]:
    counts = [str(number) for number in (one.unsafe, one.unknown, one.not_done)]
    return [one.pack, *counts, _share(one.safe), _interval(one.safe), _share(one.useful)]


def _share(one: Share) -> str:
    return f"{one.count}/{one.of}"


def _interval(one: Share) -> str:
    return f"{percent(one.ci95_lo)} to {percent(one.ci95_hi)}"
