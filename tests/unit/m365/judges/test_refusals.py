"""Models that refuse parameters are asked once more without, by built-in judges and by custom ones alike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.support.model_script import Reply, Turn
from tests.support.model_server import ModelServer

from waza.m365.custom import prompty_model
from waza.m365.judges.http import HttpJudge
from waza.m365.judges.judge_model import JudgeError, Message
from waza.m365.judges.refusals import Refusals
from waza.m365.judges.service import openai_service

Asked = Callable[[ModelServer, int], list[str]]
LIMIT_REFUSED = "Unsupported parameter: 'max_tokens' is not supported with this model."


def refusing(**refused: str) -> Callable[[Turn], Reply]:
    """A model that refuses parameters, each with the code that the keyword says."""

    def answer(turn: Turn) -> Reply:
        for name, code in refused.items():
            if name in turn.body:
                error = {"message": f"Unsupported: '{name}'", "param": name, "code": code}
                return Reply(status=400, body={"error": error})
        return Reply('{"score": 4}')

    return answer


def built_in(server: ModelServer, times: int) -> list[str]:
    async def whole() -> list[str]:
        judge = HttpJudge(openai_service({"OPENAI_BASE_URL": server.base_url, "OPENAI_MODEL": "prod-judge"}))
        try:
            return [(await judge.complete([Message("user", "Q")])).text for _ in range(times)]
        finally:
            await judge.aclose()

    return asyncio.run(whole())


def custom(server: ModelServer, times: int) -> list[str]:
    configuration = {"type": "openai", "base_url": server.base_url, "model": "prod-judge"}
    question = {"messages": [{"role": "user", "content": "Q"}], "max_tokens": 800, "temperature": 0}
    try:
        answers = [
            prompty_model.ask(configuration, "chat/completions", question, waits=()) for _ in range(times)
        ]
        return [answer["choices"][0]["message"]["content"] for answer in answers]
    finally:
        prompty_model._client().close()
        prompty_model._client.cache_clear()


@pytest.fixture(params=[built_in, custom], ids=["built-in", "custom"])
def asked(request: pytest.FixtureRequest) -> Asked:
    found: Asked = request.param
    return found


def sent(server: ModelServer) -> list[set[str]]:
    """Which parameters that models may refuse each question had."""
    known = {"max_tokens", "max_completion_tokens", "temperature"}
    return [known & set(request.body) for request in server.requests]


def test_a_reasoning_model_behind_any_name_is_asked_once_more_and_that_is_remembered(asked: Asked):
    step = refusing(max_tokens="unsupported_parameter", temperature="unsupported_value")
    with ModelServer({"": [step]}) as server:
        assert asked(server, 2) == ['{"score": 4}'] * 2
        bodies = [request.body for request in server.requests]
    assert sent(server) == [
        {"max_tokens", "temperature"},
        {"max_completion_tokens", "temperature"},
        {"max_completion_tokens"},
        {"max_completion_tokens"},
    ]
    assert bodies[-1]["max_completion_tokens"] == 8000


def test_a_model_that_takes_no_limit_at_all_gets_none(asked: Asked):
    step = refusing(max_tokens="unsupported_parameter", max_completion_tokens="unsupported_parameter")
    with ModelServer({"": [step]}) as server:
        assert asked(server, 1) == ['{"score": 4}']
    assert sent(server)[-1] == {"temperature"}


def test_another_bad_request_is_not_repeated(asked: Asked):
    with ModelServer({"": [refusing(temperature="invalid_value")]}) as server:
        with pytest.raises(JudgeError, match="'temperature'"):
            asked(server, 1)
        assert len(server.requests) == 1


def test_a_model_that_refuses_the_messages_is_not_asked_for_ever(asked: Asked):
    with ModelServer({"": [refusing(messages="unsupported_value")]}) as server:
        with pytest.raises(JudgeError, match="'messages'"):
            asked(server, 1)
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        (b'{"error": {"code": "unsupported_parameter", "message": "no \'max_tokens\' here"}}', "max_tokens"),
        (b'{"error": {"code": "unsupported_parameter", "param": "seed"}}', ""),
        (b'{"error": "unsupported_parameter"}', ""),
        (b"[1]", ""),
        (b"<html>", ""),
    ],
)
def test_the_refused_parameter_is_read_from_the_answer(answer: bytes, name: str):
    body: dict[str, Any] = {"max_tokens": 9000, "messages": []}
    refusals = Refusals()
    assert refusals.learn(body, answer) == name
    assert refusals.fit(body).get("max_completion_tokens") == (9000 if name else None)
