"""What a run with a baseline shows of its skill."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from waza.kit.stats import mean, wilson
from waza.kit.text import pluralize
from waza.model.result import SuiteResult, TaskResult, TrialResult
from waza.model.trial import Arm
from waza.results.comparison.comparison import MetricComparison
from waza.results.comparison.conclude import Measured, compare_by
from waza.results.comparison.measured import MeasuredTask, MeasuredTrial, measure_task
from waza.results.comparison.paired import Bounds
from waza.results.comparison.pairs import Pairs, pair_tasks
from waza.results.comparison.ratio import ratio_interval
from waza.results.outcome import Outcome
from waza.results.treatment import Treatment, recorded_treatment

_INVOKED = "invoked"  # a metric beside those of comparisons: 1 where the agent got the text of the skill
_MEASURED = ("passed", "failed")


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """How the skill reached the agent in the measured trials of an arm that were to have it, or not to.

    `invoked` has an entry for each trial: whether the agent invoked the skill or got its text; None: not known.
    `twins` are trials in which another skill of its name was offered, `others` the names of all other skills that were.
    `broken` trials are no measurement.
    """

    invoked: tuple[bool | None, ...]
    twins: int
    others: frozenset[str]
    broken: int

    @property
    def known_invocations(self) -> bool:
        """Whether it is known of every trial; there must be one."""
        return bool(self.invoked) and None not in self.invoked


class SkillEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """A run with and without its skill. `lift` compares trial pass rates, `tokens` what trials used.

    `pairs` are the tasks that have trials in both arms. `effect` is the interval of the lift over the invocation rate,
    and `rate` that rate as the mean over the tasks; None where it is not known.
    """

    treatment: Treatment
    with_skill: Reach
    without_skill: Reach
    pairs: Pairs
    lift: MetricComparison
    tokens: MetricComparison
    rate: float | None
    effect: Bounds | None

    @property
    def contradiction(self) -> str:
        """Why the arms are known not to be with and without the skill, so that there is no lift of it; else empty."""
        used = sum(map(bool, self.without_skill.invoked))
        if used and not self.treatment.contradiction:
            return f"in {used} of {pluralize(len(self.without_skill.invoked), 'trial')} without skills the agent invoked the skill"
        return self.treatment.contradiction

    @property
    def paired_trials(self) -> int:
        """Pairs of trials of one task, one with and one without the skill."""
        return sum(min(len(pair.a), len(pair.b)) for pair in self.pairs.pairs)

    @property
    def differing(self) -> bool:
        """Whether any trial of any task ended otherwise than another one."""
        return any(len({*pair.a, *pair.b}) > 1 for pair in self.pairs.pairs)

    @property
    def rates(self) -> tuple[float, float]:
        """The trial pass rates with and without the skill, as means over the tasks; there must be one."""
        pairs = self.pairs.pairs
        return mean([mean(pair.b) for pair in pairs]), mean([mean(pair.a) for pair in pairs])

    @property
    def invocations(self) -> tuple[int, int] | None:
        """In how many trials with the skill it was invoked, and of how many; None: not known."""
        reach = self.with_skill
        return (sum(map(bool, reach.invoked)), len(reach.invoked)) if reach.known_invocations else None

    @property
    def invocation_bounds(self) -> tuple[float, float]:
        """The 95 % Wilson interval of the share of trials in which it was invoked; of nothing it is (0, 1)."""
        return wilson(*(self.invocations or (0, 0)))


def find_evidence(outcome: Outcome) -> SkillEvidence:
    """Return what the tasks of both arms show. The outcome has a baseline."""
    head = outcome.head
    without, reach_without = _read(outcome.baseline_tasks(), head, "baseline")
    found, reach = _read(outcome.tasks(), head, "main")
    arms = Measured("the arm without the skill", without), Measured("the arm with the skill", found)
    rates, exposure = (pair_tasks(without, found, metric) for metric in ("pass_rate", _INVOKED))
    known = reach.known_invocations and reach_without.known_invocations and bool(exposure.pairs)
    return SkillEvidence(
        treatment=recorded_treatment(head) or Treatment(state="unknown"),
        with_skill=reach,
        without_skill=reach_without,
        pairs=rates,
        lift=compare_by("pass_rate", *arms),
        tokens=compare_by("tokens", *arms),
        rate=mean(exposure.differences) if known else None,
        effect=ratio_interval(rates.clusters, exposure.clusters, 0.95) if known else None,
    )


def _read(tasks: Iterable[TaskResult], head: SuiteResult, arm: Arm) -> tuple[list[MeasuredTask], Reach]:
    """Return the measured tasks of an arm, going through them once, and how the skill reached their trials."""
    found: list[MeasuredTask] = []
    invoked, others = list[bool | None](), set[str]()
    twins = broken = 0
    for task in tasks:
        trials = [run for run in task.runs if run.status in _MEASURED]
        uses = [_is_invoked(run, head.skill) for run in trials]
        found.append(_with_uses(measure_task(task), uses))
        broken += sum(run.status == "error" for run in task.runs)
        if task.without_skills and arm == "main":  # the task has no skills in either arm
            continue
        invoked += uses
        twins += sum(head.skill in (run.other_skills_offered or ()) for run in trials)
        others.update(name for run in trials for name in run.other_skills_offered or ())
    return found, Reach(invoked=tuple(invoked), twins=twins, others=frozenset(others), broken=broken)


def _is_invoked(run: TrialResult, skill: str) -> bool | None:
    """Tell whether an agent invoked the skill or got its text; None where nobody could see it."""
    if run.skill_loaded is not None:
        return run.skill_loaded
    return True if any(not skill or one.name == skill for one in run.skill_invocations) else None


def _with_uses(task: MeasuredTask, uses: Sequence[bool | None]) -> MeasuredTask:
    trials = tuple(
        trial if use is None else MeasuredTrial({**trial.values, _INVOKED: float(use)}, trial.answer)
        for trial, use in zip(task.trials, uses, strict=True)
    )
    return msgspec.structs.replace(task, trials=trials)
