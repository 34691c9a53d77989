import asyncio
import builtins
import importlib
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

import pytest

from waza.m365.judges.chat import RetryPolicy
from waza.m365.judges.choose import make_judge
from waza.m365.judges.http import HttpJudge
from waza.m365.judges.judge_model import LIMIT, JudgeError, JudgeModel, Message
from waza.m365.judges.service import azure_service, openai_service

Answer: TypeAlias = tuple[int, dict[str, str], Any]

KEY = "sk-secret-0123456789"
ASK = [Message("system", "Judge."), Message("user", "Is it good? \ud800 ✓")]
GOOD: Answer = (200, {}, {"choices": [{"message": {"content": '{"score": 4}'}, "finish_reason": "stop"}]})
HASTY = RetryPolicy(waits=(0.0, 0.0), longest_wait=0.5)


class Service:
    """A chat completion service on this machine that gives its answers in order; the last one lasts.

    An answer is status, headers and body, or a function that returns them.
    """

    def __init__(self, *answers: Answer | Callable[[], Answer]) -> None:
        self.answers, self.requests = list(answers), list[dict[str, Any]]()
        self.url = ""

    def take(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        low = {name.lower(): value for name, value in headers.items()}
        self.requests.append({"path": path, "headers": low, "body": json.loads(body)})
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer() if callable(answer) else answer


@contextmanager
def serving(*answers: Answer | Callable[[], Answer]) -> Iterator[Service]:
    service = Service(*answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            status, headers, body = service.take(self.path, dict(self.headers), self.rfile.read(length))
            data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name of the base class
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        service.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield service
        finally:
            server.shutdown()
            thread.join()


def ask(judge: JudgeModel) -> str:
    async def whole() -> str:
        try:
            return (await judge.complete(ASK)).text
        finally:
            await judge.aclose()

    return asyncio.run(whole())


def openai(url: str, limit: float = LIMIT, **env: str) -> JudgeModel:
    service = openai_service({"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": KEY, **env})
    return HttpJudge(service, limit, HASTY)


def refused(judge: JudgeModel) -> str:
    with pytest.raises(JudgeError) as caught:
        ask(judge)
    assert KEY not in str(caught.value)
    return str(caught.value)


MESSAGES = [{"role": "system", "content": "Judge."}, {"role": "user", "content": "Is it good? ? ✓"}]


@pytest.mark.parametrize("backend", ["azure", ""])
def test_azure_is_asked_for_a_deployment(backend):
    with serving(GOOD) as service:
        env = {
            "AZURE_AI_OPENAI_ENDPOINT": service.url + "/",
            "AZURE_AI_API_KEY": KEY + "\n",
            "OPENAI_API_KEY": "no",
        }
        judge = make_judge(backend, env)
        assert ask(judge) == '{"score": 4}'
    assert judge.model_config == {
        "azure_endpoint": service.url,
        "azure_deployment": "gpt-4o-mini",
        "api_version": "2024-12-01-preview",
        "api_key": KEY,
    }
    (request,) = service.requests
    assert request["path"] == (
        "/openai/deployments/gpt-4o-mini/chat/completions?api-version=2024-12-01-preview"
    )
    assert request["headers"]["api-key"] == KEY
    assert "authorization" not in request["headers"]
    assert request["body"] == {
        "model": "gpt-4o-mini",
        "messages": MESSAGES,
        "response_format": {"type": "json_object"},
        "temperature": 0,
        "max_tokens": 800,
    }


def test_azure_has_other_variables_too():
    with serving(GOOD) as service:
        env = {
            "AZURE_OPENAI_ENDPOINT": service.url,
            "AZURE_OPENAI_API_KEY": KEY,
            "AZURE_AI_API_KEY": "of another endpoint",
            "AZURE_OPENAI_DEPLOYMENT": "my judge/2",
            "AZURE_AI_API_VERSION": "2025-01-01",
        }
        ask(make_judge("", env))
    assert service.requests[0]["path"].startswith("/openai/deployments/my%20judge%2F2/chat/completions?")
    assert service.requests[0]["path"].endswith("?api-version=2025-01-01")
    assert service.requests[0]["headers"]["api-key"] == KEY


@pytest.mark.parametrize("backend", ["openai", ""])
def test_openai_is_asked_for_a_model(backend):
    with serving(GOOD) as service:
        env = {
            "OPENAI_BASE_URL": f"{service.url}/v1/",
            "OPENAI_API_KEY": KEY,
            "OPENAI_MODEL": "o1pro",
            "X": "",
        }
        judge = make_judge(backend, env)
        assert ask(judge) == '{"score": 4}'
    assert judge.model_config == {"base_url": f"{service.url}/v1", "model": "o1pro", "api_key": KEY}
    (request,) = service.requests
    assert request["path"] == "/v1/chat/completions"
    assert request["headers"]["authorization"] == f"Bearer {KEY}"
    assert request["body"]["messages"] == MESSAGES
    assert request["body"]["model"] == "o1pro"
    assert request["body"]["temperature"] == 0


def test_a_server_of_ones_own_needs_no_key():
    with serving(GOOD) as service:
        ask(make_judge("", {"OPENAI_BASE_URL": service.url}))
    assert "authorization" not in service.requests[0]["headers"]


@pytest.mark.parametrize("model", ["o1", "o3-mini", "o4-mini", "gpt-5", "gpt-5.1-mini", "openai/gpt-5-nano"])
def test_reasoning_models_get_no_sampling_parameters(model):
    with serving(GOOD) as service:
        ask(openai(service.url, OPENAI_MODEL=model))
    body = service.requests[0]["body"]
    assert body.keys() == {"model", "messages", "response_format", "max_completion_tokens"}


BUSY = (429, {"retry-after": "0"}, {"error": {"message": "slow down"}})
LATER = (503, {"retry-after": "Wed, 01 Jan 2020 00:00:00 GMT"}, "<html>busy</html>")


def test_what_passes_by_itself_is_tried_again():
    with serving(BUSY, LATER, GOOD) as service:
        assert ask(openai(service.url)) == '{"score": 4}'
    assert len(service.requests) == 3


def test_waiting_for_a_new_try_is_reported(caplog):
    with serving((429, {"retry-after": "0.4"}, KEY), (500, {}, "")) as service:
        refused(openai(service.url))
    refused(openai(service.url))
    assert [(record.name, record.levelname) for record in caplog.records] == [
        ("waza.m365.judges.chat", "WARNING")
    ] * 4
    judge = "the judge gpt-4o-mini at 127.0.0.1"
    assert caplog.messages == [
        f"{judge} answers 429; asking again in 0 s (try 2 of 3)",
        f"{judge} answers 500; asking again in 0 s (try 3 of 3)",
        f"{judge} cannot be reached; asking again in 0 s (try 2 of 3)",
        f"{judge} cannot be reached; asking again in 0 s (try 3 of 3)",
    ]


@pytest.mark.parametrize(
    ("answer", "tries", "said"),
    [
        (BUSY, 3, "HTTP 429: slow down (3 tries)"),
        ((500, {}, ""), 3, "HTTP 500: Internal Server Error"),
        (
            (429, {"retry-after": "3600"}, "come back"),
            1,
            "HTTP 429: come back; it asks to wait 3600 s, and no more than 0.5 s are waited: run again later",
        ),
        (
            (503, {"retry-after": "inf"}, "gone"),
            1,
            "gone; it asks to wait 31536000 s, and no more than 0.5 s",
        ),
        (
            (401, {}, {"error": {"message": f"Incorrect key {KEY}"}}),
            1,
            "HTTP 401: Incorrect key [REDACTED]; check OPENAI_API_KEY",
        ),
        ((403, {}, "no"), 1, "HTTP 403: no; check OPENAI_API_KEY"),
        (
            (404, {}, f"no such deployment for {KEY}" + 1000 * "x"),
            1,
            "HTTP 404: no such deployment for [REDACTED]",
        ),
        ((302, {"location": "/elsewhere"}, ""), 1, "HTTP 302"),
        ((200, {}, f"nonsense {KEY}"), 1, "without a text: nonsense [REDACTED]"),
        ((200, {}, {"choices": []}), 1, "without a text"),
        ((200, {}, {"choices": [{"message": {"content": None}, "finish_reason": "length"}]}), 1, "cut off"),
        (
            (
                200,
                {},
                {"choices": [{"message": {"content": '{"score": 3, "rea'}, "finish_reason": "length"}]},
            ),
            1,
            """used up its limit of tokens ('length'), and its reply was cut off: {"score": 3, "rea""",
        ),
        (
            (200, {}, {"choices": [{"message": {"content": None, "refusal": "I cannot\n assess this."}}]}),
            1,
            "declined to judge: I cannot assess this.",
        ),
        (
            (200, {}, {"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}),
            1,
            "the content filter of its service stopped it",
        ),
        ((200, {}, {"choices": [{"message": {"content": " "}}]}), 1, "without a text"),
    ],
)
def test_a_breakdown_is_reported_without_the_key(answer, tries, said):
    with serving(answer) as service:
        text = refused(openai(service.url))
    assert said in text
    assert "the judge gpt-4o-mini at 127.0.0.1" in text
    assert len(text) < 400
    assert len(service.requests) == tries


def test_a_server_that_is_away_is_reported():
    with serving(GOOD) as service:
        pass
    text = refused(openai(service.url))
    assert "cannot be reached: ConnectError" in text
    assert text.endswith(" (3 tries); check whether the server runs, and OPENAI_BASE_URL")


def test_azure_has_its_own_variables_to_check():
    env = {"AZURE_OPENAI_ENDPOINT": "", "AZURE_OPENAI_API_KEY": KEY}
    with serving((401, {}, "who?")) as service:
        judge = HttpJudge(azure_service({**env, "AZURE_OPENAI_ENDPOINT": service.url}), retries=HASTY)
        assert refused(judge).endswith("HTTP 401: who?; check AZURE_OPENAI_API_KEY")
    assert refused(judge).endswith("; check whether the server runs, and AZURE_OPENAI_ENDPOINT")


def test_there_is_a_time_limit():
    held = threading.Event()

    def late() -> Answer:
        held.wait(30)
        return GOOD

    with serving(late) as service:
        judge = openai(service.url, limit=0.2)
        try:
            assert "gave no answer within 0.2 s" in refused(judge)
        finally:
            held.set()


def test_azure_without_a_key_needs_azure_identity(monkeypatch):
    monkeypatch.setitem(sys.modules, "azure", None)
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(JudgeError, match=r"(?s)AZURE_OPENAI_API_KEY is not set.*pip install azure-identity"):
        make_judge("", {"AZURE_OPENAI_ENDPOINT": "https://a.example"})


def test_azure_without_a_key_signs_in(tmp_path, monkeypatch):
    package = tmp_path / "azure"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "identity.py").write_text(
        "from types import SimpleNamespace\n"
        "class DefaultAzureCredential:\n"
        "    def get_token(self, scope):\n"
        "        return SimpleNamespace(token='token for ' + scope)\n",
        encoding="utf-8",
    )
    for name in ("azure", "azure.identity"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    with serving(GOOD, (400, {}, "no 'token for https://cognitiveservices.azure.com/.default'")) as service:
        env = {"AZURE_AI_OPENAI_ENDPOINT": service.url}
        judge = HttpJudge(azure_service(env), retries=HASTY)
        ask(judge)
        assert "no '[REDACTED]'" in refused(HttpJudge(azure_service(env), retries=HASTY))
    headers = service.requests[0]["headers"]
    assert headers["authorization"] == "Bearer token for https://cognitiveservices.azure.com/.default"
    assert "api-key" not in headers
    assert "api_key" not in judge.model_config
    for name in ("azure", "azure.identity"):
        sys.modules.pop(name, None)


def test_without_httpx_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "waza.m365.judges.http")
    monkeypatch.setitem(sys.modules, "httpx", None)
    real = builtins.__import__

    def without(name: str, *args: Any, **named: Any) -> Any:
        if name == "httpx":
            raise ModuleNotFoundError("No module named 'httpx'", name="httpx")
        return real(name, *args, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delattr("waza.m365.judges.http", raising=False)
    with pytest.raises(JudgeError, match=r"pip install 'waza\[m365\]'"):
        make_judge("openai", {"OPENAI_API_KEY": KEY})
