"""`waza export --format atif`: valid trajectories, which are read again with the same tool calls and usage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import atif
import pytest
from tests.support import sessions
from tests.support.program import mock_suite, strict_json, waza
from tests.support.sessions import FORMS, PROMPT, write_lines

from waza.foreign.export.atif import make_trajectories
from waza.foreign.transcripts.read import read_transcript
from waza.model.observation import ToolEvent
from waza.results.outcome import Outcome
from waza.results.read import load

AWKWARD = r"""
inputs: {prompt: 'Sort <this>', follow_up_prompts: [And that?]}
graders: [{type: text, name: says, weight: 2, config: {contains: [done]}}]
mock:
  turns:
    - output: first
      skills: [s]
      usage: {input_tokens: 100, output_tokens: 50}
      tool_calls:
        - name: bash
          args: {command: ls, f: 1.0, big: 1180591620717411303424, 'null': null, text: "e\u0301 \U0001f3af\u2028", list: [[1, [2.5, null]]]}
          result: {n: 1.0, list: [null, []]}
          duration_ms: 12
        - {name: view, args: {}, result: gone, success: false}
        - {name: view, args: {path: a}, result: ''}
    - {output: done, usage: {input_tokens: 7, output_tokens: 1}, tool_calls: [{name: bash, args: {command: pwd}, result: [1, two]}]}
"""
BROKEN = "inputs: {prompt: p}\nmock: {output: half, error: the engine fell over}"


def run_suite(root: Path, **tasks: str) -> None:
    mock_suite(root, tasks, config=["trials_per_task: 2"])
    ended = waza("run", "eval.yaml", "--no-save", "-o", "results.json", cwd=root)
    assert ended.code in (0, 1), ended.err


def compared(calls: list[ToolEvent] | tuple[ToolEvent, ...]) -> list[Any]:
    return [
        (
            one.tool_call_id,
            one.tool_name,
            one.args,
            one.result,
            one.success,
            one.turn,
            one.sequence,
            one.duration_ms,
        )
        for one in calls
    ]


def test_trials_are_valid_trajectories_and_come_back(tmp_path: Path):
    run_suite(tmp_path, awkward=AWKWARD, broken=BROKEN)
    ended = waza("export", "results.json", "--format", "atif", "-o", "out", cwd=tmp_path)
    assert (ended.code, ended.out, ended.err) == (0, "", "out: 4 files of 1 run\n")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert names == [f"{task}-{n}.trajectory.json" for task in ("awkward", "broken") for n in (1, 2)]
    results, _ = load(tmp_path / "results.json")
    for task in results.tasks:
        for trial in task.runs:
            path = tmp_path / "out" / f"{task.test_id}-{trial.run_number}.trajectory.json"
            document = strict_json(path.read_bytes())
            assert atif.Trajectory.model_validate(document).schema_version == "ATIF-v1.8"
            found = read_transcript(path)
            assert compared(found.tool_events) == compared(trial.tool_events)
            assert found.usage == trial.session_digest.usage
            assert found.final_output == trial.final_output
            assert list(found.skill_invocations) == trial.skill_invocations
            assert (found.session_id, found.error) == (trial.session_digest.session_id, trial.error_msg)
            assert (found.agent, found.models, found.skills_inferred) == ("mock", ("test-model",), False)
            added = document["extra"]["waza"]
            assert (added["task"], added["trial"], added["status"]) == (
                task.test_id,
                trial.run_number,
                trial.status,
            )
    document = strict_json((tmp_path / "out/awkward-1.trajectory.json").read_bytes())
    assert [step["message"] for step in document["steps"] if step["source"] == "user"] == [
        "Sort <this>",
        "And that?",
    ]
    assert document["final_metrics"]["total_prompt_tokens"] == 107
    assert document["extra"]["waza"]["verdicts"]["says"] == {
        "type": "text", "score": 1, "weight": 2, "passed": True, "feedback": "all checks passed",
    }  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_what_ran_elsewhere_comes_back(tmp_path: Path, form: str):
    """From the transcript of an agent to results, to a trajectory, and to a recording again."""
    mock_suite(
        tmp_path,
        {
            "count": f"inputs: {{prompt: '{PROMPT}'}}\ngraders: [{{type: text, name: t, config: {{contains: [x]}}}}]"
        },
    )
    write_lines(tmp_path / "t.jsonl", FORMS[form]())
    graded = waza("grade", "eval.yaml", "--transcript", "t.jsonl", "--no-save", "-o", "r.json", cwd=tmp_path)
    assert graded.code == 0, graded.err
    printed = waza("export", "r.json", "--format", "atif", cwd=tmp_path)
    assert printed.code == 0
    document = strict_json(printed.out)
    atif.Trajectory.model_validate(document)
    (tmp_path / "again.json").write_text(printed.out, encoding="utf-8")
    before, after = read_transcript(tmp_path / "t.jsonl"), read_transcript(tmp_path / "again.json")
    assert compared(after.tool_events) == compared(before.tool_events)
    assert (after.usage, after.duration_ms) == (before.usage, before.duration_ms)
    assert (after.final_output, after.models, after.session_id) == (
        before.final_output,
        before.models,
        before.session_id,
    )
    assert (after.agent, after.version or "unknown") == (before.agent, before.version or "unknown")
    assert [one.name for one in after.skill_invocations] == [one.name for one in before.skill_invocations]
    calls = [call for step in document["steps"] for call in step.get("tool_calls", ())]
    assert len(calls) == 3
    outcomes = [
        one["extra"] for step in document["steps"] for one in step.get("observation", {}).get("results", ())
    ]
    assert [one["waza"]["success"] for one in outcomes] == [True, False, None if form == "atif" else True]
    assert [one.get("is_error") for one in outcomes] == [False, True, None if form == "atif" else False]


def test_calls_whose_end_was_not_seen_come_back_so(tmp_path: Path):
    lines = [
        sessions.codex_message("user", PROMPT, 0),
        sessions.codex_call("never", "sleep 9", 1),
        sessions.codex_message("assistant", "Gave up.", 3),
    ]
    mock_suite(tmp_path, {"count": f"inputs: {{prompt: '{PROMPT}'}}"})
    write_lines(tmp_path / "t.jsonl", lines)
    assert (
        waza("grade", "eval.yaml", "--transcript", "t.jsonl", "--no-save", "-o", "r.json", cwd=tmp_path).code
        == 0
    )
    (tmp_path / "again.json").write_text(
        waza("export", "r.json", "-f", "atif", cwd=tmp_path).out, encoding="utf-8"
    )
    (call,) = read_transcript(tmp_path / "again.json").tool_events
    assert (call.tool_call_id, call.success, call.result) == ("never", False, None)


def test_where_trajectories_go(tmp_path: Path):
    run_suite(tmp_path, **{"a": BROKEN.replace(", error: the engine fell over", ""), "b c": BROKEN})
    several = waza("export", "results.json", "--format", "atif", cwd=tmp_path)
    assert (several.code, several.out) == (2, "")
    assert "each is a file of its own; name a directory: -o trajectories" in several.err
    assert waza("export", "results.json", "--format", "atif", "-o", "one.json", cwd=tmp_path).code == 2
    assert waza("export", "results.json", "--format", "atif", "-o", "out", cwd=tmp_path).code == 0
    assert (tmp_path / "out/b-c-1.trajectory.json").is_file()
    full = waza("export", "results.json", "--format", "atif", "-o", "out", cwd=tmp_path)
    assert (full.code, full.err) == (2, "Error: out is not empty; name another directory with -o\n")
    rows = waza("export", "results.json", "--format", "atif", "--rows", "trials", cwd=tmp_path)
    assert (rows.code, rows.err) == (2, "Error: --rows is of tables; a trajectory is of one trial\n")


def test_results_of_older_programs_have_trajectories_as_well(tmp_path: Path):
    """They have neither prompts nor events, and calls without ids in the digest alone."""
    old: dict[str, Any] = {
        "eval_id": "run-1", "skill": "", "eval_name": "old", "timestamp": "2025-01-01T00:00:00Z",
        "config": {"runs_per_test": 1, "model_id": "gpt", "engine_type": "copilot-sdk", "timeout_sec": 300},
        "summary": {
            "total_tests": 1, "succeeded": 1, "failed": 0, "errors": 0, "skipped": 0, "success_rate": 1.0,
            "aggregate_score": 1, "weighted_score": 1, "min_score": 1, "max_score": 1, "std_dev": 0, "duration_ms": 5,
            "groups": None,
        },
        "metrics": None,
        "tasks": [{
            "test_id": "t", "display_name": "T", "status": "passed",
            "runs": [{
                "run_number": 1, "attempts": 1, "status": "passed", "duration_ms": 5, "validations": None,
                "final_output": "all done", "transcript": None,
                "session_digest": {
                    "tool_call_count": 1, "errors": None, "tools_used": ["bash"],
                    "tool_calls": [{"name": "bash", "arguments": {"command": "ls"}, "success": True}],
                },
            }],
        }],
    }  # fmt: skip
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
    results, _ = load(tmp_path / "old.json")
    ((one),) = list(make_trajectories(Outcome.of(results)))
    atif.Trajectory.model_validate(one.document)
    (tmp_path / "t.json").write_text(json.dumps(one.document), encoding="utf-8")
    found = read_transcript(tmp_path / "t.json")
    assert [(call.tool_name, call.success) for call in found.tool_events] == [("bash", True)]
    assert (found.final_output, found.usage) == ("all done", None)
