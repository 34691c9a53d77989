"""What authors ask of the real runtime: the quality of a skill, and a description that is tuned."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.support.model_server import Call, ModelServer, Reply, Step, Turn
from tests.support.program import strict_json, waza, write_tree
from tests.support.runtime import copilot_environment

pytestmark = pytest.mark.slow

NAMES = ("clarity", "completeness", "trigger_precision", "scope_coverage", "anti_patterns")
QUALITY = {
    "dimensions": [{"name": name, "score": 3, "feedback": "So so."} for name in NAMES],
    "overall_score": 3,
    "summary": "So so.",
}
POSITIVE = [f"audit module {n}" for n in range(22)]
NEGATIVE = [f"what is {n}" for n in range(4)]


def skill(name: str, description: str) -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n# Body\n"


def choose(turn: Turn) -> Reply:
    """Use the skill if the list of skills that the request has says that it audits."""
    listed = json.dumps(turn.body)
    assert "Writes poems." in listed
    if "audit module" in turn.user and re.search("Reviews and audits", listed):
        assert "Reviews code." not in listed
        return Reply(calls=[Call("skill", {"skill": "review"})])
    return Reply("fine")


def test_a_judge_of_the_runtime_is_asked_and_a_description_is_tuned(tmp_path: Path):
    tests = {"should_trigger_prompts": POSITIVE, "should_not_trigger_prompts": NEGATIVE}
    keys = {key: [{"prompt": one} for one in prompts] for key, prompts in tests.items()}
    config = {"model": "test-model", "skill_directories": ["../../skills"], "parallel": True, "workers": 4}
    write_tree(
        tmp_path,
        {
            "skills/review/SKILL.md": skill("review", "Reviews code."),
            "skills/poetry/SKILL.md": skill("poetry", "Writes poems."),
            "evals/review/eval.yaml": json.dumps({"skill": "review", "config": config}),
            "evals/review/trigger_tests.yaml": json.dumps({"skill": "review", **keys}),
        },
    )
    scripts: dict[str, list[Step]] = {
        "You assess the instructions": [Reply(json.dumps(QUALITY))],
        "chooses skills by their": [Reply(json.dumps({"description": "Reviews and audits code."}))],
        "": [choose, Reply(hang=True)],
    }
    with ModelServer(scripts) as server:
        env = copilot_environment(server)
        quality = waza("quality", "review", "--format", "json", cwd=tmp_path, env=env)
        tuned = waza("dev", "review", "--tune", "--auto", "--format", "json", cwd=tmp_path, env=env)
    assert quality.code == 0, quality.err
    found = strict_json(quality.out)
    assert (found["judge"], found["overall_score"]) == ("copilot-sdk (test-model)", 3)
    assert tuned.code == 0, tuned.err
    report = strict_json(tuned.out)
    assert (report["tried"], report["chosen"], report["notes"]) == (1, 1, [])
    assert report["sealed"]["chosen"]["right"] == report["sealed"]["chosen"]["prompts"]
    assert report["sealed"]["significant"]
    assert "Reviews and audits code." in (tmp_path / "skills/review/SKILL.md").read_text()
    (question,) = (one for one in server.prompts() if "chooses skills by their" in one)
    hidden = [one["prompt"] for part in ("validation", "sealed") for one in report["parts"][part]]
    assert not [text for text in hidden if f": {text}\n" in question]
