"""Several results side by side: models, skills, and which model to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from waza.kit.share import decimal, percent
from waza.model.result import SuiteResult
from waza.report.section import Draw, Table, facts, wrapped
from waza.report.view import InvocationView, Pairs, model_name, success_rate
from waza.report.words import duration, grouped, money
from waza.results.recommend import NO_DIFFERENCE

_NAMES = {
    "aggregate_score": "Aggregate",
    "pass_rate": "Success",
    "consistency": "Consistency",
    "speed": "Speed",
}


def print_model_comparison(results: Sequence[SuiteResult], draw: Draw, sentences: Sequence[str] = ()) -> None:
    """Draw the MODEL COMPARISON table, and what can be said of the models against each other."""
    draw(
        "MODEL COMPARISON", [compare_models(results), *(["", *map(wrapped, sentences)] if sentences else [])]
    )


def compare_models(results: Sequence[SuiteResult]) -> Table:
    """Return the results of one suite on several models as a table, sorted by model.

    Columns that no model has a figure for are left out.
    """
    results = sorted(results, key=lambda result: result.config.model_id)
    usages = [result.summary.usage for result in results]
    own = any(usage and usage.provider for usage in usages)
    titles = ["Model", "Score", "Success", "Duration", "Turns", "Tokens"]
    if any(usage and usage.premium_requests for usage in usages):
        titles.append("Requests" if own else "Premium Reqs")
    if any(usage and usage.ai_credits is not None for usage in usages):
        titles.append("AI Credits")
    if any(result.summary.cost is not None for result in results):
        titles.append("Cost")
    return Table(titles, [[_cell(result, title) for title in titles] for result in results])


def _cell(result: SuiteResult, title: str) -> str:
    summary, usage = result.summary, result.summary.usage
    match title:
        case "Model":
            return model_name(result)
        case "Score":
            return decimal(summary.aggregate_score)
        case "Success":
            return success_rate(result)
        case "Duration":
            return duration(summary.duration_ms)
        case "Cost":
            return "n/a" if summary.cost is None else money(summary.cost)
    if usage is None:
        return "-"
    match title:
        case "Turns":
            return grouped(usage.turns)
        case "Tokens":
            return grouped(usage.tokens) if usage.tokens else "-"
        case "AI Credits":
            return "n/a" if usage.ai_credits is None else f"{usage.ai_credits:.4f}"
        case _:
            return f"{usage.premium_requests:.0f}"


def print_skills_summary(view: InvocationView, draw: Draw) -> None:
    """Draw the MULTI-SKILL RUN SUMMARY: tasks passed over all models, the mean score, and what did not run."""
    cells = [
        (
            line.skill,
            "✅ Passed" if line.passed else "❌ Failed",
            percent(line.success_rate),
            decimal(line.score),
        )
        for line in view.skills
    ]
    cells += [
        (line.name, f"{line.mark} {line.word.capitalize()}", "-", "-")
        for line in (*view.not_started, *view.not_run)
    ]
    draw("MULTI-SKILL RUN SUMMARY", [Table(("Skill", "Status", "Success", "Avg Score"), cells)])


def print_recommendation(found: Mapping[str, Any], draw: Draw) -> None:
    """Draw a recommendation as `waza.results.recommend.recommend` makes it."""
    ranking = rank_models(found)
    sentences = found.get("comparisons", ())
    lines = ["", *map(wrapped, sentences)] if sentences else []
    if ranking is None:
        draw("RECOMMENDATION", [found["reason"], *lines])
    else:
        head, weights = facts(recommendation(found)), recommendation_weights(found)
        draw("RECOMMENDATION", [*head, *lines, "", ranking, "", weights])


def recommendation(found: Mapping[str, Any]) -> Pairs:
    """Return which model a recommendation names, and why; only why not, where it names none."""
    if found["reason"] == NO_DIFFERENCE:
        return [("Model", "none"), ("Reason", found["reason"])]
    model = found["recommended_model"] or "(default)"
    return [
        ("Model", f"{model} ({found['heuristic_score']:.1f} of 10)"),
        ("Reason", found["reason"]),
        ("Margin", f"{found['winner_margin_pct']:.1f}%"),
    ]


def rank_models(found: Mapping[str, Any]) -> Table | None:
    """Return the models of a recommendation by rank, with what their totals consist of; None where it names none."""
    if found["reason"] == NO_DIFFERENCE:
        return None
    cells = [
        (
            f"{model['rank']}. {model['model_id'] or '(default)'}",
            f"{model['heuristic_score']:.1f}",
            *(f"{model['component_scores'][f'{key}_normalized']:.1f}" for key in _NAMES),
        )
        for model in found["all_models"]
    ]
    return Table(("Model", "Total", *_NAMES.values()), cells)


def recommendation_weights(found: Mapping[str, Any]) -> str:
    """Return the line about the weights of the figures."""
    shares = ", ".join(f"{name} {percent(found['weights'][key], 0)}" for key, name in _NAMES.items())
    return f"Weights: {shares}"
