"""Whether a task has had enough trials, by `config.stop_when`: a decision of its finished trials alone.

It looks at nothing else, neither at the order in which they ended nor at the clock. So a run that was killed, its
resumed part, the shards of a run and a run from the cache stop each task at the same trial.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from waza.kit.confidence_sequence import RateBounds, fewest_trials, rate_bounds
from waza.model.pass_rule import AtLeast, PassRule
from waza.model.result import TrialStatus
from waza.model.stop_when import EndedBy, StopRule

_MAJORITY = 0.5


def graded_bounds(statuses: Sequence[TrialStatus]) -> RateBounds:
    """Return the confidence sequence of the pass rate; trials that broke or were not graded are no measurement."""
    passed, failed = statuses.count("passed"), statuses.count("failed")
    return rate_bounds(passed, passed + failed)


def trials_at_first(stop: StopRule) -> int:
    """Return how many trials are run before there is anything to decide: no outcome of fewer ends a task."""
    if stop.ci_half_width is None:
        return stop.min_trials
    return max(stop.min_trials, fewest_trials(stop.ci_half_width, stop.max_trials))


def ended_by(stop: StopRule, rule: PassRule, statuses: Sequence[TrialStatus]) -> EndedBy | None:
    """Return why a task with these finished trials has no further one; None: it goes on."""
    if len(statuses) < trials_at_first(stop):
        return None
    if "skipped" in statuses:
        return "not_graded"
    if stop.ci_half_width is not None:
        if graded_bounds(statuses).half_width <= stop.ci_half_width:
            return "ci_half_width"
    elif _is_decided(rule, statuses):
        return "pass_rule"
    return "max_trials" if len(statuses) >= stop.max_trials else None


def _is_decided(rule: PassRule, statuses: Sequence[TrialStatus]) -> bool:
    """Return whether it is known on which side of the pass rule's share the pass rate lies.

    One failed trial decides `all`, one that passed decides `any`.
    """
    if rule == "all":
        return "failed" in statuses
    if rule == "any":
        return "passed" in statuses
    share, bounds = rule.at_least if isinstance(rule, AtLeast) else _MAJORITY, graded_bounds(statuses)
    return bounds.lower > share or bounds.upper < share


def lacking(stop: StopRule, rule: PassRule, statuses: Sequence[TrialStatus]) -> int:
    """Return how many trials a task lacks at least, to be complete."""
    first = trials_at_first(stop)
    if len(statuses) < first:
        return first - len(statuses)
    return 0 if ended_by(stop, rule, statuses) else 1


def next_trials(
    stop: StopRule | None, rule: PassRule, trials: Mapping[int, TrialStatus], planned: int
) -> list[int]:
    """Return the numbers of the trials to run next: those before the first decision, then one after another.

    Without a rule to `stop` they are those of the `planned` ones that have not finished.
    """
    at_first = trials_at_first(stop) if stop else planned
    first = [number for number in range(1, at_first + 1) if number not in trials]
    if stop is None or first or ended_by(stop, rule, list(trials.values())):
        return first
    return [next(number for number in range(1, stop.max_trials + 1) if number not in trials)]
