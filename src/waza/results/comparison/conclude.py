"""From what was measured to comparisons: one result against others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from waza.results.comparison.comparison import ALPHA, Comparison, Counts, MetricComparison
from waza.results.comparison.detectable import smallest_detectable
from waza.results.comparison.holm import holm
from waza.results.comparison.measured import METRICS, ComparedMetric, MeasuredTask
from waza.results.comparison.paired import bootstrap_interval, mean_difference, mean_interval, standard_error
from waza.results.comparison.pairs import pair_tasks
from waza.results.comparison.sentence import describe
from waza.results.comparison.sign_flip import sign_flip
from waza.results.comparison.variance import Variance, split_variance
from waza.results.treatment import NOT_MEASURED

_SCORE, *_OTHERS = METRICS
_JUDGED = ("score", "pass_rate")  # the metrics that judges have a part in


class Measured(msgspec.Struct, frozen=True):
    """A result as comparisons take it: its name for people, and its tasks.

    `contradiction` says why it measured something else than it claims; then nothing of it is compared.
    """

    name: str
    tasks: Sequence[MeasuredTask]
    contradiction: str = ""


def compare_measured(
    pairs: Sequence[tuple[Measured, Measured]], alpha: float = ALPHA, *, resample: bool = True
) -> list[Comparison]:
    """Compare the second of each pair with the first; `alpha` is the chance of a false alarm that is accepted.

    Without `resample` there is no bootstrap, which takes most of the time.

    P-values of scores are adjusted for the number of pairs. Those of the other metrics are adjusted together, for all
    pairs and metrics, so that looking at more figures does not take from what a run is about.
    """
    scores = _adjusted([_compare(a, b, _SCORE, alpha, resample=resample) for a, b in pairs])
    beside = [list(_compare_others(a, b, alpha)) for a, b in pairs]
    adjusted = iter(_adjusted([one for own in beside for one in own]))
    return [
        Comparison(
            **msgspec.structs.asdict(_refused(*pair, score) or _described(score, alpha)),
            metrics={one.metric: _described(next(adjusted), alpha) for one in own},
        )
        for pair, score, own in zip(pairs, scores, beside, strict=True)
    ]


def compare_by(metric: str, base: Measured, other: Measured, alpha: float = ALPHA) -> MetricComparison:
    """Compare two results by one metric, which is the only one that is looked at: its p-value is not adjusted.

    The metric is one of `METRICS`; else KeyError.
    """
    compared = {one.name: one for one in METRICS}[metric]
    (found,) = _adjusted([_compare(base, other, compared, alpha, resample=False)])
    return _described(found, alpha)


def describe_scores(pairs: Sequence[tuple[Measured, Measured]], alpha: float = ALPHA) -> list[str]:
    """Return what can be said of the score of the second of each pair against the first, as `compare_measured` says it.

    It is quicker: no other metric is looked at, and nothing is resampled.
    """
    found = _adjusted([_compare(a, b, _SCORE, alpha, resample=False) for a, b in pairs])
    return [describe(one, alpha) for one in found]


def _compare_others(base: Measured, other: Measured, alpha: float) -> Iterator[MetricComparison]:
    found = (_compare(base, other, metric, alpha) for metric in _OTHERS)
    return (one for one in found if one.n)


def _compare(
    base: Measured, other: Measured, metric: ComparedMetric, alpha: float, *, resample: bool = True
) -> MetricComparison:
    if base.contradiction or other.contradiction:
        base, other = Measured(base.name, ()), Measured(other.name, ())
    found = pair_tasks(base.tasks, other.tasks, metric.name)
    clusters, score = found.clusters, metric is _SCORE
    higher, lower, ties = found.wins_losses_ties
    error, test = standard_error(clusters), sign_flip(clusters) if clusters else None
    variance = Variance()
    if score or metric.name in _JUDGED:
        variance = split_variance(found.pairs, base.tasks, other.tasks, metric=metric.name)
    elif clusters:
        variance = split_variance(found.pairs, metric=metric.name)
    return MetricComparison(
        a=base.name,
        b=other.name,
        metric=metric.name,
        n=len(found.pairs),
        clusters=len(clusters),
        unmeasured=Counts(found.unmeasured_a, found.unmeasured_b),
        alone=Counts(found.only_a, found.only_b),
        mean_difference=mean_difference(clusters) if clusters else None,
        interval=mean_interval(clusters, 1 - alpha),
        bootstrap=bootstrap_interval(clusters) if score and resample else None,
        p_value=test.p_value if test else None,
        p_adjusted=None,
        test=test.test if test else None,
        wins=higher if metric.better == "higher" else lower,
        losses=lower if metric.better == "higher" else higher,
        ties=ties,
        smallest_detectable=smallest_detectable(error, alpha) if error else None,
        variance=variance,
        sentence="",
    )


def _adjusted(found: Sequence[MetricComparison]) -> list[MetricComparison]:
    tested = [one.p_value for one in found if one.p_value is not None]
    adjusted = iter(holm(tested))
    return [
        one if one.p_value is None else msgspec.structs.replace(one, p_adjusted=next(adjusted))
        for one in found
    ]


def _refused(a: Measured, b: Measured, found: MetricComparison) -> MetricComparison | None:
    """Return a comparison that says why nothing was compared, where a result measured something else than it claims."""
    why = refusal(a, b)
    return msgspec.structs.replace(found, sentence=why) if why else None


def refusal(a: Measured, b: Measured) -> str:
    """Return why nothing of two results is compared; empty where both measured what they claim."""
    why = [f"{one.name}: {one.contradiction}" for one in (a, b) if one.contradiction]
    return f"{NOT_MEASURED}: {'; '.join(why)}" if why else ""


def _described(found: MetricComparison, alpha: float) -> MetricComparison:
    return msgspec.structs.replace(found, sentence=describe(found, alpha))
