"""GitHub Copilot itself: an agent that may only read, in two turns of one session.

    ENABLE_COPILOT_TESTS=true GITHUB_TOKEN="$(gh auth token)" python -m pytest tests/e2e/copilot/test_live.py

It needs the network and a login, and costs premium requests. Everything that can be shown with a scripted model
is shown by the other tests here.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import definition, task, write_suite
from tests.support.program import waza, write_tree
from tests.support.runtime import runtime_path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("ENABLE_COPILOT_TESTS") != "true",
        reason="asks GitHub Copilot itself, which costs money: set ENABLE_COPILOT_TESTS=true, and GITHUB_TOKEN",
    ),
]

SECRET_WORD = "marzipan"
ASK = "Read the file word.txt with your tools, and answer with the one word in it."
AGAIN = "Read the file other.txt with your tools, and answer with its word and the first one."


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    root = tmp_path_factory.mktemp("live")
    write_tree(
        root, {"agents/reader.agent.md": definition("reader", "[read]", "You read files, nothing else.")}
    )
    files = [{"path": "word.txt", "content": SECRET_WORD}, {"path": "other.txt", "content": "nougat"}]
    suite = write_suite(
        root,
        {"READ": task(ASK, files=files, follow_up_prompts=[AGAIN])},
        skill="reader",
        graders=[{"type": "text", "name": "said", "config": {"contains": [SECRET_WORD, "nougat"]}}],
        config={"model": os.environ.get("WAZA_TEST_MODEL", "gpt-4.1"), "skill_directories": ["agents"]},
    )
    unset = dict.fromkeys(["COPILOT_BASE_URL", "COPILOT_PROVIDER_BASE_URL"], "")
    env = {**unset, "COPILOT_CLI_PATH": os.environ.get("COPILOT_CLI_PATH", str(runtime_path()))}
    ended = waza("run", suite, "-v", cwd=root, env=env, limit=600)
    assert ended.code == 0, ended.err
    (found,) = ended.results()["tasks"]
    first: dict[str, Any] = found["runs"][0]
    return first


def test_an_allowed_read_in_the_first_and_in_the_resumed_turn(run: dict[str, Any]):
    read = [event for event in run["tool_events"] if event["success"]]
    paths = {Path(str(event["args"].get("path"))).name for event in read}
    assert {"word.txt", "other.txt"} <= paths
    assert SECRET_WORD in run["final_output"]


def test_nothing_was_denied(run: dict[str, Any]):
    digest = run["session_digest"]
    assert digest["tool_policy_mode"] == "allow_list"
    assert digest.get("tool_policy_denials", []) == []


def test_what_it_cost_is_known(run: dict[str, Any]):
    usage = run["session_digest"]["usage"]
    assert usage["input_tokens"] > 0
    assert usage["output_tokens"] > 0
    assert "provider" not in usage
