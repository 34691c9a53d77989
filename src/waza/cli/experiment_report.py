"""Plans and decisions of experiments, as sections."""

from __future__ import annotations

from waza.experiment.collection import Collection
from waza.experiment.decide import ExperimentDecision
from waza.experiment.plan import PlannedArm, SealedPlan
from waza.kit.text import pluralize
from waza.report.section import Draw, facts, wrapped
from waza.report.words import one_line

_MARKS = {"pass": "✅ Pass", "fail": "❌ Fail", "inconclusive": "⚠ Inconclusive"}


def print_plan(sealed: SealedPlan, found: Collection | None, draw: Draw) -> None:
    """Draw a plan, and how far its collection is, if it has begun."""
    plan, rule = sealed.plan, sealed.plan.rule
    tasks = sum(len(block.tasks) for block in plan.blocks)
    stop = (
        "after every block, as soon as the rule decides"
        if rule.kind == "sequential"
        else "when all is collected"
    )
    draw(
        "EXPERIMENT",
        facts(
            [
                ("Baseline", _arm(plan.baseline)),
                ("Candidate", _arm(plan.candidate)),
                ("They differ in", ", ".join(plan.allowed)),
                (
                    "Data",
                    f"{pluralize(tasks, 'task')} in {pluralize(len(plan.blocks), 'block')}, {pluralize(plan.trials, 'trial')} each",
                ),
                ("Rule", f"{rule.kind}, alpha {rule.alpha:g}, tolerated loss {rule.tolerated_loss:g}"),
                ("Stops", stop),
                ("Golden tasks", ", ".join(map(one_line, plan.golden)) or "none"),
                ("Written", f"{plan.created}, by waza {plan.waza}"),
                ("Sealed as", sealed.seal),
            ]
        ),
    )
    if found is not None:
        wanted = len(found.wanted())
        state = (
            f"{pluralize(len(found.results), 'run')} collected, {wanted} to come" if wanted else "complete"
        )
        draw("COLLECTION", [state])


def _arm(arm: PlannedArm) -> str:
    skills = ", without skills" if arm.without_skills else ""
    return f"{arm.suite} on {arm.model or 'the default model'} ({arm.executor}){skills}"


def print_decision(found: ExperimentDecision, draw: Draw) -> None:
    """Draw a decision: what it is, why, and the comparison beside it."""
    doubt = found.treatment.doubt if found.treatment else ""
    parts = [found.reason, found.conditions, *([f"Doubt: {doubt}"] if doubt else ())]
    draw("DECISION", [_MARKS[found.outcome], *map(wrapped, parts)])
    draw("COMPARISON", [wrapped(found.comparison.sentence)])
