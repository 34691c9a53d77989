"""A hostile model and a hostile agent on the wire cost one trial: its neighbours pass, and results can be read."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.support.program import waza, write_tree

AGENT = r"""
import json, os, sys, urllib.request
prompt = sys.stdin.read()
request = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": prompt}]}).encode(),
    {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"},
)
def attack(): pass
HOSTILE
if "ATTACK" in prompt:
    attack()
size = 0
try:
    with urllib.request.urlopen(request) as answer:
        while piece := answer.read(1 << 20):
            size += len(piece)
except Exception as error:
    print("broken:", type(error).__name__)
print("done", size > 0)
"""
FINE = (
    b'data: {"model": "m", "choices": [{"index": 0, "delta": {"content": "fine"}, "finish_reason": "stop"}]}\n\n'
    b'data: {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 1}}\n\ndata: [DONE]\n\n'
)
CALL = '{"index": 0, "id": "c1", "function": {"name": "x", "arguments": "%s"}}'


def endless(what: bytes) -> Iterator[bytes]:
    while True:
        yield what


def gigabyte() -> Iterator[bytes]:
    piece = (
        b'data: {"choices": [{"index": 0, "delta": {"tool_calls": ['
        + (CALL % ("y" * 65536)).encode()
        + b"]}}]}\n\n"
    )
    for _ in range(16384):
        yield piece


ATTACKS: dict[str, Any] = {
    "endless stream": lambda: endless(b"data: " + b"x" * 65536 + b"\n\n"),
    "endless line": lambda: endless(b"x" * 65536),
    "a gigabyte of arguments": gigabyte,
    "deep": lambda: [b"data: " + b"[" * 100_000 + b"\n\n"],
    "deep objects": lambda: [b'data: {"choices": ' + b'{"a":' * 100_000 + b"\n\n"],
    "wrong JSON": lambda: [b'data: {"choices": [{"index": 0, "delta": \n\ndata: nonsense\n\n\xff\xfe\n\n'],
    "wrong types": lambda: [b'data: {"choices": {"index": []}, "usage": "many", "model": 7}\n\n'],
}


@contextmanager
def model(attack: Any) -> Iterator[str]:
    """A server that attacks whoever asks with the word ATTACK, and answers all others."""
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, str]] = Future()

    async def handle(request: web.Request) -> web.StreamResponse:
        text = await request.text()
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await response.prepare(request)
        try:
            for piece in attack() if "ATTACK" in text else [FINE]:
                await response.write(piece)
        except ConnectionError:
            pass
        return response

    async def serve() -> None:
        app = web.Application(client_max_size=1 << 28)
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        url, closing = "http://{}:{}/v1".format(*runner.addresses[0][:2]), asyncio.Event()
        started.set_result((asyncio.get_running_loop(), closing, url))
        await closing.wait()
        await runner.cleanup()

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    loop, closing, url = started.result(30)
    try:
        yield url
    finally:
        loop.call_soon_threadsafe(closing.set)
        thread.join()


def run(root: Path, attack: Any = None, hostile: str = "") -> tuple[dict[str, Any], str]:
    """Run three tasks, of which the second is attacked; return its trial. The two others pass."""
    tasks = {
        f"{name}.yaml": f"id: {name}\ninputs: {{prompt: '{prompt}'}}\n"
        for name, prompt in (("a", "be good"), ("b", "ATTACK"), ("c", "be good, too"))
    }
    suite = (
        "name: hostile\nconfig: {executor: command, wire: auto, parallel: true, workers: 3, timeout_seconds: 60,\n"
        "  executor_options: {command: 'python3 \"$WAZA_SUITE_DIR/agent.py\"'}}\n"
        "tasks: ['[abc].yaml']\ngraders: [{type: text, config: {contains: [done True]}}]\n"
    )
    write_tree(root, {"eval.yaml": suite, "agent.py": AGENT.replace("HOSTILE", hostile), **tasks})
    with model(attack or (lambda: [FINE])) as url:
        env = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-1234567890"}
        ended = waza("run", "eval.yaml", cwd=root, env=env)
    assert "Traceback" not in ended.err
    assert "Unhandled" not in ended.err
    assert "\x1b" not in ended.err + ended.out
    found = {one["test_id"]: one["runs"][0] for one in ended.results()["tasks"]}
    assert {found[name]["status"] for name in ("a", "c")} == {"passed"}, [found["a"], found["c"]]
    assert (root / ".waza").is_dir()
    assert all(path.stat().st_size < 1 << 23 for path in root.rglob("*.json*"))
    return found["b"], ended.err


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_model_costs_one_trial(tmp_path: Path, attack: str) -> None:
    trial, _ = run(tmp_path, ATTACKS[attack])
    assert trial["status"] == "error"
    assert "the model did not answer" in trial["error_msg"]


def test_names_of_tools_are_text_and_nothing_else(tmp_path: Path) -> None:
    name = r"\u001b[31mrm\u0000\n../../x\u202e<b>"
    call = f'{{"index": 0, "id": "\\u001b]0;x\\u0007", "function": {{"name": "{name}", "arguments": "{{"}}}}'
    answer = f'data: {{"choices": [{{"index": 0, "delta": {{"tool_calls": [{call}]}}, "finish_reason": "stop"}}]}}\n\n'
    trial, _ = run(tmp_path, lambda: [answer.encode()])
    (seen,) = trial["tool_events"]
    assert seen["tool_name"].startswith("\x1b[31mrm")
    assert seen["args"] == "{"
    shown = waza("show", "--transcripts", cwd=tmp_path)
    assert "\x1b" not in shown.out + shown.err


SOCKETS = r"""
import socket, urllib.parse
def attack():
    place = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
    def connect():
        return socket.create_connection((place.hostname, place.port), 10)
"""
AGENTS = {
    "garbage": SOCKETS
    + r"""
    for data in (b"\x00\xff" * 5000, b"GET\r\n\r\n", b"POST / HTTP/9.9\r\n\r\n", b"\r\n" * 5000, b"\x16\x03\x01\x02\x00"):
        with connect() as one:
            one.sendall(data)
            one.settimeout(0.2)
            try:
                one.recv(100)
            except OSError:
                pass
""",
    "huge headers": SOCKETS
    + r"""
    for data in (b"X: " + b"y" * 10_000_000, b"X-%d: y\r\n" * 200_000):
        with connect() as one:
            try:
                one.sendall(b"POST /v1/chat/completions HTTP/1.1\r\n" + data + b"\r\n\r\n")
                one.recv(100)
            except OSError:
                pass
""",
    "huge lengths": SOCKETS
    + r"""
    for length in (b"99999999999999", b"-1", b"x"):
        with connect() as one:
            key = os.environ["OPENAI_API_KEY"].encode()
            path = place.path.encode() + b"/chat/completions"
            one.sendall(b"POST " + path + b" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key
                        + b"\r\nContent-Length: " + length + b"\r\n\r\n{")
""",
    "thousands of connections": SOCKETS
    + r"""
    import resource
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    kept = []
    for _ in range(3000):
        try:
            kept.append(connect())
        except OSError:
            break
    for one in kept:
        one.close()
""",
    "slow requests": SOCKETS
    + r"""
    global kept
    kept = [connect() for _ in range(30)]
    for one in kept:
        one.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-Slow: ")
""",
    "many requests": r"""
def attack():
    import http.client, urllib.parse
    place = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
    one = http.client.HTTPConnection(place.hostname, place.port)
    for number in range(3000):
        one.request("POST", place.path + f"/files/{number}", b"{}", {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]})
        one.getresponse().read()
""",
}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_hostile_agent_costs_one_trial_at_most(tmp_path: Path, agent: str) -> None:
    trial, err = run(tmp_path, hostile=AGENTS[agent])
    assert trial["status"] in ("passed", "failed", "error")
    assert len(trial.get("wire_differences") or []) <= 51
    assert "socket.accept" not in err
    if agent == "thousands of connections":
        assert any("more than 64 connections at once" in one for one in trial["wire_differences"])
    if agent == "many requests":
        assert "the agent asked for what is not passed on: POST v1/files/0" in trial["wire_differences"]
