"""Agents over A2A, served by the official SDK on 127.0.0.1."""

import asyncio
import socket
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.support.a2a_agent import Served, served

from waza.errors import ExecutorError
from waza.executors import a2a
from waza.model.agent import AttemptWorkspace, Limits, Setup
from waza.model.observation import Turn
from waza.model.suite import Config
from waza.model.task import Task
from waza.model.trial import Attempt, TrialKey

TASK = Task(id="one", name="one", file="", prompt="unused", home=Path(), fixtures=Path())
ATTEMPT = Attempt(trial=TrialKey("main", TASK.id, 1), number=1, task=TASK)


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(a2a, "WAITS", (0.0,))


def ask(url: str, *prompts: str, **options: Any) -> list[Turn]:
    async def conversation() -> list[Turn]:
        config = Config(executor="a2a", executor_options={"url": url, **options})
        executor = a2a.A2AExecutor(Setup(model="", config=config))
        try:
            await executor.start()
            session = await executor.open(ATTEMPT, AttemptWorkspace(workspace=None, workdir=None))
            return [await session.send(prompt, Limits(turn=20)) for prompt in prompts]
        finally:
            await executor.aclose()

    return asyncio.run(conversation())


@pytest.fixture(params=[False, True], ids=["message", "streamed"])
def agent(request: pytest.FixtureRequest):
    with served(streaming=request.param) as found:
        yield found


def test_prompts_of_a_conversation_share_their_context(agent: Served):
    first = ask(agent.url, "Grüße", "and the hotel?")
    second = ask(agent.url, "Grüße")
    assert [turn.output for turn in first] == ["1: Grüße", "2: and the hotel?"]
    assert [turn.output for turn in second] == ["1: Grüße"]
    assert agent.repeater.prompts == ["Grüße", "and the hotel?", "Grüße"]
    assert [event.content for event in first[0].events] == ["1: Grüße"]


def test_a_failed_task_is_no_answer(agent: Served):
    (turn,) = ask(agent.url, "FAIL")
    assert turn.error == "the agent's task ended as failed: no luck today"


def test_a_busy_agent_is_asked_again_and_then_given_up_with_a_word_of_its_own(agent: Served):
    agent.busy = 2
    (turn,) = ask(agent.url, "hello", attempts=3)
    assert turn.output == "1: hello"
    assert agent.requests == 3
    agent.busy = 9
    (turn,) = ask(agent.url, "hello", attempts=2)
    assert turn.throttled
    assert turn.error == f"{agent.url}/rpc answered 429 Too Many Requests"
    assert agent.requests == 5


@pytest.mark.parametrize(
    ("header", "value", "option"),
    [("Authorization", "Bearer hush-hush", "bearer_env"), ("X-Desk-Key", "hush-hush", "api_key_env")],
)
def test_keys_go_where_the_card_says_and_nowhere_else(
    header: str, value: str, option: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RIGHT", "hush-hush")
    monkeypatch.setenv("WRONG", "mistaken")
    with served(headers={header: value}) as agent:
        assert ask(agent.url, "hello", **{option: "RIGHT"})[0].output == "1: hello"
        (refused,) = ask(agent.url, "hello", **{option: "WRONG"})
    assert refused.error == (
        f"{agent.url}/rpc answered 401 Unauthorized; check the token or key: bearer_env and api_key_env "
        "(--bearer-env, --api-key-env) name the variables that hold them"
    )
    with pytest.raises(ExecutorError, match="the variable UNSET_KEY"):
        ask(agent.url, "hello", **{option: "UNSET_KEY"})


@pytest.mark.parametrize("option", ["bearer_env", "api_key_env"])
def test_a_key_in_place_of_its_variable_is_not_repeated(option: str):
    with pytest.raises(ExecutorError) as refused:
        ask("http://127.0.0.1:1", **{option: "tok123"})
    assert str(refused.value) == (
        f"{option} (--{option.replace('_', '-')}) takes the name of a variable, such as AGENT_KEY, "
        "never the key itself"
    )


def test_an_address_without_an_agent_is_reported():
    with served() as agent:
        url = agent.url
    with pytest.raises(ExecutorError) as away:
        ask(url, "hello")
    assert str(away.value) == (
        f"there is no A2A agent at {url}: nothing answers at {url}/.well-known/agent-card.json "
        "(All connection attempts failed); check the address and whether the agent runs"
    )


def test_an_agent_elsewhere_is_reported_with_the_place_of_its_card():
    with served() as agent, pytest.raises(ExecutorError) as other:
        ask(f"{agent.url}/desk")
    assert str(other.value) == (
        f"there is no A2A agent at {agent.url}/desk: {agent.url}/desk/.well-known/agent-card.json answered "
        "404 Not Found; give the address below which it has /.well-known/agent-card.json"
    )


def test_a_card_that_is_kept_from_us_is_reported():
    class Guard(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(403)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name of the base class
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Guard) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"127.0.0.1:{server.server_port}/.well-known/agent-card.json"
        try:
            with pytest.raises(ExecutorError) as kept:
                ask(f"http://someone:hush-hush@{url}?key=hush-hush")
        finally:
            server.shutdown()
            thread.join()
    assert str(kept.value).startswith(f"http://{url} answered 403 Forbidden; check the token or key: ")
    assert "hush" not in str(kept.value)


def test_an_agent_that_does_not_show_its_card_in_time_is_reported(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(a2a, "CARD_LIMIT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ExecutorError) as late:
        ask(f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert ": no answer within 0.1 s; give the address below which" in str(late.value)


def test_the_address_of_the_card_will_do(agent: Served):
    assert ask(f"{agent.url}/.well-known/agent-card.json", "hello")[0].output == "1: hello"


def test_an_agent_that_ends_in_a_conversation_is_reported():
    async def conversation(agent: Served, ending: ExitStack) -> Turn:
        executor = a2a.A2AExecutor(
            Setup(model="", config=Config(executor="a2a", executor_options={"url": agent.url}))
        )
        try:
            await executor.start()
            ending.close()
            session = await executor.open(ATTEMPT, AttemptWorkspace(workspace=None, workdir=None))
            return await session.send("hello", Limits(turn=20))
        finally:
            await executor.aclose()

    with ExitStack() as ending:
        agent = ending.enter_context(served())
        turn = asyncio.run(conversation(agent, ending))
    assert turn.error.startswith(f"nothing answers at {agent.url}/rpc (")
