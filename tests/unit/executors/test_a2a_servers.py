"""Which servers an A2A agent's prompts and credentials go to, and how much of an answer is read."""

import asyncio
import json
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from tests.support.http_server import Server, endless, send, serving

from waza.errors import ExecutorError
from waza.executors import a2a
from waza.kit import http
from waza.model.agent import AttemptWorkspace, Limits, Setup
from waza.model.observation import Turn
from waza.model.suite import Config
from waza.model.task import Task
from waza.model.trial import Attempt, TrialKey

TASK = Task(id="one", name="one", file="", prompt="unused", home=Path(), fixtures=Path())
ATTEMPT = Attempt(trial=TrialKey("main", TASK.id, 1), number=1, task=TASK)
CARD = "/.well-known/agent-card.json"
ELSEWHERE = "which is another server; prompts and keys go to the server of url only"


ANSWER = {
    "jsonrpc": "2.0",
    "id": "1",
    "result": {
        "message": {"messageId": "1", "role": "ROLE_AGENT", "contextId": "c", "parts": [{"text": "hello"}]}
    },
}


def card(*urls: str, streaming: bool = False) -> dict[str, Any]:
    ways = [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"} for url in urls]
    key = {"apiKeySecurityScheme": {"location": "header", "name": "X-Desk-Key"}}
    return {
        "name": "x", "description": "d", "version": "1", "supportedInterfaces": ways,
        "capabilities": {"streaming": streaming}, "securitySchemes": {"k": key},
        "defaultInputModes": ["text"], "defaultOutputModes": ["text"], "skills": [],
    }  # fmt: skip


@pytest.fixture
def ours() -> Iterator[Server]:
    with serving() as server:
        server.get = lambda request: send(request, card(f"{server.url}/rpc"))
        server.post = lambda request: send(request, ANSWER)
        yield server


@pytest.fixture
def other() -> Iterator[Server]:
    with serving() as server:
        server.post = lambda request: send(request, ANSWER)
        yield server


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_BODY", 300_000)
    monkeypatch.setenv("TOKEN", "hush-token")
    monkeypatch.setenv("KEY", "hush-key")


def ask(url: str, **options: Any) -> Turn:
    async def conversation() -> Turn:
        given = {"url": url, "bearer_env": "TOKEN", "api_key_env": "KEY", "attempts": 1, **options}
        executor = a2a.A2AExecutor(Setup(model="", config=Config(executor="a2a", executor_options=given)))
        try:
            await executor.start()
            session = await executor.open(ATTEMPT, AttemptWorkspace(workspace=None, workdir=None))
            return await session.send("hi", Limits(turn=60))
        finally:
            await executor.aclose()

    return asyncio.run(conversation())


# --- which servers ---


def test_credentials_go_to_the_server_that_they_were_given_for(ours: Server):
    assert ask(ours.url).output == "hello"
    (_, _, read, _), (_, path, asked, _) = ours.requests
    assert read["Authorization"] == asked["Authorization"] == "Bearer hush-token"
    assert (path, asked["X-Desk-Key"]) == ("/rpc", "hush-key")


@pytest.mark.parametrize("credentials", [True, False])
def test_a_card_that_names_another_server_is_refused(ours: Server, other: Server, *, credentials: bool):
    ours.get = lambda request: send(request, card(f"{other.url}/rpc"))
    options = {} if credentials else {"bearer_env": "", "api_key_env": ""}
    with pytest.raises(ExecutorError) as refused:
        ask(ours.url, **options)
    assert str(refused.value) == (
        f"the card of the agent at {ours.url} names {other.url}/rpc, {ELSEWHERE}. If that one is meant too, "
        "name it in executor_options.origins"
    )
    assert other.requests == []


def test_a_server_that_the_suite_names_besides_is_meant(ours: Server, other: Server):
    ours.get = lambda request: send(request, card(f"{other.url}/rpc"))
    assert ask(ours.url, origins=[other.url]).output == "hello"
    assert len(other.secrets) == 2


def test_of_several_addresses_on_a_card_those_elsewhere_are_left_out(ours: Server, other: Server):
    ours.get = lambda request: send(request, card(f"{other.url}/rpc", f"{ours.url}/rpc"))
    assert ask(ours.url).output == "hello"
    assert other.requests == []


@pytest.mark.parametrize("name", ["localhost", "0.0.0.0"])  # noqa: S104  # agents name themselves so
def test_the_names_of_this_machine_are_one_server(ours: Server, name: str):
    ours.get = lambda request: send(request, card(f"{ours.url.replace('127.0.0.1', name)}/rpc"))
    assert ask(ours.url).output == "hello"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_leads_a_card_or_a_prompt_to_another_server(ours: Server, other: Server, status: int):
    away = {"Location": f"{other.url}{CARD}"}
    ours.post = lambda request: send(request, b"", status, **away)
    turn = ask(ours.url)
    assert turn.error.startswith(f"the agent leads to {other.url}{CARD}, {ELSEWHERE}")
    ours.get = lambda request: send(request, b"", status, **away)
    with pytest.raises(ExecutorError, match=f"the agent leads to {other.url}{CARD}, {ELSEWHERE}"):
        ask(ours.url)
    assert other.requests == []


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_on_the_same_server_keeps_the_credentials(ours: Server, status: int):
    def post(request: BaseHTTPRequestHandler) -> None:
        if request.path == "/rpc":
            send(request, b"", status, Location="/new")
        else:
            send(request, ANSWER)

    ours.post = post
    assert ask(ours.url).output == "hello"
    assert ours.requests[-1][1] == "/new"
    assert ours.requests[-1][2]["X-Desk-Key"] == "hush-key"


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:port"])
def test_an_invalid_address_is_reported(url: str):
    with pytest.raises(ExecutorError, match="is not a valid URL: "):
        ask(url)


# --- how much ---


def test_an_answer_without_end_is_given_up(ours: Server):
    ours.post = lambda request: endless(request, "application/json")
    assert ask(ours.url).error == f"{ours.url}/rpc answered with more than 300,000 bytes"


@pytest.mark.parametrize("piece", [b"A" * 65536, b"data: {}\n\n" * 1000, b": keep alive\n" * 1000])
def test_a_stream_without_end_is_given_up(ours: Server, piece: bytes):
    update = {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}
    event = b"data: " + json.dumps({"jsonrpc": "2.0", "id": "1", "result": {"statusUpdate": update}}).encode()
    ours.get = lambda request: send(request, card(f"{ours.url}/rpc", streaming=True))
    pieces = (
        piece if piece.startswith(b":") else b"data: " + piece if piece.startswith(b"A") else event + b"\n\n"
    )
    ours.post = lambda request: endless(request, "text/event-stream", piece=pieces)
    assert ask(ours.url).error == f"{ours.url}/rpc answered with more than 300,000 bytes"


def test_a_card_without_end_is_given_up(ours: Server):
    ours.get = lambda request: endless(request, "application/json")
    with pytest.raises(ExecutorError) as refused:
        ask(ours.url)
    assert str(refused.value) == (
        f"there is no A2A agent at {ours.url}: {ours.url}{CARD} answered with more than 300,000 bytes"
    )


def test_a_compressed_answer_could_be_of_any_size_and_is_not_read(ours: Server):
    packed = zlib.compress(json.dumps(ANSWER).encode())
    ours.post = lambda request: send(request, packed, Content_Encoding="deflate")
    assert ask(ours.url).error == f"{ours.url}/rpc compressed its answer, which was not asked for"
    assert ours.requests[-1][2]["Accept-Encoding"] == "identity"


@pytest.mark.parametrize("body", [b"[" * 200_000, b"\xff\xfe\x00garbage", b"[]", b"7", b'{"error": 3}'])
def test_a_strange_answer_is_an_error_of_the_turn_and_a_strange_card_one_of_the_run(
    ours: Server, body: bytes
):
    ours.post = lambda request: send(request, body)
    assert ask(ours.url).error
    if body != b'{"error": 3}':
        ours.get = lambda request: send(request, body)
        with pytest.raises(ExecutorError, match="there is no A2A agent at"):
            ask(ours.url)
