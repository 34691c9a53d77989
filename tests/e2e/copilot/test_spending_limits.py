"""Limits on the real runtime: of tokens in each phase, and errors that pass."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import definition, run, task, write_suite
from tests.support.model_server import Call, Reply, Usage
from tests.support.program import write_tree

pytestmark = pytest.mark.slow

JUDGE = {"type": "prompt", "name": "asks", "config": {"prompt": "VERDICT"}}
SCRIPTS = {
    "VERDICT": [
        Reply("", [Call("set_waza_grade_pass")], usage=Usage(100, 10)),
        Reply("ok", usage=Usage(100, 10)),
    ],
    "": [Reply("fine", usage=Usage(1000, 20))],
}


def limited(root: Path, most: int, **keys: Any) -> Path:
    config = {"limits": {"max_total_tokens": most}, "skill_directories": ["skills"]}
    tasks = {"a": task("ONE", follow_up_prompts=["TWO", "THREE"], graders=[JUDGE])}
    return write_suite(root, tasks, workers=1, config=config, **keys)


@pytest.mark.parametrize(
    ("most", "asked", "status"),
    [
        (1500, ["ONE", "TWO"], "error"),
        (3000, ["ONE", "TWO", "THREE"], "error"),
        (3200, ["ONE", "TWO", "THREE", "VERDICT"], "passed"),
    ],
    ids=["agent", "judge", "trigger tests"],
)
def test_a_limit_stops_a_run_within_one_turn_in_each_phase(
    tmp_path: Path, most: int, asked: list[str], status: str
):
    tests = {"skill": "greeter", "should_trigger_prompts": [{"prompt": "TRIGGER"}]}
    write_tree(
        tmp_path,
        {"skills/greeter/SKILL.md": definition("greeter"), "trigger_tests.yaml": json.dumps(tests)},
    )
    seen = run(limited(tmp_path, most, skill="greeter"), SCRIPTS)
    prompts = seen.server.prompts()
    assert len(prompts) == len(asked)
    assert all(text in prompt for text, prompt in zip(asked, prompts, strict=True))
    assert seen.ended.code == 1
    assert seen.results["metadata"]["run_status"] == "limit"
    assert "config.limits.max_total_tokens is met" in seen.results["metadata"]["limit"]
    assert "trigger_metrics" not in seen.results
    assert seen.run("a")["status"] == status
    limited(tmp_path, 1_000_000, skill="greeter")
    more = run(tmp_path / "eval.yaml", SCRIPTS, "--resume")
    assert more.results["metadata"]["run_status"] == "complete"
    assert (
        more.results["trigger_metrics"]["true_positives"] + more.results["trigger_metrics"]["false_negatives"]
        == 1
    )
    assert more.run("a")["status"] == "passed"
