"""What live agents say of their searches and citations, and what results keep of agents and conversations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.a2a_agent import served
from tests.support.documents import document, run, statuses
from tests.support.program import mock_suite, strict_json, waza, write_tree

SEARCH = {
    "capability": "WebSearch",
    "queries": [{"queryString": "travel form"}],
    "retrievalHits": [{"rank": 1, "webUrl": "https://a.example", "extracts": [{"text": "use Form T-2"}]}],
}
EVALUATORS: dict[str, Any] = {
    "RetrievalQuery": {"capability": "WebSearch", "selector": "form"},
    "RetrievalResult": {
        "capability": "WebSearch",
        "expected_items": [{"retrievalExtract_contains": "form t-2"}],
    },
}
ANSWER = {
    "response": "Form T-2 [1]",
    "citations": [{"index": 1, "source": "https://a.example"}],
    "diagnostics": {"retrieval_executions": [SEARCH], "model": "m"},
}


def answered(root: Path, answer: object, *flags: str) -> tuple[Any, dict[str, Any]]:
    """Run a document of one prompt, which a program answers with JSON."""
    write_tree(root, {"answer.json": json.dumps(answer)})
    text = document({"prompt": "Which form?"}, default_evaluators=EVALUATORS)
    return run(root, text, "--agent", "command:cat answer.json", *flags)


def test_a_program_can_tell_its_searches_and_citations(tmp_path: Path):
    ended, result = answered(tmp_path, ANSWER)
    assert (ended.code, statuses(result)) == (0, ["pass"])
    (item,) = result["items"]
    assert (item["response"], item["citations"]) == (ANSWER["response"], ANSWER["citations"])
    assert item["diagnostics"] == ANSWER["diagnostics"]
    assert item["scores"]["retrievalResult"]["matched_items"][0]["matchedHitUrl"] == "https://a.example"


@pytest.mark.parametrize("answer", [{"response": "yes", "score": 3}, {"reply": "yes"}, ["response"], "yes"])
def test_other_json_is_the_answer_itself(tmp_path: Path, answer: object):
    _, result = answered(tmp_path, answer)
    assert result["items"][0]["response"] == json.dumps(answer)


def test_an_answer_in_json_with_mistakes_is_no_answer(tmp_path: Path):
    for wrong, said in (
        ({**ANSWER, "citations": {}}, "Expected `array`, got `object` - at `$.citations`"),
        ({**ANSWER, "latency": 3}, "unknown key 'latency' beside 'response'; put it into 'diagnostics'"),
    ):
        _, result = answered(tmp_path, wrong)
        (item,) = result["items"]
        assert item["status"] == "error"
        assert said in item["error"]["message"]


def test_telemetry_of_another_shape_is_reported_and_not_kept(tmp_path: Path):
    wrong = {**ANSWER, "citations": [{"index": "one"}], "diagnostics": {"retrieval_executions": 3}}
    ended, result = answered(tmp_path, wrong)
    (item,) = result["items"]
    assert (ended.code, item["status"], "citations" in item) == (1, "partial", False)
    assert set(item["diagnostics"]["unreadable"]) == {"citations", "diagnostics"}
    assert "the diagnostics of the agent's searches are not valid" in ended.err


def test_programs_of_suites_can_tell_their_searches_too(tmp_path: Path):
    write_tree(tmp_path, {"answer.json": json.dumps(ANSWER)})
    options = "{capability: WebSearch, selector: form}"
    grader = f"{{type: evaluator, name: q, config: {{name: RetrievalQuery, options: {options}}}}}"
    mock_suite(tmp_path, {"t": f"id: t\ninputs: {{prompt: p}}\ngraders: [{grader}]\n"})
    suite = (tmp_path / "eval.yaml").read_text()
    options = f"{{command: 'cat {tmp_path}/answer.json', answer: json}}"
    suite = suite.replace("executor: mock", f"executor: command\n  executor_options: {options}")
    write_tree(tmp_path, {"eval.yaml": suite})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.results()["tasks"][0]["runs"][0]["final_output"] == ANSWER["response"]


@pytest.mark.parametrize("streaming", [False, True], ids=["message", "streamed"])
def test_metadata_of_an_a2a_agent_are_passed_through(tmp_path: Path, streaming: bool):
    text = document(
        {"name": "forms", "conversation_id": "old", "turns": [{"prompt": "Which form?"}]},
        default_evaluators=EVALUATORS,
    )
    with served(streaming=streaming) as agent:
        agent.repeater.metadata = {"diagnostics": {"retrieval_executions": [SEARCH]}, "trace": "t-1"}
        ended, result = run(tmp_path, text, "--agent", f"a2a:{agent.url}")
    assert (ended.code, statuses(result)) == (0, ["pass"]), ended.err
    (thread,) = result["items"]
    assert thread["turns"][0]["diagnostics"] == {"trace": "t-1", "retrieval_executions": [SEARCH]}
    assert result["metadata"]["agentName"] == "repeater"  # as its card says
    assert thread["conversation_id"] not in ("", "old")


def test_the_conversation_of_recorded_answers_stays_that_of_the_document(tmp_path: Path):
    thread = {"conversation_id": "abc", "turns": [{"prompt": "p", "response": "r"}]}
    text = document(thread, default_evaluators={"Citations": {}})
    _, result = run(tmp_path, text, "--agent", "recorded")
    assert result["items"][0]["conversation_id"] == "abc"


@pytest.mark.parametrize("summary", [{"turns_total": 3}, "old", {"turns_total": 1, "turns_passed": 2}])
def test_a_stale_summary_keeps_no_document_from_being_run(tmp_path: Path, summary: object):
    thread = {"summary": summary, "turns": [{"prompt": "p", "response": "r"}]}
    text = document(thread, default_evaluators={"Citations": {"threshold": 1}})
    write_tree(tmp_path, {"evals.json": text})
    assert waza("m365", "validate", "evals.json", cwd=tmp_path).code == 2
    _, result = run(tmp_path, text, "--agent", "recorded")
    assert result["items"][0]["summary"]["turns_failed"] == 1


def test_searches_that_failed_are_distinguished_from_searches_that_found_nothing(tmp_path: Path):
    def codes(*searches: dict[str, Any]) -> list[str]:
        _, result = answered(
            tmp_path, {"response": "r", "diagnostics": {"retrieval_executions": list(searches)}}
        )
        scores = result["items"][0]["scores"]
        assert statuses(result)[0] in ("fail", "pass")
        return [scores[name]["diagnostic_code"] for name in ("retrievalQuery", "retrievalResult")]

    broken = {**SEARCH, "status": "Failure"}
    assert codes(broken) == ["retrieval_failure", "error"]
    assert codes(broken, SEARCH) == ["pass", "pass"]
    assert codes({**SEARCH, "retrievalHits": []}) == ["pass", "not_retrieved"]


def test_reports_have_ids_and_the_name_of_the_file(tmp_path: Path):
    items: list[dict[str, Any]] = [{"prompt": "p", "extensions": {"id": "TC-7"}}, {"prompt": "q"}]
    text = document(*items, default_evaluators={"Citations": {}})
    run(tmp_path, text, "--agent", "mock", "-o", "r.csv", "-o", "r.html", name="travel-desk.json")
    csv = (tmp_path / "r.csv").read_text(encoding="utf-8-sig")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "# Name: travel-desk" in csv
    assert "\n1,TC-7," in csv.replace("\r", "")
    assert "\n2,item-2," in csv.replace("\r", "")
    assert "<h1>travel-desk</h1>" in page
    assert '<code class="id">TC-7</code>' in page


def test_exact_match_shows_what_was_expected_and_what_came(tmp_path: Path):
    long = "x" * 500
    items = [
        {"prompt": "Lima", "expected_response": "Peru"},
        {"prompt": f"{long}a{long}", "expected_response": f"{long}b{long}"},
    ]
    _, result = run(
        tmp_path, document(*items, default_evaluators={"ExactMatch": {}}), "--agent", "command:cat"
    )
    short, cut = (item["scores"]["exactMatch"]["reason"] for item in result["items"])
    assert short == "expected 'Peru', but the response is 'Lima'"
    assert cut.startswith(f"expected '...{'x' * 40}b")
    assert f"'...{'x' * 40}a" in cut


def test_a_variable_with_no_number_falls_back_and_is_reported(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p"}, default_evaluators={"Citations": {}})})
    env = {"WORKIQ_REQUEST_TIMEOUT_SECS": "5 minutes"}
    ended = waza("m365", "run", "evals.json", "--agent", "mock", "--json", cwd=tmp_path, env=env)
    assert ended.code == 1
    assert strict_json(ended.out)["items"][0]["status"] == "fail"
    said = "WORKIQ_REQUEST_TIMEOUT_SECS is '5 minutes', which is not a number above 0; 300 is used"
    assert said in ended.err
