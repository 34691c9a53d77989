"""From evidence to a verdict. `docs/diagnosing.md` states these rules; they are tried in the order of the verdicts."""

from __future__ import annotations

import math
from typing import NamedTuple

from waza.author.diagnose.diagnosis import DataNeeded, DiagnosisVerdict, Thresholds
from waza.author.diagnose.evidence import SkillEvidence
from waza.author.diagnose.next_step import (
    RunSource,
    after_harm,
    after_keep,
    after_no_effect,
    after_not_invoked,
    after_not_offered,
    after_too_dear,
    after_too_little,
)
from waza.kit.share import TOLERANCE, percent
from waza.kit.text import pluralize
from waza.results.comparison.comparison import ALPHA
from waza.results.comparison.detectable import equal_pairs_needed, fewest_units, tasks_needed, trials_needed
from waza.results.comparison.sentence import amount, bounds

LEAST_INVOKED = 0.5
"""A skill whose invocation rate is below this, with its whole interval, is not invoked."""


class SkillVerdict(NamedTuple):
    """A verdict, what it rests on, what to do, and the data that are lacking if it is these."""

    verdict: DiagnosisVerdict
    why: str
    next: str
    needed: DataNeeded | None = None


def decide(found: SkillEvidence, source: RunSource, limits: Thresholds) -> SkillVerdict:
    """Return the verdict about the skill of a run whose two arms have a common measure."""
    return (
        _baseline_with_skill(found, source)
        or _not_offered(found, source)
        or _not_invoked(found, source)
        or _shown(found, source, limits)
        or _no_effect(found, source, limits)
        or _too_little(found, source, limits)
    )


def tokens_per_point(found: SkillEvidence) -> float | None:
    """Return what a point of lift costs, in tokens a trial; None unless the lift is above 0 by more than chance."""
    lift, extra = found.lift.mean_difference, found.tokens.mean_difference
    if not lift or lift < 0 or extra is None or not found.lift.is_significant():
        return None
    return extra / (lift * 100)


def _not_offered(found: SkillEvidence, source: RunSource) -> SkillVerdict | None:
    given = found.treatment.with_skills
    if not (given.get("absent") or given.get("name")):
        return None
    why = f"{found.contradiction}, so the lift is not measured"
    return SkillVerdict("not-offered", why, after_not_offered(source, twin=found.with_skill.twins > 0))


def _baseline_with_skill(found: SkillEvidence, source: RunSource) -> SkillVerdict | None:
    without = found.treatment.without_skills
    if not (without.get("full") or without.get("name") or any(found.without_skill.invoked)):
        return None
    what = "remove the skill from where the agent finds it beside the suite, such as the home directory"
    why = f"{found.contradiction}, so the lift is not measured"
    return SkillVerdict("cannot-measure", why, f"{what}, then: {source.again()}")


def _not_invoked(found: SkillEvidence, source: RunSource) -> SkillVerdict | None:
    if found.invocations is None:
        return None
    count, of = found.invocations
    upper = found.invocation_bounds[1]
    if upper >= LEAST_INVOKED or (count and found.lift.is_significant()):
        return None
    why = f"the agent invoked the skill in {count} of {pluralize(of, 'trial')} (95 % interval up to {percent(upper)})"
    if found.lift.is_significant():
        why += f"; the lift of {amount(found.lift.mean_difference or 0.0, 'pass_rate')} has another cause"
    return SkillVerdict("not-invoked", why, after_not_invoked(source))


def _shown(found: SkillEvidence, source: RunSource, limits: Thresholds) -> SkillVerdict | None:
    """Return the verdict where chance does not explain the lift."""
    lift = found.lift.mean_difference
    if lift is None or abs(lift) <= TOLERANCE or not found.lift.is_significant():
        return None
    why = _describe_lift(found)
    if lift < 0:
        return SkillVerdict("harmful", why, after_harm(source, found))
    cost = tokens_per_point(found)
    if cost is not None and cost > limits.max_tokens_per_point:
        why += f"; {cost:,.0f} tokens a trial for each point, above {limits.max_tokens_per_point:,.0f}"
        return SkillVerdict("too-dear", why, after_too_dear(source))
    return SkillVerdict("keep", why, after_keep(source))


def _no_effect(found: SkillEvidence, source: RunSource, limits: Thresholds) -> SkillVerdict | None:
    interval, margin = found.lift.interval, limits.margin / 100
    if interval is None or max(-interval.lower, interval.upper) >= margin:
        return None
    if found.paired_trials < equal_pairs_needed(margin, ALPHA):
        return None
    why = f"{_describe_lift(found)}, which is within {limits.margin:g} points of none"
    return SkillVerdict("no-effect", why, after_no_effect(source, found))


def _too_little(found: SkillEvidence, source: RunSource, limits: Thresholds) -> SkillVerdict:
    if not found.lift.n:
        why = "no task was measured both with and without the skill"
        return SkillVerdict("cannot-measure", why, source.again())
    needed = _needed(found, limits.margin / 100)
    why = f"the data are too few: {_describe_lift(found)}"
    if found.lift.interval is None or not found.lift.can_be_significant():
        fewest = fewest_units(ALPHA)
        why += f"; a lift cannot be more than chance with fewer than {fewest} tasks that change independently"
    return SkillVerdict("cannot-measure", why, after_too_little(source, found, needed), needed)


def _needed(found: SkillEvidence, margin: float) -> DataNeeded:
    """Return the data that show a lift of the margin: trials of these tasks, or more tasks where that is not enough."""
    tasks = max(found.lift.clusters, fewest_units(ALPHA))
    alike = math.ceil(equal_pairs_needed(margin, ALPHA) / tasks)
    parts = found.lift.variance
    if not found.differing:
        return DataNeeded(tasks=tasks, trials=alike)
    if parts.trial is None:
        return DataNeeded(tasks=tasks, trials=None)
    task, trial = parts.task or 0.0, parts.trial + (parts.judge or 0.0)
    trials = trials_needed(task, trial, tasks=tasks, difference=margin, alpha=ALPHA)
    if trials is not None:
        return DataNeeded(tasks=tasks, trials=max(trials, alike))
    each = max(len(pair.b) for pair in found.pairs.pairs)
    more = tasks_needed(task, trial, trials=each, difference=margin, alpha=ALPHA)
    return DataNeeded(tasks=max(tasks, more or tasks), trials=each)


def _describe_lift(found: SkillEvidence) -> str:
    """Return the lift with its interval, on how many tasks."""
    lift = found.lift
    text = f"a lift of {amount(lift.mean_difference or 0.0, lift.metric)} on {pluralize(lift.n, 'task')}"
    return f"{text} (95 % interval {bounds(lift)})" if lift.interval else text
