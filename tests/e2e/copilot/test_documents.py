"""Evaluation documents with a real agent, a skill, and judges: the runtime on a scripted model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import bash, definition
from tests.support.model_server import ModelServer, Reply, Scripts, Turn
from tests.support.program import Ended, newest_results, strict_json, waza, write_tree
from tests.support.runtime import copilot_environment

pytestmark = pytest.mark.slow

VERDICT = json.dumps({"score": 4, "reason": "it answers"})
JUDGED: dict[str, Any] = {"Relevance": {}}
THREAD = [
    {"prompt": "GREET-ME", "context": "CONTEXT-OF-JUDGES"},
    {"prompt": "AND-AGAIN", "evaluators": {"PartialMatch": {}}, "expected_response": "hello once more"},
]


def evaluated(
    root: Path, scripts: Scripts, *flags: str, **env: str
) -> tuple[Ended, dict[str, Any], ModelServer]:
    items = [{"name": "greetings", "turns": THREAD}]
    text = {"schemaVersion": "1.7.0", "default_evaluators": JUDGED, "items": items}
    write_tree(root, {"evals.json": json.dumps(text), "skills/greeter/SKILL.md": definition("greeter")})
    with ModelServer(scripts) as server:
        variables = {key: value.replace("SERVER", server.base_url) for key, value in env.items()}
        asked = ("m365", "run", "evals.json", "--agent", "copilot-sdk", "-m", "test-model", *flags)
        ended = waza(*asked, "-o", "r.json", cwd=root, env=copilot_environment(server, **variables))
    assert ended.code in (0, 1), ended.err
    return ended, strict_json((root / "r.json").read_text(encoding="utf-8")), server


def test_an_agent_with_a_skill_is_judged_over_http_and_sees_no_key_of_the_judge(tmp_path: Path):
    def judged(turn: Turn) -> Reply:
        assert "hello [] [seen]" in turn.user
        return Reply(VERDICT)

    scripts: Scripts = {
        "GREET-ME": [
            Reply(calls=[bash('echo "key=[$OPENAI_API_KEY] open=[$OPEN]"')]),
            lambda turn: Reply(
                "hello [] [seen]" if "key=[] open=[seen]" in turn.tool_results[-1] else "leaked"
            ),
        ],
        "AND-AGAIN": [Reply("hello once more")],
    }
    scripts = {"hello [] [seen]": [judged], "hello once more": [Reply(VERDICT)], **scripts}
    ended, result, server = evaluated(
        tmp_path,
        scripts,
        "--skill",
        "skills/greeter",
        OPENAI_API_KEY="hush-hush-hush",
        OPENAI_BASE_URL="SERVER",
        OPENAI_MODEL="test-model",
        OPEN="seen",
    )
    first, second = result["items"][0]["turns"]
    assert (first["response"], second["response"]) == ("hello [] [seen]", "hello once more"), ended.err
    assert ended.code == 0
    assert first["scores"]["relevance"]["score"] == 4
    assert list(second["scores"]) == ["relevance", "partialMatch"]
    keys = {request.headers["authorization"] for request in server.requests if request.turn}
    assert keys == {"Bearer unused", "Bearer hush-hush-hush"}
    told = [
        turn for turn in (request.turn for request in server.requests) if turn and turn.user == "GREET-ME"
    ]
    assert all("CONTEXT-OF-JUDGES" not in turn.system + turn.user for turn in told)
    assert any("greeter" in turn.system for turn in told)
    run = newest_results(tmp_path)["tasks"][0]["runs"][0]
    assert [event["tool_name"] for event in run["tool_events"]] == ["bash"]


def test_copilot_can_be_the_judge_as_well(tmp_path: Path):
    scripts: Scripts = {
        "hello there": [Reply(f"Let me see.\n```json\n{VERDICT}\n```")],
        "hello once more": [Reply("no opinion")],
        "GREET-ME": [Reply("hello there")],
        "AND-AGAIN": [Reply("hello once more")],
    }
    ended, result, _ = evaluated(
        tmp_path, scripts, "--judge", "copilot", GITHUB_COPILOT_JUDGE_MODEL="test-model"
    )
    first, second = result["items"][0]["turns"]
    assert (ended.code, first["status"], second["status"]) == (1, "pass", "partial")
    assert first["scores"]["relevance"]["reason"] == "it answers"
    assert second["error"]["message"] == "Agent response obtained. 1 of 2 evaluators failed to run."
