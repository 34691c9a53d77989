"""One suite on the loop: skill, tools, mocks, denials, follow-ups, judge; what is seen of them on the wire, too."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.chat.suites import KEY, run, write
from tests.e2e.copilot.suites import Seen, bash, definition, task, tools_server
from tests.support.model_server import Call, Reply, Usage
from tests.support.program import write_tree

CRM = {
    "name": "crm",
    "tools": {"find": {"description": "Finds one.", "responses": [{"match": {"id": 1}, "return": "Ada"}]}},
}
AZ = {"name": "az", "responses": [{"args": ["account", "show"], "stdout": "prod\n"}]}
PASS = Call("set_waza_grade_pass", {"description": "tone", "reason": "it is polite"})
GIVEN = [{"path": "given.txt", "content": "what was given"}]
PROMPTS = {
    "skill": ("SKILL", [Call("skill", {"skill": "tidy"}), Call("view", {"path": "given.txt"}), Call("view", {"path": "NOTES"})]),
    "tools": ("TOOLS", [Call("create", {"path": "a/new.txt", "file_text": "one two"}), Call("edit", {"path": "a/new.txt", "old_str": "two", "new_str": "three"}), bash("cat a/new.txt; echo; env; pwd"), Call("glob", {"pattern": "**/*.txt"}), Call("grep", {"pattern": "th.ee"})]),
    "mcp": ("SERVER", [Call("crm-find", {"id": 1}), Call("crm-find", {"id": 2}), Call("hands-look", {})]),
    "command": ("COMMAND", [bash("az account show; bash -lc 'az account show'")]),
    "judge": ("JUDGED", []),
}  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("chat")
    return write_tree(
        root,
        {"tidy/SKILL.md": definition("tidy", body="Tidy up. Notes: notes.md"), "tidy/notes.md": "the notes"},
    )


@pytest.fixture(scope="module")
def seen(root: Path) -> Seen:
    PROMPTS["skill"][1][2] = Call("view", {"path": str(root / "tidy/notes.md")})
    judge = {"type": "prompt", "name": "judge", "config": {"prompt": "VERDICT"}}
    continued = {
        "type": "prompt",
        "name": "again",
        "config": {"prompt": "CONTINUED", "continue_session": True},
    }
    tasks = {name: task(prompt, files=GIVEN) for name, (prompt, _) in PROMPTS.items()}
    tasks["judge"] |= {"graders": [judge, continued]}
    tasks["judge"]["inputs"]["follow_up_prompts"] = ["AND THEN"]
    scripts: dict[str, Any] = {
        "VERDICT": [Reply(calls=[Call("view", {"path": "given.txt"}), Call("create", {"path": "x", "file_text": "y"}), PASS]), Reply("I have said it.")],
        "CONTINUED": [Reply(calls=[PASS]), Reply("I have said it.")],
        "AND THEN": [Reply("fine again")],
        **{prompt: [Reply("I look.", calls=calls, usage=Usage(100, 7, 40)), Reply("all is fine", usage=Usage(50, 3, 0))] for prompt, calls in PROMPTS.values()},
    }  # fmt: skip
    suite = write(
        root, tasks, skill="tidy", mcp_mocks=[CRM], command_mocks=[AZ],
        config={"skill_directories": ["tidy"], "inject_skill_body": False, "reasoning_effort": "low", "mcp_servers": tools_server(root)},
    )  # fmt: skip
    return run(suite, scripts)


def calls(seen: Seen, name: str) -> list[tuple[str, bool, str]]:
    """The calls of a task: tool, success, result."""
    return [(one["tool_name"], one["success"], one["result"]) for one in seen.run(name)["tool_events"]]


def test_every_task_passes_and_the_wire_agrees_with_the_loop(seen: Seen) -> None:
    assert seen.ended.code == 0, seen.ended.err
    for name in PROMPTS:
        found = seen.run(name)
        assert (found["status"], found.get("error_msg")) == ("passed", None)
        assert "wire_differences" not in found
        assert found["models_served"] == ["test-model"]
        assert found["final_output"] == ("fine again" if name == "judge" else "all is fine")
    assert {turn.body["reasoning_effort"] for turn in seen.asked("TOOLS")} == {"low"}


def test_the_skill_is_offered_by_its_description_and_loaded_by_its_tool(seen: Seen) -> None:
    found = seen.run("skill")
    assert (found["skill_offered"], found["skill_loaded"], found["other_skills_offered"]) == (
        "full",
        True,
        [],
    )
    assert [one["name"] for one in found["skill_invocations"]] == ["tidy"]
    assert "- tidy: what tidy is for\n" in seen.asked("SKILL")[0].system
    (_, _, text), (_, _, given), (_, _, notes) = calls(seen, "skill")
    assert text.startswith("Base directory for this skill: ")
    assert "Tidy up." in text
    assert (given, notes) == ("what was given", "the notes")
    assert seen.run("tools")["skill_loaded"] is False
    assert seen.results["metadata"]["treatment"]["state"] == "as_claimed"


def test_tools_work_in_the_workspace(seen: Seen) -> None:
    create, edit, shell, listed, found = calls(seen, "tools")
    assert create == ("create", True, "wrote 7 bytes to a/new.txt")
    assert edit == ("edit", True, "edited a/new.txt")
    assert shell[2].startswith("one three\n")
    assert listed == ("glob", True, "given.txt\na/new.txt")
    assert found == ("grep", True, "a/new.txt:1:one three")


def test_commands_have_a_home_of_their_own_and_no_key(seen: Seen, root: Path) -> None:
    environment = calls(seen, "tools")[2][2]
    assert f"HOME={os.environ['HOME']}\n" not in environment
    assert "HOME=" in environment
    assert "OPENAI_API_KEY" not in environment
    for path in (root / ".waza").rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes()
    assert {request.headers["authorization"] for request in seen.server.requests} == {f"Bearer {KEY}"}


def test_mocked_and_real_servers_and_mocked_programs_are_met(seen: Seen) -> None:
    (_, ok, found), (_, fails, missing), look = calls(seen, "mcp")
    assert (ok, found, fails) == (True, '"Ada"', False)
    assert "no response matches" in missing
    assert look == ("hands-look", True, "done: look")
    assert calls(seen, "command") == [("bash", True, "prod\nprod")]
    [first, second] = seen.run("command")["command_invocations"]
    assert (first["command"], first["args"], first == second) == ("az", ["account", "show"], True)


def test_tokens_are_those_of_the_server(seen: Seen) -> None:
    usage = seen.run("tools")["session_digest"]["usage"]
    assert (usage["turns"], usage["input_tokens"], usage["output_tokens"]) == (2, 150, 10)
    assert (usage["cache_read_tokens"], usage["premium_requests"]) == (40, 2)
    assert usage["model_metrics"]["test-model"]["request_count"] == 2


def test_a_follow_up_goes_on_in_the_same_conversation(seen: Seen) -> None:
    (later,) = seen.asked("AND THEN")
    assert [one["role"] for one in later.body["messages"]] == ["system", "user", "assistant", "user"]


def test_a_judge_reads_the_workspace_and_nothing_else(seen: Seen) -> None:
    first, second = seen.asked("VERDICT")
    assert {"view", "grep", "glob", "set_waza_grade_pass", "set_waza_grade_fail"} == set(first.tools)
    assert "tidy" not in first.system
    assert second.tool_results[0] == "what was given"
    assert "Denied: config.tools of the judge's grader does not allow 'create'" in second.tool_results[1]
    session = seen.run("judge")["grader_sessions"][0]
    assert [one["tool"] for one in session["tool_policy_denials"]] == ["create"]
    assert session["usage"]["input_tokens"] == 2000
    assert "tool_policy_denials" not in seen.run("judge")["session_digest"]


def test_a_judge_that_continues_sees_the_conversation_of_the_agent(seen: Seen) -> None:
    first = seen.asked("CONTINUED")[0]
    said = [one["content"] for one in first.body["messages"] if one["role"] == "user"]
    assert [said[0], said[1]] == ["JUDGED", "AND THEN"]
    assert first.system.startswith("You are an agent.")
    assert "create" not in first.tools
