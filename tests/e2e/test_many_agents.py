"""One suite on several agents with one scripted model: the same verdicts and tool calls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.chat.suites import chat_environment
from tests.e2e.copilot.suites import Seen, bash, calls_then_fine, definition, task, touch, write_suite
from tests.support.model_server import Call, ModelServer, Reply
from tests.support.program import waza, write_tree
from tests.support.runtime import copilot_environment

pytestmark = pytest.mark.slow

ENVIRONMENTS: dict[str, Any] = {"copilot-sdk": copilot_environment, "chat": chat_environment}
CRM = {"name": "crm", "tools": {"find": {"responses": [{"match": {"id": 1}, "return": "Ada"}]}}}
AZ = {"name": "az", "responses": [{"args": ["account", "show"], "stdout": "prod\n"}]}
PASS = Call("set_waza_grade_pass", {"description": "tone", "reason": "it is polite"})
JUDGE = {"type": "prompt", "name": "judge", "config": {"prompt": "VERDICT"}}
GIVEN = [{"path": "given.txt", "content": "what was given"}]

# By task: how it ends, and its tool calls with their success.
EXPECTED: dict[str, tuple[str, list[tuple[str, bool]]]] = {
    "follow": ("passed", [("view", True), ("bash", True)]),
    "judged": ("passed", []),
    "server": ("passed", [("crm-find", True), ("crm-find", False)]),
    "skill": ("passed", [("skill", True), ("view", True)]),
    "tools": ("passed", [("view", True), ("bash", True)]),
    "wrong": ("failed", [("view", True)]),
}


def play(root: Path, marks: Path, executor: str) -> tuple[Seen, Seen]:
    """Run the suite of a skill, and that of a custom agent which may only read."""
    write_tree(root, {"tidy/SKILL.md": definition("tidy"), "rev.agent.md": definition("rev", "[fileRead]")})
    view = Call("view", {"path": "given.txt"})
    scripts: dict[str, Any] = {
        "VERDICT": [Reply(calls=[PASS]), Reply("I have said it.")],
        "SKILL": calls_then_fine(Call("skill", {"skill": "tidy"}), view),
        "TOOLS": calls_then_fine(view, bash("az account show")),
        "SERVER": calls_then_fine(Call("crm-find", {"id": 1}), Call("crm-find", {"id": 2})),
        "FOLLOW": calls_then_fine(view),
        "GO ON": calls_then_fine(bash("cat given.txt")),
        "JUDGED": [Reply("all is fine")],
        "WRONG": [Reply(calls=[view]), Reply("all is lost")],
        "DENIED": calls_then_fine(touch(marks / executor)),
    }
    tasks = {name: task(name.upper(), files=GIVEN) for name in EXPECTED}
    tasks["judged"]["graders"] = [JUDGE]
    tasks["follow"]["inputs"]["follow_up_prompts"] = ["GO ON"]
    config = {"executor": executor, "skill_directories": ["tidy"], "inject_skill_body": False}
    of_skill = write_suite(
        root, tasks, "skill", skill="tidy", config=config, mcp_mocks=[CRM], command_mocks=[AZ]
    )
    of_agent = write_suite(
        root, {"denied": task("DENIED")}, "agent", skill="rev", config={"executor": executor}
    )
    seen = []
    with ModelServer(scripts) as server:
        for suite in (of_skill, of_agent):
            ended = waza("run", suite, cwd=root, env=ENVIRONMENTS[executor](server))
            assert ended.code == 1, ended.err
            seen.append(Seen(ended, ended.results(), server))
        assert server.unscripted == []
    return seen[0], seen[1]


@pytest.mark.parametrize("executor", ENVIRONMENTS)
def test_one_suite_has_the_same_verdicts_and_calls_on_each_agent(tmp_path: Path, executor: str) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    skill, agent = play(tmp_path / "project", marks, executor)
    for name, (status, calls) in EXPECTED.items():
        found = skill.run(name)
        assert (name, found["status"]) == (name, status)
        assert [(one["tool_name"], one["success"]) for one in found.get("tool_events", [])] == calls
        assert found["validations"]["said"]["passed"] is (status == "passed")
        assert (found["skill_offered"], found["skill_loaded"]) == ("full", name == "skill")
        assert found["models_served"] == ["test-model"]
        assert "wire_differences" not in found
    assert skill.run("judged")["validations"]["judge"]["passed"] is True
    assert [one["command"] for one in skill.run("tools")["command_invocations"]] == ["az"]
    denied = agent.run("denied")
    assert denied["error_msg"] == "tool policy violation: 1 denied call(s) of bash"
    assert [one["tool"] for one in denied["session_digest"]["tool_policy_denials"]] == ["bash"]
    assert list(marks.iterdir()) == []
