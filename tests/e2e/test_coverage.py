"""`waza coverage`: counts and lists, then the grid; agents beside skills."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.program import strict_json, waza, write_tree

CORPUS = Path(os.environ.get("WAZA_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
EXAMPLES = Path(__file__).parents[2] / "examples"
TWO_TYPES = (
    "[{type: text, name: a, config: {contains: [x]}}, {type: behavior, name: b, config: {max_tool_calls: 3}}]"
)


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: d\n---\nB\n"


def suite(
    skill: str,
    graders: str = "[{type: text, config: {contains: [x]}}]",
    more: str = "tasks: ['tasks/*.yaml']",
) -> str:
    named = f"skill: {skill}\n" if skill else ""
    return f"{named}config: {{executor: mock}}\ngraders: {graders}\n{more}\n"


TREE = {
    "skills/code-explainer/SKILL.md": skill("code-explainer"),
    "skills/documentation-writer/SKILL.md": skill("documentation-writer"),
    "skills/untested/SKILL.md": skill("untested"),
    "agents/security-reviewer.agent.md": skill("security-reviewer"),
    "evals/code-explainer/eval.yaml": suite("code-explainer", TWO_TYPES),
    "evals/code-explainer/tasks/a.yaml": "{id: a, inputs: {prompt: p}}",
    "evals/code-explainer/tasks/b.yaml": "{id: b, inputs: {prompt: p}}",
    "evals/documentation-writer.yaml": suite("", more="tasks: [one.yaml]"),
    "evals/one.yaml": "{id: a, inputs: {prompt: p}}",
    "agents/eval.yaml": suite("security-reviewer", TWO_TYPES, "tasks_from: rows.csv"),
    "agents/rows.csv": "id,prompt\na,p\nb,p\nc,p\n",
}

TEXT = """\
Skills found: 4
  ✓ code-explainer (SKILL.md)
  ✓ documentation-writer (SKILL.md)
  ✓ untested (SKILL.md)
  ✓ security-reviewer (.agent.md)

Evaluations found: 3
  ✓ agents/eval.yaml
  ✓ evals/code-explainer/eval.yaml
  ✓ evals/documentation-writer.yaml

Skill                 Tasks         Graders    Coverage
--------------------  -----  --------------  ----------
code-explainer            2  behavior, text     ✅ Full
documentation-writer      1            text  ⚠️ Partial
untested                  0               -     ❌ None
security-reviewer         3  behavior, text     ✅ Full

Coverage: 50.0% (2 full, 1 partial, 1 none)
"""


def test_text_and_markdown(tmp_path):
    write_tree(tmp_path, TREE)
    done = waza("coverage", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == TEXT.splitlines()
    markdown = waza("coverage", ".", "-f", "markdown", cwd=tmp_path).out.splitlines()
    assert markdown[:3] == [
        "| Skill | Tasks | Graders | Coverage |",
        "|---|---:|---|---|",
        "| code-explainer | 2 | behavior, text | ✅ Full |",
    ]
    assert markdown[-1] == "Coverage: 50.0% (2 full, 1 partial, 1 none)"


def test_json(tmp_path):
    write_tree(tmp_path, TREE)
    document = strict_json(waza("coverage", "--format", "json", cwd=tmp_path).out)
    skills = document.pop("skills")
    assert document == {
        "total_skills": 4,
        "covered": 2,
        "partial": 1,
        "uncovered": 1,
        "coverage_pct": 50.0,
        "evals": ["agents/eval.yaml", "evals/code-explainer/eval.yaml", "evals/documentation-writer.yaml"],
    }
    assert skills[3] == {
        "skill": "security-reviewer",
        "kind": "agent",
        "path": "agents/security-reviewer.agent.md",
        "tasks": 3,
        "graders": ["behavior", "text"],
        "coverage": "✅ Full",
        "evals": ["agents/eval.yaml"],
    }


def test_described_outcomes_are_counted_and_cover_nothing(tmp_path):
    task = "inputs: {prompt: p}\nexpected: {outcomes: [{type: file, value: a.md}, {type: state, condition: done}]}\n"
    skill = "---\nname: bot\ndescription: d\n---\nHelp."
    suite = "name: s\nskill: bot\nconfig: {executor: mock}\ntasks: [t.yaml]\n"
    write_tree(
        tmp_path, {"skills/bot/SKILL.md": skill, "evals/bot/eval.yaml": suite, "evals/bot/t.yaml": task}
    )
    (found,) = strict_json(waza("coverage", "--format", "json", cwd=tmp_path).out)["skills"]
    assert (found["outcomes"], found["graders"], found["coverage"]) == (2, [], "⚠️ Partial")
    line = "Described outcomes, which nothing checks: bot 2\n"
    assert waza("coverage", cwd=tmp_path).out.endswith(line)
    assert waza("coverage", "-f", "markdown", cwd=tmp_path).out.endswith(line)
    ran = waza("run", "evals/bot/eval.yaml", "-o", "r.json", cwd=tmp_path)
    (task,) = strict_json((tmp_path / "r.json").read_bytes())["tasks"]
    assert (ran.code, task["runs"][0]["validations"]) == (0, {})
    assert "has no check" in ran.err
    asked = waza("preflight", "evals/bot/eval.yaml", "--json", cwd=tmp_path)
    described = [
        one for one in strict_json(asked.out)["diagnostics"] if one["code"] == "expected.descriptive"
    ]
    assert [one["message"].partition(": expected")[2] for one in described] == [
        ".outcomes: describes 2 outcomes, and nothing checks that"
    ]


def test_a_suite_with_mistakes_covers_in_part_and_is_named(tmp_path):
    write_tree(tmp_path, TREE)
    (tmp_path / "evals/code-explainer/tasks/a.yaml").write_text(
        "{id: a, inputs: {prompt: p}, expected: {x: 1}}"
    )
    done = waza("coverage", "--format", "json", cwd=tmp_path)
    assert done.code == 0
    assert "warning: evals/code-explainer/tasks/a.yaml:1:" in done.err
    assert strict_json(done.out)["skills"][0]["coverage"] == "⚠️ Partial"


def test_suites_that_test_nothing_here(tmp_path):
    write_tree(tmp_path, {**TREE, "evals/other/eval.yaml": suite("elsewhere"), "evals/broken/eval.yaml": "{"})
    done = waza("coverage", cwd=tmp_path)
    assert done.code == 0
    assert "warning: evals/other/eval.yaml is a suite of 'elsewhere', which is not here" in done.err
    assert "warning: evals/broken/eval.yaml is a suite of 'broken', which is not here" in done.err


def test_the_skill_of_a_suite_by_its_place(tmp_path):
    write_tree(
        tmp_path,
        {
            "skills/a/SKILL.md": skill("a"),
            "skills/a/evals/eval.yml": suite("", more="tasks: [t.yaml]"),
            "skills/a/evals/t.yaml": "{id: a, inputs: {prompt: p}}",
        },
    )
    (one,) = strict_json(waza("coverage", "--format", "json", cwd=tmp_path).out)["skills"]
    assert (one["tasks"], one["evals"]) == (1, ["skills/a/evals/eval.yml"])


def test_further_directories_and_the_first_of_a_name(tmp_path):
    write_tree(
        tmp_path,
        {"skills/a/SKILL.md": skill("a"), "more/x/SKILL.md": skill("b"), "more/y/SKILL.md": skill("a")},
    )
    done = waza("coverage", "--path", "more", "-f", "json", cwd=tmp_path)
    assert [one["path"] for one in strict_json(done.out)["skills"]] == [
        "skills/a/SKILL.md",
        "more/x/SKILL.md",
    ]
    assert done.err == "warning: more/y/SKILL.md is left out: skills/a/SKILL.md has the name 'a'\n"


@pytest.mark.parametrize("arguments", [(), ("nowhere",), (".", "--path", "nowhere")])
def test_nothing_to_cover(tmp_path, arguments):
    done = waza("coverage", *arguments, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")


@pytest.mark.parametrize("example", ["code-explainer", "custom-agent"])
def test_examples(example):
    document = strict_json(waza("coverage", example, "--format", "json", cwd=EXAMPLES).out)
    assert [one["coverage"] for one in document["skills"]] == ["✅ Full"]


def test_the_corpus(tmp_path):
    if not (CORPUS / "suites").is_dir():
        pytest.skip("the corpus is not here; WAZA_CORPUS names its directory")
    write_tree(tmp_path, {"skills/a/SKILL.md": skill("a")})
    done = waza("coverage", ".", "--path", CORPUS / "suites", "-f", "json", cwd=tmp_path)
    assert done.code == 0
    assert len(strict_json(done.out)["evals"]) >= 30
