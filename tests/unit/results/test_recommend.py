"""Recommendations: scaling, weights, rounding, order."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.report.factory import suite

from waza.model.result import SuiteResult
from waza.results.recommend import recommend


def head(model: str, score: float, rate: float, deviation: float, duration: int) -> SuiteResult:
    return suite(
        model=model,
        summary={
            "aggregate_score": score,
            "success_rate": rate,
            "std_dev": deviation,
            "duration_ms": duration,
        },
    )


def recommended(*heads: SuiteResult) -> dict[str, Any]:
    found = recommend(heads)
    assert found is not None
    return found


def test_fewer_than_two_results_have_no_recommendation() -> None:
    assert recommend([]) is None
    assert recommend([head("a", 1, 1, 0, 1)]) is None


def test_the_best_of_each_figure_has_ten_and_the_worst_none() -> None:
    found = recommended(
        head("a", 0.9, 0.5, 0.1, 3000), head("b", 0.5, 1.0, 0.3, 1000), head("c", 0.7, 0.75, 0.2, 2000)
    )
    parts = {model["model_id"]: model["component_scores"] for model in found["all_models"]}
    assert parts["a"] == {
        "aggregate_score_normalized": 10,
        "pass_rate_normalized": 0,
        "consistency_normalized": 10,
        "speed_normalized": 0,
    }
    assert list(parts["b"].values()) == [0, 10, 0, 10]
    assert list(parts["c"].values()) == pytest.approx([5, 5, 5, 5])
    # 0.4*10 + 0.2*10 = 6; 0.3*10 + 0.1*10 = 4; 5
    assert [
        (model["model_id"], model["heuristic_score"], model["rank"]) for model in found["all_models"]
    ] == [
        ("a", 6, 1),
        ("c", 5, 2),
        ("b", 4, 3),
    ]
    assert found["recommended_model"] == "a"
    assert found["winner_margin_pct"] == 20
    assert found["weights"] == {"aggregate_score": 0.4, "pass_rate": 0.3, "consistency": 0.2, "speed": 0.1}


def test_a_tie_keeps_the_order_of_the_run() -> None:
    found = recommended(head("z", 1, 0, 0.1, 20), head("a", 0, 1, 0.1, 10))
    assert found["recommended_model"] == "z"
    assert [model["heuristic_score"] for model in found["all_models"]] == [5, 5]
    assert found["winner_margin_pct"] == 0
    assert "same" in found["reason"]


@pytest.mark.parametrize("durations", [(10, 10, 10), (15, 10, 12)])
def test_durations_alone_recommend_no_model(durations: tuple[int, int, int]) -> None:
    found = recommended(
        *(head(name, 0.5, 0.5, 0.1, took) for name, took in zip("xyz", durations, strict=True))
    )
    assert found["recommended_model"] == ""
    assert found["reason"] == "there is no difference between the models that these trials can show"
    assert found["winner_margin_pct"] == 0


def test_a_second_with_nothing_makes_no_margin() -> None:
    found = recommended(head("a", 1, 1, 0, 1), head("b", 0, 0, 1, 2))
    assert found["heuristic_score"] == 10
    assert found["winner_margin_pct"] == 0


def test_sums_are_rounded_to_one_decimal_with_halves_upwards() -> None:
    # The third of three scores lies at 1/8 of the way: 0.4 * 1.25 + 0.3 * 5 + 0.2 * 5 + 0.1 * 5 = 3.5
    # and at 3/16: 0.4 * 1.875 + 3 = 3.75, which becomes 3.8.
    found = recommended(head("a", 1, 0.5, 0, 1), head("b", 0, 0.5, 0, 1), head("c", 0.1875, 0.5, 0, 1))
    scores = {model["model_id"]: model["heuristic_score"] for model in found["all_models"]}
    assert scores == {"a": 7, "b": 3, "c": 3.8}
    assert found["winner_margin_pct"] == 84.2  # (7 - 3.8) / 3.8


def test_the_reason_names_what_leads() -> None:
    both = recommended(head("a", 0.9, 1.0, 0, 1), head("b", 0.5, 0.5, 0, 1))["reason"]
    assert "aggregate score (0.90 against 0.50)" in both
    assert "success rate (100.0% against 50.0%)" in both
    assert both.endswith("than b")
    assert "more even" in recommended(head("a", 0.5, 0.5, 0, 1), head("b", 0.5, 0.5, 0.1, 2))["reason"]
