"""A custom agent's `tools:` list on Claude Code: what it does not allow is denied before it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.copilot.suites import Seen, calls_then_fine, definition, task, tools_server
from tests.support.claude import NEEDS_CLAUDE, run, touch, write
from tests.support.model_server import Call, Scripts
from tests.support.program import write_tree

pytestmark = NEEDS_CLAUDE
AGENTS = {
    "narrow": "[fileRead, Grep]",
    "closed": "[]",
    "free": None,
    "served": "['mcp:hands-touch']",
    "unqualified": "[hands-touch, 'mcp__hands__touch', 'custom:bash', '*', 'mcp:hands-*', 'ba*']",
}
GIVEN = [{"path": "given.txt", "content": "what was given"}]


def scripts(marks: Path) -> Scripts:
    """What the model does by its prompt. Every call that may not run would leave a file."""
    view = Call("Read", {"file_path": "given.txt"})
    return {
        "COMMAND": calls_then_fine(touch(marks / "command")),
        "LOOK": calls_then_fine(view),
        "SERVED": calls_then_fine(Call("mcp__hands__touch", {"path": str(marks / "served")})),
        "WRITE": calls_then_fine(Call("Write", {"file_path": str(marks / "written"), "content": "x"})),
        "UNKNOWN": calls_then_fine(Call("no_such_tool")),
    }


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("policy")
    files = {f"{name}.agent.md": definition(name, tools, "BODY-OF-AGENT") for name, tools in AGENTS.items()}
    return write_tree(root, files)


def play(root: Path, marks: Path, agent: str, *prompts: str) -> Seen:
    tasks = {prompt.lower(): task(prompt, files=GIVEN) for prompt in prompts}
    suite = write(
        root, tasks, agent, skill=agent, config={"mcp_servers": tools_server(root), "max_attempts": 3}
    )
    return run(suite, scripts(marks))


def test_what_a_list_does_not_allow_is_denied_and_makes_an_error(root: Path, tmp_path: Path) -> None:
    seen = play(root, tmp_path, "narrow", "COMMAND", "WRITE", "SERVED", "LOOK", "UNKNOWN")
    assert list(tmp_path.iterdir()) == []
    assert {tool for turn in seen.asked("") for tool in turn.tools if not tool.startswith("mcp__")} == {
        "Read",
        "Grep",
    }
    denied = {"command": "Bash", "write": "Write", "served": "mcp__hands__touch", "unknown": "no_such_tool"}
    for name, tool in denied.items():
        found = seen.run(name)
        assert (found["status"], found["attempts"]) == ("error", 1)
        (denial,) = found["session_digest"]["tool_policy_denials"]
        assert (denial["tool"], denial["kind"]) == (tool, "tool")
        (call,) = found["tool_events"]
        assert call["success"] is False
        assert found["validations"]["allowed_tools"]["passed"] is False
    found = seen.run("look")
    assert (found["status"], found["session_digest"]["tool_policy_mode"]) == ("passed", "allow_list")
    assert "what was given" in found["tool_events"][0]["result"]
    assert "BODY-OF-AGENT" in seen.asked("LOOK")[0].system


def test_an_empty_list_denies_everything(root: Path, tmp_path: Path) -> None:
    seen = play(root, tmp_path, "closed", "COMMAND", "LOOK", "SERVED")
    assert list(tmp_path.iterdir()) == []
    for name in ("command", "look", "served"):
        digest = seen.run(name)["session_digest"]
        assert (seen.run(name)["status"], digest["tool_policy_mode"]) == ("error", "deny_all")
        assert len(digest["tool_policy_denials"]) == 1


def test_a_server_is_allowed_by_its_qualified_name_only(root: Path, tmp_path: Path) -> None:
    assert play(root, tmp_path, "served", "SERVED").run("served")["status"] == "passed"
    assert {path.name for path in tmp_path.iterdir()} == {"served"}
    others = tmp_path / "others"
    others.mkdir()
    seen = play(root, others, "unqualified", "SERVED", "COMMAND")
    assert list(others.iterdir()) == []
    assert {seen.run(name)["status"] for name in ("served", "command")} == {"error"}


def test_without_a_list_everything_is_allowed(root: Path, tmp_path: Path) -> None:
    seen = play(root, tmp_path, "free", "COMMAND", "SERVED")
    assert {path.name for path in tmp_path.iterdir()} == {"command", "served"}
    assert {seen.run(name)["status"] for name in ("command", "served")} == {"passed"}
