"""What an agent on the real runtime is given: system message, skills, servers; trigger tests; a whole example."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import Seen, calls_then_fine, definition, run, task, tools_server, write_suite
from tests.support.model_server import Call, Reply, Turn
from tests.support.program import write_tree

from waza.suite.load import load

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[3] / "examples"
BODY = "# Greeting\n\nSay hello, see [more](./more.md). --- {{ not a template }}"
RULES = """\
<instruction_files>
These files hold further instructions for work in this repository.
<instruction_file>
<path>rules.md</path>
<content>
Be polite.
</content>
</instruction_file>
<instruction_file>
<path>docs/style.md</path>
<content>
Grüße, kurz.
</content>
</instruction_file>
</instruction_files>"""


def listed(turn: Turn) -> list[str]:
    """The skills that the model is told of."""
    blocks = re.findall(r"<available_skills>(.*?)</available_skills>", turn.system, re.DOTALL)
    return [name for block in blocks for name in re.findall(r"<name>(.*?)</name>", block)]


def strays(root: Path) -> dict[str, str]:
    """A home full of skills that nobody declared, one of them a namesake; and variables that lead there."""
    for place in (".copilot", ".agents", ".claude", ".config/copilot"):
        for name in ("greeter", "stray"):
            write_tree(root / "home", {f"{place}/skills/{name}/SKILL.md": definition(name, body="FROM HOME")})
    return {"HOME": str(root / "home"), "XDG_CONFIG_HOME": str(root / "home/.config")}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A skill, fixtures, and a skill in the fixtures that an agent would find on its own."""
    files = {
        "skills/greeter/SKILL.md": definition("greeter", body=BODY),
        "fixtures/rules.md": "Be polite.",
        "fixtures/docs/style.md": "Grüße, kurz.\n",
        "fixtures/given.txt": "what was given",
    }
    return write_tree(tmp_path, files)


GREETER: dict[str, Any] = {"skill": "greeter"}
CONFIG = {"skill_directories": ["skills"], "instruction_files": ["rules.md", "docs/style.md"]}


@pytest.mark.parametrize("flags", [[], ["--no-skills"]], ids=["skills", "no-skills"])
def test_skill_body_and_instruction_files_are_in_every_system_message(root: Path, flags: list[str]):
    suite = write_suite(root, {"a": task("HELLO", follow_up_prompts=["AGAIN"])}, config=CONFIG, **GREETER)
    seen = run(suite, {"": [Reply("fine")]}, *flags)
    first, resumed = seen.asked("HELLO")[0], seen.asked("AGAIN")[0]
    skill = f"\n<skill_context>\nBase directory for this skill: {root}/skills/greeter\n\n{BODY}\n\n</skill_context>\n"
    for turn in (first, resumed):
        assert (skill in turn.system) is (not flags)
        assert turn.system.count("<instruction_files>") == 1
        assert RULES in turn.system
        assert "name: greeter" not in turn.system, "no frontmatter"
        assert listed(turn) == ([] if flags else ["greeter"])
        assert ("skill" in turn.tools) is (not flags)
        assert "skill_routing_control" not in turn.system
    if flags:
        assert "Greeting" not in first.system


@pytest.mark.parametrize(("inject", "routing"), [(False, False), (False, True), (True, True)])
def test_the_routing_block_stands_in_for_a_body_that_is_not_injected(root: Path, inject: bool, routing: bool):
    config = {**CONFIG, "inject_skill_body": inject, "trigger_skill_routing": routing}
    write_tree(
        root, {"trigger_tests.yaml": json.dumps({**GREETER, "should_trigger_prompts": [{"prompt": "T"}]})}
    )
    seen = run(write_suite(root, {"a": task("HELLO")}, config=config, **GREETER), {"": [Reply("fine")]})
    (turn,) = seen.asked("HELLO")
    assert ("<skill_context>" in turn.system) is inject
    assert ("<skill_routing_control>" in turn.system) is (routing and not inject)
    assert ('the skill "greeter"' in turn.system) is (routing and not inject)
    (triggered,) = seen.asked("T")
    assert "<skill_context>" not in triggered.system
    assert ("<skill_routing_control>" in triggered.system) is (routing and not inject)


def test_each_of_many_workers_sees_exactly_the_declared_skills(tmp_path: Path):
    numbers = range(8)
    for number in numbers:
        name = f"skill-{number}"
        write_tree(tmp_path, {f"roots/{number}/{name}/SKILL.md": definition(name, body=f"BODY {number}")})
    own_skill = {"path": ".github/skills/stray/SKILL.md", "content": definition("stray")}
    tasks = {
        f"t{number}": task(
            f"ASK {number}",
            skill_directories=[f"roots/{number}", f"roots/{(number + 1) % 8}"]
            if number % 2
            else [f"roots/{number}"],
            files=[own_skill],
        )
        for number in numbers
    }
    scripts = {
        f"ASK {number}": calls_then_fine(
            Call("skill", {"skill": f"skill-{number}"}), Call("skill", {"skill": f"skill-{(number + 3) % 8}"})
        )
        for number in numbers
    }
    seen = run(write_suite(tmp_path, tasks, workers=8), scripts, **strays(tmp_path))
    for number in numbers:
        expected = [f"skill-{number}"] + ([f"skill-{(number + 1) % 8}"] if number % 2 else [])
        for turn in seen.asked(f"ASK {number}"):
            assert sorted(listed(turn)) == sorted(expected)
        found = seen.run(f"t{number}")
        path = tmp_path / f"roots/{number}/skill-{number}/SKILL.md"
        assert found["skill_invocations"] == [{"name": f"skill-{number}", "path": str(path)}]
        assert [call["success"] for call in found["tool_events"]] == [True, False]


def test_servers_of_the_suite_reach_the_agent(tmp_path: Path):
    (server,) = tools_server(tmp_path).values()
    servers = {
        "hands": server,
        "eyes": {**server, "type": "stdio", "tools": ["look"]},
    }
    touch = Call("hands-touch", {"path": str(tmp_path / "mark")})
    script = calls_then_fine(
        touch, Call("eyes-look", {}), Call("eyes-touch", {"path": str(tmp_path / "other")})
    )
    suite = write_suite(tmp_path, {"a": task("TOUCH")}, config={"mcp_servers": servers})
    seen = run(suite, {"TOUCH": script})
    offered = {tool for tool in seen.asked("TOUCH")[0].tools if "-" in tool}
    assert offered == {"hands-touch", "hands-look", "eyes-look"}
    calls = {call["tool_name"]: call["success"] for call in seen.run("a")["tool_events"]}
    assert calls == {"hands-touch": True, "eyes-look": True, "eyes-touch": False}
    assert (tmp_path / "mark").exists()
    assert not (tmp_path / "other").exists()
    assert seen.run("a")["status"] == "passed"


def test_a_skill_that_is_switched_off_is_not_offered(tmp_path: Path):
    names = ("alpha", "beta", "gamma")
    write_tree(tmp_path, {f"skills/{name}/SKILL.md": definition(name) for name in names})
    config = {"skill_directories": ["skills"], "disabled_skills": ["alpha", "skills/gamma"]}
    seen = run(
        write_suite(tmp_path, {"a": task("HELLO")}, config=config, skill="beta"), {"": [Reply("fine")]}
    )
    (turn,) = seen.asked("HELLO")
    assert listed(turn) == ["beta"]


PROMPTS = {
    "should_trigger_prompts": [
        {"prompt": "FIRES at once"},
        {"prompt": "LOOKS first"},
        {"prompt": "DETOURS"},
        {"prompt": "SLEEPS", "confidence": "medium"},
    ],
    "should_not_trigger_prompts": [
        {"prompt": "STAYS calm"},
        {"prompt": "FIRES too"},
        {"prompt": "TAKES another"},
    ],
}


@pytest.fixture(scope="module")
def triggered(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Trigger tests; a model that has called the tested skill never answers again."""
    root = tmp_path_factory.mktemp("triggers")
    files = {
        "skills/greeter/SKILL.md": definition("greeter", body=BODY),
        "skills/other/SKILL.md": definition("other"),
        "fixtures/docs/given.txt": "what was given",
        "fixtures/.hidden/secret.txt": "not for agents",
        "trigger_tests.yaml": json.dumps({**GREETER, **PROMPTS}),
    }
    write_tree(root, files)

    def call(name: str) -> list[Reply]:
        return [Reply(calls=[Call("skill", {"skill": name})]), Reply(hang=True)]

    look = Call("bash", {"command": "find . -type f; cat docs/given.txt", "description": "look"})
    scripts = {
        "FIRES": call("greeter"),
        "LOOKS": [Reply(calls=[look]), *call("greeter")],
        "DETOURS": [Reply(calls=[Call("skill", {"skill": "other"})]), *call("greeter")],
        "TAKES": [Reply(calls=[Call("skill", {"skill": "other"})]), Reply("fine")],
        "": [Reply("fine")],
    }
    config = {"skill_directories": ["skills"], "timeout_seconds": 90, "mcp_servers": tools_server(root)}
    suite = write_suite(root, {"a": task("HELLO")}, config=config, **GREETER)
    return run(suite, scripts, **strays(root))


def results_of(seen: Seen) -> dict[str, dict[str, Any]]:
    return {one["prompt"]: one for one in seen.results["trigger_results"]}


def test_a_skill_fires_or_not_and_its_session_ends_there(triggered: Seen):
    found = results_of(triggered)
    fired = {prompt: one["did_trigger"] for prompt, one in found.items()}
    assert fired == {
        "FIRES at once": True,
        "LOOKS first": True,
        "DETOURS": True,
        "SLEEPS": False,
        "STAYS calm": False,
        "FIRES too": True,
        "TAKES another": False,
    }
    assert not any(one.get("error_msg") for one in found.values())
    assert found["SLEEPS"]["final_output"] == "fine"
    assert found["TAKES another"]["final_output"] == "fine"  # another skill does not end the prompt
    metrics = triggered.results["trigger_metrics"]
    assert {name: metrics[name] for name in ("true_positives", "false_positives", "accuracy")} == {
        "true_positives": 3,
        "false_positives": 1,
        "accuracy": 0.7692,
    }
    paid = {session["session_id"] for session in triggered.results["evaluation_usage"]["sessions"]}
    assert {one["session_id"] for one in found.values()} <= paid


def test_trigger_sessions_are_given_fixtures_skills_and_servers_but_no_body(triggered: Seen):
    for prompt in results_of(triggered):
        turn = triggered.asked(prompt)[0]
        assert "<skill_context>" not in turn.system
        assert "Say hello" not in turn.system
        assert listed(turn) == ["greeter", "other"]
        assert "hands-touch" in turn.tools
    assert "<skill_context>" in triggered.asked("HELLO")[0].system
    (look,) = triggered.asked("LOOKS")[1].tool_results
    assert "what was given" in look
    assert [line for line in look.splitlines() if line.startswith("./")] == ["./docs/given.txt"]


def test_a_namesake_in_the_home_directory_is_not_what_is_tested(triggered: Seen):
    loaded = [one["transcript"] for one in results_of(triggered).values() if one["did_trigger"]]
    assert len(loaded) == 4
    text = json.dumps([loaded, [turn.body for turn in triggered.asked("")]])
    assert "Say hello" in text, "the skill that was loaded is the declared one"
    assert "FROM HOME" not in text
    assert "stray" not in text


def test_the_custom_agent_example_runs_on_the_runtime(tmp_path: Path):
    """The scripted model reads the files and says what the example's own script says."""
    root = shutil.copytree(EXAMPLES / "custom-agent", tmp_path / "custom-agent")
    tasks = load(root / "eval.yaml").tasks
    scripts = {}
    for one in tasks:
        (fixture,) = one.inputs.files
        assert one.mock
        assert one.mock.turns
        count = Call("bash", {"command": f"wc -l {fixture.path}", "description": "count the lines"})
        answer = one.mock.turns[0].output
        scripts[one.prompt] = [Reply(calls=[Call("view", {"path": fixture.path}), count]), Reply(answer)]
    seen = run(root / "eval.yaml", scripts, "--executor", "copilot-sdk", "--parallel")
    assert seen.ended.code == 1
    for one in tasks:
        found, digest = seen.run(one.id), seen.run(one.id)["session_digest"]
        assert found["status"] == ("failed" if one.id == "data-handling" else "passed")
        assert digest["tools_used"] == ["view", "bash"]
        assert all(call["success"] for call in found["tool_events"])
        assert digest["tool_policy_mode"] == "allow_list"
        assert "tool_policy_denials" not in digest
        assert found["validations"]["allowed_tools"]["passed"] is True
        asked = seen.asked(one.prompt)
        assert asked[0].tools == ["bash", "view"]
        assert f"Base directory for this skill: {root}\n\n# Security Review Agent" in asked[0].system
        assert f"{one.inputs.files[0].path}" in asked[1].tool_results[1]
        assert "legal-review" not in asked[0].system


def test_neighbours_are_offered_and_what_the_agent_invokes_is_counted(tmp_path: Path):
    """A neighbour that no directory of the suite holds; the model is asked with both skills in its list."""
    expects = {
        "should_trigger_prompts": [{"prompt": "FIRES"}, {"prompt": "STRAYS"}],
        "should_not_trigger_prompts": [
            {"prompt": "TAKES", "expect": "other"},
            {"prompt": "STAYS", "expect": "none"},
        ],
    }
    files = {
        "skills/greeter/SKILL.md": definition("greeter", body=BODY),
        "elsewhere/other/SKILL.md": definition("other"),
        "trigger_tests.yaml": json.dumps({**GREETER, "neighbours": ["elsewhere/other"], **expects}),
    }
    write_tree(tmp_path, files)

    def call(name: str) -> list[Reply]:
        return [Reply(calls=[Call("skill", {"skill": name})]), Reply("fine")]

    scripts = {
        "FIRES": call("greeter"),
        "STRAYS": call("other"),
        "TAKES": call("other"),
        "": [Reply("fine")],
    }
    config = {"skill_directories": ["skills"], "timeout_seconds": 90}
    seen = run(write_suite(tmp_path, {"a": task("HELLO")}, config=config, **GREETER), scripts)
    assert listed(seen.asked("FIRES")[0]) == ["greeter", "other"]
    assert listed(seen.asked("HELLO")[0]) == ["greeter"], "tasks are not given the neighbours"
    rows = {one["expected"]: (one["invoked"], one["none"]) for one in seen.results["trigger_matrix"]["rows"]}
    assert rows == {
        "greeter": ({"greeter": 1, "other": 1}, 0),
        "other": ({"greeter": 0, "other": 1}, 0),
        "none": ({"greeter": 0, "other": 0}, 1),
    }
    assert seen.results["trigger_metrics"]["routing"] == 0.75
