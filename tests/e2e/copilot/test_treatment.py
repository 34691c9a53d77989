"""What the real runtime tells of the skills that its agent was offered, and what A/B runs make of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.copilot.suites import Seen, definition, run, task, write_suite
from tests.support.model_server import Call, Reply, Turn
from tests.support.program import write_tree

pytestmark = pytest.mark.slow

FOUND = {"inject_skill_body": False, "skill_directories": ["skills"]}  # the agent has to find the skill
SKILLS = {f"skills/{name}/SKILL.md": definition(name) for name in ("tested", "other")}
TWIN = {"twins/tested/SKILL.md": definition("tested", body="Be bad.")}
FULL = {f"skills/s{i:02}/SKILL.md": definition(f"s{i:02}").replace("what", "w" * 450) for i in range(40)}


def answer(turn: Turn) -> Reply:
    """Use the skill if there is one; only then the answer is right."""
    if turn.step == 0 and "skill" in turn.tools:
        return Reply(calls=[Call("skill", {"skill": "tested"})])
    return Reply("all is fine" if turn.step or "Be good." in turn.system else "no idea")


def ab_run(
    root: Path, files: dict[str, str], config: dict[str, Any], wire: str = "completions", **keys: Any
) -> Seen:
    """An A/B run of one task, whose agent is right where it has a skill."""
    write_tree(root, files)
    suite = write_suite(root, {"a": task("go")}, config=config, **{"skill": "tested", **keys})
    return run(suite, {"go": [answer]}, "--baseline", COPILOT_WIRE_API=wire)


def reach(seen: Seen) -> tuple[Any, ...]:
    """What the trial with skills says of them."""
    trial = seen.run("a")
    return tuple(trial.get(key) for key in ("skill_offered", "skill_loaded", "other_skills_offered"))


def assert_refused(seen: Seen, reason: str) -> None:
    """The agent is right with skills alone, and yet that is no difference that the skill makes."""
    assert seen.run("a")["status"] == "passed"
    assert seen.results["baseline_outcome"]["tasks"][0]["status"] == "failed"
    assert seen.results["metadata"]["verdict"]["reasons"] == [f"gate baseline: not measured: {reason}"]
    assert "skill_impact" not in seen.results["tasks"][0]
    assert seen.ended.code == 1


@pytest.mark.parametrize("config", [FOUND, {"skill_directories": ["skills"]}])
@pytest.mark.parametrize("wire", ["completions", "responses"])
def test_a_skill_that_is_offered_is_measured(config: dict[str, Any], wire: str, tmp_path: Path) -> None:
    seen = ab_run(tmp_path, SKILLS, config, wire)
    assert reach(seen) == ("full", True, ["other"])
    (without,) = seen.results["baseline_outcome"]["tasks"][0]["runs"]
    assert (without["skill_offered"], without["skill_loaded"]) == ("absent", False)
    assert without["other_skills_offered"] == []
    assert seen.results["metadata"]["treatment"]["state"] == "as_claimed"
    assert (seen.results["tasks"][0]["skill_impact"]["delta"], seen.ended.code) == (1, 0)


def test_a_deleted_skill_is_absent(tmp_path: Path) -> None:
    gone = {"before_run": [{"command": "rm -r skills/tested"}]}
    seen = ab_run(tmp_path, SKILLS, FOUND, hooks=gone)
    assert reach(seen) == ("absent", False, ["other"])
    assert_refused(seen, "in 1 of 1 trial with skills the agent was not offered the skill tested")


def test_a_skill_that_is_hidden_by_a_twin_is_absent(tmp_path: Path) -> None:
    config = FOUND | {"skill_directories": ["twins", "skills"]}
    seen = ab_run(tmp_path, SKILLS | TWIN, config, skill="skills/tested/SKILL.md")
    assert reach(seen) == ("absent", False, ["other", "tested"])
    why = "in 1 of 1 trial with skills the agent was not offered the skill tested"
    assert_refused(seen, f"{why} (another skill of its name was in its place)")


def test_a_skill_with_a_very_long_description_is_what_its_requests_say(tmp_path: Path) -> None:
    long = definition("tested").replace("what tested is for", "what tested is for " + "long " * 190)
    seen = ab_run(tmp_path, {**SKILLS, "skills/tested/SKILL.md": long}, FOUND)
    trial = seen.run("a")
    assert (trial["skill_offered"], trial.get("wire_differences")) == ("full", None)


def test_a_skill_that_is_cut_from_a_full_listing_is_offered_by_name(tmp_path: Path) -> None:
    seen = ab_run(tmp_path, SKILLS | FULL, FOUND)
    assert reach(seen) == ("name", True, sorted(["other", *(f"s{i:02}" for i in range(40))]))
    assert "wire_differences" not in seen.run("a")
    assert_refused(
        seen, "in 1 of 1 trial with skills the agent was offered the skill tested by its name alone"
    )
