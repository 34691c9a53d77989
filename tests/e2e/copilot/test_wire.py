"""The wire between the real runtime and a scripted model: who has the key, and what of the runtime's report it confirms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import bash, calls_then_fine, definition, run, task, tools_server, write_suite
from tests.support.model_server import Call, Reply, Turn
from tests.support.program import waza, write_tree
from tests.support.runtime import runtime_path

pytestmark = pytest.mark.slow

KEY = "sk-real-key-0f4b1c2d9e"
JUDGED = {"type": "prompt", "name": "judged", "config": {"prompt": "Is it right?", "continue_session": False}}
ASKED_ON = {"type": "prompt", "name": "asked-on", "config": {"prompt": "Did you?", "continue_session": True}}
PASS = [Reply(calls=[Call("set_waza_grade_pass", {"description": "it is"})]), Reply("Done.")]


def processes_with(secret: bytes) -> list[str]:
    """The processes, other than a waza of its own, that have a text in their environment or command line."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            line = (process / "cmdline").read_bytes()
            seen = line + (process / "environ").read_bytes()
        except OSError:  # it has ended
            continue
        if secret in seen and b"-m\0waza" not in line:
            found.append(line.replace(b"\0", b" ").decode(errors="replace"))
    return found


def files_with(secret: bytes, root: Path) -> list[Path]:
    found = []
    for path in root.rglob("*"):
        try:
            if path.is_file() and not path.is_symlink() and secret in path.read_bytes():
                found.append(path)
        except OSError:  # it is removed
            continue
    return found


def test_no_process_and_no_file_of_a_runtime_has_the_key(tmp_path: Path) -> None:
    where: list[Any] = []

    def searched(reply: Reply) -> Any:
        def step(turn: Turn) -> Reply:
            runtimes = processes_with(b"COPILOT_DISABLE_KEYTAR")
            where.append(
                (turn.user, bool(runtimes), processes_with(KEY.encode()), files_with(KEY.encode(), tmp_path))
            )
            return reply

        return step

    environment = Call("bash", {"command": "env; cat /proc/$PPID/environ", "description": "looks"})
    write_tree(tmp_path, {"skills/tested/SKILL.md": definition("tested")})
    write_tree(
        tmp_path,
        {
            "trigger_tests.yaml": "skill: tested\nshould_trigger_prompts: [{prompt: fire it}]\n"
            "should_not_trigger_prompts: [{prompt: leave it}]\n"
        },
    )
    suite = write_suite(
        tmp_path,
        {"a": task("go")},
        skill="tested",
        graders=[JUDGED, ASKED_ON],
        config={"skill_directories": ["skills"], "inject_skill_body": False},
    )
    (tmp_path / "tmp").mkdir()
    seen = run(
        suite,
        {
            "fire it": [searched(Reply(calls=[Call("skill", {"skill": "tested"})])), Reply("fired")],
            "leave it": [searched(Reply("left"))],
            "Is it right?": [searched(step) for step in PASS],
            "Did you?": [searched(step) for step in PASS],
            "go": [searched(Reply(calls=[environment])), searched(Reply("all is fine"))],
        },
        COPILOT_API_KEY=KEY,
        TMPDIR=str(tmp_path / "tmp"),
    )
    assert seen.ended.code == 0, seen.ended.err
    asked = {user.split()[0] for user, *_ in where}
    assert {"go", "fire", "leave"} <= asked
    assert len(where) >= 8
    assert all(runtimes for _, runtimes, *_ in where)
    assert [one for one in where if one[2] or one[3]] == []
    assert files_with(KEY.encode(), tmp_path) == []
    assert {request.headers.get("authorization") for request in seen.server.requests} == {f"Bearer {KEY}"}
    assert "test-model" in seen.run("a")["models_served"]
    assert "wire_differences" not in seen.run("a")
    fired, left = seen.results["trigger_results"]
    assert (fired["did_trigger"], left["did_trigger"]) == (True, False)
    for one in (fired, left):
        assert any(event["type"] == "wire.exchange" for event in one["transcript"])
        assert one["skill_offered"] == "full"


def test_the_wire_confirms_what_the_runtime_reports(tmp_path: Path) -> None:
    given = {"agent_type": "general-purpose", "name": "h", "description": "helps", "prompt": "HELP me"}
    helper = Call("task", {**given, "mode": "sync"})
    suite = write_suite(
        tmp_path,
        {"a": task("go", follow_up_prompts=["and then"])},
        config={"mcp_servers": tools_server(tmp_path), "wire": "auto"},
    )
    scripts = {
        "HELP me": [Reply(calls=[bash("echo helped")]), Reply("helped")],
        "go": calls_then_fine(helper, Call("hands-look", {"path": "x"}), bash("echo here")),
        "and then": calls_then_fine(bash("exit 3"), Call("no_such_tool", {"x": 1})),
    }
    seen = run(suite, scripts)
    trial = seen.run("a")
    assert trial.get("wire_differences") is None, trial["wire_differences"]
    assert trial["status"] == "passed", trial["error_msg"]
    assert {"task", "hands-look", "bash", "no_such_tool"} <= {
        one["tool_name"] for one in trial["tool_events"]
    }


def test_the_wire_confirms_denials(tmp_path: Path) -> None:
    write_tree(tmp_path, {"agents/reader.agent.md": definition("reader", "[read]")})
    suite = write_suite(tmp_path, {"a": task("go")}, skill="agents/reader.agent.md", config={"wire": "auto"})
    seen = run(suite, {"go": calls_then_fine(bash("touch marker"))})
    trial = seen.run("a")
    assert "wire_differences" not in trial, trial["wire_differences"]
    assert [one["tool_name"] for one in trial["tool_events"]] == ["bash"]


SAME = ("status", "final_output", "models_served", "skill_offered", "skill_loaded", "wire_differences")


def same(results: dict[str, Any]) -> Any:
    """What a replay must not change: verdicts, answers, calls and tokens of trials and trigger tests."""
    (trial,) = results["tasks"][0]["runs"]
    calls = [(one["tool_name"], one["args"]) for one in trial["tool_events"]]
    verdicts = {name: one["passed"] for name, one in trial["validations"].items()}
    triggers = [
        (one["prompt"], one["did_trigger"], one["skill_offered"]) for one in results["trigger_results"]
    ]
    usage = trial["session_digest"]["usage"]
    judges = [one["usage"] for one in trial["grader_sessions"]]
    return [trial.get(key) for key in SAME], calls, verdicts, triggers, usage, judges


def test_a_run_is_replayed_without_a_model_and_without_a_key(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            "skills/tested/SKILL.md": definition("tested"),
            "trigger_tests.yaml": "skill: tested\nshould_trigger_prompts: [{prompt: fire it}]\n"
            "should_not_trigger_prompts: [{prompt: leave it}]\n",
        },
    )
    suite = write_suite(
        tmp_path,
        {"a": task("go", follow_up_prompts=["and then"])},
        skill="tested",
        graders=[JUDGED, ASKED_ON],
        config={
            "skill_directories": ["skills"],
            "inject_skill_body": False,
            "mcp_servers": tools_server(tmp_path),
        },
    )
    scripts = {
        "Is it right?": PASS,
        "Did you?": PASS,
        "fire it": [Reply(calls=[Call("skill", {"skill": "tested"})]), Reply("fired")],
        "leave it": [Reply("left")],
        "go": [
            Reply(calls=[Call("skill", {"skill": "tested"}), Call("hands-look", {"path": "x"})]),
            Reply(calls=[bash("pwd; echo here > made.txt"), Call("view", {"path": "made.txt"})]),
            Reply("all is fine"),
        ],
        "and then": calls_then_fine(bash("cat made.txt")),
    }
    seen = run(suite, scripts, "--wire", "record", COPILOT_API_KEY=KEY)
    assert seen.ended.code == 0, seen.ended.err
    (directory,) = (tmp_path / ".waza" / "runs").iterdir()
    moved = tmp_path / "moved to elsewhere"
    moved.mkdir()
    for name in ("skills", "trigger_tests.yaml", "eval.yaml", "eval", "hands.py"):
        (tmp_path / name).rename(moved / name)
    environment = {"COPILOT_CLI_PATH": str(runtime_path()), "COPILOT_API_KEY": "", "COPILOT_BASE_URL": ""}
    text = (moved / "eval.yaml").read_text().replace(str(tmp_path / "hands.py"), str(moved / "hands.py"))
    (moved / "eval.yaml").write_text(text)
    flags = ("--wire", "replay", "--cassettes", directory)
    ended = waza("run", "eval.yaml", *flags, cwd=moved, env=environment)
    assert ended.code == 0, ended.err + ended.out
    assert same(ended.results()) == same(seen.results)
    skill = moved / "skills" / "tested" / "SKILL.md"
    skill.write_text(skill.read_text().replace("what tested is for", "what tested is good for"))
    ended = waza("run", "eval.yaml", *flags, cwd=moved, env=environment)
    assert ended.code == 1
    why = ended.results()["tasks"][0]["runs"][0]["error_msg"]
    assert "the skill tested has changed since it was recorded" in why
    assert "what tested is good for" in why


def test_a_limit_stops_an_agent_and_its_helpers_within_the_turn(tmp_path: Path) -> None:
    given = {"agent_type": "general-purpose", "name": "h", "description": "helps", "prompt": "HELP me"}
    suite = write_suite(
        tmp_path,
        {"a": task("go"), "b": task("be nice")},
        config={"limits": {"trial": {"max_total_tokens": 3000}}, "workers": 1},
    )
    scripts = {
        "HELP me": [Reply(calls=[bash("echo round and round")])],
        "go": [Reply(calls=[Call("task", {**given, "mode": "sync"})]), Reply("all is fine")],
        "be nice": [Reply("all is fine")],
    }
    seen = run(suite, scripts)
    assert (seen.run("a")["status"], seen.run("b")["status"]) == ("error", "passed")
    assert "config.limits.trial.max_total_tokens is met: 3,060 of 3,000" in seen.run("a")["error_msg"]
    asked = [*seen.asked("go"), *seen.asked("HELP me")]
    assert len(asked) == 3  # 1,020 tokens each
