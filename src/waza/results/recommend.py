"""Which of several models to take: a weighted sum of four figures, each scaled to 0..10."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from waza.kit.share import decimal, differs, percent
from waza.kit.stats import round_half_away
from waza.model.result import SuiteResult, number

NO_DIFFERENCE = "there is no difference between the models that these trials can show"
WEIGHTS = {"aggregate_score": 0.40, "pass_rate": 0.30, "consistency": 0.20, "speed": 0.10}


def recommend(results: Sequence[SuiteResult]) -> dict[str, Any] | None:
    """Return the recommendation for `metadata.recommendation`; None for fewer than two results.

    Each figure is scaled so that the best model has 10 and the worst 0; where all are equal each has 5.
    Standard deviation and duration count the other way round. The weighted sum is rounded to one decimal;
    models with equal sums keep the order of the run. The margin is the winner's lead in percent of the
    second's sum, 0 if that is 0. Of models that differ in nothing but their durations none
    is recommended.
    """
    if len(results) < 2:
        return None
    scaled = _scaled(results)
    sums = [round_half_away(sum(WEIGHTS[key] * parts[key] for key in WEIGHTS), 1) for parts in scaled]
    order = sorted(range(len(results)), key=lambda i: -sums[i])
    first, second = order[0], order[1]
    margin = round_half_away((sums[first] - sums[second]) / sums[second] * 100, 1) if sums[second] else 0.0
    undecided = not any(_differ(results[first], result) for result in results)
    return {
        "recommended_model": "" if undecided else results[first].config.model_id,
        "heuristic_score": number(sums[first]),
        "reason": NO_DIFFERENCE
        if undecided
        else _reason(results, first, second, tied=sums[first] == sums[second]),
        "winner_margin_pct": 0 if undecided else number(margin),
        "weights": dict(WEIGHTS),
        "all_models": [
            {
                "model_id": results[i].config.model_id,
                "heuristic_score": number(sums[i]),
                "rank": rank,
                "component_scores": {f"{key}_normalized": number(scaled[i][key]) for key in WEIGHTS},
            }
            for rank, i in enumerate(order, 1)
        ],
    }


def _differ(one: SuiteResult, other: SuiteResult) -> bool:
    """Return whether two models differ in what their tasks came to."""
    figures = ("aggregate_score", "success_rate", "std_dev")
    return any(differs(getattr(one.summary, name), getattr(other.summary, name)) for name in figures)


def _scaled(results: Sequence[SuiteResult]) -> list[dict[str, float]]:
    """Return each model's four figures on a scale from 0 to 10, by name of the weight."""
    columns = {
        "aggregate_score": [result.summary.aggregate_score for result in results],
        "pass_rate": [result.summary.success_rate for result in results],
        "consistency": [-result.summary.std_dev for result in results],
        "speed": [float(-result.summary.duration_ms) for result in results],
    }
    scales = {key: _scale(values) for key, values in columns.items()}
    return [{key: scales[key][i] for key in WEIGHTS} for i in range(len(results))]


def _scale(values: Sequence[float]) -> list[float]:
    low, high = min(values), max(values)
    return [5.0 if high == low else (value - low) / (high - low) * 10 for value in values]


def _reason(results: Sequence[SuiteResult], first: int, second: int, *, tied: bool) -> str:
    winner, other = results[first].summary, results[second].summary
    name = results[second].config.model_id or "the default model"
    if tied:
        return f"it has the same total as {name} and ran first"
    leads = [
        words
        for words, ahead in (
            (
                f"a higher aggregate score ({decimal(winner.aggregate_score)} against {decimal(other.aggregate_score)})",
                winner.aggregate_score > other.aggregate_score,
            ),
            (
                f"a higher success rate ({percent(winner.success_rate)} against {percent(other.success_rate)})",
                winner.success_rate > other.success_rate,
            ),
        )
        if ahead
    ]
    leads = leads or [
        words
        for words, ahead in (
            ("more even scores", winner.std_dev < other.std_dev),
            ("a shorter duration", winner.duration_ms < other.duration_ms),
        )
        if ahead
    ]
    return f"{' and '.join(leads) or 'the best total'} than {name}"
