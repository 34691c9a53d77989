"""Result documents, and the reports that are made of them."""

from __future__ import annotations

import base64
import copy
import csv
import hashlib
import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.support.page import Page
from tests.unit.m365.documents import VALID, document, mistakes, needs_corpus, oracle, read

from waza.errors import UsageError
from waza.kit.unsafe_text import escape_unsafe
from waza.m365.document.read import EvalDocument, read_document
from waza.m365.evaluators.protocols import EvaluatorResult
from waza.m365.results import csv_report, html_report
from waza.m365.results.output import RunFacts, check_format, result_document, write_result
from waza.m365.results.status import Failure, TurnOutcome
from waza.version import __version__

FACTS = RunFacts(evaluated_at=datetime(2026, 1, 20, 10, 0, 0, 123, tzinfo=UTC), agent_name="desk agent")
EVIL = "</script><script>window.pwn=1</script><img src=x onerror=pwn=1> \x1b[31m\u202e \"'&"

DATA = document(
    {
        "prompt": "Which form?",
        "context": "Trips abroad use form T-2.",
        "evaluators": {"ExactMatch": {}},
        "extensions": {"id": "form"},
        # of an earlier run:
        "response": "old",
        "citations": [{"index": 9}],
        "scores": {"similarity": {"result": "error", "error": "old"}},
        "diagnostics": {"old": 1},
        "status": "partial",
        "error": {"code": "old", "message": "old"},
    },
    {
        "name": "refund",
        "description": "keeps the subject",
        "turns": [{"prompt": "I missed my train."}, {"prompt": "And the hotel?"}, {"prompt": "Thanks."}],
        "conversation_id": "old",
    },
    {"prompt": "=1+1", "expected_response": EVIL},
    {"prompt": "Is it open?"},
    **{"$schema": "s"},
    metadata={"name": "travel\ndesk", "agentId": "T_1", "cliVersion": "1.4.0", "own": [1]},
    default_evaluators={"own_check": {}},
)
OUTCOMES = [
    [
        TurnOutcome(
            response="Form T-2 [1]",
            results=(
                EvaluatorResult(name="Relevance", score=4, threshold=3, passed=True, reason="on topic"),
                EvaluatorResult(
                    name="Citations", score=1, threshold=1, passed=True, extra={"format": "bracket"}
                ),
                EvaluatorResult(name="ExactMatch", score=1, passed=True),
                EvaluatorResult(name="own_check", kind="code", score=0.25, threshold=0.2, passed=True),
            ),
            citations=[{"index": 1, "source": "https://example.org/t2", "text": "T-2"}],
            diagnostics={"retrieval_executions": []},
        )
    ],
    [
        TurnOutcome(response="Sorry.", results=(EvaluatorResult(name="Relevance", score=2, threshold=3),)),
        TurnOutcome(failure=Failure("HTTP 503")),
        TurnOutcome(skipped=True),
    ],
    [
        TurnOutcome(
            response=EVIL,
            results=(EvaluatorResult(name="own_check", kind="code", error=EVIL),),
        )
    ],
    [TurnOutcome(response="no", results=(EvaluatorResult(name="ExactMatch", reason=EVIL),))],
]


@pytest.fixture
def source(tmp_path: Path) -> EvalDocument:
    return read(tmp_path, DATA)


@pytest.fixture
def result(source: EvalDocument) -> dict[str, Any]:
    return result_document(source, OUTCOMES, FACTS)


# --- the document ---


def test_results_replace_those_that_the_document_came_with(result: dict[str, Any]) -> None:
    single = result["items"][0]
    assert list(single) == [
        *("prompt", "context", "evaluators", "extensions"),
        *("response", "citations", "scores", "diagnostics", "status"),
    ]
    assert (single["response"], single["status"]) == ("Form T-2 [1]", "pass")
    assert list(single["scores"]) == ["relevance", "citations", "exactMatch", "own_check"]
    thread = result["items"][1]
    assert thread["conversation_id"] == "old"  # it is the document's own
    assert [turn["status"] for turn in thread["turns"]] == ["fail", "error", "error"]
    assert [turn["response"] for turn in thread["turns"]] == ["Sorry.", "", ""]
    assert thread["turns"][1]["error"]["message"] == "Agent request failed: HTTP 503"
    assert thread["summary"] == {
        "turns_total": 3,
        "turns_passed": 0,
        "turns_failed": 1,
        "turns_partial": 0,
        "turns_errored": 2,
        "overall_status": "error",
    }
    assert [item.get("status") for item in result["items"]] == ["pass", None, "partial", "fail"]


def test_what_is_known_of_the_run_is_in_the_metadata(result: dict[str, Any]) -> None:
    assert result["metadata"] == {
        "name": "travel\ndesk",
        "agentId": "T_1",
        "cliVersion": f"waza {__version__}",
        "own": [1],
        "evaluatedAt": "2026-01-20T10:00:00Z",
        "agentName": "desk agent",
    }
    assert list(result) == ["schemaVersion", "$schema", "metadata", "default_evaluators", "items"]
    assert (result["$schema"], result["schemaVersion"]) == ("s", "1.7.0")
    assert result["default_evaluators"] == {"own_check": {}}


def test_the_input_stays_as_it_was(source: EvalDocument) -> None:
    before = copy.deepcopy(source.data)
    result_document(source, OUTCOMES, FACTS)
    assert source.data == before


def test_a_result_is_valid_and_an_input_again(tmp_path: Path, result: dict[str, Any]) -> None:
    file = tmp_path / "out" / "result.json"
    write_result(file, result)
    text = file.read_text(encoding="utf-8")
    assert mistakes(text) == []
    assert oracle_agrees(json.loads(text))
    again = read_document(file)
    assert [item.id for item in again.items] == ["form", "refund", "item-3", "item-4"]
    assert result_document(again, OUTCOMES, FACTS) == result


def oracle_agrees(data: Any) -> bool:
    """What the format's own schema says; without the corpus there is nobody to ask."""
    return not VALID or oracle().is_valid(data)


def test_an_outcome_is_needed_for_every_turn(source: EvalDocument) -> None:
    with pytest.raises(ValueError, match="zip"):
        result_document(source, OUTCOMES[:-1], FACTS)
    with pytest.raises(ValueError, match="zip"):
        result_document(source, [OUTCOMES[0], OUTCOMES[0], *OUTCOMES[2:]], FACTS)


def test_the_format_follows_from_the_name(tmp_path: Path, result: dict[str, Any]) -> None:
    for name, start in (("a.json", "{\n"), ("a.CSV", "\ufeff# "), ("a.html", "<!doctype html>\n")):
        check_format(tmp_path / name)
        write_result(tmp_path / name, result)
        assert (tmp_path / name).read_text(encoding="utf-8").startswith(start)
    for name in ("a.txt", "a", "json"):
        with pytest.raises(
            UsageError, match=r"has no known format; end its name with one of \.json, \.csv, \.html"
        ):
            check_format(tmp_path / name)


def test_text_that_no_file_can_hold_is_written_all_the_same(tmp_path: Path, source: EvalDocument) -> None:
    odd = [[TurnOutcome(response="half \ud800")], *OUTCOMES[1:]]
    for suffix in (".json", ".csv", ".html"):
        file = tmp_path / f"a{suffix}"
        write_result(file, result_document(source, odd, FACTS))
        assert "half " in file.read_text(encoding="utf-8")


# --- CSV ---


def tables(text: str) -> tuple[list[str], list[list[dict[str, str]]]]:
    """The lines of comment, and the tables behind them."""
    comments, _, rest = text.removeprefix("\ufeff").partition("\r\n\r\n")
    found: list[list[dict[str, str]]] = []
    rows: list[list[str]] = []
    for row in [*csv.reader(io.StringIO(rest, newline="")), []]:
        if row:
            rows.append(row)
        elif rows:
            found.append([dict(zip(rows[0], values, strict=True)) for values in rows[1:]])
            rows = []
    return comments.split("\r\n"), found


def test_csv_has_facts_totals_questions_and_conversations(result: dict[str, Any]) -> None:
    comments, (totals, singles, threads) = tables(csv_report.to_csv(result))
    assert comments == [
        "# Name: travel desk",
        "# Evaluated: 2026-01-20T10:00:00Z",
        "# Agent: desk agent",
        "# Agent id: T_1",
        f"# Program: waza {__version__}",
        "# Items: 4 (1 pass, 1 fail, 1 partial, 1 error)",
        "# Turns: 6",
    ]
    assert [tuple(row.values()) for row in totals] == [
        ("relevance", "2", "1", "1", "0", "3"),
        ("citations", "1", "1", "0", "0", "1"),
        ("exactMatch", "2", "1", "1", "0", ""),
        ("own_check", "2", "1", "0", "1", "0.25"),
    ]
    assert [(row["item"], row["status"]) for row in singles] == [
        ("1", "pass"),
        ("3", "partial"),
        ("4", "fail"),
    ]
    first, second, third = singles
    assert (first["relevance"], first["exactMatch"], first["own_check"]) == ("4", "equal", "0.25")
    assert json.loads(first["scores"]) == result["items"][0]["scores"]
    assert (second["response"], second["expected_response"]) == (escape_unsafe(EVIL), escape_unsafe(EVIL))
    assert second["own_check"] == "error"
    assert third["exactMatch"] == "different"
    assert [(row["conversation"], row["turn"], row["status"]) for row in threads] == [
        ("refund", "1", "fail"),
        ("refund", "2", "error"),
        ("refund", "3", "error"),
    ]
    assert threads[1]["error"] == "Agent request failed: HTTP 503 (agentRequestFailed)"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("- a list", "'- a list"),
        ("+x", "'+x"),
        ("@x", "'@x"),
        ("\tx", "'\tx"),
        ("-3.5", "-3.5"),
        ("a=1", "a=1"),
        ('a "b", c\nd', 'a "b", c\nd'),
        ("\r=1+1", r"\x0d=1+1"),
        ("\x1b[31mred\x00\x7f\x9b\u202e\t\r\n.", "\\x1b[31mred\\x00\\x7f\\x9b\\u202e\t\n."),
    ],
)
def test_a_spreadsheet_computes_nothing(text: str, cell: str) -> None:
    _, (rows,) = tables(csv_report.to_csv(document({"prompt": text, "status": "pass"})))
    assert rows[0]["prompt"] == cell


def test_csv_steers_no_terminal_and_its_scores_stay_json() -> None:
    scores = {"own\x1b": {"score": 2 / 3, "reason": "\x1b\x7f\x9b\u202e é\r\n"}}
    text = csv_report.to_csv(
        document({"prompt": "p", "status": "pass", "scores": scores}, metadata={"name": "a\x1b[31mb"})
    )
    assert set(re.findall("[\x00-\x1f\x7f-\x9f\u202e]", text)) == {"\r", "\n"}
    comments, (_, rows) = tables(text)
    assert comments[0] == r"# Name: a\x1b[31mb"
    assert json.loads(rows[0]["scores"]) == scores
    assert rows[0][r"own\x1b"] == "0.666667"


# --- HTML ---


def test_html_is_one_page_that_loads_and_runs_nothing_of_others(result: dict[str, Any]) -> None:
    page = Page(html_report.to_html(result))
    assert page.open == []
    assert page.all("script") == [{}]
    (script,) = page.text["script"]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policies = [
        meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policies == [f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"]
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on")} | names & {"src", "href", "action"}
    assert not {tag for tag, _ in page.elements} & {"img", "iframe", "link", "a", "object", "base"}
    assert "url(" not in page.text["style"][0]
    assert "@import" not in page.text["style"][0]


def test_html_shows_what_was_said_as_text(result: dict[str, Any]) -> None:
    page = Page(html_report.to_html(result))
    seen = EVIL.replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    assert page.text["dd"].count(seen) == 2  # the response and what was expected
    assert page.text["td"].count(seen) == 2  # an error and a reason
    assert "[1] T-2 https://example.org/t2" in page.text["dd"]
    assert "Agent request failed: HTTP 503 (agentRequestFailed)" in page.text["p"]


def test_html_has_counts_items_and_scales(result: dict[str, Any]) -> None:
    page = Page(html_report.to_html(result))
    assert page.text["title"][0] == "travel\ndesk"
    assert page.text["b"][-6:] == ["25%", "1", "1", "1", "1", "Results"]
    assert "2026-01-20 10:00 UTC" in page.text["b"]
    assert [(one["data-status"], "open" in one) for one in page.all("details")] == [
        ("pass", False),
        ("error", True),
        ("partial", True),
        ("fail", True),
    ]
    scales = [one["style"] for one in page.all("i") if one.get("class") == "scale"]
    assert scales == ["--share:0.750;--mark:0.500", "--share:0.250;--mark:0.500"]
    assert [text for text in page.text["h4"] if text.startswith("Turn")] == ["Turn 1 ", "Turn 2 ", "Turn 3 "]


def test_html_rounds_numbers_and_lets_names_break_between_words() -> None:
    score = {"score": 2 / 3, "threshold": 1 / 3, "result": "pass"}
    text = html_report.to_html(document({"prompt": "p", "status": "pass", "scores": {"own_<Ab": score}}))
    page = Page(text)
    assert "0.6667" in page.text["span"]
    assert "0.3333" in page.text["td"]
    assert text.count('<th scope="row">own_<wbr>&lt;Ab</th>') == 2


def test_html_folds_items_when_many_failed_and_rounds_no_failure_away() -> None:
    failed, passed = {"prompt": "p", "status": "fail"}, {"prompt": "p", "status": "pass"}
    page = Page(html_report.to_html(document(*[failed] * 6, passed)))
    assert not any("open" in one for one in page.all("details"))
    page = Page(html_report.to_html(document(failed, *[passed] * 299)))
    assert "99%" in page.text["b"]
    assert sum("open" in one for one in page.all("details")) == 1


@needs_corpus
@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_results_of_other_programs_become_reports(path: Path) -> None:
    data = read_document(path).data
    page, (_, found) = Page(html_report.to_html(data)), tables(csv_report.to_csv(data))
    assert page.open == []
    assert len(page.all("details")) == len(data["items"])
    turns = sum(len(item.get("turns", [item])) for item in data["items"])
    assert sum(len(rows) for rows in found if "prompt" in rows[0]) == turns
