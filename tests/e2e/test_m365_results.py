"""What a run of a document writes, and that it can be run again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.support.documents import document, run, statuses
from tests.support.evaluators import code_only, write_evaluator
from tests.support.program import command, environment, newest_results, strict_json, waza, write_tree


def test_recorded_responses_are_judged_again(tmp_path: Path):
    recorded = {"prompt": "Which form?", "expected_response": "Form T-2", "response": "form t-2"}
    bare = {"prompt": "And then?", "expected_response": "nothing"}
    ended, result = run(tmp_path, document(recorded, bare), "--agent", "recorded")
    assert statuses(result) == ["pass", "error"]
    assert result["items"][0]["scores"]["partialMatch"]["score"] == 1
    assert "no 'response'" in result["items"][1]["error"]["message"]
    assert ended.code == 1


def test_waza_run_takes_documents_and_writes_reports_for_people(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p", "expected_response": "q"})})
    ended = waza("run", "evals.json", "--executor", "mock", cwd=tmp_path)
    assert ended.code == 1
    written = sorted(path.suffix for path in (tmp_path / ".evals").iterdir())
    assert written == [".html", ".json"]


def test_a_failure_that_was_recorded_stays_one(tmp_path: Path):
    item = {"prompt": "p", "expected_response": ""}
    _, failed = run(tmp_path, document(item), "--agent", "command:exit 3")
    ended, again = run(tmp_path, json.dumps(failed), "--agent", "recorded", name="failed.json")
    assert (ended.code, statuses(again)) == (1, ["error"])
    assert "ended with exit status 3" in again["items"][0]["error"]["message"]


def test_results_with_a_default_name_overwrite_none(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p", "expected_response": "p"})})
    for _ in range(3):
        waza("m365", "run", "--agent", "mock", cwd=tmp_path)
    assert len(list((tmp_path / ".evals").iterdir())) == 6


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
    assert " (write your own secrets in place of [REDACTED])\n" in ended.err


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
    where = f"{Path('custom-evaluators/broken/broken.py')}:8: return 1 / 0"
    assert lines[at + 1] == f"    ⚠ broken: Evaluator failed: division by zero ({where})"
    assert lines[at + 2] == "    ✗ PartialMatch 0.4, 0.5 is needed: Match score: 0.400"


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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_progress_that_nobody_can_read_costs_no_results(tmp_path: Path):
    write_tree(tmp_path, {"evals.json": document({"prompt": "p", "expected_response": "p"})})
    argv = command("m365", "run", "evals.json", "--agent", "command:cat", "-o", "r.json")
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            argv, check=False, cwd=tmp_path, env=environment(), stderr=full, stdout=subprocess.DEVNULL
        )
    assert done.returncode == 0
    assert statuses(strict_json((tmp_path / "r.json").read_bytes())) == ["pass"]
