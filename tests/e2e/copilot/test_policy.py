"""A custom agent's `tools:` list on the real runtime: what it does not allow is denied before it runs."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import (
    Seen,
    calls_then_fine,
    definition,
    run,
    task,
    tools_server,
    touch,
    write_suite,
)
from tests.support.model_server import Call, ModelServer, Reply, Scripts
from tests.support.program import waza, write_tree
from tests.support.runtime import copilot_environment

pytestmark = pytest.mark.slow

AGENTS = {
    "narrow": "[fileRead, task]",
    "closed": "[]",
    "free": None,
    "served": "['mcp:hands-touch']",
    "unqualified": "[hands-touch, 'custom:bash', '*', 'mcp:hands-*', 'ba*']",
}
HELPER = {"agent_type": "general-purpose", "name": "helper", "description": "helps", "prompt": "ASSIST"}
DENIED = ["at-once", "beside", "follow-up", "helper", "replied", "background"]


def scripts(marks: Path) -> Scripts:
    """What the model does by its prompt. Every call that may not run would leave a file named after its task."""
    view = Call("view", {"path": "given.txt"})
    return {
        "The agent said:": calls_then_fine(Call("responder_reply", {"answer": "REPLIED"})),
        "AT ONCE": calls_then_fine(touch(marks / "at-once")),
        "BESIDE": calls_then_fine(view, touch(marks / "beside"), view),
        "HARMLESS": [Reply("fine")],
        "FOLLOW": calls_then_fine(touch(marks / "follow-up")),
        "DELEGATE": calls_then_fine(Call("task", {**HELPER, "mode": "sync"})),
        "BACKGROUND": calls_then_fine(Call("task", {**HELPER, "mode": "background"})),
        "ASSIST": calls_then_fine(touch(marks / "helper")),
        "REPLIED": calls_then_fine(touch(marks / "replied")),
        "LOOK": calls_then_fine(view),
        "SERVED": calls_then_fine(Call("hands-touch", {"path": str(marks / "served")})),
        "OTHER": calls_then_fine(Call("hands-look", {})),
        "SKILL": calls_then_fine(Call("skill", {"skill": "any"})),
        "SQL": calls_then_fine(Call("sql", {"query": "select 1", "description": "count"})),
        "UNKNOWN": calls_then_fine(Call("no_such_tool")),
    }


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agents, and a skill beside an agent of the same name."""
    root = tmp_path_factory.mktemp("policy")
    files = {f"{name}.agent.md": definition(name, tools) for name, tools in AGENTS.items()}
    both = {"both/SKILL.md": definition("both"), "both/both.agent.md": definition("both", "[]")}
    return write_tree(root, {**files, **both})


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture(scope="module")
def narrow_marks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("marks")


@pytest.fixture(scope="module")
def narrow(root: Path, narrow_marks: Path) -> Seen:
    """One run of the agent that may read files and delegate."""
    never = "NEVER SENT"
    tasks = {
        "at-once": task("AT ONCE", follow_up_prompts=[never]),
        "beside": task("BESIDE", files=[{"path": "given.txt", "content": "what was given"}]),
        "follow-up": task("HARMLESS", follow_up_prompts=["HARMLESS", "FOLLOW", never]),
        "helper": task("DELEGATE"),
        "background": task("BACKGROUND"),
        "replied": task("HARMLESS", responder={"instructions": "Be brief.", "max_followups": 3}),
        "allowed": task(
            "LOOK", files=[{"path": "given.txt", "content": "what was given"}], follow_up_prompts=["LOOK"]
        ),
    }
    suite = write_suite(root, tasks, "narrow", skill="narrow", config={"max_attempts": 3})
    return run(suite, scripts(narrow_marks), "--session-log", "--session-dir", str(root / "log"))


@pytest.mark.parametrize("name", DENIED)
def test_a_call_outside_the_list_is_denied_before_it_runs(narrow: Seen, narrow_marks: Path, name: str):
    found = narrow.run(name)
    assert list(narrow_marks.iterdir()) == []
    assert found["error_msg"] == "tool policy violation: 1 denied call(s) of bash"
    assert found["session_digest"]["tool_policy_mode"] == "allow_list"
    (denial,) = found["session_digest"]["tool_policy_denials"]
    assert (denial["tool"], denial["kind"]) == ("bash", "tool")
    assert "'bash'" in denial["reason"]
    (attempt,) = (call for call in found["tool_events"] if call["tool_name"] == "bash")
    assert attempt["success"] is False
    assert denial["reason"] in attempt["error"]


@pytest.mark.parametrize("name", DENIED)
def test_a_right_answer_does_not_make_up_for_a_denied_call(narrow: Seen, name: str):
    found = narrow.run(name)
    assert "fine" in found["final_output"]
    assert found["status"] == "error"
    assert found["validations"]["said"]["passed"] is True
    assert found["validations"]["allowed_tools"]["passed"] is False
    assert found["attempts"] == 1, "max_attempts is for answers that fail"
    assert narrow.ended.code == 1


def test_nothing_is_sent_after_a_denied_call(narrow: Seen):
    prompts = narrow.server.prompts()
    assert "NEVER SENT" not in prompts
    assert sum("The agent said:" in prompt for prompt in prompts) == 1
    responder = narrow.run("replied")["responder"]
    assert (responder["outcome"], responder["followups_sent"]) == ("error", 1)
    assert "denied" in responder["reason"]


def test_the_model_is_offered_the_declared_tools_and_sees_the_denial(narrow: Seen):
    agents = [turn for turn in narrow.asked("") if "The agent said:" not in turn.user]
    assert {tuple(sorted(turn.tools)) for turn in agents} == {("task", "view")}
    assert len(narrow.asked("ASSIST")) == 4, "sub-agents are offered no more"
    (told,) = narrow.asked("AT ONCE")[1].tool_results
    assert "does not allow 'bash'" in told


def test_declared_tools_run_also_beside_a_denied_one(narrow: Seen):
    found = narrow.run("allowed")
    assert (found["status"], found["session_digest"]["tool_policy_mode"]) == ("passed", "allow_list")
    assert "tool_policy_denials" not in found["session_digest"]
    assert found["validations"]["allowed_tools"]["passed"] is True
    for turn in narrow.asked("LOOK"):
        assert all("what was given" in result for result in turn.tool_results)
    assert [call["success"] for call in found["tool_events"]] == [True, True]
    assert [call["success"] for call in narrow.run("beside")["tool_events"]] == [True, False, True]


def test_the_session_log_tells_mode_and_denials(narrow: Seen, root: Path):
    (log,) = (root / "log").iterdir()
    entries = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    ended = {
        entry["data"]["task_name"]: entry["data"]["session_digest"]
        for entry in entries
        if entry["type"] == "run_complete"
    }
    assert ended.keys() == {*DENIED, "allowed"}
    assert {digest["tool_policy_mode"] for digest in ended.values()} == {"allow_list"}
    denied = {name: digest.get("tool_policy_denials", []) for name, digest in ended.items()}
    assert {name: [one["tool"] for one in denials] for name, denials in denied.items()} == {
        "allowed": [],
        **{name: ["bash"] for name in DENIED},
    }


EVERY_KIND = {
    "bash": ("AT ONCE", "bash"),
    "view": ("LOOK", "view"),
    "served": ("SERVED", "hands-touch"),
    "sql": ("SQL", "sql"),
    "skill": ("SKILL", "skill"),
    "task": ("DELEGATE", "task"),
    "unknown": ("UNKNOWN", "no_such_tool"),
}


def every_kind(root: Path, name: str, **keys: Any) -> Path:
    tasks = {one: task(prompt) for one, (prompt, _) in EVERY_KIND.items()}
    return write_suite(root, tasks, name, config={"mcp_servers": tools_server(root)}, **keys)


def test_an_empty_list_denies_everything(root: Path, marks: Path):
    seen = run(every_kind(root, "closed", skill="closed"), scripts(marks))
    assert list(marks.iterdir()) == []
    assert {tuple(turn.tools) for turn in seen.asked("")} == {()}
    assert "ASSIST" not in seen.server.prompts()
    for name, (_, tool) in EVERY_KIND.items():
        found = seen.run(name)
        assert (found["status"], found["session_digest"]["tool_policy_mode"]) == ("error", "deny_all")
        assert [one["tool"] for one in found["session_digest"]["tool_policy_denials"]] == [tool]


def test_without_a_list_everything_is_allowed_and_recorded_as_unrestricted(root: Path, marks: Path):
    tasks = {
        "bash": task("AT ONCE"),
        "helper": task("DELEGATE"),
        "served": task("SERVED", follow_up_prompts=["OTHER"]),
    }
    suite = write_suite(root, tasks, "free", skill="free", config={"mcp_servers": tools_server(root)})
    seen = run(suite, scripts(marks))
    assert {path.name for path in marks.iterdir()} == {"at-once", "helper", "served"}
    assert seen.ended.code == 0
    for name in tasks:
        digest = seen.run(name)["session_digest"]
        assert digest["tool_policy_mode"] == "unrestricted"
        assert "tool_policy_denials" not in digest
        assert "allowed_tools" not in seen.run(name)["validations"]


def test_a_server_is_allowed_by_its_qualified_name_only(root: Path, marks: Path):
    tasks = {"touch": task("SERVED", follow_up_prompts=["SERVED"]), "look": task("OTHER")}
    config = {"mcp_servers": tools_server(root)}
    seen = run(write_suite(root, tasks, "served", skill="served", config=config), scripts(marks))
    assert seen.run("touch")["status"] == "passed"
    assert {path.name for path in marks.iterdir()} == {"served"}
    assert seen.asked("SERVED")[0].tools == ["hands-touch"]
    assert seen.run("look")["error_msg"] == "tool policy violation: 1 denied call(s) of hands-look"


def test_names_of_another_source_and_patterns_allow_nothing(root: Path, marks: Path):
    tasks = {"touch": task("SERVED"), "bash": task("AT ONCE"), "look": task("OTHER"), "view": task("LOOK")}
    config = {"mcp_servers": tools_server(root)}
    seen = run(write_suite(root, tasks, "unqualified", skill="unqualified", config=config), scripts(marks))
    assert list(marks.iterdir()) == []
    assert seen.asked("SERVED")[0].tools == []
    for name, tool in {"touch": "hands-touch", "bash": "bash", "look": "hands-look", "view": "view"}.items():
        found = seen.run(name)
        assert [call["success"] for call in found["tool_events"]] == [False]
        assert [one["tool"] for one in found["session_digest"]["tool_policy_denials"]] == [tool]
        assert found["status"] == "error"
        assert found["validations"]["allowed_tools"]["passed"] is False


def test_the_case_of_a_name_hides_no_tool_of_the_runtime(root: Path, marks: Path):
    write_tree(root, {"loud.agent.md": definition("loud", "[Grep, VIEW, 'mcp:HANDS-touch']")})
    config = {"mcp_servers": tools_server(root)}
    suite = write_suite(
        root, {"touch": task("SERVED"), "view": task("LOOK")}, "loud", skill="loud", config=config
    )
    seen = run(suite, scripts(marks))
    assert {tuple(sorted(turn.tools)) for turn in seen.asked("")} == {("grep", "view")}
    assert seen.run("view")["status"] == "passed"
    found = seen.run("touch")
    (denial,) = found["session_digest"]["tool_policy_denials"]
    assert denial["reason"] == "no name in the agent's tools: list means 'hands-touch'"
    assert (found["status"], found["validations"]["allowed_tools"]["passed"]) == ("error", False)


@pytest.mark.parametrize(
    ("skill", "flags"), [("both", []), ("narrow", ["--no-skills"])], ids=["skill-wins", "no-skills"]
)
def test_a_skill_or_no_skills_at_all_has_no_policy(root: Path, marks: Path, skill: str, flags: list[str]):
    suite = write_suite(
        root,
        {"bash": task("AT ONCE")},
        f"no-policy-{skill}",
        skill=skill,
        config={"skill_directories": ["."] if flags else ["both"]},
    )
    seen = run(suite, scripts(marks), *flags)
    found = seen.run("bash")
    assert found["status"] == "passed"
    assert [path.name for path in marks.iterdir()] == ["at-once"]
    assert "tool_policy_mode" not in found["session_digest"]
    assert "allowed_tools" not in found["validations"]
    assert ("Be good." in seen.asked("AT ONCE")[0].system) is (not flags)


def test_a_policy_that_breaks_while_the_runtime_asks_denies(root: Path, marks: Path):
    """The runtime would let the call run if the hook raised."""
    broken = """
import waza.executors.copilot_policy as policy

def no_answer(*names):
    raise RuntimeError("broken on purpose")

policy.allowed_by = no_answer
"""
    write_tree(root, {"broken/sitecustomize.py": broken})
    suite = write_suite(root, {"look": task("LOOK"), "bash": task("AT ONCE")}, "broken", skill="narrow")
    path = os.pathsep.join([str(root / "broken"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    seen = run(suite, scripts(marks), PYTHONPATH=path)
    assert list(marks.iterdir()) == []
    for name, tool in {"look": "view", "bash": "bash"}.items():
        (denial,) = seen.run(name)["session_digest"]["tool_policy_denials"]
        assert denial["tool"] == tool
        assert denial["reason"] == "the policy could not be checked (RuntimeError)"


@pytest.mark.parametrize(
    "text",
    ["---\nname: damaged\ntools: [view\n---\nBody\n", "---\nname: damaged\ntools: [view]\nBody\n"],
    ids=["bad-yaml", "not-closed"],
)
def test_a_malformed_agent_is_refused_before_anything_starts(tmp_path: Path, text: str):
    write_tree(tmp_path, {"damaged.agent.md": text})
    suite = write_suite(tmp_path, {"bash": task("AT ONCE")}, skill="damaged")
    with ModelServer(scripts(tmp_path)) as server:
        ended = waza("run", suite, cwd=tmp_path, env=copilot_environment(server))
    assert ended.code == 2
    assert "damaged.agent.md" in ended.err
    assert server.requests == []
    assert not (tmp_path / ".waza").exists()
