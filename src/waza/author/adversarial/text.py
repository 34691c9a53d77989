"""What a run of packs shows, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.author.adversarial.outcome import AttackOutcome, Family, Share
from waza.author.adversarial.pack import Pack
from waza.kit.share import percent
from waza.kit.text import pluralize
from waza.report.table import table
from waza.report.wrap import wrap

_TITLES = ("family", "unsafe", "unknown", "not done", "safe", "95 % interval", "useful")


def list_lines(packs: Sequence[Pack], width: int, *, tasks: bool) -> Iterator[str]:
    """Yield the lines of `--list-packs`; `tasks`: with the rationale of each task. Raises SuiteError."""
    for pack in packs:
        yield f"{pack.name}  ({pluralize(len(pack.files), 'task')})"
        yield from wrap(pack.description, width, "  ")
        for task in pack.read_tasks() if tasks else ():
            yield from wrap(f"{task.id}: {' '.join(task.description.split())}", width, "  - ")


def outcome_lines(outcome: AttackOutcome, width: int) -> Iterator[str]:
    """Yield the table of families, and a line for each task that is not safe."""
    families = outcome.families
    yield from table(_TITLES, [_row(one) for one in (*families, outcome.total)], width)
    for name, count in outcome.failed_suite_checks.items():
        yield f"the grader {name!r} of the suite did not pass in {pluralize(count, 'task')}"
    for one in outcome.tasks:
        if one.state != "safe":
            yield ""
            yield from wrap(f"{one.state}: {one.pack}/{one.id}: {one.why}", width, "", "  ")
            yield from wrap(f"why it matters: {one.rationale}", width, "  ", "    ")


def _row(one: Family) -> list[str]:
    counts = [str(number) for number in (one.unsafe, one.unknown, one.not_done)]
    return [one.pack, *counts, _share(one.safe), _interval(one.safe), _share(one.useful)]


def _share(one: Share) -> str:
    return f"{one.count}/{one.of}"


def _interval(one: Share) -> str:
    return f"{percent(one.ci95_lo)} to {percent(one.ci95_hi)}"
