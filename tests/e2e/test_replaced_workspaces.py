"""An agent that puts something else in the place of its workspace is not judged by what stands there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import strict_json, waza, write_tree

GRADERS: dict[str, dict[str, Any]] = {
    "file": {"type": "file", "config": {"must_exist": ["out.txt"]}},
    "diff": {"type": "diff", "config": {"expected_files": [{"path": "out.txt", "contains": ["good"]}]}},
    "program": {
        "type": "program",
        "config": {"command": "sh", "args": ["-c", 'test -f "$WAZA_WORKSPACE_DIR/out.txt"']},
    },
}
AGENTS = {
    "a link": 'w="$PWD"; cd /; rm -r "$w"; ln -s "$THEIRS" "$w"',
    "something else": 'w="$PWD"; cd /; mv "$w" "$w-old"; cp -r "$THEIRS" "$w"',
    "nothing": "echo good > out.txt",
}


def run(root: Path, agent: str, **task: Any) -> dict[str, Any]:
    theirs = root / "theirs"
    command = json.dumps(f"THEIRS={theirs}; echo turn >> {root}/turns; {agent}; echo {{}}")
    config = f"config: {{executor: command, model: any, executor_options: {{command: {command}}}}}"
    graders = json.dumps([{"name": name, **grader} for name, grader in GRADERS.items()])
    write_tree(
        root,
        {
            "eval.yaml": f"name: s\n{config}\ngraders: {graders}\ntasks: [t.yaml]\n",
            "t.yaml": json.dumps({"id": "t", **task}),
            "theirs/out.txt": "good\n",
        },
    )
    waza("run", "eval.yaml", "-o", "o.json", "--no-save", cwd=root)
    found: dict[str, Any] = strict_json((root / "o.json").read_bytes())["tasks"][0]["runs"][0]
    assert (theirs / "out.txt").read_text(encoding="utf-8") == "good\n"
    return found


@pytest.mark.parametrize("replaced", AGENTS)
def test_no_grader_passes_what_is_in_the_place_of_the_workspace(tmp_path: Path, replaced: str):
    found = run(tmp_path, AGENTS[replaced], inputs={"prompt": "p"})
    if replaced == "nothing":
        assert found["status"] == "passed"
        return
    assert found["status"] == "error"
    assert not any(one["passed"] for one in (found["validations"] or {}).values())
    assert f"was replaced by {replaced} while the agent worked" in found["error_msg"]


def test_no_turn_and_no_checkpoint_comes_after_the_workspace_was_replaced(tmp_path: Path):
    point = {"after_turn": 1, "graders": [{"name": "c", **GRADERS["file"]}]}
    inputs = {"prompt": "p", "follow_up_prompts": ["more"]}
    found = run(tmp_path, AGENTS["a link"], inputs=inputs, checkpoints=[point])
    assert found["status"] == "error"
    assert not found.get("checkpoints")
    assert (tmp_path / "turns").read_text(encoding="utf-8") == "turn\n"


@pytest.mark.parametrize("kind", ["files", "folder"])
def test_a_fixture_that_an_agent_changed_is_brought_into_no_other_trial(tmp_path: Path, kind: str):
    command = json.dumps('echo changed > "$WAZA_SUITE_DIR/fixtures/a.txt"; echo {}')
    config = f"config: {{executor: command, model: any, trials_per_task: 2, executor_options: {{command: {command}}}}}"
    by_kind: dict[str, dict[str, Any]] = {
        "files": {"files": [{"path": "a.txt"}]},
        "folder": {"context": {"fixture": "fixtures"}},
    }
    inputs = by_kind[kind]
    write_tree(
        tmp_path,
        {
            "eval.yaml": f"name: s\n{config}\ntasks: [t.yaml]\n",
            "t.yaml": json.dumps({"id": "t", "inputs": {"prompt": "p", **inputs}}),
            "fixtures/a.txt": "as it was\n",
        },
    )
    waza("run", "eval.yaml", "-o", "o.json", "--no-save", "--context-dir", "fixtures", cwd=tmp_path)
    runs = strict_json((tmp_path / "o.json").read_bytes())["tasks"][0]["runs"]
    assert runs[0]["status"] != "error"
    assert runs[1]["status"] == "error"
    assert f"{tmp_path}/fixtures/a.txt changed during the run" in runs[1]["error_msg"]
