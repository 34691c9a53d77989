"""What the skills changed: the run with them against the run without (`--baseline`)."""

from __future__ import annotations

from collections.abc import Iterator

from waza.kit.share import percent
from waza.model.result import SkillImpact
from waza.report.section import Draw, facts
from waza.report.words import one_line, status_mark
from waza.results.outcome import Outcome
from waza.results.verdict import uncompared

_LEAST = 1e-9  # a smaller difference is noise of floating point


def baseline(outcome: Outcome, draw: Draw) -> None:
    """Draw the skill impact report; nothing without a baseline. Goes through the tasks once.

    The overall rates are the success rates of the two passes; the verdict goes by them alone. Where they cannot be
    compared there is none: it says why, and which tasks of either pass did not pass.
    """
    without = outcome.head.baseline_outcome
    if without is None:
        return
    if why := uncompared(outcome.head, without):
        draw("SKILL IMPACT", [f"Not compared: {why}", *_misses(outcome)])
        return
    before, after = without.summary.success_rate, outcome.head.summary.success_rate
    lines = facts(
        [
            ("With skills", percent(after)),
            ("Without skills", percent(before)),
            ("Delta", points(after - before)),
        ]
    )
    lines += ["", *_tasks(outcome), "", f"Verdict: {_verdict(after - before)}"]
    draw("SKILL IMPACT", lines)


def _misses(outcome: Outcome) -> Iterator[str]:
    for name, tasks in (("with skills", outcome.tasks()), ("without skills", outcome.baseline_tasks())):
        for task in tasks:
            if task.status != "passed":
                error = next((f": {one_line(run.error_msg, 200)}" for run in task.runs if run.error_msg), "")
                yield f"{status_mark(task.status)} {one_line(task.display_name)}, {name}: {task.status}{error}"


def _tasks(outcome: Outcome) -> Iterator[str]:
    for task in outcome.tasks():
        impact = task.skill_impact
        if impact:
            yield f"{_label(impact.delta)} {one_line(task.display_name)}: {_rates(impact)}"
            if impact.pairwise:
                said = impact.pairwise
                doubt = "" if said.position_consistent else ", but not when asked the other way round"
                yield f"    judged: {said.winner} ({said.magnitude}){doubt}"


def _rates(impact: SkillImpact) -> str:
    before, after = percent(impact.pass_rate_baseline), percent(impact.pass_rate_with_skills)
    return f"{before} without, {after} with skills ({points(impact.delta)})"


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
