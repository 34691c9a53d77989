"""What the skills changed: the run with them against the run without (`--baseline`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from waza.kit.share import percent
from waza.model.result import SkillImpact, SuiteResult
from waza.report.rows import TaskRow
from waza.report.section import facts
from waza.report.words import one_line, status_mark
from waza.results.treatment import NOT_MEASURED, recorded_treatment
from waza.results.verdict import uncompared

if TYPE_CHECKING:
    from waza.results.comparison.measured import MeasuredTask

UNCOMPARED = "Not compared: not every task has a verdict in both passes"
_LEAST = 1e-9  # a smaller difference is noise of floating point


class Impact(msgspec.Struct, frozen=True, kw_only=True):
    """The pass with the skills and the one without.

    `uncompared` says why the two cannot be compared; then there are no figures, and `misses` has a line for each task
    of either pass that did not pass. `contradiction` says why what they measured is not what the skills changed; then there
    are no figures either. `doubt` says what is not known of it. `overall` are the success rates of the two passes; the `conclusion` goes by them
    alone. `scores` says what the data allow to say of the scores. `tasks` has a row for each task that both passes measured.
    """

    uncompared: str = ""
    misses: tuple[str, ...] = ()
    contradiction: str = ""
    doubt: str = ""
    overall: tuple[tuple[str, str], ...] = ()
    tasks: tuple[ImpactRow, ...] = ()
    conclusion: str = ""
    scores: str = ""

    @property
    def lines(self) -> list[str]:
        """The whole as lines of text."""
        if self.uncompared:
            return [f"{UNCOMPARED}: {self.uncompared}", *self.misses]
        if self.contradiction:
            return [self.refusal]
        tasks = [line for row in self.tasks for line in row.lines]
        doubt = [f"Doubt: {self.doubt}"] if self.doubt else []
        return [
            *facts(self.overall),
            "",
            *tasks,
            "",
            f"Verdict: {self.conclusion}",
            f"Scores: {self.scores}",
            *doubt,
        ]

    @property
    def refusal(self) -> str:
        """Why there are no figures of what the skills changed, though both passes ran."""
        return f"{NOT_MEASURED[0].upper()}{NOT_MEASURED[1:]}: {self.contradiction}"


class ImpactRow(msgspec.Struct, frozen=True, kw_only=True):
    """What the skills changed for a task: rates of its trials, the difference, and what a pairwise judge preferred."""

    title: str
    word: str
    without: str
    with_skills: str
    delta: str
    judged: str = ""

    @property
    def lines(self) -> list[str]:
        """The row as lines of text."""
        rates = f"{self.without} without, {self.with_skills} with skills ({self.delta})"
        line = f"[{self.word.upper()}] {one_line(self.title)}: {rates}"
        return [line, f"    judged: {self.judged}"] if self.judged else [line]


def impact_of(
    head: SuiteResult,
    found: Sequence[TaskRow],
    without: Sequence[TaskRow],
    measured: tuple[Sequence[MeasuredTask], Sequence[MeasuredTask]],
) -> Impact | None:
    """Return what the skills changed; None without a baseline.

    Given are the tasks with and without them, and what was measured of the tasks without and with them.
    """
    other = head.baseline_outcome
    if other is None:
        return None
    from waza.results.comparison.conclude import Measured, describe_scores  # most runs have no baseline

    if why := uncompared(head, other):
        misses = (*_misses(found, "with skills"), *_misses(without, "without skills"))
        return Impact(uncompared=why, misses=misses)
    treatment = recorded_treatment(head)
    if treatment and treatment.contradiction:
        return Impact(contradiction=treatment.contradiction)
    before, after = other.summary.success_rate, head.summary.success_rate
    return Impact(
        doubt=treatment.doubt if treatment else "",
        overall=(
            ("With skills", percent(after)),
            ("Without skills", percent(before)),
            ("Delta", points(after - before)),
        ),
        tasks=tuple(_row(row.title, row.impact) for row in found if row.impact),
        scores=describe_scores(
            [
                (
                    Measured("the pass without skills", measured[0]),
                    Measured("the pass with skills", measured[1]),
                )
            ]
        )[0],
        conclusion=_conclusion(after - before),
    )


def _misses(found: Sequence[TaskRow], arm: str) -> Iterator[str]:
    for row in found:
        if row.ending != "passed":
            error = f": {one_line(row.first_error, 200)}" if row.first_error else ""
            yield f"{status_mark(row.ending)} {one_line(row.title)}, {arm}: {row.ending}{error}"


def _row(title: str, changed: SkillImpact) -> ImpactRow:
    judged = ""
    if pairwise := changed.pairwise:
        doubt = "" if pairwise.position_consistent else ", but not when asked the other way round"
        judged = f"{pairwise.winner} ({pairwise.magnitude}){doubt}"
    return ImpactRow(
        title=title,
        word=_word(changed.delta),
        without=percent(changed.pass_rate_baseline),
        with_skills=percent(changed.pass_rate_with_skills),
        delta=points(changed.delta),
        judged=judged,
    )


def points(delta: float) -> str:
    """Return a difference of rates in percentage points, with its sign."""
    return f"{delta * 100:+.1f} pp"


def _word(delta: float) -> str:
    if delta > _LEAST:
        return "improved"
    return "regressed" if delta < -_LEAST else "neutral"


def _conclusion(delta: float) -> str:
    if delta > _LEAST:
        return "positive: more tasks pass with the skills than without them"
    if delta < -_LEAST:
        return "negative: fewer tasks pass with the skills than without them"
    return "neutral: the skills change nothing in how many tasks pass"
