"""Other programs read our results: every key of `results.json` has the type that the format gives it.

A shape maps keys to types; a key with `?` may be absent. The programs that read the format are typed, so that one
value of another type makes the whole file unreadable to them. Keys that only we write are listed apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import mock_suite, strict_json, waza, write_tree

NUMBER = (int, float)
ANY = object
STATUS = ("passed", "failed", "error", "skipped")

USAGE: dict[str, Any] = {
    "turns": int, "input_tokens": int, "output_tokens": int, "cache_read_tokens": int, "cache_write_tokens": int,
    "premium_requests": NUMBER, "ai_credits?": NUMBER, "provider?": str, "provider_host?": str, "model_metrics?": {"*": dict},
}  # fmt: skip
VALIDATION = {
    "identifier": str, "type": str, "score": NUMBER, "weight": NUMBER, "passed": bool, "feedback": str,
    "details?": dict, "duration_ms": int,
}  # fmt: skip
CALL = {
    "id?": str, "name": str, "success": bool, "result?": {"content": str, "*": ANY},
    "arguments": {"path": str, "file_text": str, "command": str, "description": str, "skill": str},
}  # fmt: skip
DIGEST = {
    "tool_call_count": int, "tools_used": [str], "tool_calls?": [CALL], "errors": [str], "usage?": USAGE,
    "session_id?": str, "tool_policy_mode?": ("unrestricted", "deny_all", "allow_list"),
    "tool_policy_denials?": [{"tool": str, "kind": str, "reason": str}],
}  # fmt: skip
EVENT = {
    "type": str, "content?": ANY, "message?": ANY, "arguments?": ANY, "success?": bool, "tool_call_id?": str,
    "tool_name?": str, "tool_result?": {"content": str, "*": ANY},
}  # fmt: skip
RUN = {
    "run_number": int, "attempts": int, "prompt?": str, "status": STATUS, "duration_ms": int,
    "validations": {"*": VALIDATION}, "session_digest": DIGEST, "grader_sessions?": [DIGEST], "transcript?": [EVENT],
    "final_output": str, "error_msg?": str, "skill_invocations?": [{"name": str, "path?": str}], "usage?": USAGE,
    "workspace_dir?": str,
    "failure_artifacts?": {
        "stderr?": str, "stdout?": str, "exit_code?": int, "failed_graders?": [str], "error_patterns?": [str],
        "triage_summary?": str, "captured_at": str, "context?": {"*": str},
    },
    "responder?": {"followups_sent": int, "outcome": ("stopped", "abstained", "cap_exhausted", "error"), "reason?": str},
    "checkpoints?": [{"after_turn": int, "status": STATUS[:3], "validations": {"*": VALIDATION}, "stopped?": bool}],
    "tool_events?": [
        {
            "turn": int, "sequence": int, "tool_call_id?": str, "tool_name": str, "args?": ANY, "result?": ANY,
            "success": bool, "error?": str, "duration_ms?": int, "truncated?": bool, "result_bytes?": int,
        }
    ],
    "command_invocations?": [{"command": str, "args?": [str], "exit_code": int, "response_index": int}],
    "snapshot_path?": str,
}  # fmt: skip
INTERVAL = {
    "lower": NUMBER, "upper": NUMBER, "mean": NUMBER, "confidence_level": NUMBER, "num_bootstraps?": int,
}  # fmt: skip
STATS = {
    "pass_rate": NUMBER, "flakiness_percent": NUMBER, "passed_runs": int, "failed_runs": int, "error_runs": int,
    "total_runs": int, "avg_score": NUMBER, "avg_weighted_score": NUMBER, "min_score": NUMBER, "max_score": NUMBER,
    "std_dev_score": NUMBER, "score_variance": NUMBER, "ci95_lo": NUMBER, "ci95_hi": NUMBER, "flaky": bool,
    "avg_duration_ms": int, "bootstrap_ci?": INTERVAL, "is_significant?": bool,
}  # fmt: skip
TASK = {
    "cached?": bool, "test_id": str, "display_name": str, "group?": str, "golden?": bool, "status": STATUS,
    "runs": [RUN], "stats?": STATS,
    "skill_impact?": {"pass_rate_with_skills": NUMBER, "pass_rate_baseline": NUMBER, "delta": NUMBER, "percent_change": NUMBER},
}  # fmt: skip
TOP = {
    "schemaVersion": ("1.4",), "eval_id": str, "skill": str, "eval_name": str, "timestamp": str,
    "config": {
        "runs_per_test": int, "model_id": str, "engine_type": str, "timeout_sec": int, "judge_model?": str,
        "reasoning_effort?": str, "judge_reasoning_effort?": str,
    },
    "summary": {
        "total_tests": int, "succeeded": int, "failed": int, "errors": int, "skipped": int, "success_rate": NUMBER,
        "aggregate_score": NUMBER, "weighted_score": NUMBER, "min_score": NUMBER, "max_score": NUMBER, "std_dev": NUMBER,
        "duration_ms": int, "groups?": [{"name": str, "passed": int, "total": int, "avg_score": NUMBER}], "usage?": USAGE,
        "statistics?": {"bootstrap_ci": INTERVAL, "is_significant": bool, "normalized_gain?": NUMBER},
    },
    "metrics": {
        "*": {"identifier": str, "value": NUMBER, "threshold": NUMBER, "passed": bool, "weight": NUMBER, "details?": dict}
    },
    "tasks": [TASK], "trigger_metrics?": dict, "trigger_results?": [dict], "trigger_matrix?": dict, "metadata?": dict, "is_baseline?": bool,
    "baseline_outcome?": dict, "evaluation_usage?": {"sessions": [dict]},
}  # fmt: skip
OURS = {
    "runs[].attempt_history", "runs[].error_retries", "runs[].timed_out", "runs[].truncated", "runs[].output_bytes",
    "runs[].skill_offered", "runs[].skill_loaded", "runs[].other_skills_offered", "tasks[].without_skills",
    "tasks[].requirements", "command_invocations[].exhausted", "tasks[].judged_anew", "stats.pass_rate_ci", "summary.graded_success_rate", "summary.statistics.success_rate_ci",
    "summary.statistics.pass_hat_k", "summary.statistics.pass_at_k",
}  # fmt: skip


def faults(value: Any, shape: Any, place: str = "") -> Iterator[str]:
    """Yield where a value does not have a shape."""
    if isinstance(shape, tuple) and all(isinstance(one, str) for one in shape):
        if value not in shape:
            yield f"{place} is {value!r}"
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{place} is no list but {value!r}"
            return
        for one in value:
            yield from faults(one, shape[0], f"{place}[]")
    elif isinstance(shape, dict):
        yield from _object_faults(value, shape, place)
    elif not isinstance(value, shape) or (isinstance(value, bool) and shape in (int, NUMBER)):
        yield f"{place} is {value!r}"


def _object_faults(value: Any, shape: dict[str, Any], place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{place} is no object but {value!r}"
        return
    known = {key.removesuffix("?"): one for key, one in shape.items() if key != "*"}
    yield from (
        f"{place}.{key} is missing" for key in shape if key != "*" and key[-1] != "?" and key not in value
    )
    for key, one in value.items():
        where = f"{place}.{key}".lstrip(".")
        if key in known or "*" in shape:
            yield from faults(one, known.get(key, shape.get("*")), where)
        elif not any(where.endswith(ours) for ours in OURS):
            yield f"{where} is unknown"


TASKS = {
    "tools": """
inputs: {prompt: p, follow_up_prompts: [again]}
graders: [{type: text, name: says, config: {contains: [ok]}}]
checkpoints: [{after_turn: 1, graders: [{type: text, name: early, config: {contains: [ok]}}]}]
mock:
  turns:
    - output: ok
      skills: [{name: s, path: s/SKILL.md}]
      usage: {input_tokens: 120, output_tokens: 30}
      tool_calls:
        - {name: view, args: {path: a.py, view_range: [1, 2]}, result: "28 lines", duration_ms: 3}
        - {name: mcp-list_issues, args: {q: {state: open}}, result: {content: "[]", detailedContent: "none"}}
        - {name: odd, result: [1, 2]}
        - {name: bash, args: {command: make}, success: false, result: "exit 2"}
        - {name: quiet}
    - output: ok again
""",
    "retried": """
inputs: {prompt: p}
graders: [{type: text, name: says, config: {contains: [ok]}}]
mock: {executions: [{output: bad, tool_calls: [{name: view, result: "x"}]}, {output: ok}, {output: bad}, {output: bad}]}
""",
    "broken": "inputs: {prompt: p}\nmock: {error: the engine fell over, tool_calls: [{name: view, result: seen}]}",
    "responded": """
inputs: {prompt: p, responder: {instructions: say yes, max_followups: 2}}
graders: [{type: text, name: says, config: {contains: [ok]}}]
mock: {turns: [{output: ok}, {output: ok}], responder: [{reply: go on}, {stop: true}]}
""",
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("shape")
    head = "skill: s\nmetrics: [{name: task_completion, threshold: 0.5, gate: true}, {name: says}]"
    config = ["trials_per_task: 2", "max_attempts: 2", "group_by: tags"]
    mock_suite(root, TASKS, head, config)
    write_tree(root, {"s/SKILL.md": "---\nname: s\ndescription: d\n---\nb\n"})
    suite = root / "eval.yaml"
    suite.write_text(
        suite.read_text(encoding="utf-8").replace("config:\n", "config:\n  skill_directories: [s]\n"),
        encoding="utf-8",
    )
    ended = waza("run", suite, "-o", "r.json", cwd=root)
    assert ended.code == 1, ended.err
    found: dict[str, Any] = strict_json((root / "r.json").read_bytes())
    return found


def test_every_key_has_the_type_that_readers_expect(results: dict[str, Any]) -> None:
    assert list(faults(results, TOP)) == []


def test_the_check_sees_what_readers_would_stumble_over(results: dict[str, Any]) -> None:
    tools = next(task for task in results["tasks"] if task["test_id"] == "tools")
    call = {**tools["runs"][0]["session_digest"]["tool_calls"][0], "result": "28 lines"}
    assert list(faults(call, CALL)) == ["result is no object but '28 lines'"]
    assert list(faults({**call, "result": {"content": ""}, "success": 1, "odd": 1}, CALL)) == [
        "success is 1",
        "odd is unknown",
    ]


def test_results_of_tools_are_objects_with_their_content(results: dict[str, Any]) -> None:
    run = next(task for task in results["tasks"] if task["test_id"] == "tools")["runs"][0]
    wanted = [
        {"content": "28 lines"},
        {"content": "[]", "detailedContent": "none"},
        {"content": "[1,2]"},
        {"content": "exit 2"},
        {"content": ""},
    ]
    assert [call.get("result") for call in run["session_digest"]["tool_calls"]] == wanted
    ends = [event for event in run["transcript"] if event["type"] == "tool.execution_complete"]
    assert [event["tool_result"] for event in ends] == wanted
    assert run["tool_events"][0]["result"] == "28 lines"


def test_what_the_run_did_is_there(results: dict[str, Any]) -> None:
    runs = {task["test_id"]: task["runs"][0] for task in results["tasks"]}
    assert [point["after_turn"] for point in runs["tools"]["checkpoints"]] == [1]
    assert runs["retried"]["attempts"] == 2
    assert runs["responded"]["responder"] == {"followups_sent": 1, "outcome": "stopped"}
    assert runs["broken"]["failure_artifacts"]["exit_code"] == 2
    assert results["metrics"]["says"]["weight"] == 0


def test_our_readers_take_texts_and_objects_for_results_of_tools(
    tmp_path: Path, results: dict[str, Any]
) -> None:
    grader = "{type: code, name: sees, config: {assertions: [\"tool_calls[0]['name'] == 'view'\"]}}"
    suite = mock_suite(tmp_path, {"tools": f"inputs: {{prompt: p}}\ngraders: [{grader}]\n"})
    import json

    for result in ("28 lines", {"content": "28 lines"}):
        task = json.loads(json.dumps(next(one for one in results["tasks"] if one["test_id"] == "tools")))
        for run in task["runs"]:
            run.pop("tool_events")
            for call in run["session_digest"]["tool_calls"]:
                call["result"] = result
        (tmp_path / "r.json").write_text(json.dumps({**results, "tasks": [task]}), encoding="utf-8")
        for command in (("grade", suite, "--results", "r.json", "--fail"), ("compare", "r.json", "r.json")):
            ended = waza(*command, cwd=tmp_path)
            assert ended.code == 0, ended.err
