"""How much a run takes, estimated from trials of earlier runs; what nobody has seen yet is not known, and not guessed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import msgspec

from waza.author.plan.earlier_trials import EarlierTrials
from waza.author.plan.power import count_units, plan_power
from waza.author.plan.report import SizeEstimate, SizePlan, SizeRange
from waza.engine.plan import ArmPlan, Plan, make_plan
from waza.graders.base import asks_judge
from waza.kit.text import pluralize
from waza.model.loaded import Suite
from waza.model.result import TrialResult
from waza.model.verdict import PAIRWISE, BuiltGrader
from waza.results.combine import NamedResult
from waza.results.comparison.comparison import ALPHA
from waza.results.comparison.detectable import can_show
from waza.results.comparison.measured import measure_trial
from waza.results.ending import came_to_its_end, run_status


def plan_size(
    suite: Suite, model: str, history: Sequence[NamedResult], *, difference: float | None = None
) -> SizePlan:
    """Return what a run of a suite on a model takes and shows, by earlier results of it, the newest first."""
    plan, config = make_plan(suite, model), suite.file.config
    rule = config.stop_rule
    trials = SizeRange(rule.min_trials, rule.max_trials) if rule else SizeRange(*[config.trials_per_task] * 2)
    tests = suite.trigger_tests
    prompts = len(tests.should_trigger_prompts) + len(tests.should_not_trigger_prompts) if tests else 0
    tasks = sum(len(arm.tasks) for arm in plan.arms)
    questions = sum(_questions(plan, arm) for arm in plan.arms)
    known = EarlierTrials(history)
    wall = known.estimate(
        plan, trials, lambda trial: None if trial.duration_unknown else float(trial.duration_ms)
    )
    return SizePlan(
        suite=suite.name,
        model=model,
        tasks=len(suite.tasks),
        arms=[arm.arm for arm in plan.arms],
        trials=trials,
        trigger_prompts=prompts,
        sessions=SizeRange(tasks * trials.least + prompts, tasks * trials.most + prompts),
        attempts=max(1, config.max_attempts),
        judge_calls=SizeRange(questions * trials.least, questions * trials.most),
        workers=plan.workers,
        runs=[name for name, _ in history],
        tokens=known.estimate(plan, trials, _metric("tokens")),
        judge_tokens=known.estimate(plan, trials, _judge_tokens),
        cost=known.estimate(plan, trials, _cost) if known.currency else None,
        currency=known.currency,
        ai_credits=known.estimate(plan, trials, _metric("ai_credits")),
        premium_requests=known.estimate(plan, trials, _metric("premium_requests")),
        duration_ms=wall and _divided(wall, plan.workers),
        power=plan_power(suite, model, trials.least, len(plan.arms), known, difference),
        notes=list(_notes(suite, plan, history, known, prompts)),
    )


def _questions(plan: Plan, arm: ArmPlan) -> int:
    """Return how many questions to judges one trial of each task asks."""
    both = plan.has_baseline and arm.arm == "main"
    return sum(_asked(built, both=both) for task in arm.tasks for built in task.all_graders)


def _asked(built: BuiltGrader, *, both: bool) -> int:
    """Return how many questions a grader asks; a pairwise one asks in `both` orders."""
    if not asks_judge(built):
        return 0
    return 2 if both and built.spec.config.get("mode") == PAIRWISE else 1


def _metric(name: str) -> Callable[[TrialResult], float | None]:
    return lambda trial: measure_trial(trial).values.get(name)


def _cost(trial: TrialResult) -> float | None:
    return trial.cost.amount if trial.cost else None


def _judge_tokens(trial: TrialResult) -> float | None:
    used = [session.usage.tokens for session in trial.grader_sessions if session.usage]
    return float(sum(used)) if any(used) else None


def _divided(found: SizeEstimate, workers: int) -> SizeEstimate:
    return msgspec.structs.replace(
        found,
        expected=None if found.expected is None else found.expected / workers,
        lower=found.lower / workers,
        upper=found.upper / workers,
    )


def _notes(
    suite: Suite, plan: Plan, history: Sequence[NamedResult], known: EarlierTrials, prompts: int
) -> Iterator[str]:
    yield from (*plan.warnings, *plan.notices)
    yield from _notes_on_history(plan, history, known)
    config = suite.file.config
    if prompts:
        yield f"tokens and time of {pluralize(prompts, 'trigger prompt')} are not in the estimates"
    if config.max_attempts > 1:
        yield f"a trial that fails has up to {config.max_attempts} attempts, so there may be more sessions"
    if config.stop_when:
        yield "trials end by what they show (stop_when); the difference is that of the fewest of them"
    if suite.tasks and not can_show(count_units(suite, plan.model), ALPHA):
        yield "so few tasks never show a difference, however large it is and however many trials they have"


def _notes_on_history(plan: Plan, history: Sequence[NamedResult], known: EarlierTrials) -> Iterator[str]:
    if not history:
        yield "no earlier run of this suite on this model is known, so what it takes is not known"
    for name, result in history:
        if not came_to_its_end(result):
            yield f"{name} did not come to its end ({run_status(result)}): its finished trials count"
    if history:
        for arm in plan.arms:
            lacking = len(arm.tasks) - known.has(arm.arm, arm.tasks)
            where = " without skills" if arm.arm == "baseline" else ""
            if lacking:
                yield f"no earlier trial{where} of {pluralize(lacking, 'task')}, for which the average of the others counts"
