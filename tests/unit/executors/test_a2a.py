"""Agents over A2A, served by the official SDK on 127.0.0.1."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.support.a2a_agent import Served, served

from waza.errors import ExecutorError
from waza.executors import a2a
from waza.model.agent import Limits, Place, Setup
from waza.model.observation import THROTTLED, Turn
from waza.model.suite import Config
from waza.model.task import Task
from waza.model.trial import Attempt, Trial

TASK = Task(id="one", name="one", file="", prompt="unused", home=Path(), fixtures=Path())
ATTEMPT = Attempt(trial=Trial(task=TASK, number=1), number=1, task=TASK)


@pytest.fixture(autouse=True)
def no_waits(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(a2a, "WAITS", (0.0,))


def ask(url: str, *prompts: str, **options: Any) -> list[Turn]:
    async def conversation() -> list[Turn]:
        config = Config(executor="a2a", executor_options={"url": url, **options})
        executor = a2a.A2AExecutor(Setup(model="", config=config))
        try:
            await executor.start()
            session = await executor.open(ATTEMPT, Place(workspace=None, workdir=None))
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
    assert [event.content for event in first[0].events] == ["Grüße", "1: Grüße"]


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
    assert turn.error.startswith(THROTTLED)
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
    assert "401" in refused.error
    assert "mistaken" not in refused.error
    with pytest.raises(ExecutorError, match="the variable UNSET_KEY"):
        ask(agent.url, "hello", **{option: "UNSET_KEY"})


def test_an_address_without_an_agent_is_told():
    with served() as agent:
        url = agent.url
    with pytest.raises(ExecutorError, match="there is no A2A agent at"):
        ask(url, "hello")
