"""Questions to models: the shapes of requests, and what is tried again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import httpx
import pytest

from waza.m365.custom import prompty_model
from waza.m365.custom.prompty import RETRY_WAITS
from waza.m365.custom.prompty_model import ask
from waza.m365.judges.judge_model import JudgeError

QUESTION = {"messages": [{"role": "user", "content": "Q"}]}
OPENAI = {"type": "openai", "base_url": "http://model.test/v1", "api_key": "k", "model": "m"}
AZURE = {
    "type": "azure_openai",
    "azure_endpoint": "http://model.test",
    "azure_deployment": "dep",
    "api_key": "k",
    "api_version": "2024-12-01-preview",
}


class Server:
    """Answers requests by a list, the last entry for ever; an exception breaks the connection."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.replies: list[httpx.Response | Exception] = [httpx.Response(200, json={"ok": True})]

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        return httpx.Response(reply.status_code, headers=reply.headers, content=reply.content)


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    """The server behind the client; waiting takes no time and is noted."""
    server = Server()
    with httpx.Client(transport=httpx.MockTransport(server)) as client:
        monkeypatch.setattr(prompty_model, "_client", lambda: client)
        yield server


@pytest.fixture
def waited(monkeypatch) -> list[float]:
    noted: list[float] = []
    monkeypatch.setattr(prompty_model, "time", SimpleNamespace(sleep=noted.append))
    return noted


def asked(configuration: dict[str, Any], **options: Any) -> Any:
    return ask(configuration, "chat/completions", QUESTION, **{"waits": RETRY_WAITS, **options})


# Requests


@pytest.mark.parametrize("base_url", ["http://model.test/v1", "http://model.test/v1/"])
def test_a_request_to_openai(server, base_url):
    assert asked({**OPENAI, "base_url": base_url, "organization": "org"}) == {"ok": True}
    (request,) = server.requests
    assert (request.method, str(request.url)) == ("POST", "http://model.test/v1/chat/completions")
    assert request.headers["authorization"] == "Bearer k"
    assert request.headers["openai-organization"] == "org"
    assert request.read() == b'{"model":"m","messages":[{"role":"user","content":"Q"}]}'


@pytest.mark.parametrize("endpoint", ["http://model.test", "http://model.test/"])
def test_a_request_to_azure(server, endpoint):
    asked({**AZURE, "azure_endpoint": endpoint})
    (request,) = server.requests
    path = "/openai/deployments/dep/chat/completions?api-version=2024-12-01-preview"
    assert str(request.url) == f"http://model.test{path}"
    assert request.headers["api-key"] == "k"
    assert "authorization" not in request.headers
    assert request.read() == b'{"model":"dep","messages":[{"role":"user","content":"Q"}]}'


def test_an_old_interface_has_a_path_of_its_own(server):
    ask(OPENAI, "completions", {"prompt": "Q"}, waits=())
    assert server.requests[0].url.path == "/v1/completions"


def test_defaults_of_a_configuration(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://other.test/v1")
    asked({"type": "openai", "base_url": None, "model": "m", "unknown": 1})
    monkeypatch.delenv("OPENAI_BASE_URL")
    asked({"type": "openai", "api_key": "k", "model": "m"})
    asked({**AZURE, "api_version": None})
    assert [str(request.url) for request in server.requests] == [
        "http://other.test/v1/chat/completions",
        "https://api.openai.com/v1/chat/completions",
        "http://model.test/openai/deployments/dep/chat/completions?api-version=2024-02-01",
    ]
    assert "authorization" not in server.requests[0].headers  # a server of one's own may want no key


@pytest.mark.parametrize(
    ("configuration", "text"),
    [
        ({"type": "openai", "model": "m"}, "the model's configuration has no 'api_key'"),
        ({**OPENAI, "model": None}, "the model's configuration has no 'model'"),
        ({**AZURE, "azure_endpoint": ""}, "the model's configuration has no 'azure_endpoint'"),
        ({**AZURE, "azure_deployment": ""}, "the model's configuration has no 'azure_deployment'"),
        ({**OPENAI, "type": "serverless"}, "Not Support connection type serverless for embedding api. "),
        (
            {**OPENAI, "base_url": "http://[::1"},
            "the question cannot be sent to http://[::1/chat/completions: ",
        ),
        ({**OPENAI, "api_key": "k\ney"}, "'api_key' of the model's configuration has characters that no"),
        ({**AZURE, "api_key": "ключ"}, "'api_key' of the model's configuration has characters that no"),
    ],
)
def test_configurations_that_do_not_do(server, monkeypatch, configuration, text):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(JudgeError) as caught:
        asked(configuration)
    assert str(caught.value).startswith(text)
    assert server.requests == []


@pytest.mark.parametrize("base_url", ["ftp://model.test", "model.test/v1"])
def test_an_address_that_is_none_is_not_tried_again(waited, base_url):
    with pytest.raises(JudgeError, match=r"the question cannot be sent to .* protocol"):
        asked({**OPENAI, "base_url": base_url})
    assert waited == []


def test_azure_without_a_key_signs_in_where_that_is_possible(server, monkeypatch):
    keyless = {**AZURE, "api_key": None}
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    prompty_model._credential.cache_clear()
    with pytest.raises(JudgeError, match=r"has no 'api_key'; set one, or install azure-identity"):
        asked(keyless)
    credential = SimpleNamespace(get_token=lambda scope: SimpleNamespace(token=f"token for {scope}"))
    identity = ModuleType("azure.identity")
    identity.DefaultAzureCredential = lambda: credential  # type: ignore[attr-defined]  # made up here
    monkeypatch.setitem(sys.modules, "azure", ModuleType("azure"))
    monkeypatch.setitem(sys.modules, "azure.identity", identity)
    asked(keyless)
    prompty_model._credential.cache_clear()
    scope = "https://cognitiveservices.azure.com/.default"
    assert server.requests[0].headers["authorization"] == f"Bearer token for {scope}"


# Tries


@pytest.mark.parametrize("fault", [500, 503, 429, httpx.ConnectError("refused"), httpx.ReadTimeout("slow")])
def test_a_busy_or_broken_server_is_asked_again(server, waited, fault):
    broken = httpx.Response(fault) if isinstance(fault, int) else fault
    server.replies = [broken, broken, httpx.Response(200, json={"ok": 1})]
    assert asked(OPENAI) == {"ok": 1}
    assert waited == list(RETRY_WAITS[:2])


def test_what_the_server_asks_for_is_waited(server, waited):
    server.replies = [
        httpx.Response(429, headers={"retry-after": "1"}),
        httpx.Response(429, headers={"retry-after": "-5"}),
        httpx.Response(429, headers={"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}),
        httpx.Response(200, json={}),
    ]
    asked(OPENAI)
    assert waited == [1, 0, 0]


@pytest.mark.parametrize("seconds", ["3600", "inf", "nan"])
def test_nobody_waits_for_an_hour(server, waited, seconds):
    server.replies = [httpx.Response(429, headers={"retry-after": seconds})]
    with pytest.raises(
        JudgeError,
        match=r"answered with HTTP 429: Too Many Requests; it asks to wait (3600|31536000) s, and no more",
    ):
        asked(OPENAI)
    assert waited == []


@pytest.mark.parametrize(
    ("status", "tries"), [(500, 4), (429, 4), (422, 3), (400, 1), (401, 1), (404, 1), (302, 1)]
)
def test_how_often_is_tried(server, waited, status, tries):
    server.replies = [httpx.Response(status, json={"error": {"message": "no"}})]
    with pytest.raises(JudgeError) as caught:
        asked(OPENAI, waits=(1, 2, 3))
    often = f" ({tries} tries)" if tries > 1 else ""
    assert (
        str(caught.value)
        == f"the model at http://model.test/v1/chat/completions answered with HTTP {status}: no{often}"
    )
    assert (len(server.requests), waited) == (tries, [1, 2, 3][: tries - 1])


def test_without_waits_there_is_one_try(server):
    server.replies = [httpx.ConnectError("[Errno 111] Connection refused")]
    with pytest.raises(JudgeError) as caught:
        asked(OPENAI, waits=())
    assert str(caught.value) == (
        "the model at http://model.test/v1/chat/completions cannot be reached: ConnectError: [Errno 111] Connection refused"
    )


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (httpx.Response(400, text="plain words"), "answered with HTTP 400: plain words"),
        (httpx.Response(400, json={"error": "words"}), 'answered with HTTP 400: {"error":"words"}'),
        (httpx.Response(404), "answered with HTTP 404: Not Found"),
        (
            httpx.Response(200, text="<html>"),
            "the model at http://model.test/v1/chat/completions answered no JSON but '<html>'",
        ),
    ],
)
def test_complaints_of_all_shapes(server, reply, text):
    server.replies = [reply]
    with pytest.raises(JudgeError) as caught:
        asked(OPENAI)
    assert text in str(caught.value)


def test_a_key_is_in_no_message(server):
    server.replies = [httpx.Response(401, json={"error": {"message": "bad key very-secret"}})]
    with pytest.raises(JudgeError) as caught:
        asked({**OPENAI, "api_key": "very-secret\n"})
    address = "http://model.test/v1/chat/completions"
    assert str(caught.value) == f"the model at {address} answered with HTTP 401: bad key [REDACTED]"
    assert server.requests[0].headers["authorization"] == "Bearer very-secret"


@pytest.mark.parametrize(("given", "used"), [(None, 600.0), (5.0, 5.0)])
def test_a_time_limit_is_that_of_each_try(server, given, used):
    asked(OPENAI, timeout=given)
    assert server.requests[0].extensions["timeout"]["read"] == used
