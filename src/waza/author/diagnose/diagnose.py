"""Runs in, diagnoses out."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from waza.author.diagnose.diagnosis import (
    PERCENT,
    POINTS,
    TOKENS,
    TOKENS_PER_POINT,
    Diagnosis,
    Figure,
    Offers,
    Thresholds,
)
from waza.author.diagnose.evidence import Reach, SkillEvidence, find_evidence
from waza.author.diagnose.next_step import RunSource, source_of
from waza.author.diagnose.rules import SkillVerdict, decide, tokens_per_point
from waza.kit.text import list_first, pluralize
from waza.model.result import SuiteResult
from waza.results.comparison.comparison import MetricComparison
from waza.results.ending import came_to_its_end
from waza.results.invocation import suite_name
from waza.results.outcome import Outcome
from waza.results.saved import SavedRun
from waza.results.selection import describe_selection
from waza.results.verdict import uncompared

_NAMED = 5  # other skills in a note


def diagnose(run: SavedRun, outcome: Outcome, limits: Thresholds) -> Diagnosis:
    """Return what is the matter with the skill of a run, or that it should be kept. Raises WazaError.

    The tasks of the outcome are gone through once.
    """
    head = outcome.head
    source = source_of(run, head)
    if unmeasured := _not_compared(head, source):
        return _diagnosis(head, source, unmeasured)
    evidence = find_evidence(outcome)
    return _with_figures(_diagnosis(head, source, decide(evidence, source, limits)), evidence, head)


def _not_compared(head: SuiteResult, source: RunSource) -> SkillVerdict | None:
    """Return why the run has no two arms that can be compared."""
    without = head.baseline_outcome
    if without is None:
        return SkillVerdict("cannot-measure", "the run has no arm without the skill", source.again())
    why = uncompared(head, without)
    if not why:
        return None
    again = source.going_on() if not came_to_its_end(head) else source.going_on("--retry-errors")
    return SkillVerdict("cannot-measure", f"not every task has a verdict in both arms: {why}", again)


def _diagnosis(head: SuiteResult, source: RunSource, found: SkillVerdict) -> Diagnosis:
    return Diagnosis(
        skill=suite_name(head),
        suite=head.eval_name,
        model=head.config.model_id,
        executor=head.config.engine_type,
        run=source.run,
        verdict=found.verdict,
        why=found.why,
        next=found.next,
        needed=found.needed,
    )


def _with_figures(found: Diagnosis, evidence: SkillEvidence, head: SuiteResult) -> Diagnosis:
    """Return the diagnosis with what was measured. Between arms that are not what they claim there is no lift."""
    found = msgspec.structs.replace(
        found,
        trials_with_skill=len(evidence.with_skill.invoked),
        trials_without_skill=len(evidence.without_skill.invoked),
        offered=msgspec.convert(evidence.treatment.with_skills, Offers),
        invocation_rate=_invocation_rate(evidence),
        notes=list(_notes(evidence, head)),
    )
    if not evidence.lift.n:
        return found
    with_skill, without = evidence.rates
    found = msgspec.structs.replace(
        found,
        tasks=evidence.lift.n,
        pass_rate_with_skill=_percent(with_skill),
        pass_rate_without_skill=_percent(without),
        extra_tokens=_figure(evidence.tokens, TOKENS, 1),
    )
    if evidence.contradiction:
        return found
    cost = tokens_per_point(evidence)
    return msgspec.structs.replace(
        found,
        lift=_figure(evidence.lift, POINTS, 100),
        p_value=evidence.lift.p_value,
        effect_when_invoked=_effect(evidence),
        tokens_per_point=None if cost is None else Figure(value=cost, unit=TOKENS_PER_POINT),
    )


def _percent(share: float) -> Figure:
    return Figure(value=share * 100, unit=PERCENT)


def _figure(found: MetricComparison, unit: str, scale: float) -> Figure | None:
    if found.mean_difference is None:
        return None
    interval = found.interval
    return Figure(
        value=found.mean_difference * scale,
        unit=unit,
        lower=interval.lower * scale if interval else None,
        upper=interval.upper * scale if interval else None,
    )


def _invocation_rate(evidence: SkillEvidence) -> Figure | None:
    if evidence.invocations is None:
        return None
    count, of = evidence.invocations
    lower, upper = evidence.invocation_bounds
    return Figure(value=count / of * 100, unit=PERCENT, lower=lower * 100, upper=upper * 100)


def _effect(evidence: SkillEvidence) -> Figure | None:
    lift, rate, bounds = evidence.lift.mean_difference, evidence.rate, evidence.effect
    if lift is None or not rate:
        return None
    return Figure(
        value=lift / rate * 100,
        unit=POINTS,
        lower=bounds.lower * 100 if bounds else None,
        upper=bounds.upper * 100 if bounds else None,
    )


def _notes(evidence: SkillEvidence, head: SuiteResult) -> Iterator[str]:
    if head.config.engine_type == "mock":
        yield "the agent was the mock, which follows a script: the figures are those of the script"
    if part := describe_selection(head):
        yield part
    if head.config.stop_when:
        yield "config.stop_when ended the trials, so the size of the lift may be off a little (docs/how-much.md)"
    if doubt := evidence.treatment.doubt:
        yield f"{doubt}: a lift is that of the settings of the suite"
    yield from _notes_on_arms(evidence.with_skill, evidence.without_skill)
    if evidence.invocations is None:
        yield "whether the agent invoked the skill is not known"
    elif evidence.rate is None:
        yield "whether the arm without skills invoked the skill is not known, so there is no effect when invoked"
    elif evidence.rate and evidence.effect is None:
        yield "the effect when invoked has no interval: the tasks are too few, or the invocation rate may be 0"
    if evidence.tokens.mean_difference is None:
        yield "tokens are not known, so whether the skill is too dear was not looked at"


def _notes_on_arms(given: Reach, without: Reach) -> Iterator[str]:
    if others := sorted(given.others - without.others):
        yield f"the arms differ in other skills, too, and the lift is that of all: {list_first(others, _NAMED)}"
    if broken := given.broken + without.broken:
        yield f"{pluralize(broken, 'trial')} broke and {'is' if broken == 1 else 'are'} left out"
