"""`waza dev`: descriptions that are raised step by step, advice of a model, and trigger tests of phrases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.program import Ended, strict_json, waza, write_tree

BODY = """\
# Review

Reads a change of code from its first to its last line, and reports what is wrong with it.

## Security bugs

1. Read.
2. Think.
3. Write.

## Style
"""
LOW = "---\nname: code-review  # the name\ndescription: Reviews code.\nlicense: MIT\n---\n" + BODY
HIGH = (
    "---\nname: other-skill\nlicense: MIT\ndescription: >-\n  "
    + "Says a lot about what it does, and when. " * 4
    + 'USE FOR: find this, "do that". DO NOT USE FOR: poems. INVOKES: view.\n---\n# Other\n'
)
STEPS = [
    "say more about what it does",
    "list what it is for",
    "list what it is not for",
    "say what it hands work to",
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return write_tree(
        tmp_path,
        {
            "skills/code-review/SKILL.md": LOW,
            "skills/other-skill/SKILL.md": HIGH,
            "skills/x.agent.md": "---\nname: x\n---\n",
        },
    )


def dev(workspace: Path, *arguments: str, stdin: str | None = None) -> Ended:
    return waza("dev", *arguments, cwd=workspace, stdin=stdin)


def text(workspace: Path) -> str:
    return (workspace / "skills/code-review/SKILL.md").read_text()


def level(workspace: Path) -> str:
    done = waza("check", "code-review", "--offline", "--format", "json", cwd=workspace)
    found: str = strict_json(done.out)["skills"][0]["compliance"]["level"]
    return found


def test_changes_are_written_one_by_one_until_the_level_is_reached(workspace):
    assert level(workspace) == "Low"
    done = dev(workspace, "code-review", "--auto")
    assert (done.code, done.err) == (0, "")
    changes = [line.partition(": ")[2] for line in done.out.splitlines() if line.startswith("Change ")]
    assert changes == STEPS[:3]
    assert level(workspace) == "Medium-High"
    assert done.out.splitlines()[-10:] == [
        "",
        "code-review            Before        After",
        "---------------------  ------  -----------",
        "Level                     Low  Medium-High",
        *done.out.splitlines()[-6:],
    ]
    assert done.out.splitlines()[-1] == "Stopped: the level is Medium-High"
    description = text(workspace).partition("description: >-")[2].partition("license:")[0]
    for part in (
        "Reads a change of code",
        "USE FOR: code review, security bugs, style.",
        "DO NOT USE FOR: other skill,",
    ):
        assert part in " ".join(description.split())
    assert text(workspace).startswith("---\nname: code-review  # the name\ndescription: >-\n  Reviews code. ")
    assert text(workspace).endswith(f"license: MIT\n---\n{BODY}")
    again = dev(workspace, "code-review", "--auto")
    assert "Change" not in again.out


def test_high_needs_what_work_is_handed_to(workspace):
    done = dev(workspace, "code-review", "--auto", "--target", "high", "--max-iterations", "3")
    assert done.out.splitlines()[-1] == "Stopped: it was to be 3 changes at most"
    done = dev(workspace, "code-review", "--auto", "--target=high")
    assert level(workspace) == "High"
    assert "**WORKFLOW SKILL**" in text(workspace)
    promise = waza("spec", "verify", "--help", cwd=workspace)
    assert promise.code == 0


def test_nothing_is_written_without_consent(workspace):
    for stdin in ("n\n", "", "maybe\n"):
        done = dev(workspace, "code-review", stdin=stdin)
        assert (done.code, text(workspace)) == (0, LOW)
        assert done.out.splitlines()[-1] == "Stopped: the change was declined"
        assert "Write it? [y/N]" in done.err
    done = dev(workspace, "code-review", stdin="y\nn\n")
    assert "Reads a change of code" in text(workspace)
    assert "USE FOR" not in text(workspace)
    assert "- Reviews code.\n" not in done.out  # the sentence stays
    assert "+ Reads a change of code from its first to its last line" in done.out


def test_a_level_of_the_project(workspace):
    (workspace / ".waza.yaml").write_text("dev: {target: medium, maxIterations: 1}\n")
    done = dev(workspace, "code-review", "--auto")
    assert done.out.splitlines()[-1] == "Stopped: it was to be 1 change at most"


def test_several_skills_have_a_summary(workspace):
    write_tree(workspace, {"skills/broken/SKILL.md": "---\n{name: broken, description: d}\n---\n"})
    done = dev(workspace, "--all", "--auto")
    assert done.code == 0
    assert "Error: broken: skills/broken/SKILL.md: its frontmatter is written in braces" in done.err
    assert done.out.splitlines()[-5:] == [
        "Skill        Before        After     Status",
        "-----------  ------  -----------  ---------",
        "code-review     Low  Medium-High    changed",
        "other-skill    High         High  as before",
        "broken            -            -      error",
    ]
    only = dev(workspace, "--all", "--filter", "high")
    assert "code-review" not in only.out


def test_a_skill_without_words(tmp_path):
    write_tree(tmp_path, {"a/SKILL.md": "---\nname: a\ndescription: d\n---\n"})
    done = dev(tmp_path, "a", "--auto", "--target", "high")
    assert done.out.splitlines()[-1] == "Stopped: there is nothing more to propose without a model"
    assert (
        "DO NOT USE FOR: general questions, requests that do not need a."
        in (tmp_path / "a/SKILL.md").read_text()
    )


def test_advice_of_a_model(workspace):
    write_tree(
        workspace,
        {
            "answers.json": json.dumps([{"match": "Find that", "reply": "Say **more**."}]),
            "evals/other-skill/eval.yaml": "{config: {executor: mock}, skill: other-skill, "
            "mock: {triggers: {Find that: true}}, tasks: []}",
            "evals/other-skill/trigger_tests.yaml": "{skill: other-skill, should_trigger_prompts: [{prompt: Find that}]}",
        },
    )
    done = dev(workspace, "other-skill", "--copilot", "--executor", "mock:answers.json", "--model", "m")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        "# other-skill",
        "",
        "Asked: mock:answers.json",
        "",
        "- Level: High",
        *[line for line in done.out.splitlines() if line.startswith(("- Findings: ", "- Tokens: "))],
        "",
        "## Advice",
        "",
        "Say **more**.",
    ]
    assert (workspace / "skills/other-skill/SKILL.md").read_text() == HIGH
    shown = dev(workspace, "other-skill", "--copilot", "--show-prompt")
    assert shown.out.startswith("== question 1 (dev_advice), ")


def test_trigger_tests_of_phrases(workspace):
    done = dev(workspace, "other-skill", "--scaffold-triggers")
    assert (done.code, done.out) == (0, "Written: skills/other-skill/tests/trigger_tests.yaml\n")
    assert (workspace / "skills/other-skill/tests/trigger_tests.yaml").read_text() == (
        "skill: other-skill\n"
        "should_trigger_prompts:\n  - prompt: Find this.\n  - prompt: Do that.\n"
        "should_not_trigger_prompts:\n  - prompt: Poems.\n"
    )
    write_tree(
        workspace,
        {"evals/other-skill/eval.yaml": "{config: {executor: mock}, skill: other-skill, tasks: []}"},
    )
    beside = dev(workspace, "other-skill", "--scaffold-triggers")
    assert beside.out == "Written: evals/other-skill/trigger_tests.yaml\n"
    (workspace / "evals/other-skill/trigger_tests.yaml").write_text("mine")
    again = dev(workspace, "other-skill", "--scaffold-triggers")
    assert (again.code, "is there already" in again.err) == (2, True)
    none = dev(workspace, "code-review", "--scaffold-triggers")
    assert (none.code, "has no phrases" in none.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there are several skills (code-review, other-skill); name one, or use --all"),
        (("--all", "code-review"), "leave the names out"),
        (("code-review", "--filter", "low"), "--filter is for --all"),
        (("--all", "--filter", "medium"), "there is no such skill of the level medium"),
        (("code-review", "--model", "m"), "--model is for --copilot and for --tune; leave it out"),
        (("code-review", "--copilot", "--auto"), "--auto is for --tune and for raising levels"),
        (("code-review", "--copilot", "--target", "low"), "--target is for raising levels"),
        (
            ("code-review", "--scaffold-triggers", "--max-iterations", "2"),
            "--max-iterations is for --tune and for raising levels",
        ),
        (("code-review", "--max-iterations", "0"), "is not a whole number"),
        (
            ("code-review", "--copilot", "--executor", "mock", "--max-tokens", "9"),
            "raise it with --max-tokens",
        ),
        (("skills/x.agent.md",), "there is no such skill"),
        (("nothing",), "there is no skill or agent 'nothing'"),
    ],
)
def test_what_is_refused(workspace, arguments, message):
    done = dev(workspace, *arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_accepted_for_older_calls(workspace):
    assert dev(workspace, "other-skill", "--fast").code == 0
