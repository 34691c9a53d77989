"""`waza spec verify`: what a skill promises, joined with the tasks that exercise it."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from tests.support.program import Ended, strict_json, waza, write_tree

CORPUS = Path(os.environ.get("WAZA_CORPUS", Path(__file__).parents[3] / "shared" / "corpus"))
EXAMPLES = Path(__file__).parents[2] / "examples"
SKILL = """\
---
name: review
description: >-
  Reviews code changes.
  USE FOR: review this
  change, find security bugs, "compare branches".
  DO NOT USE FOR: writing poems, deploying services.
parameters:
  - {name: depth, description: how deep to look}
  - severity
---
# Review

## Inputs

- `branch`: the branch to look at
- language - what it is written in
- anything without a text

| Name | Meaning |
|---|---|
| `timeout` | seconds it may take |

## Other

- `not-one`: a parameter
"""
SUITE = "skill: review\nconfig: {executor: mock}\ngraders: [{type: text, config: {contains: [x]}}]\ntasks: ['tasks/*.yaml']\n"
TREE = {
    "skills/review/SKILL.md": SKILL,
    "evals/review/eval.yaml": SUITE,
    "evals/review/tasks/a.yaml": "{id: a, inputs: {prompt: 'Please review this change of code: reviews of changes'}}",
    "evals/review/tasks/b.yaml": "{id: b, tags: [security], inputs: {prompt: 'Find a bug at depth 3, looking how deep'}}",
    "evals/review/tasks/c.yaml": "{id: c, description: a negative test, inputs: {prompt: Write poems for writing}}",
    "evals/review/tasks/d.yaml": "{id: d, inputs: {prompt: Now start deploying services}}",
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    write_tree(tmp_path, TREE)
    return tmp_path


def verify(cwd: Path, *arguments: str | Path) -> Ended:
    return waza("spec", "verify", *arguments, cwd=cwd)


def covering(done: Ended) -> dict[str, list[tuple[str, str]]]:
    return {
        one["requirement"]["id"]: [(by["taskId"], by["mode"]) for by in one["coveredBy"]]
        for one in strict_json(done.out)["coverage"]
    }


def test_what_is_promised_and_what_covers_it(workspace):
    done = verify(workspace, "--format", "json")
    assert (done.code, done.err) == (0, "")
    document = strict_json(done.out)
    assert document["skillPath"] == "skills/review/SKILL.md"
    assert document["evalPath"] == "evals/review/eval.yaml"
    assert document["totals"] == {
        "requirements": 11, "covered": 5, "uncovered": 6, "tasks": 4, "triggerPrompts": 0,
    }  # fmt: skip
    promised = [
        (one["requirement"]["id"], one["requirement"]["text"], one["requirement"]["source"]["startLine"],
         one["requirement"]["source"]["endLine"])
        for one in document["coverage"]
    ]  # fmt: skip
    assert promised == [
        ("req-description-001", "Reviews code changes.", 4, 4),
        ("req-use-001", "review this change", 5, 6),
        ("req-use-002", "find security bugs", 6, 6),
        ("req-use-003", "compare branches", 6, 6),
        ("req-dont-001", "writing poems", 7, 7),
        ("req-dont-002", "deploying services", 7, 7),
        ("req-param-001", "depth: how deep to look", 9, 9),
        ("req-param-002", "severity", 10, 10),
        ("req-param-003", "branch: the branch to look at", 16, 16),
        ("req-param-004", "language: what it is written in", 17, 17),
        ("req-param-005", "timeout: seconds it may take", 22, 22),
    ]
    found = covering(done)
    assert found["req-description-001"] == [("a", "words")]
    assert found["req-use-001"] == [("a", "phrase")]
    assert found["req-use-002"] == [("b", "words")]
    assert found["req-dont-001"] == [("c", "words")]
    assert found["req-dont-002"] == []  # the task that has it does not expect the skill to stay away
    assert found["req-param-001"] == [("b", "words")]
    assert found["req-param-005"] == []


def test_should_trigger_decides_what_is_negative(workspace):
    (workspace / "evals/review/tasks/d.yaml").write_text(
        "{id: d, inputs: {prompt: Now start deploying services}, expected: {should_trigger: false}}"
    )
    (workspace / "evals/review/eval.yaml").write_text(
        SUITE.replace("mock}", "mock, enforce_expected: false}")
    )
    assert covering(verify(workspace, "--format", "json"))["req-dont-002"] == [("d", "phrase")]


def test_prompts_of_trigger_tests_and_rows_of_datasets_count(workspace):
    write_tree(
        workspace,
        {
            "evals/review/eval.yaml": "skill: review\nconfig: {executor: mock}\ngraders: [{type: text, config: {contains: [x]}}]\n"
            "tasks_from: rows.csv\nmock: {triggers: {'Help me compare branches': true, 'Go on deploying services': false}}\n",
            "evals/review/rows.csv": "id,prompt\nr1,Find security bugs here\n",
            "evals/review/trigger_tests.yaml": "skill: review\nshould_trigger_prompts: [{prompt: Help me compare branches}]\n"
            "should_not_trigger_prompts: [{prompt: Go on deploying services}]\n",
        },
    )
    found = covering(verify(workspace, "--format", "json"))
    assert found["req-use-002"] == [("r1", "phrase")]
    assert found["req-use-003"] == [("trigger-positive-1", "phrase")]
    assert found["req-dont-002"] == [("trigger-negative-1", "phrase")]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 0),
        (("--fail",), 1),
        (("--fail", "--threshold", "6"), 1),
        (("--fail", "--threshold", "7"), 0),
        (("--threshold", "0"), 2),
    ],
)
def test_exit_codes(workspace, options, code):
    assert verify(workspace, *options).code == code


def test_forms_for_people_and_for_github(workspace):
    lines = verify(workspace, "review").out.splitlines()
    assert lines[:5] == [
        "Skill: skills/review/SKILL.md",
        "Suite: evals/review/eval.yaml (4 tasks)",
        "",
        "✓ req-description-001: Reviews code changes. (skills/review/SKILL.md:4)",
        "    a (words): it has 3 of 3 words: reviews, code, changes",
    ]
    assert "⚠ req-use-003: compare branches (skills/review/SKILL.md:6)" in lines
    assert "✗ req-use-003: compare branches (skills/review/SKILL.md:6)" in verify(workspace, "--fail").out
    assert lines[-1] == "5 of 11 requirements covered, 6 not"
    for options, level in ((("--fail",), "error"), ((), "warning"), (("--no-warn",), "notice")):
        commands = verify(workspace, "--format", "github-actions", *options).out.splitlines()
        assert len(commands) == 6
        assert commands[0] == (
            f"::{level} file=skills/review/SKILL.md,line=6,title=waza spec verify%3A req-use-003::no task exercises: compare branches"
        )


def script(workspace: Path, *replies: str) -> None:
    steps = ", ".join(f"{{reply: '{reply}'}}" for reply in replies)
    (workspace / "evals/review/eval.yaml").write_text(f"{SUITE}mock: {{judge: {{spec_verify: [{steps}]}}}}\n")


def test_the_judge_is_asked_about_what_is_left(workspace):
    script(workspace, 'I think: {"task": "b", "reason": "it looks at that"}')
    done = verify(workspace, "--semantic", "--format", "json")
    found = covering(done)
    assert found["req-use-001"] == [("a", "phrase")]  # not asked
    assert found["req-use-003"] == [("b", "semantic")]
    assert found["req-dont-002"] == []  # b does not expect the skill to stay away
    assert done.code == 2
    assert "only a task that expects the skill to stay away counts" in done.err


def test_a_judge_that_finds_nothing(workspace):
    script(workspace, '{"task": null, "reason": "none"}')
    done = verify(workspace, "--semantic", "--format", "json")
    assert (done.code, done.err) == (0, "")
    assert strict_json(done.out)["totals"]["uncovered"] == 6


@pytest.mark.parametrize(
    "reply",
    ["yes", '{"task": "zzz"}', '{"task": true}', '["b"]', '{"covered": true}', '{"task": ["b"]}', "{" * 2000],
)
def test_what_a_judge_must_not_be_taken_to_say(workspace, reply):
    script(workspace, reply)
    done = verify(workspace, "--semantic", "--format", "json")
    assert done.code == 2
    assert strict_json(done.out)["totals"]["uncovered"] == 6
    assert done.err.startswith("Error: the judge gave no answer: ")


def test_an_unreachable_judge_covers_nothing(workspace):
    for options in ((), ("--executor", "command:true")):
        done = verify(workspace, "--semantic", "--format", "json", *options)
        assert done.code == 2
        assert strict_json(done.out)["totals"]["uncovered"] == 6
        assert all(one["coveredBy"] or one["judgeError"] for one in strict_json(done.out)["coverage"])
        assert "Traceback" not in done.err


def test_what_cannot_be_verified(tmp_path):
    assert "name the skill" in verify(tmp_path).err
    write_tree(tmp_path, {"skills/a/SKILL.md": SKILL, "skills/b/SKILL.md": SKILL})
    assert verify(tmp_path).code == 2
    assert "there is no suite of 'review'" in verify(tmp_path, "skills/a").err
    write_tree(tmp_path, {"skills/a/eval.yaml": "{tasks: 3}"})
    assert verify(tmp_path, "skills/a").code == 2
    write_tree(tmp_path, {"skills/c/SKILL.md": "---\nname: [\n---\n"})
    assert "skills/c/SKILL.md:" in verify(tmp_path, "skills/c").err


def test_skill_and_suite_by_options(workspace):
    shutil.move(workspace / "evals", workspace / "elsewhere")
    done = verify(
        workspace, "--skill", "skills/review", "--eval", "elsewhere/review/eval.yaml", "--format", "json"
    )
    assert strict_json(done.out)["evalPath"] == "elsewhere/review/eval.yaml"


def test_examples():
    done = verify(EXAMPLES / "code-explainer", "--format", "json")
    assert done.code == 0
    assert strict_json(done.out)["totals"]["covered"] >= 5
    assert verify(EXAMPLES / "custom-agent", "security-reviewer.agent.md").code == 0


def test_the_corpus(tmp_path):
    suites = sorted(CORPUS.glob("suites/*/evals/**/eval.y*ml"))[:6]
    if not suites:
        pytest.skip("the corpus is not here; WAZA_CORPUS names its directory")
    write_tree(tmp_path, {"skills/review/SKILL.md": SKILL})
    for suite in suites:
        done = verify(tmp_path, "skills/review", suite, "--format", "json")
        assert done.code in (0, 2)
        assert "Traceback" not in done.err
        if done.code == 0:
            assert strict_json(done.out)["totals"]["requirements"] == 11


def test_text_of_files_is_harmless(workspace):
    path = workspace / "skills/review/SKILL.md"
    path.write_text(re.sub("find security bugs", "::error::x ##[error]y", path.read_text()))
    commands = verify(workspace, "--format", "github-actions").out.splitlines()
    assert all(re.match(r"::warning file=skills/review/SKILL.md,line=\d+,title=", line) for line in commands)
    assert "##[error]" not in "\n".join(commands)
