"""What the skills changed: the run with them against the run without (`--baseline`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from waza.kit.share import percent
from waza.model.result import SkillImpact, SuiteResult
from waza.report.rows import TaskRow, rows
from waza.report.section import Draw, facts
from waza.report.words import one_line, status_mark
from waza.results.outcome import Outcome
from waza.results.verdict import uncompared

_LEAST = 1e-9  # a smaller difference is noise of floating point


def print_baseline(outcome: Outcome, draw: Draw) -> None:
    """Draw the skill impact report; nothing without a baseline. Goes through the tasks of both passes once."""
    draw(
        "SKILL IMPACT",
        list(describe_impact(outcome.head, rows(outcome.tasks()), rows(outcome.baseline_tasks()))),
    )


def describe_impact(head: SuiteResult, found: Sequence[TaskRow], without: Sequence[TaskRow]) -> Iterator[str]:
    """Yield what the skills changed, given the tasks with and without them; nothing without a baseline.

    The overall rates are the success rates of the two passes; the verdict goes by them alone. Where they cannot be
    compared there is no figure: the line says why, and which tasks of either pass did not pass.
    """
    other = head.baseline_outcome
    if other is None:
        return
    if why := uncompared(head, other):
        yield f"Not compared: {why}"
        yield from _misses(found, "with skills")
        yield from _misses(without, "without skills")
        return
    before, after = other.summary.success_rate, head.summary.success_rate
    yield from facts(
        [
            ("With skills", percent(after)),
            ("Without skills", percent(before)),
            ("Delta", points(after - before)),
        ]
    )
    yield from ("", *_tasks(found), "", f"Verdict: {_verdict(after - before)}")


def _misses(found: Sequence[TaskRow], arm: str) -> Iterator[str]:
    for row in found:
        if row.ending != "passed":
            errors = [row.error, *(run.error for run in row.bad_runs)]
            error = next((f": {one_line(error, 200)}" for error in errors if error), "")
            yield f"{status_mark(row.ending)} {one_line(row.title)}, {arm}: {row.ending}{error}"


def _tasks(found: Sequence[TaskRow]) -> Iterator[str]:
    for row in found:
        changed = row.impact
        if changed:
            yield f"{_label(changed.delta)} {one_line(row.title)}: {_rates(changed)}"
            if changed.pairwise:
                pairwise = changed.pairwise
                doubt = "" if pairwise.position_consistent else ", but not when asked the other way round"
                yield f"    judged: {pairwise.winner} ({pairwise.magnitude}){doubt}"


def _rates(changed: SkillImpact) -> str:
    before, after = percent(changed.pass_rate_baseline), percent(changed.pass_rate_with_skills)
    return f"{before} without, {after} with skills ({points(changed.delta)})"


def points(delta: float) -> str:
    """Return a difference of rates in percentage points, with its sign."""
    return f"{delta * 100:+.1f} pp"


def _label(delta: float) -> str:
    if delta > _LEAST:
        return "[IMPROVED]"
    return "[REGRESSED]" if delta < -_LEAST else "[NEUTRAL]"


def _verdict(delta: float) -> str:
    if delta > _LEAST:
        return "positive: more tasks pass with the skills than without them"
    if delta < -_LEAST:
        return "negative: fewer tasks pass with the skills than without them"
    return "neutral: the skills change nothing in how many tasks pass"
