"""`waza m365 run`: documents with their agents, judges, evaluators and results, through the command line."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.support.a2a_agent import served
from tests.support.evaluators import code_only, write_evaluator
from tests.support.live import Project, nap, survivors
from tests.support.program import Ended, newest_results, strict_json, waza, write_tree
from tests.unit.m365.documents import SAMPLES

GOOD = [{"reply": {"score": 4, "reason": "good"}}]
THREAD = {
    "name": "trip",
    "turns": [
        {"prompt": "Book my train.", "expected_response": "SECRET-EXPECTATION", "context": "SECRET-CONTEXT"},
        {"prompt": "And the hotel?", "expected_response": "2: And the hotel?"},
    ],
}
MATCH: dict[str, Any] = {"PartialMatch": {}}


def document(*items: dict[str, Any], **keys: Any) -> str:
    return json.dumps({"schemaVersion": "1.7.0", "default_evaluators": MATCH, **keys, "items": items})


def run(root: Path, text: str, *flags: str, name: str = "evals.json") -> tuple[Ended, dict[str, Any]]:
    """Run a document; return how that ended, and the result, which must be a valid document."""
    write_tree(root, {name: text, "judge.json": json.dumps(GOOD)})
    ended = waza("m365", "run", name, *flags, "-o", "result.json", cwd=root)
    result = strict_json((root / "result.json").read_text(encoding="utf-8"))
    checked = waza("m365", "validate", "result.json", cwd=root)
    assert checked.code == 0, checked.out
    return ended, result


def statuses(result: dict[str, Any]) -> list[str]:
    return [turn["status"] for item in result["items"] for turn in item.get("turns", [item])]


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


def test_recorded_responses_are_judged_again(tmp_path: Path):
    recorded = {"prompt": "Which form?", "expected_response": "Form T-2", "response": "form t-2"}
    bare = {"prompt": "And then?", "expected_response": "nothing"}
    ended, result = run(tmp_path, document(recorded, bare), "--agent", "recorded")
    assert statuses(result) == ["pass", "error"]
    assert result["items"][0]["scores"]["partialMatch"]["score"] == 1
    assert "no 'response'" in result["items"][1]["error"]["message"]
    assert ended.code == 1


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


def test_waza_run_takes_documents_and_writes_reports_for_people(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p", "expected_response": "q"})})
    ended = waza("run", "evals.json", "--executor", "mock", cwd=tmp_path)
    assert ended.code == 1
    written = sorted(path.suffix for path in (tmp_path / ".evals").iterdir())
    assert written == [".html", ".json"]


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


def test_a_failure_that_was_recorded_stays_one(tmp_path: Path):
    item = {"prompt": "p", "expected_response": ""}
    _, failed = run(tmp_path, document(item), "--agent", "command:exit 3")
    ended, again = run(tmp_path, json.dumps(failed), "--agent", "recorded", name="failed.json")
    assert (ended.code, statuses(again)) == (1, ["error"])
    assert "ended with exit status 3" in again["items"][0]["error"]["message"]


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


def test_results_with_a_default_name_overwrite_none(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p", "expected_response": "p"})})
    for _ in range(3):
        waza("m365", "run", "--agent", "mock", cwd=tmp_path)
    assert len(list((tmp_path / ".evals").iterdir())) == 6


WAITING = """command:case "$(cat)" in
  wait) [ -e go ] || sleep {nap} ;;
esac; echo done $WAZA_CONVERSATION $WAZA_TURN; echo "$WAZA_CONVERSATION" >> asked.txt"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP], ids=str)
def test_a_run_that_was_ended_goes_on_where_it_was(tmp_path: Path, number: signal.Signals):
    project, duration = Project(tmp_path), nap()
    items: list[dict[str, Any]] = [
        {"prompt": "first"},
        {"turns": [{"prompt": "a"}, {"prompt": "wait"}]},
        {"prompt": "last"},
    ]
    write_tree(project.home, {"evals.json": document(*items, default_evaluators={"Citations": {}})})
    asked = ["m365", "run", "evals.json", "--agent", WAITING.format(nap=duration), "-o", "result.json"]
    with project.started(*asked) as live:
        live.until(lambda: len(project.journal()) == 2 and survivors(duration))
        live.send(number)
        ended = live.ended()
    assert ended.code == {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGHUP: 129}[number]
    if number != signal.SIGKILL:
        cut = strict_json((project.home / "result.json").read_text(encoding="utf-8"))
        assert statuses(cut) == ["fail", "error", "error", "error"]
        assert cut["items"][2]["error"] == {
            "code": "runInterrupted",
            "message": "Turn not attempted: the run was interrupted",
        }
        assert "3 items, 4 turns: 1 fail, 3 not asked: the run was interrupted" in ended.out
        assert "--resume=run-" in ended.err
    (project.home / "go").touch()
    resumed = project.run(*asked, "--resume")
    whole = strict_json((project.home / "result.json").read_text(encoding="utf-8"))
    assert (resumed.code, statuses(whole)) == (1, ["fail"] * 4)
    assert whole["items"][1]["turns"][1]["response"] == "done item-2 2"
    assert (project.home / "asked.txt").read_text().split().count("item-1") == 1
    assert "1 finished item kept" in resumed.err
    again = project.run(*asked, "--resume")
    assert "is finished" in again.err
    assert (project.home / "asked.txt").read_text().split() == [
        "item-1",
        "item-2",
        "item-2",
        "item-2",
        "item-3",
    ]
    for process in survivors(duration):  # nobody was left to end them
        assert number == signal.SIGKILL
        os.kill(process, signal.SIGKILL)


def test_another_document_or_agent_is_not_gone_on_with(tmp_path: Path):
    run(tmp_path, document({"prompt": "p"}), "--agent", "mock")
    for text, flags in (
        (document({"prompt": "q"}), ["--agent", "mock"]),
        (document({"prompt": "p"}, default_evaluators={"Citations": {}}), ["--agent", "mock"]),
        (document({"prompt": "p"}), ["--agent", "command:cat"]),
        (document({"prompt": "p"}), ["--agent", "mock", "--timeout", "7"]),
    ):
        write_tree(tmp_path, {"evals.json": text})
        ended = waza("m365", "run", "evals.json", *flags, "--resume", cwd=tmp_path)
        assert (ended.code, "cannot be resumed" in ended.err) == (2, True), flags
    run(tmp_path, document({"prompt": "p"}), "--agent", "mock", "--no-save")
    assert len(list((tmp_path / ".waza" / "runs").iterdir())) == 1


def test_prompts_are_no_templates_and_scores_keep_their_order(tmp_path: Path):
    evaluators: dict[str, Any] = {"PartialMatch": {}, "Citations": {}, "ExactMatch": {}}
    turns = [{"prompt": "{{.TaskName}} {{.Vars.x}}", "expected_response": "b"}, {"prompt": "{{ y }}"}]
    text = document({"turns": turns}, default_evaluators=evaluators)
    _, result = run(tmp_path, text, "--agent", "command:cat")
    first, second = result["items"][0]["turns"]
    assert (first["response"], second["response"]) == ("{{.TaskName}} {{.Vars.x}}", "{{ y }}")
    assert list(first["scores"]) == list(second["scores"]) == ["partialMatch", "citations", "exactMatch"]


def test_results_are_kept_as_those_of_suites_too(tmp_path: Path):
    items = [{"prompt": "p", "expected_response": "p"}, {"prompt": "p", "expected_response": "x"}]
    run(tmp_path, document(*items), "--agent", "command:cat")
    kept = newest_results(tmp_path)
    assert [task["status"] for task in kept["tasks"]] == ["passed", "failed"]
    assert [task["runs"][0]["validations"]["PartialMatch"]["score"] for task in kept["tasks"]] == [1, 0]


def test_json_on_stdout_is_the_result_and_nothing_else(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p", "expected_response": "p"})})
    ended = waza("m365", "run", "evals.json", "--agent", "command:cat", "--json", cwd=tmp_path)
    assert (ended.code, statuses(strict_json(ended.out))) == (0, ["pass"])
    same = waza("run", "evals.json", "--executor", "command:cat", "--json", cwd=tmp_path)
    assert statuses(strict_json(same.out)) == ["pass"]


def test_what_the_environment_holds_of_secrets_is_not_in_results(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p"}, default_evaluators={"Citations": {}})})
    flags = [
        "--agent",
        'command:echo "it is $DESK_TOKEN, not hush-hush-hush"',
        "--log-level",
        "debug",
        "-o",
        "result.json",
        "-o",
        "r.csv",
        "-o",
        "r.html",
    ]
    ended = waza("m365", "run", "evals.json", *flags, cwd=tmp_path, env={"DESK_TOKEN": "hush-hush-hush"})
    written = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("r*") if path.is_file()]
    assert len(written) >= 4
    assert "hush-hush" not in "".join([ended.out, ended.err, *written])


def test_validate_looks_for_evaluators_when_asked_to(tmp_path: Path):
    write_evaluator(tmp_path, "short", code_only("{'score': 1 / 0}"))
    evaluators: dict[str, Any] = {"short": {}, "shrt": {}}
    write_tree(tmp_path, {"evals.json": document({"prompt": "p", "evaluators": evaluators})})
    assert waza("m365", "validate", "evals.json", cwd=tmp_path).code == 0
    ended = waza("m365", "validate", "evals.json", "--resolve", cwd=tmp_path)
    assert ended.code == 2
    assert "evals.json:1:" in ended.out
    assert "items[0].evaluators.shrt: Unknown evaluator 'shrt'; did you mean 'short'?" in ended.out


def test_recorded_searches_that_found_nothing_are_known(tmp_path: Path):
    query = {"RetrievalQuery": {"capability": "WebSearch", "selector": "lima"}}
    turns = [
        {"prompt": "p", "response": "r", "diagnostics": {"retrieval_executions": []}},
        {"prompt": "p", "response": "r", "diagnostics": {"other": 1}},
    ]
    _, result = run(tmp_path, document(*turns, default_evaluators=query), "--agent", "recorded")
    assert statuses(result) == ["fail", "partial"]
    assert result["items"][0]["scores"]["retrievalQuery"]["diagnostic_code"] == "retrieval_failure"


def test_a_file_that_cannot_be_written_keeps_no_other_from_being_written(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p"}), "file": ""})
    flags = ["--agent", "mock", "-o", "file/r.json", "-o", "new/r.json", "-o", "file/r.csv"]
    ended = waza("m365", "run", "evals.json", *flags, cwd=tmp_path)
    assert ended.code == 2
    assert ended.err.count("cannot write file/r.") == 2
    assert statuses(strict_json((tmp_path / "new/r.json").read_bytes())) == ["partial"]
    assert "1 turn: 1 partial" in ended.out


def test_a_list_of_results_of_suites_is_no_document(tmp_path: Path):
    write_tree(tmp_path, {"results.json": '[{"schemaVersion": "1.4", "tasks": []}]', "none.json": "[]"})
    for name in ("results.json", "none.json"):
        ended = waza("run", name, "--executor", "mock", cwd=tmp_path)
        assert (ended.code, "is no suite" in ended.err) == (2, True), ended.err


def test_who_judged_is_in_the_results_and_another_judge_is_not_gone_on_with(tmp_path: Path):
    text = document({"prompt": "p"}, default_evaluators={"Coherence": {}})
    _, result = run(tmp_path, text, "--agent", "mock", "--judge", "mock:judge.json")
    assert result["metadata"]["judge"].startswith("mock:judge.json (")
    write_tree(tmp_path, {"other.json": json.dumps(GOOD)})
    flags = ["--agent", "mock", "--judge", "mock:other.json", "--resume"]
    ended = waza("m365", "run", "evals.json", *flags, cwd=tmp_path)
    assert ended.code == 2
    assert "the judge (--judge-model, --judge) changed" in ended.err


def test_what_did_not_pass_has_a_line_of_its_own_with_the_reason(tmp_path: Path):
    write_evaluator(tmp_path, "broken", code_only("1 / 0"))
    evaluators: dict[str, Any] = {
        "broken": {},
        "Citations": {"citation_format": "bracket"},
        "PartialMatch": {},
    }
    text = document({"prompt": "a b c d", "expected_response": "a b\nx y z"}, default_evaluators=evaluators)
    ended, _ = run(tmp_path, text, "--agent", "command:cat; echo ' [1]'")
    lines = ended.err.splitlines()
    at = lines.index("⚠ item-1: partial; Citations 1")
    assert lines[at + 1].startswith("    ⚠ broken: Evaluator failed: ")
    assert lines[at + 2] == "    ✗ PartialMatch 0.4, 0.5 is needed: Match score: 0.400"


def test_who_asks_a_judge_is_said_where_there_is_none(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p"}, default_evaluators={"Coherence": {}})})
    ended = waza("m365", "run", "evals.json", "--agent", "mock", cwd=tmp_path)
    assert ended.code == 2
    assert "Coherence asks a judge, and no judge is configured; set the variables of one:" in ended.err
    assert "--judge mock:FILE" in ended.err
    for agent, meant in (("python3 bot.py", "command:python3 bot.py"), ("http://x", "a2a:http://x")):
        ended = waza("m365", "run", "evals.json", "--agent", agent, cwd=tmp_path)
        assert (ended.code, f"did you mean {meant}?" in ended.err) == (2, True)


def test_a_huge_answer_is_kept_as_a_whole_and_judged_alike_again(tmp_path: Path):
    write_tree(tmp_path, {"huge.txt": "x" * 2_000_000})
    text = document(
        {"prompt": "p", "expected_response": "x" * 2_000_000}, default_evaluators={"ExactMatch": {}}
    )
    ended, result = run(tmp_path, text, "--agent", "command:cat huge.txt")
    assert (ended.code, len(result["items"][0]["response"])) == (0, 2_000_000)
    again, _ = run(tmp_path, json.dumps(result), "--agent", "recorded", "-o", "again.json")
    assert again.code == 0


def test_codes_of_failures_are_not_guessed_from_numbers_and_stay_when_recorded(tmp_path: Path):
    failing = "command:case $(cat) in port) echo boom at 54290 >&2; exit 1;; busy) exit 75;; esac; echo ok"
    text = document(
        {"prompt": "port"}, {"prompt": "busy"}, {"prompt": "p"}, default_evaluators={"Citations": {}}
    )
    _, result = run(tmp_path, text, "--agent", failing)
    codes = [item.get("error", {}).get("code", "") for item in result["items"]]
    assert codes == ["agentRequestFailed", "agentThrottled", ""]
    for _ in range(2):
        _, result = run(tmp_path, json.dumps(result), "--agent", "recorded")
        assert [item.get("error", {}).get("code", "") for item in result["items"]] == codes
    assert result["items"][0]["error"]["message"].count("as recorded: ") == 1


def test_recorded_responses_keep_all_that_is_known_of_them(tmp_path: Path):
    known = {
        "citations": [{"index": 1, "own": True}],
        "diagnostics": {"other": 1, "retrieval_executions": [{"capability": "c", "queries": [{"own": 2}]}]},
    }
    item = {"prompt": "p", "response": "r", **known}
    _, result = run(tmp_path, document(item), "--agent", "recorded")
    assert {key: result["items"][0][key] for key in known} == known


def test_a_run_with_evaluators_that_changed_is_not_gone_on_with(tmp_path: Path):
    folder = write_evaluator(tmp_path, "short", code_only("{'score': 1}"))
    write_tree(folder, {"helper.py": "", "other.prompty": "---\n---\n", ".notes.swp": "x"})
    text = document({"prompt": "p"}, default_evaluators={"short": {}})
    asked = ["m365", "run", "evals.json", "--agent", "mock", "-o", "r.json"]
    write_tree(tmp_path, {"evals.json": text})
    assert waza(*asked, cwd=tmp_path).code == 0
    (folder / ".notes.swp").write_text("y")
    assert waza(*asked, "--resume", cwd=tmp_path).code == 0
    for old, new in (("other.prompty", "else.prompty"), ("helper.py", "helpers.py")):
        (folder / old).rename(folder / new)
        ended = waza(*asked, "--resume", cwd=tmp_path)
        assert (ended.code, "cannot be resumed" in ended.err) == (2, True), new
        (folder / new).rename(folder / old)


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
    slow = code_only("{'score': time.sleep(1.5) or 1}").replace("class", "import time\n\n\nclass", 1)
    write_evaluator(tmp_path, "slow", slow)
    text = document({"prompt": "p"}, default_evaluators={"slow": {}})
    _, result = run(tmp_path, text, "--agent", "mock", "--timeout", "0.5")
    assert statuses(result) == ["pass"]
    _, result = run(tmp_path, text, "--agent", "mock", "--evaluator-timeout", "0.5")
    assert "gave no result within 0.5 s" in result["items"][0]["scores"]["slow"]["error"]
