"""`executor: command` hands the skill under test over: its name, its directory, and the system text."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, newest_results, waza, write_tree

SKILL = "---\nname: greeter\ndescription: d\n---\nSay hello.\n"
PLAIN_AGENT = "---\nname: rev\ndescription: d\n---\nReview.\n"

# A program that answers with what it was given.
SEER = """
import json, os, sys
from pathlib import Path
names = ("WAZA_SKILL_NAME", "WAZA_SKILL_DIR", "WAZA_SYSTEM_FILE")
seen = {name: os.environ[name] for name in names}
seen["prompt"] = sys.stdin.read()
seen["system"] = Path(seen["WAZA_SYSTEM_FILE"]).read_text(encoding="utf-8")
print(json.dumps(seen))
"""


def run(
    root: Path, *flags: str, head: str = "skill: greeter", config: str = "", options: str = "", task: str = ""
) -> Ended:
    more, own = f", {config}" if config else "", f", {options}" if options else ""
    command = 'python3 \\"$WAZA_SUITE_DIR/seer.py\\"'
    executor = f'executor: command, executor_options: {{command: "{command}"{own}}}'
    files = {
        "seer.py": SEER,
        "eval.yaml": f"name: s\n{head}\nconfig: {{{executor}{more}}}\ntasks: [t.yaml]\n",
        "t.yaml": task or "id: t\ninputs: {prompt: hello, follow_up_prompts: [again]}\n",
    }
    write_tree(root, files)
    inherited = {"WAZA_SKILL_NAME": "of another run", "WAZA_SYSTEM_FILE": "/nowhere"}
    return waza("run", "eval.yaml", *flags, cwd=root, env=inherited)


def answers(root: Path, arm: str = "") -> list[dict[str, Any]]:
    results = newest_results(root)
    (found,) = (results[arm] if arm else results)["tasks"][0]["runs"]
    said = [event["content"] for event in found["transcript"] if event["type"] == "assistant.message"]
    return [json.loads(text) for text in said]


def test_a_program_gets_the_skill_in_every_turn(tmp_path: Path) -> None:
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL})
    assert run(tmp_path).code == 0
    first, second = answers(tmp_path)
    directory = tmp_path / "skills" / "greeter"
    for seen in (first, second):
        assert (seen["WAZA_SKILL_NAME"], seen["WAZA_SKILL_DIR"]) == ("greeter", str(directory))
        body = f"Base directory for this skill: {directory}\n\nSay hello.\n"
        assert seen["system"] == f"<skill_context>\n{body}\n</skill_context>\n"
    assert (first["prompt"], second["prompt"]) == ("hello", "again")


def test_an_agent_and_instruction_files_are_in_the_system_text(tmp_path: Path) -> None:
    write_tree(tmp_path, {"agents/rev.agent.md": PLAIN_AGENT, "fixtures/style.md": "Be brief."})
    assert run(tmp_path, head="skill: rev", config="instruction_files: [style.md]").code == 0
    (seen, _) = answers(tmp_path)
    assert (seen["WAZA_SKILL_NAME"], seen["WAZA_SKILL_DIR"]) == ("rev", str(tmp_path / "agents"))
    assert "Review." in seen["system"]
    assert "<path>style.md</path>\n<content>\nBe brief.\n</content>" in seen["system"]


def test_the_system_text_may_be_before_every_prompt(tmp_path: Path) -> None:
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL})
    assert run(tmp_path, options="system: prompt").code == 0
    for seen, prompt in zip(answers(tmp_path), ["hello", "again"], strict=True):
        assert seen["prompt"] == f"{seen['system']}\n{prompt}"
    (found,) = newest_results(tmp_path)["tasks"][0]["runs"]
    prompts = [event["content"] for event in found["transcript"] if event["type"] == "user.message"]
    assert prompts == ["hello", "again"]


def test_prompts_whose_turn_broke_are_in_the_transcript(tmp_path: Path) -> None:
    """Once each, also when the session raises: `waza show` names the prompt that got no answer."""
    task = "id: t\ninputs: {prompt: hello, follow_up_prompts: [again, never sent]}\n"
    command = "test $WAZA_TURN = 1 && echo hi"
    head = f"name: s\nconfig: {{executor: command, executor_options: {{command: '{command}'}}}}\ntasks: [t.yaml]\n"
    write_tree(tmp_path, {"eval.yaml": head, "t.yaml": task})
    assert waza("run", "eval.yaml", cwd=tmp_path).code == 1
    (found,) = newest_results(tmp_path)["tasks"][0]["runs"]
    events = [(event["type"], event["content"]) for event in found["transcript"]]
    assert events == [("user.message", "hello"), ("assistant.message", "hi"), ("user.message", "again")]
    shown = waza("show", "t", cwd=tmp_path).out
    assert "[2] user: again\n  (no answer is recorded)\n" in shown


@pytest.mark.parametrize("options", ["", "system: prompt"])
def test_without_a_skill_all_is_empty(tmp_path: Path, options: str) -> None:
    assert run(tmp_path, head="", options=options).code == 0
    for seen in answers(tmp_path):
        assert (seen["WAZA_SKILL_NAME"], seen["WAZA_SKILL_DIR"], seen["system"]) == ("", "", "")
    assert answers(tmp_path)[0]["prompt"] == "hello"


def test_a_body_that_is_not_injected_is_left_to_the_program(tmp_path: Path) -> None:
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL})
    assert run(tmp_path, config="inject_skill_body: false").code == 0
    (seen, _) = answers(tmp_path)
    assert (seen["WAZA_SKILL_NAME"], seen["system"]) == ("greeter", "")


def test_the_arm_without_skills_gets_none(tmp_path: Path) -> None:
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL})
    grader = "graders: [{type: text, name: g, config: {contains: [Say hello]}}]"
    ended = run(tmp_path, "--baseline", task=f"id: t\ninputs: {{prompt: hello}}\n{grader}\n")
    assert ended.code == 0, ended.err
    assert answers(tmp_path)[0]["WAZA_SKILL_NAME"] == "greeter"
    (without,) = answers(tmp_path, "baseline_outcome")
    assert (without["WAZA_SKILL_NAME"], without["system"]) == ("", "")
    impact = newest_results(tmp_path)["tasks"][0]["skill_impact"]
    assert (impact["pass_rate_with_skills"], impact["pass_rate_baseline"]) == (1, 0)


def test_results_claim_no_policy(tmp_path: Path) -> None:
    write_tree(tmp_path, {"agents/rev.agent.md": PLAIN_AGENT})
    assert run(tmp_path, head="skill: rev").code == 0
    (found,) = newest_results(tmp_path)["tasks"][0]["runs"]
    assert "tool_policy_mode" not in found["session_digest"]
    assert found["validations"] == {}


def test_the_files_with_system_texts_are_removed(tmp_path: Path) -> None:
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL})
    assert run(tmp_path).code == 0
    file = Path(answers(tmp_path)[0]["WAZA_SYSTEM_FILE"])
    assert file.is_relative_to(Path(tempfile.gettempdir()).resolve())
    assert not file.parent.exists()
