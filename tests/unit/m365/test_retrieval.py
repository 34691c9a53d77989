import asyncio
from typing import Any

import pytest

from waza.m365.builtin import built_in
from waza.m365.case import Case
from waza.m365.part import typed
from waza.m365.scores import SCORE_KEYS, SCORES, RetrievalExecution

SEARCH = {
    "capability": "WebSearch",
    "queries": [{"queryString": "travel FORM abroad"}, {"queryString": "weather"}, {"queryString": None}],
    "retrievalHits": [
        {
            "rank": 1,
            "webUrl": "https://a.example",
            "extracts": [{"text": "Trips abroad"}, {"text": "use Form T-2"}],
        },
        {"rank": None, "webUrl": None, "extracts": [{"text": "Refunds take a week"}]},
        {"rank": 11, "extracts": [{"text": "Hotels"}]},
    ],
}
OTHER = {"capability": "Email", "queries": [{"queryString": "form"}], "retrievalHits": []}


def score(name: str, options: dict[str, Any], searches: list[dict[str, Any]] | None) -> dict[str, Any]:
    known = None if searches is None else tuple(typed(RetrievalExecution, search) for search in searches)
    case = Case(prompt="Which form?", response="T-2", retrieval=known)
    entry = asyncio.run(built_in(name, {"capability": "WebSearch", **options}, None)(case))
    if entry["result"] != "error":
        typed(SCORES[SCORE_KEYS[name]], entry)
    return entry


@pytest.mark.parametrize(
    ("name", "options"),
    [("RetrievalQuery", {"selector": "form"}), ("RetrievalResult", {"min_expected_count": 1})],
)
def test_without_telemetry_there_is_no_result(name, options):
    entry = score(name, options, None)
    assert entry.keys() == {"result", "error"}
    assert "retrieval_executions" in entry["error"]
    assert score(name, options, [])["result"] == "fail"


@pytest.mark.parametrize(
    ("options", "searches", "code", "missing", "found"),
    [
        ({}, [SEARCH, OTHER], "pass", [], []),
        ({"includes": ["Travel", "abroad"], "excludes": ["weather"]}, [SEARCH], "pass", [], []),
        ({"includes": ["travel", "visa"]}, [SEARCH], "required_terms_missing", ["visa"], []),
        ({"excludes": ["ABROAD", "visa"]}, [SEARCH], "excluded_terms_found", [], ["ABROAD"]),
        (
            {"includes": ["visa"], "excludes": ["travel"]},
            [SEARCH],
            "mixed_term_failure",
            ["visa"],
            ["travel"],
        ),
        ({"selector": "hotel"}, [SEARCH], "no_matching_query", [], []),
        ({}, [OTHER], "retrieval_failure", [], []),
        ({}, [], "retrieval_failure", [], []),
    ],
)
def test_queries_are_checked_by_their_terms(options, searches, code, missing, found):
    entry = score("RetrievalQuery", {"selector": "form", **options}, searches)
    passed = code == "pass"
    assert entry["diagnostic_code"] == code
    assert (entry["score"], entry["threshold"]) == (1.0 if passed else 0.0, 1.0)
    assert entry["result"] == ("pass" if passed else "fail")
    assert (entry["includes_missing"], entry["excludes_found"]) == (missing, found)
    assert entry["reason"]


def test_only_queries_with_the_selector_are_matched():
    assert score("RetrievalQuery", {"selector": "Form"}, [SEARCH])["matched_queries"] == [
        "travel FORM abroad"
    ]


def items(*phrases: str) -> dict[str, Any]:
    return {"expected_items": [{"retrievalExtract_contains": phrase} for phrase in phrases]}


def test_a_phrase_is_found_in_an_extract():
    entry = score("RetrievalResult", items("form t-2", "refunds", "hotels"), [OTHER, SEARCH])
    assert entry["score"] == pytest.approx(2 / 3)
    assert (entry["result"], entry["diagnostic_code"]) == ("fail", "not_retrieved")
    assert entry["results_evaluated"] == 2
    places = [(item["matchedHitUrl"], item["matchedHitRank"]) for item in entry["matched_items"]]
    assert places == [("https://a.example", 1), ("", 2)]
    assert [item["extractMatch"] for item in entry["missing_items"]] == ["hotels"]
    assert entry["extract_failures"] == entry["missing_items"]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"min_expected_count": 2}, (1.0, "pass", "pass")),
        ({"min_expected_count": 3}, (0.0, "fail", "count_below_minimum")),
        ({"min_expected_count": 3, "max_rank": 11}, (1.0, "pass", "pass")),
        ({**items("refunds"), "max_rank": 1}, (0.0, "fail", "not_retrieved")),
        ({**items("abroad use"), "max_rank": 1}, (0.0, "fail", "not_retrieved")),
        ({**items("refunds"), "min_expected_count": 3}, (1.0, "fail", "count_below_minimum")),
        (items("refunds", "trips"), (1.0, "pass", "pass")),
    ],
)
def test_every_check_must_hold(options, wanted):
    entry = score("RetrievalResult", options, [SEARCH])
    assert (entry["score"], entry["result"], entry["diagnostic_code"]) == wanted


def test_without_results_no_extract_failed():
    entry = score("RetrievalResult", items("refunds"), [])
    assert (entry["results_evaluated"], entry["extract_failures"]) == (0, [])
    assert len(entry["missing_items"]) == 1
