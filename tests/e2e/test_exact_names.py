"""Names in suites: those that differ by their case only, and forms that only a command line has."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.program import waza, write_tree

HEAD = """name: x
skill: web-search
schemaVersion: '1.1'
config:
  executor: copilot-sdk
  model: m
  skill_directories: [skills]
  mcp_servers: {github: {type: http, url: 'http://127.0.0.1:9/'}}
tasks: [t.yaml]
"""
TASK = "id: t\ninputs: {prompt: p}\n"
SKILL = {
    f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: d\n---\nb\n"
    for name in ("web-search", "other")
}


def refusal(root: Path, suite: str, task: str) -> str:
    """What is said of a suite that is not to have warnings."""
    write_tree(root, {**SKILL, "eval.yaml": HEAD + suite, "t.yaml": TASK + task})
    ended = waza("run", "eval.yaml", "--warnings-as-errors", cwd=root)
    assert ended.code == 2, ended.err
    return ended.err


def grader(kind: str, config: str) -> str:
    return f"graders:\n- {{type: {kind}, config: {{{config}}}}}\n"


@pytest.mark.parametrize(
    ("suite", "task", "place", "meant"),
    [
        (grader("skill_invocation", "forbidden_skills: [Web-Search]"), "", "graders[0].config.forbidden_skills[0]", "web-search"),
        ("", grader("skill_invocation", "required_skills: [OTHER], mode: any_order"), "graders[0].config.required_skills[0]", "other"),
        (grader("tool_calls", "forbidden_tools: [view, Bash]"), "", "graders[0].config.forbidden_tools[1]", "bash"),
        (grader("behavior", "required_tools: [Edit]"), "", "graders[0].config.required_tools[0]", "edit"),
        (grader("action_sequence", "matching_mode: exact_match, expected_actions: [View]"), "", "graders[0].config.expected_actions[0]", "view"),
        ("", "expected: {behavior: {forbidden_tools: [BASH]}}\n", "expected.behavior.forbidden_tools[0]", "bash"),
        ("mcp_mocks: [{name: GitHub, tools: {a: {responses: [{return: 1}]}}}]\n", "", "mcp_mocks[0].name", "github"),
        (
            grader("tool_calls", "forbidden_tools: [files-Delete]"),
            "mcp_mocks: [{name: files, tools: {delete: {responses: [{return: 1}]}}}]\n",
            "graders[0].config.forbidden_tools[0]",
            "files-delete",
        ),
    ],
)  # fmt: skip
def test_a_name_in_the_wrong_case_is_warned_of(
    tmp_path: Path, suite: str, task: str, place: str, meant: str
) -> None:
    said = refusal(tmp_path, suite, task)
    assert f"{place}: there is a " in said
    assert f"did you mean {meant!r}?" in said
    assert said.count("did you mean") == 1


def test_names_that_a_script_uses_are_there_in_that_case(tmp_path: Path) -> None:
    mock = "mock: {output: ok, tool_calls: [{name: Bash}], skills: [Own]}\n"
    graders = "graders:\n- {type: tool_calls, config: {required_tools: [Bash], forbidden_tools: [BASH]}}\n"
    graders += "- {type: skill_invocation, config: {required_skills: [Own], mode: any_order}}\n"
    write_tree(tmp_path, {**SKILL, "eval.yaml": HEAD, "t.yaml": TASK + mock + graders})
    ended = waza("run", "eval.yaml", "--executor", "mock", "--no-save", cwd=tmp_path)
    assert ended.code == 0, ended.err
    assert ended.err.count("there is a tool 'Bash' and no 'BASH'") == 1
    assert ended.err.count("did you mean") == 1


def test_the_hint_for_a_file_writes_what_follows_the_executor(tmp_path: Path) -> None:
    suite = 'name: x\nconfig: {executor: "command: cat"}\ntasks: [t.yaml]\n'
    write_tree(tmp_path, {"eval.yaml": suite, "t.yaml": TASK})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    hint = "write executor: command, and executor_options: {command: cat}"
    assert (ended.code, hint in ended.err) == (2, True), ended.err


def test_blanks_around_the_names_of_columns_do_not_count(tmp_path: Path) -> None:
    graders = grader("text", "contains: ['{{.Vars.answer}}']")
    suite = "name: x\nconfig: {executor: mock, model: m}\ntasks_from: a.csv\nmock: {output: Lima}\n" + graders
    write_tree(tmp_path, {"eval.yaml": suite, "a.csv": "id , prompt, answer\na,p,Lima\n"})
    ended = waza("run", "eval.yaml", "--no-save", cwd=tmp_path)
    assert ended.code == 0, ended.err


def test_where_no_run_started_nothing_is_reported_of_going_on(tmp_path: Path) -> None:
    suite = "name: x\nconfig: {executor: mock}\ntasks: [t.yaml]\n"
    suite += "hooks: {before_run: [{command: 'false', error_on_fail: true}]}\n"
    write_tree(tmp_path, {"eval.yaml": suite, "t.yaml": TASK})
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 2, ended.err
    assert "Go on with: " not in ended.err
