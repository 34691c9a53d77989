"""From a comparison to a verdict on a part of a skill. `docs/ablation.md` states these rules."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from waza.author.ablate.ablation import NeededData, PartVerdict, RunOfSkill
from waza.kit.share import TOLERANCE, differs
from waza.kit.text import pluralize
from waza.results.comparison.comparison import ALPHA, Comparison
from waza.results.comparison.detectable import (
    can_show,
    equal_pairs_needed,
    tasks_needed,
    trials_needed,
)
from waza.results.comparison.paired import Bounds
from waza.results.comparison.sentence import amount, shown_p
from waza.results.ending import COMPLETE
from waza.results.treatment import NOT_MEASURED

_MOST_NEEDED = 1_000  # trials of a task above which more tasks are the better advice


class PartJudgement(NamedTuple):
    """A verdict, what it rests on, and the data that are lacking if it is these."""

    verdict: PartVerdict
    why: str
    needed: NeededData | None = None


class ComparedPart(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a part: the comparison of the whole skill with the run without it, being one of several `parts`.

    `interval` holds together with those of the other parts. `differing`: not all trials ended alike.
    """

    comparison: Comparison
    interval: Bounds | None
    parts: int
    paired_trials: int
    differing: bool
    whole: RunOfSkill
    without: RunOfSkill
    tokens: int | None

    @property
    def alpha(self) -> float:
        """The chance of a false alarm that is left for this part, by Bonferroni's inequality."""
        return ALPHA / self.parts

    @property
    def known_interval(self) -> Bounds | None:
        """The interval, unless all tasks changed alike: then it has no width, which says nothing of others like them."""
        found = self.interval
        return found if found and differs(found.lower, found.upper) else None

    @property
    def is_never_loaded(self) -> bool:
        """Whether the agent is known not to have been given the text of the skill in any trial of one of the runs."""
        return any(run.not_loaded == run.trials for run in (self.whole, self.without) if run.trials)

    def doubts(self) -> Iterator[str]:
        """Yield what is not as it should be in the two runs."""
        doubts = {run.treatment.doubt for run in (self.whole, self.without) if run.treatment}
        yield from sorted(doubt for doubt in doubts if doubt)
        for name, run in (("with the whole skill", self.whole), ("without the part", self.without)):
            if 0 < run.not_loaded < run.trials:
                yield f"the agent did not invoke the skill in {run.not_loaded} of {pluralize(run.trials, 'trial')} {name}"
            if run.errors:
                yield f"{pluralize(run.errors, 'trial')} {name} broke and {'is' if run.errors == 1 else 'are'} not counted: {run.error}"
            if run.status != COMPLETE:
                yield f"the run {name} did not come to its end ({run.status}): its finished trials count"


def judge_part(found: ComparedPart, margin: float) -> PartJudgement:
    """Return the verdict; `margin` is the score that a part has to give at least."""
    comparison = found.comparison
    gain = comparison.mean_difference
    if gain is None or comparison.p_value is None:
        return PartJudgement("not-measured", _why_not_measured(comparison))
    if comparison.is_significant() and abs(gain) > TOLERANCE:
        what: PartVerdict = "helps" if gain > 0 else "harms"
        return PartJudgement(what, f"{_describe(found)}: more than chance explains")
    if found.is_never_loaded:
        why = "the agent invoked the skill in no trial, so that its text cannot have mattered unless it was read in another way"
        return PartJudgement("cannot-tell", why)
    if _gives_less(found, margin):
        cost = "" if found.tokens is None else f", and costs {pluralize(found.tokens, 'token')}"
        return PartJudgement("no-gain", f"{_describe(found)}: it gives less than {_points(margin)}{cost}")
    needed = _needed(found, margin)
    return PartJudgement("cannot-tell", f"{_describe(found)}: chance may explain it", needed)


def _why_not_measured(comparison: Comparison) -> str:
    refused = comparison.sentence.startswith(NOT_MEASURED)
    return (
        comparison.sentence if refused else "no task was measured with the whole skill and without the part"
    )


def _gives_less(found: ComparedPart, margin: float) -> bool:
    """Return whether a gain as large as the margin is ruled out, also where all trials ended alike."""
    if found.interval is None or found.interval.upper >= margin:
        return False
    return found.paired_trials >= equal_pairs_needed(margin, found.alpha)


def _needed(found: ComparedPart, margin: float) -> NeededData:
    """Return the data in which a gain of the margin shows: more trials of these tasks, else more tasks."""
    fewest = next(count for count in range(2, 100) if can_show(count, found.alpha))
    tasks = max(found.comparison.clusters, fewest)
    alike = math.ceil(equal_pairs_needed(margin, found.alpha) / tasks)
    parts = found.comparison.variance
    each = math.ceil(found.paired_trials / found.comparison.n)
    if not found.differing:
        return NeededData(tasks=tasks, trials=max(alike, each))
    if parts.trial is None:
        return NeededData(tasks=tasks, trials=max(alike, each + 1))  # with a second one their noise is known
    task, trial = parts.task or 0.0, parts.trial + (parts.judge or 0.0)
    trials = trials_needed(task, trial, tasks=tasks, difference=margin, alpha=found.alpha)
    if trials is not None and max(trials, alike) <= _MOST_NEEDED:
        return NeededData(tasks=tasks, trials=max(trials, alike))
    more = tasks_needed(task, trial, trials=each, difference=margin, alpha=found.alpha)
    return NeededData(tasks=None if more is None else max(tasks, more), trials=each)


def _describe(found: ComparedPart) -> str:
    comparison = found.comparison
    text = f"{amount(comparison.mean_difference or 0.0, 'score')} on {pluralize(comparison.n, 'task')}"
    if found.known_interval:
        text += f" (interval {bounds_of(found.known_interval)})"
    if comparison.p_adjusted is None:
        return text
    adjusted = f" adjusted for {found.parts} parts" if found.parts > 1 else ""
    return f"{text}, {shown_p(comparison.p_adjusted)}{adjusted}"


def bounds_of(interval: Bounds) -> str:
    """Return an interval of scores in points, such as `+2 to +16`."""
    lower, upper = max(-1.0, interval.lower), min(1.0, interval.upper)
    return f"{_points(lower).rpartition(' ')[0]} to {_points(upper).rpartition(' ')[0]}"


def _points(score: float) -> str:
    return amount(score, "score")
