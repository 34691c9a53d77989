"""Several results side by side: models, skills, and which model to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from waza.kit import stats
from waza.kit.share import decimal, percent
from waza.model.result import SuiteResult
from waza.report.console import facts, section
from waza.report.table import table
from waza.report.words import Write, duration, grouped
from waza.results.outcome import Outcome
from waza.results.verdict import NotStarted

_NAMES = {
    "aggregate_score": "Aggregate",
    "pass_rate": "PassRate",
    "consistency": "Consistency",
    "speed": "Speed",
}


class SkillLine(msgspec.Struct, frozen=True, kw_only=True):
    """One skill of a run over several: the results of its models, and whether all of them passed."""

    skill: str
    heads: tuple[SuiteResult, ...]
    passed: bool


def comparison(outcomes: Sequence[Outcome], out: Write) -> None:
    """Print the MODEL COMPARISON table, sorted by model."""
    heads = sorted((outcome.head for outcome in outcomes), key=lambda head: head.config.model_id)
    titles = (
        "Model",
        "Score",
        "Pass Rate",
        "Duration",
        "Turns",
        "Total Tokens",
        "Premium Reqs",
        "AI Credits",
    )
    section("MODEL COMPARISON", list(table(titles, [_model_line(head) for head in heads])), out)


def _model_line(head: SuiteResult) -> tuple[str, ...]:
    summary, usage = head.summary, head.summary.usage
    figures = (
        head.config.model_id or "(default)",
        decimal(summary.aggregate_score),
        percent(summary.success_rate),
        duration(summary.duration_ms),
    )
    if usage is None:
        return (*figures, "-", "-", "-", "n/a")
    return (
        *figures,
        grouped(usage.turns),
        grouped(usage.input_tokens + usage.output_tokens),
        f"{usage.premium_requests:.0f}",
        "n/a" if usage.ai_credits is None else f"{usage.ai_credits:.4f}",
    )


def skills_summary(lines: Sequence[SkillLine], not_started: Sequence[NotStarted], out: Write) -> None:
    """Print the MULTI-SKILL RUN SUMMARY: tasks passed over all models, the mean score, and what did not start."""
    cells = []
    for line in lines:
        total = sum(head.summary.total_tests for head in line.heads)
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
    section("MULTI-SKILL RUN SUMMARY", list(table(("Skill", "Status", "Pass Rate", "Avg Score"), cells)), out)


def recommendation(found: Mapping[str, Any], out: Write) -> None:
    """Print a recommendation as `waza.results.recommend.recommend` makes it."""
    weights = found["weights"]
    lines = facts(
        [
            ("Model", f"{found['recommended_model'] or '(default)'} ({found['heuristic_score']:.1f} of 10)"),
            ("Reason", found["reason"]),
            ("Margin", f"{found['winner_margin_pct']:.1f}%"),
        ]
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
    lines += ["", *table(("Model", "Total", *_NAMES.values()), cells), "", f"Weights: {shares}"]
    section("RECOMMENDATION", lines, out)
