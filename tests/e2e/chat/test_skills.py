"""Skills on the loop: what is listed, the arm without them, trigger tests, and judges that meet an agent in between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.e2e.chat.suites import run, write
from tests.e2e.copilot.suites import bash, calls_then_fine, definition, task
from tests.support.model_server import Call, Reply
from tests.support.program import write_tree

SKILLS = {
    "skills/tidy/SKILL.md": definition("tidy", body="Put things where they belong."),
    "skills/other/SKILL.md": "---\nname: other\ndescription: Does\n  other things\n---\nother\n",
    "skills/bare/SKILL.md": "Nothing but a body.\n",
    "skills/users/SKILL.md": "---\nname: users\ndescription: for users\ndisable-model-invocation: true\n---\nx\n",
    "skills/off/SKILL.md": definition("off"),
    "skills/broken/SKILL.md": "---\nname: [broken\n---\nx\n",
}


def test_what_is_listed_and_the_arm_without_it(tmp_path: Path) -> None:
    write_tree(tmp_path, SKILLS)
    config = {"skill_directories": ["skills"], "disabled_skills": ["off"]}
    look = [Call("skill", {"skill": "other"}), Call("skill", {"skill": "off"})]
    suite = write(tmp_path, {"one": task("LOOK")}, skill="tidy", config=config)
    seen = run(suite, {"LOOK": calls_then_fine(*look)}, "--baseline")
    with_skills, without = seen.asked("LOOK")[0], seen.asked("LOOK")[2]
    lines = [line for line in with_skills.system.splitlines() if line.startswith("- ")]
    assert lines == ["- bare", "- other: Does other things", "- tidy: what tidy is for"]
    assert "Put things where they belong." in with_skills.system
    assert "skill" in with_skills.tools
    assert "skill" not in without.tools
    for text in ("tidy", "belong", "<skills>"):
        assert text not in without.system
    found = seen.run("one")
    assert (found["skill_offered"], found["skill_loaded"]) == ("full", True)
    assert found["other_skills_offered"] == ["bare", "other"]
    other, off = found["tool_events"]
    assert (other["success"], off["success"]) == (True, False)
    assert "there is no skill 'off'; there are bare, other, tidy" in off["result"]
    assert [one["name"] for one in found["skill_invocations"]] == ["other"]
    treatment = seen.results["metadata"]["treatment"]
    assert (treatment["state"], treatment["without_skills"]) == ("as_claimed", {"absent": 1})
    assert "wire_differences" not in found


def test_a_custom_agent_that_may_not_load_skills_is_offered_none(tmp_path: Path) -> None:
    write_tree(tmp_path, {**SKILLS, "rev.agent.md": definition("rev", "[view]", body="Review it.")})
    suite = write(tmp_path, {"one": task("LOOK")}, skill="rev", config={"skill_directories": ["skills"]})
    seen = run(suite, {"LOOK": [Reply("all is fine")]})
    (asked,) = seen.asked("LOOK")
    assert asked.tools == ["view"]
    assert "- tidy" not in asked.system
    assert "Review it." in asked.system
    assert seen.run("one")["other_skills_offered"] == []


def test_trigger_tests_end_with_the_skill(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            **SKILLS,
            "trigger_tests.yaml": json.dumps(
                {
                    "skill": "tidy",
                    "should_trigger_prompts": [{"prompt": "TIDY UP"}],
                    "should_not_trigger_prompts": [{"prompt": "WHAT TIME"}],
                }
            ),
        },
    )
    metric = {"name": "trigger_accuracy", "weight": 1, "threshold": 1}
    keys: dict[str, Any] = {
        "metrics": [metric],
        "config": {"skill_directories": ["skills"], "inject_skill_body": False},
    }
    suite = write(tmp_path, {"one": task("LOOK")}, skill="tidy", **keys)
    fires = [Reply(calls=[Call("skill", {"skill": "tidy"}), bash("touch never")]), Reply("never asked")]
    seen = run(suite, {"TIDY UP": fires, "WHAT TIME": [Reply("late")], "LOOK": [Reply("all is fine")]})
    assert len(seen.asked("TIDY UP")) == 1
    assert seen.results["trigger_metrics"]["accuracy"] == 1
    assert seen.ended.code == 0


def test_an_agent_does_not_notice_a_judge_that_continues_its_session(tmp_path: Path) -> None:
    verdict = Call("set_waza_grade_pass", {"description": "tone", "reason": "it is polite"})
    judge = {"type": "prompt", "name": "judge", "config": {"prompt": "SO FAR", "continue_session": True}}
    one = task("BEGIN", follow_up_prompts=["GO ON"], checkpoints=[{"after_turn": 1, "graders": [judge]}])
    scripts = {
        "SO FAR": [Reply(calls=[verdict, Call("bash", {"command": "touch by-judge"})]), Reply("done")],
        "BEGIN": calls_then_fine(bash("touch by-agent")),
        "GO ON": calls_then_fine(bash("ls")),
    }
    seen = run(write(tmp_path, {"one": one}), scripts)
    found = seen.run("one")
    assert (found["status"], found.get("error_msg")) == ("passed", None)
    assert found["tool_events"][1]["result"] == "by-agent"
    (session,) = found["grader_sessions"]
    assert [denial["tool"] for denial in session["tool_policy_denials"]] == ["bash"]
    assert "SO FAR" not in json.dumps(seen.asked("GO ON")[0].body)
    assert "wire_differences" not in found


def test_faults_on_the_wire_reach_the_loop(tmp_path: Path) -> None:
    faults = [{"request": 1, "status": 429, "retry_after": 1}, {"request": 2, "truncate": 20}]
    suite = write(tmp_path, {"one": task("LOOK")}, config={"wire": {"faults": faults}})
    seen = run(suite, {"LOOK": [Reply("all is fine")]})
    found = seen.run("one")
    assert (found["status"], found["final_output"]) == ("passed", "all is fine")
    exchanges = [one["message"] for one in found["transcript"] if one["type"] == "wire.exchange"]
    assert [one["ending"] for one in exchanges] == ["fault", "fault", "whole"]


def test_a_judge_that_may_run_commands_works_in_a_copy_without_keys(tmp_path: Path) -> None:
    verdict = Call("set_waza_grade_pass", {"description": "tone", "reason": "it is polite"})
    judge = {"type": "prompt", "name": "judge", "config": {"prompt": "VERDICT", "tools": ["bash"]}}
    suite = write(tmp_path, {"one": task("LOOK", graders=[judge])}, config={"judge_model": "other-model"})
    commands = [bash("ls; touch by-judge; env"), Call("create", {"path": "x", "file_text": ""})]
    seen = run(
        suite,
        {
            "VERDICT": [Reply(calls=[*commands, verdict]), Reply("done")],
            "LOOK": calls_then_fine(bash("touch by-agent")),
        },
    )
    first, second = seen.asked("VERDICT")
    assert first.body["model"] == "other-model"
    assert {"bash", "view"} < set(first.tools)
    assert "create" not in first.tools
    listed, denied, _ = second.tool_results
    assert listed.startswith("by-agent\n")
    assert "OPENAI_API_KEY" not in listed
    assert denied.startswith("Denied: ")
    assert seen.run("one")["status"] == "passed"
