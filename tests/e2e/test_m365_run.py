"""`waza m365 run`: documents with their agents, judges and evaluators, through the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.a2a_agent import served
from tests.support.documents import GOOD, document, run, statuses
from tests.support.evaluators import code_only, write_evaluator
from tests.support.live import nap
from tests.support.program import waza, write_tree
from tests.unit.m365.documents import SAMPLES

THREAD = {
    "name": "trip",
    "turns": [
        {"prompt": "Book my train.", "expected_response": "SECRET-EXPECTATION", "context": "SECRET-CONTEXT"},
        {"prompt": "And the hotel?", "expected_response": "2: And the hotel?"},
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_every_sample_runs_with_a_mock_agent_and_a_scripted_judge(tmp_path: Path, sample: Path):
    text = sample.read_text(encoding="utf-8-sig")
    ended, result = run(tmp_path, text, "--agent", "mock", "--judge", "mock:judge.json")
    assert ended.code == (0 if set(statuses(result)) == {"pass"} else 1)
    assert "error" not in statuses(result)
    judged = [
        turn["scores"]["relevance"]
        for item in result["items"]
        for turn in item.get("turns", [item])
        if "relevance" in turn["scores"]
    ]
    assert all(entry["score"] == 4 for entry in judged)


def test_a_command_answers_and_hears_the_prompt_alone(tmp_path: Path):
    agent = 'command:tee -a heard.txt; echo " ($WAZA_CONVERSATION $WAZA_TURN)"'
    ended, result = run(tmp_path, document(THREAD), "--agent", agent)
    turns = result["items"][0]["turns"]
    assert [turn["response"] for turn in turns] == ["Book my train. (trip 1)", "And the hotel? (trip 2)"]
    assert (tmp_path / "heard.txt").read_text() == "Book my train.And the hotel?"
    assert ended.code == 1
    assert result["items"][0]["summary"] == {
        "turns_total": 2,
        "turns_passed": 1,
        "turns_failed": 1,
        "turns_partial": 0,
        "turns_errored": 0,
        "overall_status": "fail",
    }
    assert "PartialMatch: 1 of 2 passed" in ended.out


def test_requests_that_all_fail_are_no_success_and_skip_the_rest_of_a_thread(tmp_path: Path):
    ended, result = run(tmp_path, document(THREAD), "--agent", "command:echo no luck >&2; exit 75")
    first, second = result["items"][0]["turns"]
    assert ended.code == 1
    assert first["error"]["code"] == "agentThrottled"
    assert first["error"]["message"].startswith("Agent request failed: ")
    assert "no luck" in first["error"]["message"]
    assert (first["scores"], first["response"]) == ({}, "")
    assert second["error"] == {
        "code": "turnSkipped",
        "message": "Turn not attempted: preceding turn failed",
    }


def test_an_agent_over_a2a_answers_a_conversation(tmp_path: Path):
    with served(headers={"Authorization": "Bearer hush-hush-hush"}) as agent:
        write_tree(tmp_path, {"evals.json": document(THREAD)})
        flags = ["--agent", f"a2a:{agent.url}", "--bearer-env", "DESK_TOKEN", "-o", "result.json"]
        ended = waza("m365", "run", "evals.json", *flags, cwd=tmp_path, env={"DESK_TOKEN": "hush-hush-hush"})
        refused = waza("m365", "run", "evals.json", *flags, cwd=tmp_path)
    result = (tmp_path / "result.json").read_text(encoding="utf-8")
    turns = json.loads(result)["items"][0]["turns"]
    assert [turn["response"] for turn in turns] == ["1: Book my train.", "2: And the hotel?"]
    assert turns[1]["scores"]["partialMatch"]["score"] == 1
    assert "SECRET" not in "".join(agent.repeater.prompts)
    assert "hush" not in result + ended.out + ended.err
    assert (refused.code, "DESK_TOKEN" in refused.err) == (2, True)


def test_mistakes_in_evaluators_come_all_at_once_before_the_first_prompt(tmp_path: Path):
    write_evaluator(tmp_path, "broken", "import nothing_of_that_name\n\nclass Broken: ...\n")
    evaluators: dict[str, Any] = {"relevance": {}, "ToolCallAccuracy": {}, "PartialMatch": {}}
    write_tree(tmp_path, {"evals.json": document({"prompt": "p", "evaluators": evaluators})})
    ended = waza("m365", "run", "evals.json", "--agent", "command:touch asked", cwd=tmp_path)
    assert ended.code == 2
    assert "write 'Relevance'" in ended.err
    assert "tool_calls and tool_constraint" in ended.err
    write_tree(tmp_path, {"evals.json": document({"prompt": "p", "evaluators": {"broken": {}, "mine": {}}})})
    ended = waza("m365", "run", "evals.json", "--agent", "command:touch asked", cwd=tmp_path)
    assert ended.code == 2
    assert "Unknown evaluator 'mine'" in ended.err
    assert not (tmp_path / "asked").exists()


def test_a_judge_is_needed_only_by_evaluators_that_judge(tmp_path: Path):
    write_evaluator(tmp_path, "short", code_only("{'score': len(prompt), 'reason': 'counted'}"))
    ended, result = run(
        tmp_path, document({"prompt": "four"}, default_evaluators={"short": {}}), "--agent", "mock"
    )
    assert result["items"][0]["scores"] == {
        "short": {"score": 4, "result": "pass", "threshold": 1, "reason": "counted"}
    }
    assert ended.code == 0
    write_tree(tmp_path, {"judged.json": document({"prompt": "p"}, default_evaluators={"Coherence": {}})})
    ended = waza("m365", "run", "judged.json", "--agent", "command:touch asked", cwd=tmp_path)
    assert ended.code == 2
    assert "no judge is configured" in ended.err
    assert not (tmp_path / "asked").exists()


def test_a_document_that_is_not_there_or_not_valid(tmp_path: Path):
    nothing = waza("m365", "run", cwd=tmp_path)
    assert (nothing.code, "waza m365 init" in nothing.err) == (2, True)
    write_tree(tmp_path, {"evals.json": document({"promt": "p"})})
    wrong = waza("m365", "run", "--agent", "mock", cwd=tmp_path)
    assert wrong.code == 2
    assert "'promt'" in wrong.err
    bad = waza("m365", "run", "--agent", "telepathy", cwd=tmp_path)
    assert bad.code == 2


@pytest.fixture
def both_ways(tmp_path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the same evaluators say in a document, and as graders of a suite."""
    write_evaluator(
        tmp_path,
        "no_prices",
        code_only("{'score': -1 if 'EUR' in response else 0.5, 'reason': prompt + context}"),
    )
    options: dict[str, Any] = {"threshold": 0.25, "options": {}}
    item = {
        "prompt": "What does it cost?",
        "response": "5 EUR",
        "expected_response": "5 EUR",
        "context": "c",
        "evaluators": {"no_prices": options, "ExactMatch": {}, "Relevance": {"threshold": 5}},
    }
    _, result = run(tmp_path, document(item), "--agent", "recorded", "--judge", "mock:judge.json")
    configs: dict[str, dict[str, Any]] = {
        "no_prices": options,
        "ExactMatch": {"expected_response": "5 EUR"},
        "Relevance": {"threshold": 5},
    }
    graders = [
        {"type": "evaluator", "name": name, "config": {"name": name, "context": "c", **more}}
        for name, more in configs.items()
    ]
    reply = json.dumps(GOOD[0]["reply"])
    task = {
        "id": "t",
        "inputs": {"prompt": item["prompt"]},
        "mock": {"output": "5 EUR", "judge": {"Relevance": [{"reply": reply}]}},
    }
    suite = {"name": "s", "config": {"executor": "mock"}, "graders": graders, "tasks": ["task.yaml"]}
    write_tree(tmp_path, {"eval.yaml": json.dumps(suite), "task.yaml": json.dumps(task)})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    return result["items"][0]["scores"], ended.results()["tasks"][0]["runs"][0]["validations"]


def test_an_evaluator_says_the_same_in_a_document_and_in_a_suite(both_ways):
    scores, validations = both_ways
    code, exact, relevance = (validations[name] for name in ("no_prices", "ExactMatch", "Relevance"))
    assert scores["no_prices"] == {
        "score": -1,
        "result": "fail",
        "threshold": 0.25,
        "reason": "What does it cost?c",
    }
    assert (code["passed"], code["score"], code["feedback"]) == (False, 0, "What does it cost?c")
    assert (code["details"]["raw_score"], code["details"]["threshold"]) == (-1, 0.25)
    assert scores["exactMatch"]["match"] is exact["passed"] is True
    assert scores["relevance"]["result"] == "fail"
    assert relevance["passed"] is False
    assert (relevance["score"], relevance["details"]["raw_score"], relevance["details"]["scale"]) == (
        0.75,
        scores["relevance"]["score"],
        "1-5",
    )


def test_options_of_suites_and_targets_that_cannot_be_are_refused_before_anything_runs(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p"}), "folder/x": "", "latin.json": "x"})
    (tmp_path / "latin.json").write_bytes(b'[{"prompt":"caf\xe9"}]')
    for words, said in (
        (
            ["run", "evals.json", "--executor", "mock", "-t", "x", "--trials", "2"],
            "no use for: --trials, --task",
        ),
        (["m365", "run", "--agent", "command:touch asked", "-o", "folder.json"], "is a directory"),
        (["m365", "run", "--agent", "command:touch asked", "-o", "evals.json"], "is what is to be run"),
        (["m365", "run", "latin.json", "--agent", "mock"], "latin.json:1:16: the file is not UTF-8 text"),
    ):
        (tmp_path / "folder.json").mkdir(exist_ok=True)
        ended = waza(*words, cwd=tmp_path)
        assert ended.code == 2, words
        assert said in ended.err
    assert not (tmp_path / "asked").exists()


def test_a_response_that_is_cut_off_is_no_response(tmp_path: Path):
    ended, result = run(tmp_path, document({"prompt": "p"}), "--agent", "command:yes | head -c 9000000")
    assert (ended.code, statuses(result)) == (1, ["error"])
    assert "8,388,608 bytes" in result["items"][0]["error"]["message"]


def test_validate_looks_for_evaluators_when_asked_to(tmp_path: Path):
    write_evaluator(tmp_path, "short", code_only("{'score': 1 / 0}"))
    evaluators: dict[str, Any] = {"short": {}, "shrt": {}}
    write_tree(tmp_path, {"evals.json": document({"prompt": "p", "evaluators": evaluators})})
    assert waza("m365", "validate", "evals.json", cwd=tmp_path).code == 0
    ended = waza("m365", "validate", "evals.json", "--resolve", cwd=tmp_path)
    assert ended.code == 2
    assert "evals.json:1:" in ended.out
    assert "items[0].evaluators.shrt: Unknown evaluator 'shrt'; did you mean 'short'?" in ended.out


def test_a_list_of_results_of_suites_is_no_document(tmp_path: Path):
    write_tree(tmp_path, {"results.json": '[{"schemaVersion": "1.4", "tasks": []}]', "none.json": "[]"})
    for name in ("results.json", "none.json"):
        ended = waza("run", name, "--executor", "mock", cwd=tmp_path)
        assert (ended.code, "is not a suite" in ended.err) == (2, True), ended.err


def test_who_asks_a_judge_is_reported_where_there_is_none(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p"}, default_evaluators={"Coherence": {}})})
    ended = waza("m365", "run", "evals.json", "--agent", "mock", cwd=tmp_path)
    assert ended.code == 2
    assert "Coherence asks a judge, and no judge is configured; set the variables of one:" in ended.err
    assert "--judge mock:FILE" in ended.err
    for agent, meant in (("python3 bot.py", "command:python3 bot.py"), ("http://x", "a2a:http://x")):
        ended = waza("m365", "run", "evals.json", "--agent", agent, cwd=tmp_path)
        assert (ended.code, f"did you mean {meant}?" in ended.err) == (2, True)


def test_options_of_other_agents_are_refused(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p"}), "SKILL.md": ""})
    for flag, value in (
        ("-m", "gpt"),
        ("--skill", "SKILL.md"),
        ("--bearer-env", "X"),
        ("--api-key-env", "X"),
    ):
        ended = waza("m365", "run", "evals.json", "--agent", "mock", flag, value, cwd=tmp_path)
        assert (ended.code, "is for the agent" in ended.err) == (2, True), flag


def test_time_limits_of_prompts_and_of_evaluators_are_apart(tmp_path: Path):
    text = document({"prompt": "p"}, default_evaluators={"Citations": {}})
    hangs = ["--agent", f"command:sleep {nap()}"]
    _, result = run(tmp_path, text, *hangs, "--timeout", "0.5", "--evaluator-timeout", "600")
    assert "did not end within 0.5 s" in result["items"][0]["error"]["message"]
    write_evaluator(tmp_path, "slow", "__import__('time').sleep(1000)\n" + code_only("{'score': 1}"))
    (tmp_path / "evals.json").write_text(document({"prompt": "p"}, default_evaluators={"slow": {}}))
    limits = ["--timeout", "600", "--evaluator-timeout", "0.5"]
    ended = waza("m365", "run", "evals.json", "--agent", "mock", *limits, cwd=tmp_path)
    assert (ended.code, "it did not end within 0.5 s" in ended.err) == (2, True)
