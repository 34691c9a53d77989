"""`waza suggest`: what a model suggests is loaded before it is shown as valid, and written over nothing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, strict_json, waza, write_tree

SKILL = "---\nname: review\ndescription: Reviews changes.\n---\n# Review\n"
SUITE = "name: review\nskill: review\nconfig: {executor: mock}\ntasks: ['tasks/*.yaml']\n"
TASK = """\
id: finds-a-bug
inputs:
  prompt: Review app.py
  files: [{path: app.py}]
graders:
  - {type: text, name: names-it, config: {contains: [bug]}}
"""
ANSWER: dict[str, Any] = {
    "eval_yaml": SUITE,
    "tasks": [
        {"path": "tasks/bug.yaml", "content": TASK, "confidence": "high", "rationale": "It is the core."}
    ],
    "fixtures": [{"path": "fixtures/app.py", "content": "x = 1\n"}],
}
TYPES = {"match": "Choose 2 to 5", "reply": {"graders": ["text", "behavior"]}}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return write_tree(tmp_path, {"skills/review/SKILL.md": SKILL})


def with_task(content: str, path: str = "tasks/bug.yaml") -> dict[str, Any]:
    return {**ANSWER, "tasks": [{"path": path, "content": content}]}


def suggest(workspace: Path, *options: str, answer: object = ANSWER, more: tuple[object, ...] = ()) -> Ended:
    script = [TYPES, *more, {"reply": answer}]
    write_tree(workspace, {"answers.json": json.dumps(script)})
    return waza("suggest", "review", "--executor", "mock:answers.json", *options, cwd=workspace)


def list_files(workspace: Path) -> list[str]:
    return sorted(
        path.relative_to(workspace / "skills").as_posix() for path in (workspace / "skills").rglob("*.*")
    )


def test_nothing_is_written_without_being_asked(workspace):
    done = suggest(workspace)
    assert (done.code, done.err) == (0, "The suggestion is valid; --apply writes it.\n")
    assert done.out == (
        f"# skills/review/evals/eval.yaml\n{SUITE}---\n"
        f"# skills/review/evals/tasks/bug.yaml\n# confidence high: It is the core.\n{TASK}---\n"
        "# skills/review/evals/fixtures/app.py\nx = 1\n"
    )
    assert list_files(workspace) == ["review/SKILL.md"]
    document = strict_json(suggest(workspace, "--format", "json").out)
    assert document["valid"] is True
    assert document["tasks"][0]["rationale"] == "It is the core."
    assert (document["eval_yaml"], document["fixtures"]) == (SUITE, ANSWER["fixtures"])


def test_what_is_applied_runs(workspace):
    done = suggest(workspace, "--apply", "--count", "2")
    assert done.code == 0, done.err
    assert done.out.splitlines() == [
        "output_dir: skills/review/evals",
        "files:",
        "  - skills/review/evals/eval.yaml",
        "  - skills/review/evals/tasks/bug.yaml",
        "  - skills/review/evals/fixtures/app.py",
    ]
    assert "2 tasks were asked for, and the model suggests 1" in done.err
    ran = waza("run", "skills/review/evals", "--no-save", cwd=workspace)
    assert "finds-a-bug" in ran.out + ran.err
    again = suggest(workspace, "--apply", "--format", "json")
    assert again.code == 0  # the same files
    assert strict_json(again.out)["files"] == [
        "skills/review/evals/tasks/bug.yaml",
        "skills/review/evals/fixtures/app.py",
    ]


def test_nothing_is_replaced_without_being_asked(workspace):
    suggest(workspace, "--apply")
    suite = workspace / "skills/review/evals/eval.yaml"
    suite.write_text(SUITE + "# mine\n")
    other = with_task(TASK.replace("[bug]", "[defect]"))
    shown = suggest(workspace, answer=other)
    assert "skills/review/evals/tasks/bug.yaml is there already" in shown.err
    done = suggest(workspace, "--apply", answer=other)
    assert (done.code, done.out) == (2, "")
    assert "-  - {type: text, name: names-it, config: {contains: [bug]}}" in done.err
    assert "+  - {type: text, name: names-it, config: {contains: [defect]}}" in done.err
    assert "allow it with --force" in done.err
    assert "[bug]" in (suite.parent / "tasks/bug.yaml").read_text()
    done = suggest(workspace, "--apply", "--force", answer=other)
    assert done.code == 0
    assert "[defect]" in (suite.parent / "tasks/bug.yaml").read_text()
    assert suite.read_text().endswith("# mine\n")
    assert "eval.yaml is there and is kept as it is" in done.err
    twin = suggest(workspace, "--apply", "--force", answer=with_task(TASK, "tasks/other.yaml"))
    assert twin.code == 2  # its id is there already
    assert "not valid: skills/review/evals/tasks/" in twin.err
    assert not (suite.parent / "tasks/other.yaml").exists()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (with_task(TASK.replace("contains", "contians")), "contians"),
        (with_task(TASK.replace("app.py}", "none.py}")), "none.py"),
        (
            {**ANSWER, "tasks": [*ANSWER["tasks"], {"path": "other/bug.yaml", "content": TASK}]},
            "other/bug.yaml: no pattern under 'tasks' of eval.yaml names it",
        ),
        ({**ANSWER, "eval_yaml": "tasks: 3\n"}, "eval.yaml"),
        ({**ANSWER, "eval_yaml": "name: [\n"}, "eval.yaml"),
        (with_task("id: [\n"), "bug.yaml"),
    ],
)
def test_mistakes_are_not_shown_as_valid(workspace, answer, message):
    for options in ((), ("--apply",)):
        done = suggest(workspace, *options, answer=answer)
        assert done.code == 2
        assert "not valid: skills/review/evals/" in done.err or "not valid: other/" in done.err
        assert message in done.err
        assert "The suggestion is valid" not in done.err
        assert list_files(workspace) == ["review/SKILL.md"]
    assert strict_json(suggest(workspace, "--format", "json", answer=answer).out)["valid"] is False


def test_the_model_may_correct_its_mistakes_once(workspace):
    wrong = {"match": "You write an evaluation suite", "reply": with_task("id: [\n")}
    repair = {"match": "A suite that you wrote has mistakes", "reply": ANSWER}
    done = suggest(workspace, more=(repair, wrong))
    assert (done.code, "The suggestion is valid" in done.err) == (0, True)


@pytest.mark.parametrize(
    "path",
    [
        "../x.yaml",
        "/tmp/x.yaml",
        "tasks/../../x.yaml",
        "C:\\x.yaml",
        "..\\x.yaml",
        "",
        ".",
        "a\0b",
        "eval.yaml",
        "link/x.yaml",
    ],
)
def test_paths_stay_inside(workspace, path):
    evals = workspace / "skills/review/evals"
    evals.mkdir()
    (evals / "link").symlink_to(workspace)
    for answer in (with_task(TASK, path), {**ANSWER, "fixtures": [{"path": path, "content": "x"}]}):
        done = suggest(workspace, "--apply", "--force", answer=answer)
        assert (done.code, done.out) == (2, "")
        assert re.search("the answer has a path|of the answer leads out of|more than one file", done.err)
        assert list_files(workspace) == ["review/SKILL.md"]
    assert {path.name for path in workspace.iterdir()} == {"skills", "answers.json"}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("I cannot do that.", "the answer is no object with 'tasks'"),
        ({**ANSWER, "tasks": []}, "the answer has no tasks"),
        ({**ANSWER, "tasks": "x"}, "'tasks' of the answer is not a list"),
        ({**ANSWER, "tasks": [{"path": "a"}]}, "an entry of 'tasks' has no path and content"),
        ({**ANSWER, "eval_yaml": None}, "no text for 'eval_yaml'"),
        ({**ANSWER, "tasks": ANSWER["tasks"] * 2}, "more than one file 'tasks/bug.yaml'"),
    ],
)
def test_answers_that_cannot_be_used(workspace, answer, message):
    done = suggest(workspace, answer=answer)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_answers_in_yaml_and_in_fences(workspace):
    fenced = f"Here it is:\n```yaml\n{json.dumps({**with_task(f'```yaml{chr(10)}{TASK}```'), 'fixtures': []})}\n```\n"
    task = TASK.replace("  files: [{path: app.py}]\n", "")
    in_yaml = "eval_yaml: |\n" + "".join(f"  {line}\n" for line in SUITE.splitlines())
    in_yaml += "tasks:\n  - path: tasks/bug.yaml\n    content: |\n"
    in_yaml += "".join(f"      {line}\n" for line in task.splitlines())
    assert "none" not in suggest(workspace, answer=fenced).out
    done = suggest(workspace, answer=f"Sure!\n```yaml\n{in_yaml}```\n")
    assert done.code == 0, done.err
    assert task in done.out


def test_the_suite_that_is_there_is_extended(workspace):
    write_tree(
        workspace,
        {
            "evals/review/eval.yaml": SUITE + "graders: [{type: text, config: {contains: [x]}}, {typ: y}]\n",
            "evals/review/tasks/old.yaml": "{id: old, inputs: {prompt: p}}",
        },
    )
    done = suggest(workspace, "--format", "json")
    assert done.code == 0, done.err
    document = strict_json(done.out)
    assert document["output_dir"] == "evals/review"
    assert document["keeps_eval"]
    assert any("mistakes already" in note for note in document["notes"])
    elsewhere = suggest(workspace, "--output-dir", "new", "--format", "json")
    assert strict_json(elsewhere.out)["output_dir"] == "new"


def test_previews_and_what_is_refused(workspace):
    for options, focus in (((), "Prefer graders"), (("--focus", "parameters"), "Focus on each parameter")):
        done = waza("suggest", "review", "--show-prompt", *options, cwd=workspace)
        assert done.code == 0
        assert done.out.startswith("== question 1 (suggest_graders), ")
        assert focus in done.out
        assert "what is asked next depends on the answers" in done.err
    assert "keep one" in suggest(workspace, "--apply=false", "--dry-run=false").err
    assert "raise it with --max-tokens" in suggest(workspace, "--max-tokens", "20").err
    write_tree(workspace, {"answers.json": '[{"reply": {"graders": ["wgp", "charm"]}}]'})
    done = waza("suggest", "review", "--executor", "mock:answers.json", "--model", "m", cwd=workspace)
    assert "names no type of grader that can be used" in done.err


def test_no_program_is_suggested(workspace):
    """What a model suggests is run by `waza run`, so it names no program, and no file that other programs obey."""
    program = "{type: program, name: p, config: {command: touch, args: [x]}}"
    hooks = "hooks: {before_run: [{command: touch x}]}\n"
    servers = "config: {executor: mock, mcp_servers: {s: {command: touch, args: [x]}}}"
    for answer, message in (
        (with_task(TASK.replace("graders:", f"graders:\n  - {program}")), "'p' (program) starts a program"),
        ({**ANSWER, "eval_yaml": f"{SUITE}graders: [{program}]\n"}, "'p' (program) starts a program"),
        ({**ANSWER, "eval_yaml": SUITE + hooks}, "eval.yaml: hooks may start a program"),
        (
            {**ANSWER, "eval_yaml": SUITE.replace("config: {executor: mock}", servers)},
            "config.mcp_servers may start",
        ),
        ({**ANSWER, "fixtures": [{"path": ".git/hooks/pre-commit", "content": "#!/bin/sh\n"}]}, "is hidden"),
        ({**ANSWER, "fixtures": [{"path": "fixtures/.waza.yaml", "content": "x: 1\n"}]}, "is hidden"),
    ):
        done = suggest(workspace, "--apply", "--force", answer=answer)
        assert (done.code, done.out, message in done.err) == (2, "", True), (message, done.err)
        assert list_files(workspace) == ["review/SKILL.md"]
    kept = {"skills/review/evals/eval.yaml": f"{SUITE}graders: [{program}]\n"}
    write_tree(workspace, kept)
    assert suggest(workspace, "--apply").code == 0  # of a suite that is there, somebody has chosen them
