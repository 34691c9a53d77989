"""Where a real agent's models are served, which there are, and which reasoning efforts they know."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result
from copilot import CopilotClient
from copilot.client import ModelInfo
from tests.e2e.copilot.suites import run, task, write_suite
from tests.support.model_server import ModelServer, Reply
from tests.support.program import Ended, waza, write_tree
from tests.support.runtime import runtime_path

from waza.cli.models import command
from waza.engine.provider import find_provider
from waza.errors import ExecutorError, RunError
from waza.executors.copilot_models import Model, check_effort, list_models
from waza.model.agent import Provider
from waza.model.loaded import ProviderKeys

pytestmark = pytest.mark.slow

NOTHING = dict.fromkeys(["COPILOT_BASE_URL", "COPILOT_PROVIDER_BASE_URL", "GITHUB_TOKEN", "GH_TOKEN"], "")
FINE = {"GO": [Reply("all is fine")]}


def no_login(**variables: str) -> dict[str, str]:
    """The variables of somebody who has the runtime, but no login and no server."""
    return {**NOTHING, "COPILOT_CLI_PATH": str(runtime_path()), **variables}


def project(root: Path, **provider: Any) -> Path:
    """A suite of one task, in a project with a model server of its own."""
    write_tree(root, {".waza.yaml": json.dumps({"provider": provider})} if provider else {})
    return write_suite(root, {"GO": task("GO")})


# --- the model server ---


@pytest.mark.parametrize(
    ("wire_api", "path"), [("completions", "/chat/completions"), ("responses", "/responses")]
)
def test_a_server_named_in_the_project(tmp_path: Path, wire_api: str, path: str):
    headers = {"X-Team": "evaluations", "X-Trace": "on"}
    with ModelServer(FINE) as server:
        suite = project(
            tmp_path,
            base_url=server.base_url,
            type="openai",
            wire_api=wire_api,
            api_key_env="HOUSE_SERVER",
            headers=headers,
        )
        given = no_login(COPILOT_WIRE_API="ignored without a base URL", HOUSE_SERVER="the house's own")
        ended = waza("run", suite, cwd=tmp_path, env=given)
    assert ended.code == 0, ended.err
    _, request = server.requests  # after the list of models
    assert request.path == f"/v1{path}"
    assert request.headers["authorization"] == "Bearer the house's own"
    assert {name: request.headers[name.lower()] for name in headers} == headers
    usage = ended.results()["tasks"][0]["runs"][0]["session_digest"]["usage"]
    assert (usage["provider"], usage["provider_host"]) == ("custom", server.base_url.split("/")[2])


def test_variables_win_over_the_project_and_short_names_over_long_ones(tmp_path: Path):
    suite = project(
        tmp_path, base_url="http://127.0.0.1:9/v1", api_key_env="NOT_SET", headers={"X-Team": "no"}
    )
    others = {
        "COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:9/v1",
        "COPILOT_PROVIDER_WIRE_API": "completions",
    }
    seen = run(suite, FINE, COPILOT_WIRE_API="responses", COPILOT_PROVIDER_API_KEY="long", **others)
    _, request = seen.server.requests
    assert request.path == "/v1/responses"
    assert request.headers["authorization"] == "Bearer unused"
    assert "x-team" not in request.headers


BAD_URLS = [
    "s3cret.example.com/v1",
    "ftp://u:s3cret@host/v1",
    "http://",
    "http://[s3cret/v1",
    "https://:80/s3cret",
]


@pytest.mark.parametrize("url", BAD_URLS)
def test_an_address_that_is_none_is_not_repeated(url: str):
    for environ, keys in (({"COPILOT_BASE_URL": url}, None), ({}, ProviderKeys(base_url=url))):
        with pytest.raises(RunError, match="is not the address of a server; use one like http://") as raised:
            find_provider(environ, keys)
        assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("place", ["variable", "project"])
def test_an_address_that_is_none_is_refused(tmp_path: Path, place: str):
    url = BAD_URLS[0]
    suite = project(tmp_path, **({"base_url": url} if place == "project" else {}))
    env = no_login(**({"COPILOT_BASE_URL": url} if place == "variable" else {}))
    ended = waza("run", suite, cwd=tmp_path, env=env)
    where = {"variable": "COPILOT_BASE_URL", "project": "provider.base_url in .waza.yaml"}[place]
    assert_refused(
        ended, f"Error: {where} is not the address of a server; use one like http://127.0.0.1:8080/v1"
    )
    assert "s3cret" not in ended.err + ended.out


def test_a_key_that_is_not_set_is_named(tmp_path: Path):
    suite = project(tmp_path, base_url="http://127.0.0.1:9/v1", api_key_env="HOUSE_SERVER")
    ended = waza("run", suite, cwd=tmp_path, env=no_login(HOUSE_SERVER=""))
    assert_refused(ended, "Error: the variable HOUSE_SERVER that provider.api_key_env names is not set")
    ended = waza("run", suite, "--executor", "mock", cwd=tmp_path, env={"HOUSE_SERVER": ""})
    assert ended.code == 1, "a mock needs no server"


def test_credentials_in_an_address_are_not_shown(tmp_path: Path):
    """The runtime repeats the address in what it says of a server that does not know what is asked."""
    with ModelServer({"GO": [Reply(status=404, body={})]}) as server:
        url = server.base_url.replace("//", "//user:s3cret@")
        ended = waza("run", project(tmp_path), "-v", cwd=tmp_path, env=no_login(COPILOT_BASE_URL=url))
    assert ended.code == 1
    assert "Resource not found on provider at http://" in ended.err
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"Resource not found" in written
    assert "s3cret" not in ended.out + ended.err
    assert b"s3cret" not in written


def assert_refused(ended: Ended, message: str) -> None:
    """In one message, before anything was run; only how to go on may stand before it."""
    assert ended.code == 2
    first = next(
        line for line in ended.err.splitlines(keepends=True) if not line.startswith("If this is cut")
    )
    assert ended.err[ended.err.index(first) :].startswith(message)
    assert "Traceback" not in ended.err
    assert not list(ended.cwd.glob(".waza/runs/*"))


def test_a_run_without_a_login_says_how_to_get_one(tmp_path: Path):
    ended = waza("run", project(tmp_path), cwd=tmp_path, env=no_login())
    assert_refused(ended, "Error: the Copilot runtime is not logged in.")
    for word in ("export GITHUB_TOKEN=", "export COPILOT_BASE_URL=", "--executor mock"):
        assert word in ended.err


# --- the list of models ---


def test_models_of_a_runtime_that_is_not_logged_in(tmp_path: Path):
    ended = waza("models", cwd=tmp_path, env=no_login())
    assert_refused(ended, "Error: the Copilot runtime is not logged in.")
    assert "export GITHUB_TOKEN=" in ended.err
    assert ended.out == ""


@pytest.mark.parametrize("place", ["variable", "project"])
def test_models_of_a_server_of_ones_own(tmp_path: Path, place: str):
    url = "http://user:s3cret@127.0.0.1:9/v1"
    project(tmp_path, **({"base_url": url} if place == "project" else {}))
    env = no_login(**({"COPILOT_BASE_URL": url} if place == "variable" else {}))
    ended = waza("models", cwd=tmp_path, env=env)
    assert_refused(ended, "Error: models come from 127.0.0.1:9 here, which is not asked for a list; unset")
    assert "s3cret" not in ended.err


def info(
    name: str, efforts: list[str] | None = None, window: int | None = None, *, vision: bool = False
) -> ModelInfo:
    """A model as the SDK tells of it."""
    limits = {} if window is None else {"max_context_window_tokens": window}
    capabilities = {"supports": {"vision": vision}, "limits": limits}
    return ModelInfo.from_dict({
        "id": name, "name": name.title(), "capabilities": capabilities, "supportedReasoningEfforts": efforts,
        "defaultReasoningEffort": efforts[0] if efforts else None,
    })  # fmt: skip


class Hosted:
    """A client as far as models go; only a login has a real list. It counts how often it is asked."""

    def __init__(self, *models: ModelInfo, error: Exception | None = None) -> None:
        self.models, self.error, self.asked = list(models), error, 0

    async def list_models(self) -> list[ModelInfo]:
        self.asked += 1
        if self.error:
            raise self.error
        return self.models

    @property
    def client(self) -> CopilotClient:
        return cast("CopilotClient", self)


OFFER = Hosted(
    info("thinker", ["low", "high"], 1_200_000, vision=True), info("plain", None, 128_999), info("auto", [])
)


def test_models_are_read_and_sorted():
    assert asyncio.run(list_models(OFFER.client)) == [
        Model(id="auto", name="Auto"),
        Model(id="plain", name="Plain", context_window=128_999),
        Model(
            id="thinker",
            name="Thinker",
            vision=True,
            context_window=1_200_000,
            supported_reasoning_efforts=["low", "high"],
            default_reasoning_effort="low",
        ),
    ]
    with pytest.raises(ExecutorError, match="does not list its models: no way"):
        asyncio.run(list_models(Hosted(error=RuntimeError("no way")).client))


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> list[Model]:
    """What the command shows, as if somebody were logged in."""
    found = asyncio.run(list_models(OFFER.client))

    async def hosted() -> list[Model]:
        return found

    monkeypatch.setattr("waza.cli.copilot.list_hosted_models", hosted)
    return found


def shown(*args: str) -> Result:
    return CliRunner().invoke(command, args, standalone_mode=False)


def test_models_as_a_table(models: list[Model]):
    lines = [line.split() for line in shown().stdout.splitlines()]
    assert lines[0] == ["ID", "Name", "Vision", "Context", "Efforts"]
    assert lines[2:] == [
        ["auto", "Auto", "no", "-", "-"],
        ["plain", "Plain", "no", "128k", "-"],
        ["thinker", "Thinker", "yes", "1M", "low,", "high"],
        [],
        [str(len(models)), "models"],
    ]


def test_models_as_json(models: list[Model]):
    found = json.loads(shown("--json").stdout)
    assert [one["id"] for one in found] == [model.id for model in models]
    assert found[2] == {
        "id": "thinker",
        "name": "Thinker",
        "vision": True,
        "context_window": 1_200_000,
        "supported_reasoning_efforts": ["low", "high"],
        "default_reasoning_effort": "low",
    }


# --- reasoning efforts ---


def check(hosted: Hosted, model: str, effort: str, provider: Provider | None = None) -> None:
    asyncio.run(check_effort(hosted.client, model, effort, provider))


@pytest.mark.parametrize(
    ("model", "effort", "words"),
    [
        ("", "high", "needs a model that is named"),
        ("auto", "high", "needs a model that is named"),
        ("unheard-of", "high", "there is no model 'unheard-of'"),
        ("plain", "high", "the model 'plain' knows no reasoning efforts"),
        ("thinker", "max", "knows the efforts low, high, not 'max'"),
    ],
)
def test_an_effort_that_a_hosted_model_does_not_know(model: str, effort: str, words: str):
    with pytest.raises(ExecutorError, match=words) as raised:
        check(OFFER, model, effort)
    assert "`waza models` lists the models and their efforts" in str(raised.value)


def test_efforts_that_need_no_question():
    check(OFFER, "thinker", "high")
    before = OFFER.asked
    check(OFFER, "unheard-of", "")
    check(OFFER, "", "high", Provider(base_url="http://127.0.0.1:9/v1"))
    assert OFFER.asked == before


def test_an_effort_is_sent_to_a_server_of_ones_own(tmp_path: Path):
    suite = write_suite(tmp_path, {"GO": task("GO")}, config={"reasoning_effort": "high"})
    _, request = run(suite, FINE).server.requests
    assert request.body["reasoning_effort"] == "high"
