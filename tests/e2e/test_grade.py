"""`waza grade`: what graders say of recorded runs is what they said when these ran."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, mock_suite, strict_json, waza, write_tree

from waza.graders import TYPES

# Every type of grader, once so that it passes and once so that it fails, on calls with awkward arguments.
GRADERS = {
    "text": ("contains: [done]", "contains: [undone]"),
    "code": (
        """assertions:
        - "tool_calls[0]['arguments']['f'] == 1.0 and isinstance(tool_calls[0]['arguments']['f'], float)"
        - "tool_calls[0]['arguments']['n'] == 2 and isinstance(tool_calls[0]['arguments']['n'], int)"
        - "tool_calls[0]['arguments']['big'] == 2 ** 70 and tool_calls[0]['arguments']['i64'] == 2 ** 63"
        - "tool_calls[0]['arguments']['null'] is None and tool_calls[0]['arguments']['empty'] == ''"
        - "tool_calls[0]['arguments']['list'] == [[1, [2.5, None]], {'a': [True, {}]}]"
        - "tool_calls[0]['arguments']['text'] == 'e\\u0301 \\U0001f3af <b>&\\u2028'"
        - "len(tool_calls) == 3 and duration_ms >= 20 and output_length == len(output)"
        """,
        """assertions: ["tool_calls[0]['arguments']['f'] == 2", "1 / 0", "len(transcript) > 1000"]""",
    ),
    "json_schema": (
        "{extract_json: true, schema: {type: object, properties: {x: {type: number}}, required: [x]}}",
        "{extract_json: true, schema: {type: object, required: [y]}}",
    ),
    "prompt": ("prompt: is it good?", "{prompt: is it good?, continue_session: true}"),
    "file": (
        "{must_exist: [a.txt], must_not_exist: [b.txt]}",
        "{must_exist: [b.txt], content_patterns: [{path: a.txt, must_match: [zzz]}]}",
    ),
    "diff": (
        "expected_files: [{path: a.txt, snapshot: fixtures/a.txt}]",
        "expected_files: [{path: a.txt, contains: ['+two']}]",
    ),
    "program": (
        """{command: sh, args: [-c, 'test "$(cat)" = "$WANTED" && test -f "$WAZA_WORKSPACE_DIR/a.txt"']}""",
        "{command: sh, args: [-c, 'cat; exit 3']}",
    ),
    "behavior": ("{max_tool_calls: 3, max_tokens: 150, max_duration_ms: 60000}", "{max_tokens: 149, required_tools: [z]}"),
    "action_sequence": (
        "{matching_mode: in_order_match, expected_actions: [bash, view]}",
        "{matching_mode: exact_match, expected_actions: [view, bash]}",
    ),
    "tool_calls": (
        """expect:
          - {tool: ^bash$, args: {list: {equals: [[1, [2.5, null]], {a: [true, {}]}]}, f: {equals: 1}, null: {equals: null}}}
          - {tool: view, args: {path: {regex: '^a'}, line: {range: {gte: 1.0, lt: 2}}}}
        """,
        "{forbidden_tools: [view], expect: [{tool: bash, args: {big: {equals: 1}}}]}",
    ),
    "tool_constraint": (
        "expect_tools: [{tool: ^bash$, command_pattern: '^ls'}]",
        "reject_tools: [{tool: ^bash$, command_pattern: '^ls'}]",
    ),
    "skill_invocation": ("{required_skills: [s], mode: any_order}", "{required_skills: [z], mode: any_order}"),
    "trigger": ("{skill_path: s, mode: positive, threshold: 0.5}", "{skill_path: s, mode: negative, threshold: 0.5}"),
    "evaluator": (
        "{name: PartialMatch, threshold: 1, expected_response: x 1 0 done}",
        "{name: ExactMatch, expected_response: other}",
    ),
    "wgp": ("{runtime: wasm, artifact: brief.wasm}", "{runtime: wasm, artifact: brief.wasm, config: {max: 3}}"),
}  # fmt: skip
TASK = """
inputs: {{prompt: summarise the quarterly report, environment: {{WANTED: '{{"x": 1.0}} done'}}}}
graders:
{graders}
mock:
  output: '{{"x": 1.0}} done'
  skills: [s]
  delay_ms: 25
  usage: {{input_tokens: 100, output_tokens: 50}}
  files: [{{path: a.txt, content: one}}]
  judge: {{prompt: [{{{judge}: 'said {judge}'}}, {{pass: second}}]}}
  tool_calls:
    - name: bash
      args:
        {{command: ls -l, f: 1.0, n: 2, big: 1180591620717411303424, i64: 9223372036854775808, 'null': null, empty: '',
          list: [[1, [2.5, null]], {{a: [true, {{}}]}}], text: "e\\u0301 \\U0001f3af <b>&\\u2028"}}
      result: {{n: 1.0, big: 1180591620717411303424, list: [null, []]}}
    - {{name: view, args: {{path: a.txt, line: 1.0}}, result: one, duration_ms: 7}}
    - {{name: view, args: {{}}, result: gone, success: false}}
"""


def task(place: int, judge: str) -> str:
    entries = []
    for kind, configs in GRADERS.items():
        config = configs[place]
        flow = config.startswith("{")
        entries.append(f"  - type: {kind}\n    name: {kind}\n    config: {config if flow else ''}")
        entries += [] if flow else [f"      {config}"]
    return TASK.format(graders="\n".join(entries), judge=judge)


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a suite, its results (`live.json`), and the workspaces that were kept, by task."""
    root = tmp_path_factory.mktemp("live")
    tasks = {
        "good": task(0, "pass"),
        "bad": task(1, "fail"),
        "broke": "inputs: {prompt: p}\nmock: {output: done, error: the engine fell over}\n"
        "graders: [{type: text, name: text, config: {contains: [done]}}]",
        "unjudged": "inputs: {prompt: p}\nmock: {output: done}\n"
        "graders: [{type: prompt, name: prompt, config: {prompt: ok?}}, {type: text, name: text, config: {contains: [done]}}]",
        "stopped": "inputs: {prompt: p, follow_up_prompts: [q]}\nmock: {turns: [{output: one}, {output: done}]}\n"
        "graders: [{type: text, name: text, config: {contains: [done]}}]\n"
        "checkpoints: [{after_turn: 1, graders: [{type: text, name: early, config: {contains: [done]}}]}]",
    }
    mock_suite(
        root, tasks, config=["trials_per_task: 2", "inject_skill_body: false", "skill_directories: [s]"]
    )
    skill = "---\nname: s\ndescription: summarise the quarterly report\n---\nb\n"
    module = (Path(__file__).parents[1] / "data" / "wgp" / "brief.wasm").read_bytes()
    write_tree(root, {"s/SKILL.md": skill, "fixtures/a.txt": "one", "brief.wasm": module})
    temp = tmp_path_factory.mktemp("temp")
    ended = waza(
        "run",
        "eval.yaml",
        "--no-save",
        "--keep-workspace",
        "-o",
        "live.json",
        cwd=root,
        env={"TMPDIR": str(temp)},
    )
    assert ended.code == 1, ended.err
    for result in strict_json((root / "live.json").read_bytes())["tasks"]:
        for run in result["runs"]:
            if run.get("workspace_dir"):
                link = root / "kept" / f"{result['test_id']}-{run['run_number']}"
                link.parent.mkdir(exist_ok=True)
                link.symlink_to(run["workspace_dir"])
    return root


def grade(root: Path, *args: str | Path, results: str = "live.json") -> Ended:
    return waza("grade", "eval.yaml", "--results", results, *args, cwd=root)


def tasks_of(data: bytes) -> dict[str, dict[str, Any]]:
    return {one["test_id"]: one for one in strict_json(data)["tasks"]}


def lasting(value: Any) -> Any:
    """Verdicts without how long they took, and in which directory."""
    if isinstance(value, dict):
        return {
            key: lasting(item) for key, item in value.items() if key not in ("duration_ms", "workspace_dir")
        }
    return [lasting(item) for item in value] if isinstance(value, list) else value


def test_the_suite_of_this_test_has_every_type_of_grader():
    assert set(GRADERS) == set(TYPES)


@pytest.mark.parametrize(("name", "passed"), [("good", True), ("bad", False)])
def test_every_grader_reaches_the_verdict_of_the_run_on_its_record(
    live: Path, tmp_path: Path, name: str, *, passed: bool
):
    before = tasks_of((live / "live.json").read_bytes())[name]
    assert {kind: one["passed"] for kind, one in before["runs"][0]["validations"].items()} == dict.fromkeys(
        TYPES, passed
    )
    ended = grade(
        live, "--task", name, "--workspace", live / "kept" / f"{name}-1", "-o", tmp_path / "new.json"
    )
    assert ended.code == 0, ended.err
    after = tasks_of((tmp_path / "new.json").read_bytes())[name]
    for run, old in zip(after["runs"], before["runs"], strict=True):
        assert lasting(run["validations"]) == lasting(old["validations"])
        assert (run["status"], run.get("error_msg")) == (old["status"], old.get("error_msg"))
    assert after["stats"] == before["stats"]
    said = strict_json(ended.out)
    assert list(said) == ["overall_score", "passed", "tasks"]
    assert said["passed"] is passed
    assert list(said["tasks"]) == [name]
    averages = {kind: one["score"] for kind, one in sorted(before["runs"][0]["validations"].items())}
    assert said["tasks"][name] == {
        "overall_score": before["stats"]["avg_weighted_score"], "passed": passed, "grader_averages": averages,
    }  # fmt: skip


def test_the_whole_suite_merged(live: Path, tmp_path: Path):
    ended = grade(live, "-v", "--workspace", ".", "-o", tmp_path / "new.json")
    assert (ended.code, ended.err.count("Written: ")) == (0, 1)
    before, after = (tasks_of(path.read_bytes()) for path in (live / "live.json", tmp_path / "new.json"))
    assert list(after) == list(before)
    statuses = {name: one["status"] for name, one in after.items()}
    assert statuses == {
        "bad": "failed",
        "broke": "error",
        "good": "failed",
        "stopped": "failed",
        "unjudged": "error",
    }
    for run in after["broke"]["runs"]:
        assert run["validations"] == {}
        assert run["error_msg"] == "the engine fell over"
    for run in after["unjudged"]["runs"]:
        assert run["error_msg"].startswith("running graders: prompt: ")
        assert run["validations"]["text"]["passed"] is True
    for run, old in zip(after["stopped"]["runs"], before["stopped"]["runs"], strict=True):
        assert (run["status"], run["checkpoints"]) == ("failed", old["checkpoints"]), (
            "they keep their verdicts"
        )
    summary = strict_json((tmp_path / "new.json").read_bytes())["summary"]
    assert (summary["total_tests"], summary["failed"], summary["errors"]) == (5, 3, 2)
    assert summary["usage"] == strict_json((live / "live.json").read_bytes())["summary"]["usage"], (
        "no agent ran"
    )
    assert "broke, run 1: error: the engine fell over\n" in ended.err
    assert "good, run 2: failed\n" in ended.err
    assert "  ✗ file 0.50: " in ended.err
    assert strict_json(ended.out)["tasks"]["broke"] == {
        "overall_score": 0,
        "passed": False,
        "grader_averages": {},
    }


def test_exit_codes(live: Path):
    assert grade(live, "--task", "stopped").code == 0
    assert grade(live, "--task", "stopped", "--fail").code == 1
    assert grade(live, "--task", "good", "--workspace", "kept/good-1", "--fail").code == 0
    missing = grade(live, "--task", "nope")
    assert (missing.code, missing.out) == (2, "")
    assert missing.err == "Error: there is no task 'nope' in both the suite and the results\n"


def test_a_changed_suite_changes_verdicts_and_leaves_the_rest(live: Path, tmp_path: Path):
    """The graders of `stopped` are other ones now, `new` is new, and the others are not in the suite."""
    text = "inputs: {prompt: p}\ngraders: [{type: text, name: other, weight: 3, config: {contains: [done, gone]}}]"
    mock_suite(tmp_path, {"stopped": text, "new": text.replace("p}", "q}")})
    write_tree(tmp_path, {"live.json": (live / "live.json").read_bytes()})
    ended = grade(tmp_path, "-v", "-o", "new.json", "--judge-model", "another-judge")
    assert ended.code == 0
    assert "warning: the results have no trial of the task 'new'; it is left out\n" in ended.err
    before, after = (tasks_of((tmp_path / name).read_bytes()) for name in ("live.json", "new.json"))
    assert list(after) == ["stopped", "bad", "broke", "good", "unjudged"], "the regraded ones first"
    assert [after[name] for name in ("bad", "broke", "good", "unjudged")] == [
        before[name] for name in ("bad", "broke", "good", "unjudged")
    ]
    assert set(after["stopped"]["runs"][0]["validations"]) == {"other"}
    assert strict_json(ended.out)["tasks"]["stopped"]["grader_averages"] == {"other": 0.5}
    config = strict_json((tmp_path / "new.json").read_bytes())["config"]
    assert config["judge_model"] == "another-judge"
    write_tree(tmp_path, {"tasks/stopped.yaml": text.replace("inputs", "id: x\ninputs")})
    nothing = grade(tmp_path)
    assert nothing.code == 2
    assert nothing.err == "Error: nothing to grade: the results hold none of the suite's tasks\n"


# --- results of other programs ---

FOREIGN: Mapping[str, Any] = {
    "eval_id": "run-1700000000", "skill": "", "eval_name": "old", "timestamp": "2025-01-01T00:00:00Z",
    "config": {"runs_per_test": 1, "model_id": "gpt", "engine_type": "copilot-sdk", "timeout_sec": 300},
    "summary": {
        "total_tests": 1, "succeeded": 1, "failed": 0, "errors": 0, "skipped": 0, "success_rate": 1.0,
        "aggregate_score": 1, "weighted_score": 1, "min_score": 1, "max_score": 1, "std_dev": 0, "duration_ms": 5,
        "groups": None,
    },
    "metrics": None,
    "tasks": [
        {
            "test_id": "t", "display_name": "T", "status": "passed", "something_new": {"a": 1},
            "runs": [{
                "run_number": 1, "attempts": 1, "status": "passed", "duration_ms": 5, "validations": None,
                "final_output": "all done", "transcript": None,
                "session_digest": {
                    "tool_call_count": 2, "errors": None, "tools_used": ["bash", "skill"],
                    "tool_calls": [
                        {"name": "bash", "arguments": {"path": "", "file_text": "", "command": "pytest -q", "description": "", "skill": ""}, "success": True},
                        {"name": "skill", "arguments": {"path": "", "file_text": "", "command": "", "description": "", "skill": "s"}, "result": None, "success": False},
                    ],
                },
            }],
        }
    ],
}  # fmt: skip
OLD_TASK = """
id: t
inputs: {prompt: p}
graders:
  - {type: text, name: text, config: {contains: [done]}}
  - {type: tool_calls, name: calls, config: {expect: [{tool: ^bash$, args: {command: {contains: pytest}}}], max_calls: 2}}
  - {type: tool_constraint, name: skill, config: {expect_tools: [{tool: ^skill$, skill_pattern: ^s$}]}}
  - {type: code, name: unset, config: {assertions: ["len(tool_calls[0]['arguments']) >= 1"]}}
"""


def test_a_file_of_the_reference_program(tmp_path: Path):
    mock_suite(tmp_path, {"t": OLD_TASK})
    write_tree(tmp_path, {"old.json": "\ufeff" + json.dumps(FOREIGN)})
    ended = grade(tmp_path, "-o", "new.json", results="old.json")
    assert ended.code == 0, ended.err
    said = strict_json(ended.out)["tasks"]["t"]
    assert said == {
        "overall_score": 1, "passed": True, "grader_averages": {"calls": 1, "skill": 1, "text": 1, "unset": 1},
    }  # fmt: skip
    assert "warning" in ended.err
    assert "something_new" in ended.err
    new = strict_json((tmp_path / "new.json").read_bytes())
    assert (new["schemaVersion"], new["eval_id"], new["tasks"][0]["status"]) == (
        "1.4",
        "run-1700000000",
        "passed",
    )
    assert grade(tmp_path, results="new.json").out == ended.out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "r.json: cannot be read: No such file or directory; give the path of a results file"),
        ("", "r.json:1:1: is not valid JSON"),
        ('{"tasks": [}', "r.json:1:12: is not valid JSON"),
        ("[]", "r.json: is not a results file; write one with `waza run -o FILE`"),
        ('{"kind": "waza.preflight"}', "r.json: is a waza.preflight report, not a results file"),
        ("name: suite\n", "r.json:1:5: is not valid JSON: invalid character"),
        (json.dumps({**FOREIGN, "schemaVersion": "2.0"}), "version 2.0 is not readable here"),
        (json.dumps({**FOREIGN, "summary": 3}), "r.json: summary: "),
        (json.dumps({**FOREIGN, "tasks": [{"test_id": "t", "runs": []}]}), "tasks[0]"),
        (json.dumps(FOREIGN).replace('"std_dev": 0', '"std_dev": NaN'), "is not valid JSON"),
        (b'{"tasks": "\xff"}', "r.json:1:12: is not UTF-8 text"),
    ],
)  # fmt: skip
def test_what_is_no_results_file(tmp_path: Path, content: str | bytes | None, said: str):
    mock_suite(tmp_path, {"t": OLD_TASK})
    if content is not None:
        write_tree(tmp_path, {"r.json": content})
    ended = grade(tmp_path, results="r.json")
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_results_given_as_a_suite(tmp_path: Path):
    write_tree(tmp_path, {"r.json": json.dumps(FOREIGN)})
    ended = waza("grade", "r.json", "--results", "r.json", cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "Error: r.json is a results file of waza, and not a suite\n"


def test_eval_documents_are_distinguished(tmp_path: Path):
    document = {"schemaVersion": "1.7.0", "items": [{"prompt": "p", "response": "r"}]}
    suite = mock_suite(tmp_path, {"t": "inputs: {prompt: p}\nmock: {output: o}"})
    write_tree(tmp_path, {"my evals.json": json.dumps(document), "old.json": '[{"prompt": "p"}]'})
    before = suite.read_bytes()
    again = "`waza m365 run 'my evals.json' --agent recorded` judges recorded responses again"
    cases = [
        (["grade", "my evals.json"], f"Error: my evals.json is an evaluation document, not a suite; {again}\n"),
        (["grade", "old.json", "--results", "r.json"], "`waza m365 run old.json --agent recorded`"),
        (["grade", "eval.yaml", "--results", "my evals.json"], f"my evals.json: is an evaluation document; {again}\n"),
        (["compare", "my evals.json", "old.json"], f"my evals.json: is an evaluation document; {again}\n"),
        (["registry", "add", "github.com/a/b@v1", "--eval", "my evals.json"], "not a suite; name a suite, such as"),
        (["grade", "eval.yaml"], "say which results to grade: --results FILE"),
    ]  # fmt: skip
    for words, said in cases:
        ended = waza(*words, cwd=tmp_path)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
        assert ended.err.replace("1 mistake; nothing was run\n", "").count("\n") == 1
    assert suite.read_bytes() == before


def test_graders_of_files_reach_no_verdict_without_a_workspace(live: Path) -> None:
    ended = grade(live, "--task", "good", "-v")
    assert ended.code == 0
    said = [line.strip() for line in ended.err.splitlines() if "--workspace DIR" in line]
    assert {line.split()[1] for line in said if line.startswith(("✗", "✘", "❌"))} == {
        "file",
        "diff",
        "program",
        "wgp",
    }
    assert any(line.startswith("good, run 1: error") for line in said)
    here = grade(live, "--task", "good", "--workspace", ".", "-v")
    assert "--workspace DIR" not in here.err
