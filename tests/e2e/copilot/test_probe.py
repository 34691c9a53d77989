"""A model server that is dead, mute or refuses the key: the run ends before its first trial, and says why."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from tests.e2e.copilot.suites import run, task, write_suite
from tests.support.http_server import send, serving
from tests.support.model_server import ModelServer, Reply
from tests.support.program import Ended, waza
from tests.support.runtime import copilot_environment

pytestmark = pytest.mark.slow


def refused(tmp_path: Path, base_url: str) -> Ended:
    suite = write_suite(tmp_path, {"one": task("GREET"), "two": task("GREET")})
    with ModelServer() as server:
        env = copilot_environment(server, key="hush-key", COPILOT_BASE_URL=base_url)
        ended = waza("run", suite, cwd=tmp_path, env=env)
    assert ended.code == 2
    assert "hush" not in ended.err + ended.out
    assert "[1/2]" not in ended.err, "no trial was run"
    return ended


def test_a_dead_model_server_ends_the_run_before_its_first_trial(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as one:
        address = f"127.0.0.1:{one.getsockname()[1]}"
    assert (
        f"the model server at {address} cannot be reached (" in refused(tmp_path, f"http://{address}/v1").err
    )


@pytest.mark.parametrize(
    ("status", "said"),
    [(401, "refuses us (401); check its key"), (403, "refuses us (403)"), (503, "answers 503")],
)
def test_a_model_server_that_refuses_us_or_is_broken_is_reported(tmp_path: Path, status: int, said: str):
    with serving() as server:
        server.get = server.post = lambda request: send(request, {}, status)
        ended = refused(tmp_path, f"{server.url}/v1")
        assert [(method, path) for method, path, _, _ in server.requests] == [("GET", "/v1/models")]
    assert said in ended.err


def test_a_mute_model_server_is_not_waited_for_by_every_task(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as mute:
        ended = refused(tmp_path, f"http://127.0.0.1:{mute.getsockname()[1]}/v1")
    assert "does not answer within 15 s" in ended.err


def test_a_server_is_asked_for_its_models_once_and_need_not_have_a_list(tmp_path: Path):
    suite = write_suite(tmp_path, {"one": task("GREET"), "two": task("GREET")})
    seen = run(suite, {"GREET": [Reply("all is fine")]})
    assert [request.path for request in seen.server.requests if request.method == "GET"] == ["/v1/models"]
    assert seen.ended.code == 0
