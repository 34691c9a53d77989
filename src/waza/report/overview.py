"""Several results side by side: models, skills, and which model to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from waza.kit import stats
from waza.kit.share import decimal, percent
from waza.model.result import SuiteResult
from waza.report.section import Draw, Part, Table, facts
from waza.report.words import NO_SUITE, SKIPPED, duration, grouped
from waza.results.outcome import Outcome
from waza.results.recommend import NO_DIFFERENCE
from waza.results.verdict import NotStarted

_NAMES = {
    "aggregate_score": "Aggregate",
    "pass_rate": "Success",
    "consistency": "Consistency",
    "speed": "Speed",
}


class SkillLine(msgspec.Struct, frozen=True, kw_only=True):
    """One skill of a run over several: the results of its models, and whether all of them passed."""

    skill: str
    heads: tuple[SuiteResult, ...]
    passed: bool


def print_model_comparison(outcomes: Sequence[Outcome], draw: Draw) -> None:
    """Draw the MODEL COMPARISON table, sorted by model. Columns that no model has a figure for are left out."""
    heads = sorted((outcome.head for outcome in outcomes), key=lambda head: head.config.model_id)
    usages = [head.summary.usage for head in heads]
    own = any(usage and usage.provider for usage in usages)
    titles = ["Model", "Score", "Success", "Duration", "Turns", "Tokens"]
    if any(usage and usage.premium_requests for usage in usages):
        titles.append("Requests" if own else "Premium Reqs")
    if any(usage and usage.ai_credits is not None for usage in usages):
        titles.append("AI Credits")
    lines = [[_cell(head, title) for title in titles] for head in heads]
    draw("MODEL COMPARISON", [Table(titles, lines)])


def _cell(head: SuiteResult, title: str) -> str:
    summary, usage = head.summary, head.summary.usage
    match title:
        case "Model":
            return head.config.model_id or "(default)"
        case "Score":
            return decimal(summary.aggregate_score)
        case "Success":
            return percent(summary.success_rate)
        case "Duration":
            return duration(summary.duration_ms)
    if usage is None:
        return "-"
    match title:
        case "Turns":
            return grouped(usage.turns)
        case "Tokens":
            return grouped(usage.input_tokens + usage.output_tokens)
        case "AI Credits":
            return "n/a" if usage.ai_credits is None else f"{usage.ai_credits:.4f}"
        case _:
            return f"{usage.premium_requests:.0f}"


def print_skills_summary(
    lines: Sequence[SkillLine], not_started: Sequence[NotStarted], without_suite: Sequence[str], draw: Draw
) -> None:
    """Draw the MULTI-SKILL RUN SUMMARY: tasks passed over all models, the mean score, and what did not run."""
    cells = []
    for line in lines:
        ends = [head.summary for head in line.heads]
        total = sum(one.succeeded + one.failed + one.errors + one.skipped for one in ends)  # of the plan
        passed = sum(head.summary.succeeded for head in line.heads)
        scores = [head.summary.aggregate_score for head in line.heads]
        cells.append(
            (
                line.skill,
                "✅ Passed" if line.passed else "❌ Failed",
                percent(passed / total if total else 0.0),
                decimal(stats.mean(scores)),
            )
        )
    cells += [(one.name, "❌ Not started", "-", "-") for one in not_started]
    cells += [(name, f"{SKIPPED} {NO_SUITE.capitalize()}", "-", "-") for name in without_suite]
    draw("MULTI-SKILL RUN SUMMARY", [Table(("Skill", "Status", "Success", "Avg Score"), cells)])


def print_recommendation(found: Mapping[str, Any], draw: Draw) -> None:
    """Draw a recommendation as `waza.results.recommend.recommend` makes it."""
    weights = found["weights"]
    if found["reason"] == NO_DIFFERENCE:
        draw("RECOMMENDATION", [found["reason"]])
        return
    lines: list[Part] = list(
        facts(
            [
                (
                    "Model",
                    f"{found['recommended_model'] or '(default)'} ({found['heuristic_score']:.1f} of 10)",
                ),
                ("Reason", found["reason"]),
                ("Margin", f"{found['winner_margin_pct']:.1f}%"),
            ]
        )
    )
    cells = [
        (
            f"{model['rank']}. {model['model_id'] or '(default)'}",
            f"{model['heuristic_score']:.1f}",
            *(f"{model['component_scores'][f'{key}_normalized']:.1f}" for key in _NAMES),
        )
        for model in found["all_models"]
    ]
    shares = ", ".join(f"{name} {percent(weights[key], 0)}" for key, name in _NAMES.items())
    lines += ["", Table(("Model", "Total", *_NAMES.values()), cells), "", f"Weights: {shares}"]
    draw("RECOMMENDATION", lines)
