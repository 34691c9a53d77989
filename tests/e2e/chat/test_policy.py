"""A custom agent's `tools:` list on the loop: what it does not allow is denied before it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.chat.suites import run, write
from tests.e2e.copilot.suites import Seen, calls_then_fine, definition, task, tools_server, touch
from tests.support.model_server import Call, Reply, Scripts
from tests.support.program import write_tree

AGENTS = {
    "narrow": "[fileRead, Grep]",
    "closed": "[]",
    "free": None,
    "served": "['mcp:hands-touch']",
    "unqualified": "[hands-touch, 'custom:bash', '*', 'mcp:hands-*', 'ba*']",
}
GIVEN = [{"path": "given.txt", "content": "what was given"}]


def scripts(marks: Path) -> Scripts:
    """What the model does by its prompt. Every call that may not run would leave a file."""
    view = Call("view", {"path": "given.txt"})
    return {
        "COMMAND": calls_then_fine(touch(marks / "command")),
        "BESIDE": calls_then_fine(view, touch(marks / "beside"), view),
        "FOLLOW": calls_then_fine(touch(marks / "follow")),
        "LOOK": calls_then_fine(view),
        "SERVED": calls_then_fine(Call("hands-touch", {"path": str(marks / "served")})),
        "SKILL": calls_then_fine(Call("skill", {"skill": "any"})),
        "UNKNOWN": calls_then_fine(Call("no_such_tool")),
        "HARMLESS": [Reply("fine")],
    }


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("policy")
    return write_tree(root, {f"{name}.agent.md": definition(name, tools) for name, tools in AGENTS.items()})


def play(root: Path, marks: Path, agent: str, *prompts: str) -> Seen:
    tasks = {prompt.lower(): task(prompt, files=GIVEN) for prompt in prompts}
    suite = write(
        root, tasks, agent, skill=agent, config={"mcp_servers": tools_server(root), "max_attempts": 3}
    )
    return run(suite, scripts(marks))


def test_what_a_list_does_not_allow_is_denied_and_makes_an_error(root: Path, tmp_path: Path) -> None:
    seen = play(root, tmp_path, "narrow", "COMMAND", "BESIDE", "LOOK", "UNKNOWN")
    assert list(tmp_path.iterdir()) == []
    assert {tuple(turn.tools) for turn in seen.asked("")} == {("view", "grep")}
    for name in ("command", "beside"):
        found = seen.run(name)
        assert (found["status"], found["attempts"]) == ("error", 1)
        assert found["error_msg"] == "tool policy violation: 1 denied call(s) of bash"
        (denial,) = found["session_digest"]["tool_policy_denials"]
        assert (denial["tool"], denial["kind"]) == ("bash", "tool")
        (call,) = (one for one in found["tool_events"] if one["tool_name"] == "bash")
        assert call["success"] is False
        assert denial["reason"] in call["error"]
        assert found["validations"]["allowed_tools"]["passed"] is False
    assert [call["success"] for call in seen.run("beside")["tool_events"]] == [True, False, True]
    found = seen.run("look")
    assert (found["status"], found["session_digest"]["tool_policy_mode"]) == ("passed", "allow_list")
    assert found["validations"]["allowed_tools"]["passed"] is True
    (denial,) = seen.run("unknown")["session_digest"]["tool_policy_denials"]
    assert denial["tool"] == "no_such_tool"


def test_an_empty_list_denies_everything(root: Path, tmp_path: Path) -> None:
    prompts = {"COMMAND": "bash", "LOOK": "view", "SERVED": "hands-touch", "SKILL": "skill"}
    seen = play(root, tmp_path, "closed", *prompts)
    assert list(tmp_path.iterdir()) == []
    assert {tuple(turn.tools) for turn in seen.asked("")} == {()}
    for prompt, tool in prompts.items():
        found = seen.run(prompt.lower())
        assert (found["status"], found["session_digest"]["tool_policy_mode"]) == ("error", "deny_all")
        assert [one["tool"] for one in found["session_digest"]["tool_policy_denials"]] == [tool]


def test_a_server_is_allowed_by_its_qualified_name_only(root: Path, tmp_path: Path) -> None:
    seen = play(root, tmp_path, "served", "SERVED")
    assert seen.run("served")["status"] == "passed"
    assert {path.name for path in tmp_path.iterdir()} == {"served"}
    assert seen.asked("SERVED")[0].tools == ["hands-touch"]
    others = tmp_path / "others"
    others.mkdir()
    seen = play(root, others, "unqualified", "SERVED", "COMMAND")
    assert list(others.iterdir()) == []
    assert seen.asked("SERVED")[0].tools == []
    assert {seen.run(name)["status"] for name in ("served", "command")} == {"error"}


def test_without_a_list_everything_is_allowed(root: Path, tmp_path: Path) -> None:
    seen = play(root, tmp_path, "free", "COMMAND", "SERVED")
    assert {path.name for path in tmp_path.iterdir()} == {"command", "served"}
    for name in ("command", "served"):
        digest = seen.run(name)["session_digest"]
        assert digest["tool_policy_mode"] == "unrestricted"
        assert "tool_policy_denials" not in digest
