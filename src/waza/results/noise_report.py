"""What `waza noise` says: false alarms of gates between identical arms, and how much data a difference needs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import msgspec

from waza.errors import UsageError
from waza.kit.share import TOLERANCE
from waza.kit.stats import pooled_variance, wilson
from waza.kit.text import pluralize
from waza.model.result import SuiteResult, number
from waza.results.combine import NamedResult
from waza.results.comparison.comparison import ALPHA
from waza.results.comparison.detectable import planned_detectable, tasks_needed, trials_needed
from waza.results.comparison.measured import measure
from waza.results.ending import came_to_its_end, run_status
from waza.results.noise import ACCEPTED, Pool, deal_statuses, pools_of_runs
from waza.results.selection import describe_selection
from waza.results.verdict import run_name

LIMITS = (0.0, 1.0, 2.0, 5.0, 10.0)
"""Limits of a regression, in percentage points, of which the report says how often they are exceeded."""
TRIALS = (1, 3, 5, 10)
"""Trials a task, for which the report says how many tasks a difference needs."""


class GateNoise(msgspec.Struct, frozen=True, kw_only=True):
    """How often a gate fails one of two identical arms; `lower` and `upper` bound that with 95 % confidence."""

    gate: str
    max_regression_pct: float | None
    """The limit of a gate for the pass rate."""
    false_alarm_probability: float
    lower: float
    upper: float


class Needed(msgspec.Struct, frozen=True):
    """How many tasks a difference needs with so many trials of each, in each of two runs; None: above a million."""

    trials: int
    tasks: int | None


class NoiseReport(msgspec.Struct, frozen=True, kw_only=True):
    """What chance does to a suite on a model. Shares and scores are from 0 to 1."""

    runs: list[str]
    suite: str
    model: str
    tasks: int
    """Tasks with trials."""
    trials: int
    """Trials a task in each arm."""
    pooled_trials: int
    """Trials that the arms are dealt from."""
    with_replacement: bool
    """There were too few trials for two arms, so trials were drawn several times."""
    gates: list[GateNoise]
    quiet_limit_pct: float
    """The least limit of a regression that identical arms exceed in no more than 5 % of cases."""
    trial_std_dev: float | None
    """The standard deviation of a trial's score about the mean of its task; None: no task has two trials."""
    smallest_detectable: float | None
    """The smallest difference of scores that so many tasks and trials show in four of five cases."""
    difference: float
    """The difference of scores that is wanted."""
    needed: list[Needed]
    """What that needs; empty where nothing is known of the noise."""
    trials_needed: int | None
    """Trials of each of these tasks that it needs, in each of two runs; None: above 10,000, or nothing is known."""
    notes: list[str]


def noise_report(runs: Sequence[NamedResult], *, difference: float, trials: int | None = None) -> NoiseReport:
    """Return what chance does to runs of one suite on one model, each given with its name.

    `trials` is the number of trials a task that the arms have; None: as many as the runs. Raises UsageError for runs
    of several suites or models, and for runs without trials.
    """
    runs = list(
        {result.eval_id or name: (name, result) for name, result in runs}.values()
    )  # each counts once
    results = [result for _, result in runs]
    agents = dict.fromkeys(_agent(result) for result in results)
    if len(agents) > 1:
        raise UsageError(
            f"the runs are not of one suite on one model: {'; '.join(agents)}; name runs of one of them, or choose by --model"
        )
    pools = pools_of_runs(results, trials)
    if not pools:
        raise UsageError("the runs have no trials; results files of `waza run` have them")
    gates, quiet = _gates(pools)
    deviation = _trial_deviation(results)
    size = max(pool.sizes[0] for pool in pools)
    return NoiseReport(
        runs=[name for name, _ in runs],
        suite=_suite(results[0]),
        model=results[0].config.model_id,
        tasks=len(pools),
        trials=size,
        pooled_trials=sum(len(pool.trials) for pool in pools),
        with_replacement=not all(pool.enough for pool in pools),
        gates=gates,
        quiet_limit_pct=number(round(quiet, 6)),
        trial_std_dev=deviation,
        smallest_detectable=_detectable(deviation, len(pools), size),
        difference=number(difference),
        needed=[] if not deviation else [Needed(one, _needed(deviation, difference, one)) for one in TRIALS],
        trials_needed=_trials_needed(deviation, difference, len(pools)),
        notes=list(_notes(runs, pools)),
    )


def _suite(result: SuiteResult) -> str:
    return result.eval_name or result.skill


def _agent(result: SuiteResult) -> str:
    """Return what runs must have in common; two suites may test one skill."""
    skill = f", skill {result.skill}" if result.skill else ""
    return run_name(_suite(result), result.config.model_id) + skill


def _gates(pools: Sequence[Pool]) -> tuple[list[GateNoise], float]:
    """Return the false alarms of the gates, and the least limit outside of the noise."""
    pairs = list(deal_statuses(pools))
    falls = sorted(dealt.fall for dealt in pairs)
    gates = [
        _gate(
            f"pass rate falls by more than {limit:g} points",
            limit,
            [fall > limit + TOLERANCE for fall in falls],
        )
        for limit in LIMITS
    ]
    if any(pool.first.golden for pool in pools):
        gates.append(_gate("a golden task does not pass", None, [not dealt.golden_pass for dealt in pairs]))
    return gates, falls[min(len(falls) - 1, int((1 - ACCEPTED) * len(falls)))]


def _gate(name: str, limit: float | None, trips: Sequence[bool]) -> GateNoise:
    hits, certain = sum(trips), len(trips) == 1
    share = hits / len(trips)
    lower, upper = (share, share) if certain else wilson(hits, len(trips))
    return GateNoise(
        gate=name, max_regression_pct=limit, false_alarm_probability=share, lower=lower, upper=upper
    )


def _trial_deviation(results: Sequence[SuiteResult]) -> float | None:
    """Return the pooled standard deviation of scores about the mean of their task; None without two of one task."""
    scores: dict[str, list[float]] = {}
    for result in results:
        for task in measure(result.tasks):
            scores.setdefault(task.id, []).extend(task.values("score"))
    variance = pooled_variance(scores.values())
    return None if variance is None else math.sqrt(variance)


def _detectable(deviation: float | None, tasks: int, trials: int) -> float | None:
    if not deviation:
        return None
    return planned_detectable(0, deviation**2, tasks=tasks, trials=trials, alpha=ALPHA)


def _needed(deviation: float, difference: float, trials: int) -> int | None:
    return tasks_needed(0, deviation**2, trials=trials, difference=difference, alpha=ALPHA)


def _trials_needed(deviation: float | None, difference: float, tasks: int) -> int | None:
    if not deviation:
        return None
    return trials_needed(0, deviation**2, tasks=tasks, difference=difference, alpha=ALPHA)


def _notes(runs: Sequence[NamedResult], pools: Sequence[Pool]) -> Iterator[str]:
    for name, result in runs:
        if not came_to_its_end(result):
            yield f"{name} did not come to its end ({run_status(result)}): its finished trials count"
        if part := describe_selection(result):
            yield f"{name}: {part}; a gate over the whole suite has other chances"
    scarce = [pool for pool in pools if not pool.enough]
    if scarce and all(len(pool.trials) == 1 for pool in scarce):
        yield f"{pluralize(len(scarce), 'task')} with a single trial say nothing of chance; run more trials, or a second time"
    elif scarce:
        yield (
            f"too few trials for two arms in {pluralize(len(scarce), 'task')}: trials were drawn several times, which"
            " makes the noise look smaller; name more runs"
        )
    if all(len({trial.status for trial in pool.trials}) == 1 for pool in pools):
        yield "all trials of a task ended alike, so no noise was seen; more trials may show some"
    yield "needed tasks hold where the change is alike on all tasks; where it differs, more are needed"
