"""What a comparison allows to say, in a sentence or a few."""

from __future__ import annotations

import math
from collections.abc import Iterator

from waza.kit.text import pluralize
from waza.results.comparison.comparison import MetricComparison
from waza.results.comparison.measured import METRICS, ComparedMetric
from waza.results.comparison.sign_flip import least_p_value

NAMES = {
    "score": "Score",
    "pass_rate": "Trial pass rate",
    "tokens": "Tokens",
    "ai_credits": "AI credits",
    "premium_requests": "Premium requests",
    "duration_ms": "Duration",
}
"""The names of metrics for people."""
_NOTHING = "No task was measured in both results, so nothing can be said of a difference"
_UNITS = {"points": ("point", 100.0), "tokens": ("token", 1.0), "credits": ("AI credit", 1.0)}
_UNITS |= {"requests": ("premium request", 1.0), "ms": ("second", 0.001)}


def describe(found: MetricComparison, alpha: float) -> str:
    """Return what can be said of one metric of two results, and why when the data cannot tell.

    `alpha` is the chance of a false alarm that is accepted.
    """
    if not found.n or found.mean_difference is None or found.p_value is None or found.p_adjusted is None:
        return ". ".join([_NOTHING, *_left_out(found)]) + "."
    words = ("better", "worse") if _metric(found.metric).better == "higher" else ("lower", "higher")
    if found.wins or found.losses:
        counts = f"{found.wins} of {pluralize(found.n, 'task')} {words[0]}, {found.losses} {words[1]}"
    else:
        counts = f"No difference in {pluralize(found.n, 'task')}"
    first = f"{counts}: {amount(found.mean_difference, found.metric)}"
    if found.interval:
        first += f", {found.interval.level * 100:g} % interval {bounds(found)}"
    first += f"; {shown_p(found.p_value)}"
    if found.p_adjusted > found.p_value:
        first += f" ({shown_p(found.p_adjusted)} for all comparisons together)"
    return ". ".join([first, *_conclusion(found, alpha), *_left_out(found)]) + "."


def amount(value: float, metric: str) -> str:
    """Return a difference with its sign and its unit, such as `+9 points`."""
    number, word = _number(value, metric), _UNITS[_metric(metric).scale][0]
    return f"{number} {word if number in ('+1', '-1') else word + 's'}"


def bounds(found: MetricComparison) -> str:
    """Return the interval, such as `+2 to +16`; "" without one. Scores and rates do not differ by more than 100 points."""
    if found.interval is None:
        return ""
    most = 1.0 if _metric(found.metric).scale == "points" else math.inf
    lower, upper = max(-most, found.interval.lower), min(most, found.interval.upper)
    return f"{_number(lower, found.metric)} to {_number(upper, found.metric)}"


def shown_p(value: float) -> str:
    """Return a p-value, such as `p = 0.02`; it is 1 only where chance always gives such a difference."""
    if value < 0.001:
        return "p < 0.001"
    text = f"{value:.2g}" if value < 0.1 else f"{value:.2f}"
    return f"p = {'1' if value >= 1 - 1e-9 else '0.99' if text == '1.00' else text}"


def _metric(name: str) -> ComparedMetric:
    return next(one for one in METRICS if one.name == name)


def _number(value: float, name: str) -> str:
    """Return a difference with its sign: 0 only without a difference, 100 points only for all of it."""
    scale = _metric(name).scale
    scaled = value * _UNITS[scale][1]
    size = abs(scaled)
    if size < 1e-9:
        return "0"
    if scale == "points" and 99.9 < size < 100 - 1e-7:
        return f"{scaled / size * 99.9:+.1f}"
    if size >= 100:
        return f"{scaled:+,.0f}"
    return f"{scaled:+.1f}".removesuffix(".0") if size >= 10 else f"{scaled:+.2g}"


def _conclusion(found: MetricComparison, alpha: float) -> Iterator[str]:
    if found.is_significant(alpha):
        yield "That is more than chance explains"
        return
    lower = _metric(found.metric).better == "lower"
    yield f"The data cannot tell which is {'lower' if lower else 'better'}"
    least = least_p_value(found.clusters)
    if least > alpha:
        yield f"{_few(found)} too few: even if all changed alike, {shown_p(least).replace('=', 'would be')}"
    elif found.smallest_detectable is not None:
        size = amount(found.smallest_detectable, found.metric).removeprefix("+")
        yield f"A true difference of {size} would show four times in five"


def _few(found: MetricComparison) -> str:
    if found.n == 1:
        return "One task is"
    return f"{found.clusters} {'tasks' if found.clusters == found.n else 'groups of tasks'} are"


def _left_out(found: MetricComparison) -> Iterator[str]:
    shared = found.n + max(found.unmeasured.a, found.unmeasured.b)
    for name, missing in ((found.a, found.unmeasured.a), (found.b, found.unmeasured.b)):
        if missing:
            yield f"{missing} of {pluralize(shared, 'task')} {'has' if missing == 1 else 'have'} no measurement in {name}"
    for name, alone in ((found.a, found.alone.a), (found.b, found.alone.b)):
        if alone:
            yield f"{pluralize(alone, 'task')} {'is' if alone == 1 else 'are'} only in {name}"
