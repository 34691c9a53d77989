"""What `waza new` and `waza init` ask on a terminal, and what becomes of the answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.e2e.test_new_eval import SKILL
from tests.e2e.test_new_skill import plain, plain_frontmatter
from tests.support.program import waza, write_tree
from tests.unit.registry._upstream import files_below

pytest.importorskip("pty")
from tests.support.terminal import typed  # after it was seen that there are such terminals


def test_a_skill_is_described_by_answers(tmp_path: Path):
    ended = typed(
        "new",
        answers=[
            ("Name of the skill:", "Größe X"),
            ("Name of the skill:", "greeter"),
            ("What does it do", "Greets people by name"),
            ("What is it for", "say hello, greet Ada"),
            ("What is it not for", ""),
            ("judge the first task", "y"),
        ],
        cwd=tmp_path,
    )
    assert ended.code == 0, ended.screen
    text = (tmp_path / "greeter" / "SKILL.md").read_text(encoding="utf-8")
    described = plain_frontmatter(text)["description"]
    assert described.startswith("Greets people by name. ")
    assert (
        "USE FOR: say hello, greet Ada. DO NOT USE FOR: questions about other subjects, small talk."
        in described
    )
    first = plain(tmp_path / "greeter/evals/tasks/basic-usage.yaml")
    assert "is_useful" in [grader["name"] for grader in first["graders"]]
    assert waza("run", "greeter", cwd=tmp_path).code == 0
    again = typed("new", "greeter", answers=[], cwd=tmp_path)  # nothing is left to ask
    assert (again.code, "no file was changed" in again.screen) == (0, True)
    quiet = typed("new", "other", "--yes", answers=[], cwd=tmp_path)
    assert quiet.code == 0, quiet.screen


def test_an_end_of_the_input_writes_nothing(tmp_path: Path):
    for answers in (
        [("Name of the skill:", "\x04")],
        [("Name of the skill:", "greeter"), ("What does it do", "\x04")],
    ):
        ended = typed("new", answers=answers, cwd=tmp_path)
        assert ended.code == 130, ended.screen
    assert files_below(tmp_path) == []


def test_files_are_overwritten_only_after_a_yes(tmp_path: Path):
    broken = "---\nname: [x\n---\nMine.\n"
    write_tree(tmp_path, {"skills/greeter/SKILL.md": SKILL, "skills/bad/SKILL.md": broken})
    assert waza("new", "eval", "greeter", cwd=tmp_path).code == 0
    suite = tmp_path / "evals/greeter/eval.yaml"
    suite.write_text("mine", encoding="utf-8")
    no = typed("new", "eval", "greeter", answers=[("Overwrite evals/greeter/eval.yaml?", "n")], cwd=tmp_path)
    assert (no.code, suite.read_text(encoding="utf-8")) == (2, "mine")
    yes = typed("new", "eval", "greeter", answers=[("Overwrite evals/greeter/eval.yaml?", "y")], cwd=tmp_path)
    assert yes.code == 0, yes.screen
    assert plain(suite)["name"] == "greeter-eval"
    kept = typed("new", "bad", answers=[("Replace skills/bad/SKILL.md?", "")], cwd=tmp_path)
    assert kept.code == 2, kept.screen
    assert (tmp_path / "skills/bad/SKILL.md").read_text(encoding="utf-8") == broken


def test_a_project_is_made_by_answers_and_begins_with_a_skill(tmp_path: Path):
    ended = typed(
        "init",
        answers=[
            ("Directory of skills", ""),
            ("Directory of suites", "checks"),
            ("Directory of results", ""),
            ("Which executor", "what"),
            ("is not one of them", "copilot-sdk"),
            ("Which model?", "gpt-x"),
            ("Write a workflow", "y"),
            ("Write hooks", ""),
            ("Start a skill?", "y"),
            ("Name of the skill:", "greeter"),
            ("What does it do", ""),
            ("What is it for", ""),
            ("What is it not for", ""),
            ("judge the first task", ""),
        ],
        cwd=tmp_path,
    )
    assert ended.code == 0, ended.screen
    settings = plain(tmp_path / ".waza.yaml")
    assert settings["paths"] == {"skills": "skills/", "evals": "checks/", "results": "results/"}
    assert settings["defaults"] == {"engine": "copilot-sdk", "model": "gpt-x"}
    assert (tmp_path / ".github/workflows/eval.yml").is_file()
    assert not (tmp_path / ".pre-commit-config.yaml").exists()
    config = plain(tmp_path / "checks/greeter/eval.yaml")["config"]
    assert (config["executor"], config["model"]) == ("copilot-sdk", "gpt-x")
    assert waza("run", "greeter", "--executor", "mock", cwd=tmp_path).code == 0
    write_tree(tmp_path, {"skills/second/SKILL.md": SKILL.replace("greeter", "second")})
    answers = [("Write hooks", ""), ("Write 1 suite", "n"), ("Start a skill?", "n")]
    again = typed("init", answers=answers, cwd=tmp_path)
    assert again.code == 0, again.screen
    assert not (tmp_path / "checks/second").exists()


def test_agents_and_scenarios_ask_for_what_is_missing(tmp_path: Path):
    ended = typed(
        "new",
        "agent",
        answers=[
            ("Name of the agent:", "prüfer"),
            ("What does it do", "Reads texts"),
            ("judge the first", ""),
        ],
        cwd=tmp_path,
    )
    assert ended.code == 0, ended.screen
    assert (tmp_path / "agents/prüfer.agent.md").is_file()
    ended = typed(
        "new", "eval", "work", "--scenario", answers=[("What is the scenario about?", "cli")], cwd=tmp_path
    )
    assert ended.code == 0, ended.screen
    assert "git log" in (tmp_path / "evals/work/tasks/workflow.yaml").read_text(encoding="utf-8")
