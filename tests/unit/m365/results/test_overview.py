"""What reports say of a result document."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.m365.documents import document

from waza.m365.results import csv_report, html_report
from waza.m365.results.overview import format_number, make_overview
from waza.report.html_page import escape_text


@pytest.mark.parametrize(("judge", "shown"), [("gpt-4o at host", "gpt-4o at host"), (["a", 1], "['a', 1]")])
def test_the_judge_stands_behind_the_agent(judge: Any, shown: str) -> None:
    metadata = {"judge": judge, "agentName": "desk", "agentId": "T_1", "cliVersion": "1"}
    data = document({"prompt": "p", "status": "pass"}, metadata=metadata)
    assert make_overview(data).facts == (
        ("Agent", "desk"),
        ("Agent id", "T_1"),
        ("Judge", shown),
        ("Program", "1"),
    )
    assert f"Judge <b>{escape_text(shown)}</b>" in html_report.to_html(data)
    assert f"# Judge: {shown}\r\n" in csv_report.to_csv(data)


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (5, "5"),
        (2.0, "2"),
        (2 / 3, "0.6667"),
        (-0.000123456, "-0.0001235"),
        (999.96, "1000"),
        (1234.5678, "1235"),
        (-12345678, "-12345678"),
        (2e30, "2e+30"),
    ],
)
def test_four_digits_count(number: float, shown: str) -> None:
    assert format_number(number) == shown


def test_older_results_without_statuses_are_understood() -> None:
    scores = {"relevance": {"score": 2, "result": "fail", "threshold": 3}, "own": "free"}
    broken = {"relevance": {"result": "error", "error": "gone"}}
    seen = make_overview(
        document(
            {"prompt": "a", "scores": scores},
            {"turns": [{"prompt": "b", "scores": broken}, {"prompt": "c", "status": "pass"}]},
            {"prompt": "d"},
        )
    )
    assert [item.status for item in seen.items] == ["fail", "partial", "pass"]
    assert [(total.evaluator, total.count, total.mean) for total in seen.totals] == [
        ("relevance", 2, 2.0),
        ("own", 0, None),
    ]
