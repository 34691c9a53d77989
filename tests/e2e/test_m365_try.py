"""One evaluator alone, a scripted judge for custom judges, and what a run says of the document as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.documents import GOOD, document, run, statuses
from tests.support.evaluators import JUDGE, PROMPTY, code_only, write_evaluator
from tests.support.program import Ended, strict_json, waza, write_tree


def tried(root: Path, *args: str, stdin: str | None = None) -> Ended:
    write_tree(root, {"judge.json": json.dumps(GOOD)})
    return waza("m365", "try", *args, cwd=root, stdin=stdin)


def test_an_evaluator_is_tried_alone(tmp_path: Path):
    returned = "{'score': len(response) / self.options['by'], 'reason': prompt + expected_response + context}"
    write_evaluator(tmp_path, "check", code_only(returned))
    texts = ["--response", "abcd", "--prompt", "p", "--expected", "e", "--context", "c"]
    passed = tried(tmp_path, "check", *texts, "--options", '{"by": 4}')
    failed = tried(tmp_path, "check", *texts, "--options", '{"by": 4}', "--threshold", "2")
    assert (passed.code, passed.out) == (0, "✓ check 1, threshold 1: pec\n")
    assert (failed.code, failed.out) == (1, "✗ check 1, threshold 2: pec\n")


def test_an_exception_of_an_evaluator_that_is_tried_shows_its_traceback(tmp_path: Path):
    write_evaluator(tmp_path, "check", code_only("1 / 0"))
    ended = tried(tmp_path, "check", "--response", "r")
    assert ended.code == 1
    assert "Evaluator failed: division by zero (" in ended.out
    assert "Traceback (most recent call last):" in ended.out


def test_built_in_evaluators_and_judges_are_tried_too(tmp_path: Path):
    equal = tried(tmp_path, "ExactMatch", "--response", "-", "--expected", "Peru", "--json", stdin="Peru\n")
    assert (equal.code, strict_json(equal.out)["ExactMatch"]["match"]) == (0, True)
    judged = tried(tmp_path, "Relevance", "--response", "r", "--prompt", "p", "--judge", "mock:judge.json")
    assert (judged.code, judged.out) == (0, "✓ Relevance 4, threshold 3: good\n")


def test_what_cannot_be_tried_is_a_mistake_of_usage(tmp_path: Path):
    write_evaluator(tmp_path, "tone", JUDGE, PROMPTY)
    for args, said in (
        (["tine"], "Unknown evaluator 'tine'"),
        (["Relevance"], "no judge is configured"),
        (
            ["Relevance", "--threshold", "9"],
            "--threshold: Relevance.threshold: is 9.0, but must be at most 5",
        ),
        (["relevance"], "this one is reserved"),
        (["tone", "--threshold", "0"], "--threshold: the threshold is 0"),
        (["tone", "--options", "[1]"], "--options is no JSON object"),
    ):
        ended = tried(tmp_path, *args, "--response", "r")
        assert (ended.code, said in ended.err) == (2, True), ended.err


def test_options_that_an_evaluator_does_not_have_are_refused_as_in_a_document(tmp_path: Path):
    write_evaluator(tmp_path, "check", code_only("{'score': 1}"))
    compared = ["ExactMatch", "--expected", "e", "--options"]
    for args, said in (
        (
            [*compared, '{"case_sensitiv": true}'],
            "unknown key 'case_sensitiv'; did you mean 'case_sensitive'?",
        ),
        ([*compared, '{"case_sensitive": "true"}'], "must be true or false"),
        ([*compared, '{"case_sensitive": true, "case_sensitive": false}'], "case_sensitive"),
        ([*compared, "{}", "--threshold", "1"], "has no threshold"),
        (["RetrievalResult", "--options", '{"capability": "c"}'], "checks nothing"),
    ):
        ended = tried(tmp_path, *args, "--response", "r")
        assert (ended.code, ended.out, said in ended.err) == (2, "", True), ended.err
    own = tried(tmp_path, "check", "--response", "r", "--options", '{"anything": 1}')
    assert own.code == 0, own.err


def test_an_evaluator_is_not_tried_without_what_it_needs(tmp_path: Path):
    searches = ["--options", '{"capability": "c", "min_expected_count": 1}']
    for args, said in (
        (["ExactMatch"], "without --expected"),
        (["PartialMatch", "--expected", " "], "without --expected"),
        (["Similarity", "--judge", "mock:judge.json"], "without --expected"),
        (["Groundedness", "--judge", "mock:judge.json"], "without --context"),
        (["RetrievalResult", *searches], "looks at the agent's searches"),
    ):
        ended = tried(tmp_path, *args, "--response", "r")
        assert (ended.code, ended.out, said in ended.err) == (2, "", True), ended.err


def test_a_scripted_judge_serves_custom_judges_too(tmp_path: Path):
    write_evaluator(tmp_path, "tone", JUDGE, PROMPTY)
    script = [{"match": "rude", "reply": {"score": 1, "reason": "rude"}}, *GOOD]
    write_tree(tmp_path, {"script.json": json.dumps(script)})
    evaluators: dict[str, Any] = {"tone": {}, "Relevance": {}}
    text = document({"prompt": "p"}, {"prompt": "rude"}, default_evaluators=evaluators)
    ended, result = run(tmp_path, text, "--agent", "command:cat", "--judge", "mock:script.json")
    assert (ended.code, statuses(result)) == (1, ["pass", "fail"]), ended.err
    assert [item["scores"]["tone"]["score"] for item in result["items"]] == [4, 1]


def test_a_question_that_the_script_does_not_fit_is_an_error_of_the_custom_judge(tmp_path: Path):
    write_evaluator(tmp_path, "tone", JUDGE, PROMPTY)
    write_tree(tmp_path, {"script.json": json.dumps([{"match": "nothing", "reply": "x"}])})
    text = document({"prompt": "p"}, default_evaluators={"tone": {}})
    _, result = run(tmp_path, text, "--agent", "mock", "--judge", "mock:script.json")
    assert "no entry of script.json fits this question" in result["items"][0]["scores"]["tone"]["error"]


def test_one_reason_for_every_turn_is_reported_once(tmp_path: Path):
    text = document({"prompt": "p"}, {"prompt": "q"}, default_evaluators={"Groundedness": {}})
    ended, result = run(tmp_path, text, "--agent", "mock", "--judge", "mock:judge.json")
    note = "Note: every turn is partial for one reason, Groundedness: Groundedness needs context"
    assert (statuses(result), ended.out.count(note)) == (["partial", "partial"], 1)
    mixed = document(
        {"prompt": "p"}, {"prompt": "q", "context": "c"}, default_evaluators={"Groundedness": {}}
    )
    ended, _ = run(tmp_path, mixed, "--agent", "mock", "--judge", "mock:judge.json")
    assert "Note:" not in ended.out


def test_texts_that_were_not_found_hint_at_the_judge_where_there_is_one(tmp_path: Path):
    options = {"capability": "c", "expected_items": [{"retrievalExtract_contains": "zzz"}]}
    search = {"capability": "c", "retrievalHits": [{"rank": 1, "extracts": [{"text": "a"}]}]}
    item = {"prompt": "p", "response": "r", "diagnostics": {"retrieval_executions": [search]}}
    text = document(item, default_evaluators={"RetrievalResult": options})
    with_judge, _ = run(tmp_path, text, "--agent", "recorded", "--judge", "mock:judge.json")
    without, _ = run(tmp_path, text, "--agent", "recorded")
    assert ("with --judge-retrieval" in with_judge.out, "--judge-retrieval" in without.out) == (True, False)


def test_the_group_alone_prints_help(tmp_path: Path):
    ended = waza("m365", cwd=tmp_path)
    assert (ended.code, "Commands:" in ended.out, ended.err) == (0, True, "")
