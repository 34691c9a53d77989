"""Agents over A2A, served by the official SDK on 127.0.0.1."""

import asyncio

import pytest
from tests.support.a2a_agent import Served, served

from waza.errors import RunError
from waza.m365.a2a import A2AAgent
from waza.m365.agents import Credentials, Reply
from waza.m365.document import Item
from waza.m365.model import Turn

ITEM = Item(number=1, id="one", turns=(Turn(prompt="unused"),))


def ask(url: str, *prompts: str, credentials: Credentials | None = None, attempts: int = 1) -> list[Reply]:
    async def conversation() -> list[Reply]:
        agent = A2AAgent(url, credentials or Credentials(), 20, [0.0] * (attempts - 1))
        try:
            await agent.start()
            talk = await agent.open(ITEM)
            return [await talk.send(prompt) for prompt in prompts]
        finally:
            await agent.aclose()

    return asyncio.run(conversation())


@pytest.fixture(params=[False, True], ids=["message", "streamed"])
def agent(request: pytest.FixtureRequest):
    with served(streaming=request.param) as found:
        yield found


def test_prompts_of_a_conversation_share_their_context(agent: Served):
    first = ask(agent.url, "Grüße", "and the hotel?")
    second = ask(agent.url, "Grüße")
    assert [reply.text for reply in first] == ["1: Grüße", "2: and the hotel?"]
    assert [reply.text for reply in second] == ["1: Grüße"]
    assert agent.repeater.prompts == ["Grüße", "and the hotel?", "Grüße"]


def test_a_failed_task_is_no_answer(agent: Served):
    (reply,) = ask(agent.url, "FAIL")
    assert reply.failure
    assert reply.failure.cause == "the agent's task ended as failed: no luck today"
    assert reply.failure.code == "agentRequestFailed"


def test_a_busy_agent_is_asked_again_and_then_given_up_with_a_code_of_its_own(agent: Served):
    agent.busy = 2
    (reply,) = ask(agent.url, "hello", attempts=3)
    assert reply.text == "1: hello"
    assert agent.requests == 3
    agent.busy = 9
    (reply,) = ask(agent.url, "hello", attempts=2)
    assert reply.failure
    assert reply.failure.code == "agentThrottled"
    assert agent.requests == 5


@pytest.mark.parametrize(
    ("header", "value", "credentials"),
    [
        ("Authorization", "Bearer hush-hush", Credentials(token="hush-hush")),
        ("X-Desk-Key", "hush-hush", Credentials(key="hush-hush")),
    ],
)
def test_keys_go_where_the_card_says_and_nowhere_else(header: str, value: str, credentials: Credentials):
    with served(headers={header: value}) as agent:
        assert ask(agent.url, "hello", credentials=credentials)[0].text == "1: hello"
        (refused,) = ask(agent.url, "hello", credentials=Credentials(token="wrong", key="wrong"))
    assert refused.failure
    assert "401" in refused.failure.cause
    assert "wrong" not in refused.failure.cause
    assert "hush" not in repr(credentials)


def test_an_address_without_an_agent_stops_the_run():
    with served() as agent:
        url = agent.url
    with pytest.raises(RunError, match="there is no A2A agent at"):
        ask(url, "hello")
