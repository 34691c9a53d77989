"""Judges behind HTTP that send too much, or lead elsewhere: neither is gone along with."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.support.http_server import Server, endless, send, serving

from waza.kit import http
from waza.m365.custom import prompty_model
from waza.m365.judges.http import HttpJudge
from waza.m365.judges.judge_model import JudgeError, Message
from waza.m365.judges.service import openai_service

REPLY = {"choices": [{"message": {"content": "4"}}]}


def judge_says(url: str) -> str:
    async def whole() -> str:
        judge = HttpJudge(openai_service({"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "hush-key"}))
        try:
            return (await judge.complete([Message("user", "Q")])).text
        except JudgeError as error:
            return str(error)
        finally:
            await judge.aclose()

    return asyncio.run(whole())


def prompty_says(url: str) -> str:
    configuration = {"type": "openai", "base_url": url, "api_key": "hush-key", "model": "m"}
    prompty_model._client.cache_clear()
    try:
        return str(prompty_model.ask(configuration, "chat/completions", {"messages": []}, waits=()))
    except JudgeError as error:
        return str(error)
    finally:
        prompty_model._client().close()
        prompty_model._client.cache_clear()


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "MAX_BODY", 300_000)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


@pytest.fixture(params=[judge_says, prompty_says], ids=["judge", "prompty"])
def says(request: pytest.FixtureRequest) -> Callable[[str], str]:
    found: Callable[[str], str] = request.param
    return found


def test_a_reply_is_read(server: Server, says: Callable[[str], str]):
    server.post = lambda request: send(request, REPLY)
    assert "4" in says(server.url)
    assert server.requests[0][2]["Accept-Encoding"] == "identity"


def test_a_reply_without_end_is_given_up_at_once(server: Server, says: Callable[[str], str]):
    server.post = lambda request: endless(request, "application/json")
    assert f"{server.url}/chat/completions answered with more than 300,000 bytes" in says(server.url)
    assert len(server.requests) == 1


def test_a_compressed_reply_is_not_read(server: Server, says: Callable[[str], str]):
    packed = json.dumps(REPLY).encode()
    server.post = lambda request: send(request, packed, Content_Encoding="gzip")
    assert "compressed its answer, which was not asked for" in says(server.url)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_leads_a_key_to_another_server(server: Server, says: Callable[[str], str], status: int):
    def post(request: Any) -> None:
        send(request, b"", status, Location=f"{other.url}/x")

    server.post = post
    with serving() as other:
        other.get = other.post = lambda request: send(request, REPLY)
        assert f" {status}: " in says(server.url)
        assert other.requests == []
