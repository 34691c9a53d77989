"""What a run of packs shows, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.author.adversarial.pack import Pack
from waza.kit.text import pluralize
from waza.report.attacks import attack_table
from waza.report.table import table
from waza.report.wrap import wrap
from waza.results.attacks import AttackOutcome


def list_lines(packs: Sequence[Pack], width: int, *, tasks: bool) -> Iterator[str]:
    """Yield the lines of `--list-packs`; `tasks`: with the rationale of each task. Raises SuiteError."""
    for pack in packs:
        yield f"{pack.name}  ({pluralize(len(pack.files), 'task')})"
        yield from wrap(pack.description, width, "  ")
        for task in pack.read_tasks() if tasks else ():
            yield from wrap(f"{task.id}: {' '.join(task.description.split())}", width, "  - ")


def outcome_lines(outcome: AttackOutcome, width: int) -> Iterator[str]:
    """Yield the table of families, and a line for each task that is not safe."""
    families = attack_table(outcome)
    yield from table(families.titles, families.lines, width)
    for name, count in outcome.failed_suite_checks.items():
        yield f"the grader {name!r} of the suite did not pass in {pluralize(count, 'task')}"
    for one in outcome.tasks:
        if one.state != "safe":
            yield ""
            yield from wrap(f"{one.state}: {one.pack}/{one.id}: {one.why}", width, "", "  ")
            yield from wrap(f"why it matters: {one.rationale}", width, "  ", "    ")
