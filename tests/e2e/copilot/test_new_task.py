"""`waza new task from-prompt` on the real runtime: what an agent did once becomes a task."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.copilot.suites import bash, calls_then_fine, definition, task, write_suite
from tests.e2e.test_new_skill import plain
from tests.support.model_server import Call, ModelServer
from tests.support.program import waza, write_tree
from tests.support.runtime import copilot_environment

pytestmark = pytest.mark.slow


def test_calls_skills_and_files_of_a_real_agent_are_held_and_played_again(tmp_path: Path):
    write_tree(tmp_path, {"skills/greeter/SKILL.md": definition("greeter"), "fixtures/notes.md": "Ada\n"})
    config = {"skill_directories": ["skills"], "inject_skill_body": False}
    suite = write_suite(tmp_path, {"other": task("OTHER")}, skill="greeter", config=config)
    calls = calls_then_fine(
        Call("skill", {"skill": "greeter"}),
        bash("cat notes.md > copy.md"),
    )
    words = [
        "new",
        "task",
        "from-prompt",
        "GREET",
        "eval/greet.yaml",
        "--suite",
        str(suite),
        "--file",
        "notes.md",
    ]
    with ModelServer({"GREET": calls}) as server:
        ended = waza(*words, cwd=tmp_path, env=copilot_environment(server))
    assert ended.code == 0, ended.err
    assert server.unscripted == []
    made = plain(tmp_path / "eval" / "greet.yaml")
    graders = {grader["name"]: grader["config"] for grader in made["graders"]}
    assert graders["inferred_skills"]["required_skills"] == ["greeter"]
    patterns = [one.get("command_pattern", "") for one in graders["inferred_calls"]["expect_tools"]]
    assert any("notes" in pattern for pattern in patterns)
    assert graders["inferred_files"] == {"must_exist": ["copy.md"]}
    assert "fine" in graders["inferred_answer"]["contains"][0]
    ran = waza("run", suite, "--task", made["id"], "--executor", "mock", cwd=tmp_path)
    assert ran.code == 0, ran.out + ran.err
