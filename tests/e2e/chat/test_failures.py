"""Model servers that fail, hostile models, silence, time limits, Ctrl-C: a reason, what was seen, nothing left."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.chat.suites import chat_environment, run, write
from tests.e2e.copilot.suites import bash, calls_then_fine, task, tools_server
from tests.support.http_server import send, serving
from tests.support.live import Project, nap, stubborn, survivors
from tests.support.model_server import Call, ModelServer, Reply, Step, Turn
from tests.support.program import Ended, waza, write_tree

SLEEP = nap()


def message(**keys: Any) -> Reply:
    """A completion with this message."""
    finish = keys.pop("finish", "stop")
    choice = {"index": 0, "message": {"role": "assistant", "content": None, **keys}, "finish_reason": finish}
    usage = {"prompt_tokens": 10, "completion_tokens": 1, "total_tokens": 11}
    return Reply(
        body={
            "id": "c",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }
    )


def raw_call(name: str, arguments: str, number: str = "c1") -> dict[str, Any]:
    return {"id": number, "type": "function", "function": {"name": name, "arguments": arguments}}


def failing(status: int, text: str, **headers: str) -> list[Step]:
    return [Reply(status=status, body={"error": {"message": text}}, headers={"Retry-After": "0", **headers})]


HANGS: list[Step] = [Reply("Looking.", calls=[bash("echo seen before")]), Reply(hang=True)]
# What the model does by the name of the task, which is its prompt too.
SCRIPTS: dict[str, list[Step]] = {
    "good": [Reply("all is fine")],
    "bad-request": failing(400, "no such model"),
    "unauthorised": failing(401, "bad key"),
    "busy": failing(429, "slow down"),
    "patient": failing(429, "come back tomorrow", **{"Retry-After": "3600"}),
    "broken": failing(500, "it broke"),
    "empty": [Reply("")],
    "refusal": [message(refusal="I will not do that.")],
    "length": [Reply("all is", finish="length")],
    "filtered": [Reply("all", finish="content_filter")],
    "nonsense": [Reply(body="<html>hello</html>")],
    "other": [Reply(body={"choices": "none"})],
    "inner-error": [Reply(body={"error": {"message": "the backend is away"}})],
    "huge": [Reply(body="x" * (9 * 1024 * 1024))],
    "many": [Reply(calls=[Call("view", {"path": "."})] * 101)],
    "rounds": [Reply(calls=[Call("view", {"path": "."})])],
    "hangs": HANGS,
    "silent": HANGS,
    "working": [Reply("Working.", calls=[bash(stubborn(SLEEP))]), Reply("all is fine")],
    "mute": [Reply(hang=True)],
}
KEYS: dict[str, dict[str, Any]] = {
    "hangs": {"timeout_seconds": 2},
    "working": {"timeout_seconds": 2},
    "mute": {"first_event_timeout_seconds": 1},
}
REASONS = {
    "bad-request": "the model server answered with HTTP 400: no such model",
    "unauthorised": "HTTP 401: bad key",
    "busy": "HTTP 429: slow down",
    "patient": "HTTP 429: come back tomorrow",
    "broken": "HTTP 500: it broke",
    "empty": "the model gave an empty answer",
    "refusal": "the model refused: I will not do that.",
    "length": "cut off by its limit of tokens",
    "filtered": "the model server filtered the answer",
    "nonsense": "answered with something other than a chat completion",
    "other": "answered with something other than a chat completion",
    "inner-error": "the backend is away",
    "huge": "more than 8,388,608 bytes",
    "many": "the model called 101 tools at once",
    "rounds": "the model was asked 5 times and did not come to an answer (executor_options.max_requests)",
    "hangs": "the turn did not end within 2 s",
    "working": "the turn did not end within 2 s",
    "silent": "the session fell silent: no event came for 4 s",
    "mute": "nothing came from the model within 1 s (first_event_timeout_seconds)",
}
REQUESTS = {"good": 1, "bad-request": 1, "unauthorised": 1, "busy": 4, "patient": 1, "broken": 4, "rounds": 5}
# Causes outside of the agent, which a resumed run tries again.
OUTSIDE = {"unauthorised", "busy", "patient", "broken", "nonsense", "other", "inner-error"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("failures"))


@pytest.fixture(scope="module")
def server() -> Iterator[ModelServer]:
    with ModelServer(SCRIPTS) as server:
        yield server


@pytest.fixture(scope="module")
def ended(project: Project, server: ModelServer) -> Ended:
    """All of them in one run, at the same time."""
    tasks = {name: task(name, **KEYS.get(name, {})) for name in SCRIPTS}
    config = {"idle_timeout_seconds": 4, "stop_after_errors": 0, "executor_options": {"max_requests": 5}}
    suite = write(project.home, tasks, workers=len(tasks), config=config)
    return project.run("run", suite, env=chat_environment(server))


@pytest.fixture(scope="module")
def runs(ended: Ended) -> dict[str, Any]:
    return {one["test_id"]: one["runs"][0] for one in ended.results()["tasks"]}


def test_only_what_failed_is_an_error(ended: Ended, runs: dict[str, Any]) -> None:
    assert "Traceback" not in ended.err
    assert {name for name, run in runs.items() if run["status"] == "error"} == REASONS.keys()


@pytest.mark.parametrize("name", REASONS)
def test_a_reason_that_a_person_understands(runs: dict[str, Any], name: str) -> None:
    assert REASONS[name] in runs[name]["error_msg"]


@pytest.mark.parametrize("name", REQUESTS)
def test_busy_and_broken_servers_are_asked_again(
    runs: dict[str, Any], server: ModelServer, name: str
) -> None:
    assert name in runs
    assert sum(bool(one.turn and one.turn.user == name) for one in server.requests) == REQUESTS[name]


def test_causes_outside_of_the_agent_are_known(ended: Ended) -> None:
    (journal,) = (ended.cwd / ".waza/runs").glob("*/journal.ndjson")
    lines = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    trials = [line["trial"] for line in lines if "trial" in line]
    assert {trial["task"] for trial in trials if trial.get("outside")} == OUTSIDE


@pytest.mark.parametrize("name", ["hangs", "silent", "working", "mute"])
def test_what_was_seen_before_the_silence_is_kept(runs: dict[str, Any], name: str) -> None:
    found = runs[name]
    if name == "mute":
        assert "tool_events" not in found
        return
    (call,) = found["tool_events"]
    assert (call["tool_name"], call["success"]) == ("bash", name != "working")
    assert found["final_output"] == ("Working." if name == "working" else "Looking.")


def test_nothing_is_left(ended: Ended, project: Project) -> None:
    assert ended.code == 1
    assert survivors(SLEEP) == []
    assert project.left == []


def test_a_connection_that_breaks_is_tried_again(tmp_path: Path) -> None:
    tries: list[Turn] = []

    def flaky(turn: Turn) -> Reply:
        tries.append(turn)
        return Reply("this reply breaks off", drop=True) if len(tries) == 1 else Reply("all is fine")

    seen = run(write(tmp_path, {"one": task("FLAKY")}), {"FLAKY": [flaky]})
    assert seen.run("one")["status"] == "passed"
    assert len(tries) == 2


def test_hostile_calls_cost_a_call_each(tmp_path: Path) -> None:
    deep = "[" * 100_000
    hostile = [
        raw_call("view", "{not json", "c1"),
        raw_call("view", "[1, 2]", "c2"),
        raw_call("view", deep, "c3"),
        raw_call("\x1b[31mno::such\x00tool", "{}", "c4"),
        raw_call("view", '{"path": 7}', "c5"),
        raw_call("view", json.dumps({"path": "x" * 1_000_000}), "c6"),
        raw_call("create", json.dumps({"path": "big", "file_text": "x" * 6_000_000}), "c7"),
        raw_call("bash", json.dumps({"command": "echo a\x00b"}), "c8"),
        raw_call("bash", json.dumps({"command": "yes | head -c 9000000"}), "c9"),
        raw_call("grep", json.dumps({"pattern": "(a+)+$" * 9000}), "c10"),
    ]
    seen = run(
        write(tmp_path, {"one": task("HOSTILE")}),
        {"HOSTILE": [message(tool_calls=hostile), Reply("all is fine")]},
    )
    found = seen.run("one")
    assert found["status"] == "passed"
    results = [(one["success"], one["result"]) for one in found["tool_events"]]
    assert [ok for ok, _ in results] == [False] * 8 + [True, False]
    for _, text in results[:3]:
        assert text.startswith("the arguments are not a JSON object: ")
    assert "there is no tool" in results[3][1]
    assert "Expected `str`, got `int`" in results[4][1]
    assert len(results[8][1]) < 51_000
    assert "characters are left out" in results[8][1]
    [second] = [turn for turn in seen.asked("HOSTILE") if turn.step]
    calls = second.body["messages"][2]["tool_calls"]
    assert [one["function"]["arguments"] for one in calls[:3]] == ["{}"] * 3
    assert len({one["id"] for one in calls}) == 10


def test_paths_stay_inside_of_the_workspace(tmp_path: Path) -> None:
    secret = write_tree(tmp_path, {"secret/key.txt": "sesame"}) / "secret"
    script = bash(
        f"ln -s {secret} out; ln -s {secret}/key.txt leak.txt; ln -s loop loop; mkfifo pipe; echo in > in.txt; ln -s in.txt near.txt"
    )
    outside = [
        Call("view", {"path": f"{secret}/key.txt"}),
        Call("view", {"path": "../secret/key.txt"}),
        Call("view", {"path": "out/key.txt"}),
        Call("view", {"path": "leak.txt"}),
        Call("view", {"path": "loop"}),
        Call("view", {"path": "pipe"}),
        Call("create", {"path": "out/new.txt", "file_text": "x"}),
        Call("create", {"path": "leak.txt", "file_text": "x"}),
        Call("edit", {"path": f"{secret}/key.txt", "old_str": "sesame", "new_str": "x"}),
        Call("grep", {"pattern": "sesame", "path": "out"}),
        Call("glob", {"pattern": "*", "path": ".."}),
    ]
    inside = [
        Call("grep", {"pattern": "sesame|in"}),
        Call("view", {"path": "near.txt"}),
        Call("glob", {"pattern": "**"}),
    ]
    seen = run(write(tmp_path, {"one": task("PATHS")}), {"PATHS": calls_then_fine(script, *outside, *inside)})
    found = seen.run("one")
    made, *results = [(one["success"], one["result"]) for one in found["tool_events"]]
    assert made == (True, "(no output)")
    assert [ok for ok, _ in results[: len(outside)]] == [False] * len(outside)
    searched, near, listed = results[len(outside) :]
    assert searched == (True, "in.txt:1:in\nnear.txt:1:in")
    assert near == (True, "in\n")
    assert "leak.txt" not in listed[1]
    assert (secret / "key.txt").read_text() == "sesame"
    assert [path.name for path in secret.iterdir()] == ["key.txt"]


BROKEN_SERVERS: dict[str, tuple[Any, str]] = {
    "program": ({"command": "{root}/unstartable"}, "the MCP server 'program' did not start: "),
    "url": ({"url": "http://127.0.0.1:9/mcp"}, "the MCP server 'url' did not start: "),
    "ends": (
        {"command": sys.executable, "args": ["-c", "import sys; sys.exit('no licence')"]},
        "the MCP server 'ends' did not start: Connection closed: no licence",
    ),
    "mute": (
        {"command": "sleep", "args": ["1000"], "start_timeout_seconds": 1},
        "the MCP server 'mute' did not come up within 1 s (start_timeout_seconds of the server)",
    ),
}


@pytest.mark.parametrize("name", BROKEN_SERVERS)
def test_a_server_that_does_not_come_up_is_named_and_makes_the_run_an_error(
    tmp_path: Path, name: str
) -> None:
    entry, reason = BROKEN_SERVERS[name]
    (write_tree(tmp_path, {"unstartable": "#!/no/such/interpreter\n"}) / "unstartable").chmod(0o755)
    entry = json.loads(json.dumps(entry).replace("{root}", str(tmp_path)))
    config = {"mcp_servers": {**tools_server(tmp_path), name: entry}}
    seen = run(write(tmp_path, {"one": task("GREET")}, config=config), {"GREET": [Reply("all is fine")]})
    found = seen.run("one")
    assert found["status"] == "error"
    assert reason in found["error_msg"]
    assert seen.asked("GREET") == [], "no model is asked"


def test_an_interrupt_in_the_middle_of_a_command_leaves_nothing(tmp_path: Path) -> None:
    project, duration = Project(tmp_path), nap()
    script = [Reply(calls=[bash(f"setsid sleep {duration} & sleep {duration}")])]
    with ModelServer({"STUCK": script}) as server:
        suite = write(project.home, {"one": task("STUCK")}, config={"mcp_servers": tools_server(tmp_path)})
        with project.started("run", suite, env=chat_environment(server)) as live:
            live.until(lambda: len(survivors(duration)) >= 2)
            live.send(signal.SIGINT)
            ended = live.ended()
    assert ended.code == 130
    assert survivors(duration) == []
    assert project.left == []


def test_without_a_server_or_a_model_nothing_is_run(tmp_path: Path) -> None:
    suite = write(tmp_path, {"one": task("GREET")})
    nothing = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": "", "COPILOT_BASE_URL": ""}
    ended = waza("run", suite, cwd=tmp_path, env=nothing)
    assert ended.code == 2
    assert "the executor chat needs a model server that speaks Chat Completions" in ended.err
    azure = {**nothing, "COPILOT_BASE_URL": "http://127.0.0.1:9/v1", "COPILOT_PROVIDER": "azure"}
    ended = waza("run", suite, cwd=tmp_path, env=azure)
    assert ended.code == 2
    assert "the model server is configured as 'azure'" in ended.err
    ended = waza("run", suite, cwd=tmp_path, env={**nothing, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    assert ended.code == 2
    assert "the model server at 127.0.0.1:9 cannot be reached" in ended.err
    write_tree(
        tmp_path,
        {"bad.yaml": suite.read_text().replace('"model": "test-model"', '"executor_options": {"rounds": 3}')},
    )
    ended = waza("run", "bad.yaml", cwd=tmp_path, env=nothing)
    assert "unknown key 'rounds'" in ended.err


def test_a_server_behind_http_is_reached_with_its_headers(tmp_path: Path) -> None:
    tool = {"name": "add.up", "description": "Adds.", "inputSchema": {"type": "object"}}

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked = json.loads(served.requests[-1][3])
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {} if request.path == "/toolless" else {"tools": {}},
                "serverInfo": {"name": "sums", "version": "1"},
            },
            "tools/list": {"tools": [tool, {**tool, "name": "not_wanted"}]},
            "tools/call": {"content": [], "structuredContent": {"sum": 3}, "isError": False},
        }
        if "id" not in asked:
            send(request, b"", status=202)
        elif asked["method"] in results:
            send(request, {"jsonrpc": "2.0", "id": asked["id"], "result": results[asked["method"]]})
        else:
            send(request, {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "no"}})

    with serving() as served:
        served.post = answer
        served.get = lambda request: send(request, b"", status=405)
        entry = {"url": f"{served.url}/mcp", "headers": {"X-Key": "hush"}, "tools": ["add.up"]}
        servers = {"sums": entry, "none": {"url": f"{served.url}/toolless"}}
        suite = write(tmp_path, {"one": task("ADD")}, config={"mcp_servers": servers})
        seen = run(suite, {"ADD": calls_then_fine(Call("sums-add-up", {"a": 1}))})
    (call,) = seen.run("one")["tool_events"]
    assert (call["success"], call["result"]) == (True, '{"sum":3}')
    assert [name for name in seen.asked("ADD")[0].tools if "-" in name] == ["sums-add-up"]
    assert "hush" in served.secrets
