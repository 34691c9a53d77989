"""One suite on Claude Code: skill, tools, mocks, follow-ups, judges; what is seen of them, on the wire, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import Seen, definition, task, tools_server
from tests.support.claude import KEY, NEEDS_CLAUDE, bash, run, write
from tests.support.model_server import Call, Reply, Usage
from tests.support.program import write_tree

pytestmark = NEEDS_CLAUDE
CRM = {
    "name": "crm",
    "tools": {"find": {"description": "Finds one.", "responses": [{"match": {"id": 1}, "return": "Ada"}]}},
}
AZ = {"name": "az", "responses": [{"args": ["account", "show"], "stdout": "prod\n"}]}
PASS = Call("mcp__waza__set_waza_grade_pass", {"description": "tone", "reason": "it is polite"})
GIVEN = [{"path": "given.txt", "content": "what was given"}]
PROMPTS = {
    "skill": ("SKILL", [Call("Skill", {"skill": "tidy"})]),
    "tools": ("TOOLS", [Call("Write", {"file_path": "new.txt", "content": "one"}), bash("cat new.txt; env"), Call("no_such_tool", {"x": 1})]),
    "mcp": ("SERVER", [Call("mcp__crm__find", {"id": 1}), Call("mcp__hands__look", {})]),
    "command": ("COMMAND", [bash("az account show")]),
    "judge": ("JUDGED", []),
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {
        "tidy/SKILL.md": definition("tidy", body="Tidy up. CANARY-BODY"),
        "other/SKILL.md": definition("other"),
    }
    return write_tree(tmp_path_factory.mktemp("claude"), files)


@pytest.fixture(scope="module")
def seen(root: Path) -> Seen:
    judge = {"type": "prompt", "name": "judge", "config": {"prompt": "VERDICT"}}
    again = {"type": "prompt", "name": "again", "config": {"prompt": "CONTINUED", "continue_session": True}}
    # What the workspace brings for Claude Code is not the suite's: neither its servers nor its instructions.
    own = [
        {"path": ".mcp.json", "content": '{"mcpServers": {"w": {"command": "touch", "args": ["started"]}}}'},
        {"path": "CLAUDE.md", "content": "WORKSPACE-TEXT"},
    ]
    tasks = {name: task(prompt, files=[*GIVEN, *own]) for name, (prompt, _) in PROMPTS.items()}
    tasks["judge"] |= {"graders": [judge, again]}
    tasks["judge"]["inputs"]["follow_up_prompts"] = ["AND THEN"]
    tasks["tools"] |= {"graders": [{"type": "program", "name": "unstarted", "config": {"command": "sh", "args": ["-c", "test ! -e started"]}}]}  # fmt: skip
    scripts: dict[str, Any] = {
        "VERDICT": [Reply(calls=[PASS]), Reply("I have said it.")],
        "CONTINUED": [Reply(calls=[PASS]), Reply("I have said it.")],
        "AND THEN": [Reply("fine again")],
        **{prompt: [Reply("I look.", calls=calls, usage=Usage(100, 7, 40)), Reply("all is fine", usage=Usage(50, 3, 0))] for prompt, calls in PROMPTS.values()},
    }  # fmt: skip
    suite = write(
        root, tasks, skill="tidy", mcp_mocks=[CRM], command_mocks=[AZ],
        config={"skill_directories": ["tidy"], "inject_skill_body": False, "reasoning_effort": "low", "mcp_servers": tools_server(root)},
    )  # fmt: skip
    return run(suite, scripts, SECRET_OF_OURS="leaked")


def calls(seen: Seen, name: str) -> list[tuple[str, bool, str]]:
    """The calls of a task: tool, success, result."""
    return [(one["tool_name"], one["success"], one["result"]) for one in seen.run(name)["tool_events"]]


def test_every_task_passes_and_the_wire_agrees_with_the_agent(seen: Seen) -> None:
    assert seen.ended.code == 0, seen.ended.err
    for name in PROMPTS:
        found = seen.run(name)
        assert (found["status"], found.get("error_msg")) == ("passed", None)
        assert "wire_differences" not in found
        assert found["models_served"] == ["test-model"]
        assert found["final_output"] == ("fine again" if name == "judge" else "all is fine")
    assert {turn.body["output_config"]["effort"] for turn in seen.asked("TOOLS")} == {"low"}


def test_only_the_declared_skill_is_offered_and_its_use_is_seen(seen: Seen, root: Path) -> None:
    found = seen.run("skill")
    assert (found["skill_offered"], found["skill_loaded"]) == ("full", True)
    assert found["skill_invocations"] == [{"name": "tidy", "path": str(root / "tidy/SKILL.md")}]
    (first, second) = (str(turn.body) for turn in seen.asked("SKILL"))
    assert "- tidy: what tidy is for" in first
    assert "CANARY-BODY" not in first
    assert "CANARY-BODY" in second
    for word in ("what other is for", "dataviz", "WORKSPACE-TEXT"):
        assert word not in first
    assert seen.run("tools").get("skill_invocations", []) == []


def test_tools_are_reported_as_the_model_called_them(seen: Seen) -> None:
    (written, shell, unknown) = calls(seen, "tools")
    assert written[:2] == ("Write", True)
    assert shell[:2] == ("Bash", True)
    assert unknown[:2] == ("no_such_tool", False)
    assert "No such tool available" in unknown[2]
    assert calls(seen, "mcp") == [("mcp__crm__find", True, '"Ada"'), ("mcp__hands__look", True, "done: look")]
    (mocked,) = calls(seen, "command")
    assert mocked[2].strip() == "prod"
    assert seen.run("tools")["session_digest"]["usage"]["input_tokens"] == 150


def test_the_real_key_is_not_with_the_agent(seen: Seen) -> None:
    assert {request.headers["x-api-key"] for request in seen.server.requests} == {KEY}
    (_, (_, _, environment), _) = calls(seen, "tools")
    assert "ANTHROPIC_API_KEY=" in environment
    assert KEY not in str(seen.results)
    assert "ANTHROPIC_BASE_URL=http://127.0.0.1:" in environment
    assert seen.server.base_url.removesuffix("/v1") not in environment
    assert {request.path.partition("?")[0] for request in seen.server.requests} == {"/v1/messages"}


def test_judges_answer_by_their_tools_and_go_on_in_the_agents_session(seen: Seen) -> None:
    found = seen.run("judge")["validations"]
    assert (found["judge"]["passed"], found["again"]["passed"]) == (True, True)
    (verdict, _) = seen.asked("VERDICT")
    grades = {f"mcp__waza__set_waza_grade_{how}" for how in ("pass", "fail")}
    assert set(verdict.tools) == {"Glob", "Grep", "Read", *grades}
    assert "AND THEN" not in str(verdict.body["messages"])
    assert "AND THEN" in str(seen.asked("CONTINUED")[0].body["messages"])
    assert seen.run("judge")["session_digest"]["usage"]["input_tokens"] == 1100


def test_the_skill_is_absent_in_the_arm_without_it(root: Path) -> None:
    use = [Reply(calls=[Call("Skill", {"skill": "tidy"})]), Reply("all is fine")]
    suite = write(root, {"use": task("USE")}, "arms", skill="tidy", config={"skill_directories": ["tidy"], "inject_skill_body": False})  # fmt: skip
    seen = run(suite, {"USE": use}, "--baseline")
    beginnings = ["what tidy is for" in str(turn.body) for turn in seen.asked("USE") if turn.step == 0]
    assert sorted(beginnings) == [False, True]
    assert ["CANARY-BODY" in str(turn.body) for turn in seen.asked("USE") if turn.step == 1].count(True) == 1


def test_without_the_wire_tokens_of_each_turn_are_known(root: Path) -> None:
    two = task("FIRST", follow_up_prompts=["SECOND"])
    scripts = {
        "FIRST": [Reply(calls=[bash("true")], usage=Usage(100, 7, 40)), Reply("fine", usage=Usage(50, 3, 0))],
        "SECOND": [Reply("all is fine", usage=Usage(30, 2, 10))],
    }
    seen = run(write(root, {"two": two}, "plain", config={"wire": "off"}), scripts)
    usage = seen.run("two")["session_digest"]["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["cache_read_tokens"]) == (180, 12, 50)
    assert seen.run("two").get("skill_offered") in (None, "unknown")
