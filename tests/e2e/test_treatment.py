"""Whether the arms of a run were what they claim: what trials record of the skills that were offered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.program import mock_suite, waza, write_tree

GREETER = "---\nname: greeter\ndescription: Greets people.\n---\nGreet.\n"


def run(root: Path, script: str, *flags: str, head: str = "skill: greeter") -> dict[str, Any]:
    """Run one task whose agent follows a script; return the results."""
    write_tree(root, {"skills/greeter/SKILL.md": GREETER})
    tasks = {"a": f"inputs: {{prompt: go}}\nexpected: {{output_contains: [yes]}}\nmock: {script}\n"}
    suite = mock_suite(root, tasks, head=head, config=["skill_directories: [skills]"])
    ended = waza("run", suite, *flags, cwd=root)
    assert ended.code in (0, 1), ended.err
    return ended.results()


def reach(results: dict[str, Any]) -> tuple[Any, ...]:
    """What the first trial of results says of skills."""
    trial = results["tasks"][0]["runs"][0]
    return tuple(trial.get(key) for key in ("skill_offered", "skill_loaded", "other_skills_offered"))


def test_a_script_that_says_nothing_of_skills_leaves_it_unknown(tmp_path: Path) -> None:
    assert reach(run(tmp_path, "{output: yes}")) == ("unknown", None, None)


def test_a_script_says_whether_the_skill_was_loaded(tmp_path: Path) -> None:
    assert reach(run(tmp_path / "loaded", "{output: yes, skills: [greeter]}")) == ("unknown", True, None)
    assert reach(run(tmp_path / "other", "{output: yes, skills: [another]}")) == ("unknown", False, None)


def test_without_a_skill_under_test_there_is_nothing_to_say_of_one(tmp_path: Path) -> None:
    assert reach(run(tmp_path, "{output: yes, skills: [greeter]}", head="")) == (None, None, None)
