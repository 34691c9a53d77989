"""MCP servers that do not come up, and commands that go on after the answer."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import Seen, calls_then_fine, run, task, tools_server, write_suite
from tests.support.live import nap, survivors
from tests.support.model_server import Call, Reply, Step
from tests.support.program import waza, write_tree

from waza.errors import ExecutorError
from waza.executors._servers import mcp_servers

pytestmark = pytest.mark.slow

HANDS = Call("hands-look", {})
# Entries of `mcp_servers`, and what the run says of them.
BROKEN: dict[str, tuple[Any, str]] = {
    "program": ({"command": "{root}/unstartable"}, "the MCP server 'program' did not start: "),
    "url": ({"url": "http://127.0.0.1:9/mcp"}, "the MCP server 'url' did not start: "),
    "ends": ({"command": sys.executable, "args": ["-c", ""]}, "the MCP server 'ends' did not start: "),
    "mute": (
        {"command": "sleep", "args": ["1000"], "start_timeout_seconds": 2},
        "the MCP server 'mute' did not come up within 2 s (start_timeout_seconds of the server)",
    ),
}


def broken(tmp_path: Path, servers: dict[str, Any]) -> dict[str, Any]:
    """The run of an agent with these servers besides one that works."""
    config = {"mcp_servers": {**tools_server(tmp_path), **servers}, "timeout_seconds": 60}
    suite = write_suite(tmp_path, {"one": task("GREET")}, config=config)
    return run(suite, {"GREET": calls_then_fine(HANDS)}).run("one")


@pytest.mark.parametrize("name", BROKEN)
def test_a_server_that_does_not_come_up_is_named_and_makes_the_run_an_error(tmp_path: Path, name: str):
    entry, reason = BROKEN[name]
    (write_tree(tmp_path, {"unstartable": "#!/no/such/interpreter\n"}) / "unstartable").chmod(0o755)
    found = broken(tmp_path, {name: json.loads(json.dumps(entry).replace("{root}", str(tmp_path)))})
    assert found["status"] == "error"
    assert reason in found["error_msg"]
    assert "tool_events" not in found, "no model is asked"


@pytest.fixture
def mute_address() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"


def test_a_server_behind_http_that_never_answers_has_the_same_limit(tmp_path: Path, mute_address: str):
    found = broken(tmp_path, {"far": {"url": mute_address, "start_timeout_seconds": 1.5}})
    assert "the MCP server 'far' did not come up within 1.5 s" in found["error_msg"]


@pytest.mark.parametrize("limit", [0, -1, "soon", True])
def test_a_limit_that_is_none_is_refused(tmp_path: Path, limit: Any):
    servers = {"far": {"command": "sleep", "start_timeout_seconds": limit}}
    suite = write_suite(tmp_path, {"one": task("GREET")}, config={"mcp_servers": servers})
    ended = waza("run", suite, cwd=tmp_path)
    assert ended.code == 2
    assert "config.mcp_servers.far.start_timeout_seconds: " in ended.err


@pytest.mark.parametrize("entry", [{}, {"type": "http"}, 3, None])
def test_no_session_is_made_for_an_entry_that_names_no_server(entry: Any):
    """Whoever makes a suite without loading it; the runtime would wait for such a server for ever."""
    with pytest.raises(ExecutorError, match=r"config\.mcp_servers\.far names no server; set command, or url"):
        mcp_servers({"far": entry}, {})
    assert mcp_servers({"far": entry}, {"far": {"command": "mock"}}) == {"far": {"command": "mock"}}


def test_servers_that_came_up_are_there_in_every_turn(tmp_path: Path):
    config = {"mcp_servers": tools_server(tmp_path)}
    tasks = {"one": task("GREET", follow_up_prompts=["GREET", "GREET"])}
    seen = run(write_suite(tmp_path, tasks, config=config), {"GREET": calls_then_fine(HANDS)})
    found = seen.run("one")
    assert (found["status"], len(found["tool_events"])) == ("passed", 3)
    assert all(call["success"] for call in found["tool_events"])


# --- commands in the background ---


def background(command: str) -> Call:
    return Call("bash", {"command": command, "description": "serves", "mode": "async"})


@pytest.fixture(scope="module")
def naps() -> dict[str, str]:
    return {name: nap() for name in ("server", "beside")}


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory, naps: dict[str, str]) -> Seen:
    root = tmp_path_factory.mktemp("left")
    scripts: dict[str, list[Step]] = {
        "SERVE": [Reply(calls=[background(f"cd /; sleep {naps['server']}")]), Reply("all is fine")],
        "LATER": [lambda turn: Reply(f"all is fine, {len(survivors(naps['server']))} run")],
        "SHORT": [
            Reply(calls=[background("sleep 1; echo done")]),
            Reply("It runs."),
            Reply("It ended, all is fine"),
        ],
        "DELEGATE": [
            Reply(
                calls=[
                    background(f"sleep {naps['beside']}"),
                    Call(
                        "task",
                        {
                            "agent_type": "general-purpose", "name": "helper", "description": "helps",
                            "prompt": "ASSIST", "mode": "background",
                        },
                    ),
                ]
            ),
            Reply("They run."),
            Reply("The helper is done, all is fine"),
        ],
        "ASSIST": [Reply(calls=[Call("bash", {"command": "sleep 7", "description": "d"})]), Reply("done")],
    }  # fmt: skip
    tasks = {
        "server": task("SERVE", follow_up_prompts=["LATER"]),
        "short": task("SHORT"),
        "helper": task("DELEGATE"),
    }
    return run(write_suite(root, tasks, config={"timeout_seconds": 90}), scripts)


def test_a_command_that_is_left_running_ends_with_the_answer(left: Seen, naps: dict[str, str]):
    found = left.run("server")
    assert (found["status"], "error_msg" in found) == ("passed", False)
    assert found["final_output"] == "all is fine, 0 run", "nothing of it runs in the next turn"
    assert (
        "[WARNING]" in left.ended.err or "stopped what still ran after the answer: serves" in left.ended.err
    )
    assert survivors(naps["server"]) == []


def test_an_agent_that_hears_of_the_end_of_its_command_goes_on(left: Seen):
    assert left.run("short")["final_output"] == "It runs.It ended, all is fine"


def test_a_helper_in_the_background_is_waited_for(left: Seen, naps: dict[str, str]):
    found = left.run("helper")
    assert "The helper is done, all is fine" in found["final_output"]
    assert found["status"] == "passed"
    assert survivors(naps["beside"]) == []
