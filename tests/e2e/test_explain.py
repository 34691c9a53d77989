"""`waza explain`, and the codes that JSON output gives to problems."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest
from tests.support.program import waza, write_tree

from waza.preflight.codes import DIAGNOSTICS
from waza.preflight.inventory import inventory
from waza.problem import Code
from waza.suite.loading import LoadOptions


def test_all_codes_are_listed(tmp_path: Path) -> None:
    ended = waza("explain", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    second = lines.index("Diagnostics of waza preflight")
    assert lines[0] == "Problems"
    assert [line.split()[0] for line in lines[1:second]] == sorted(get_args(Code))
    assert [line.split()[0] for line in lines[second + 1 :]] == list(DIAGNOSTICS) == sorted(DIAGNOSTICS)
    assert f"  {'no-task':28}  No task is selected, so there is nothing to run\n" in ended.out


def test_a_code_is_explained(tmp_path: Path) -> None:
    ended = waza("explain", "no-task", cwd=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == (
        "No task is selected, so there is nothing to run.\n\n"
        "What to do: Relax --task and --tags, or enable tasks.\n\n"
        "Example: waza run eval.yaml --tags smoke, where no task has this tag\n"
    )


@pytest.mark.parametrize(
    ("code", "hint"), [("unknown_keys", "did you mean 'unknown-key'?"), ("zzz", "known: ambiguous-skill, ")]
)
def test_an_unknown_code_is_refused(tmp_path: Path, code: str, hint: str) -> None:
    ended = waza("explain", code, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"Error: there is no code {code!r}; {hint}")


TASK = "id: t\ninputs: {prompt: Hello}\n"
GRADER = "{type: text, name: words, config: {contains: [x]}}"
REQUIREMENT = "id: R, category: quality, description: d"
COMMAND = "tasks: [tasks/*.yaml]\nconfig: {executor: copilot-sdk, mcp_servers: {wiki: {command: cat}}}\n"
BROKEN = {
    "name: s\nnmae: t\ntasks: [tasks/*.yaml]\n": "unknown-key",
    "name: [s]\ntasks: [tasks/*.yaml]\n": "wrong-type",
    "name: s\nname: t\n": "duplicate-key",
    "name: 's\n": "syntax",
    "name: s\ntasks: [tasks/*.yaml]\nconfig: {trials_per_task: -1}\n": "invalid-value",
    "name: s\ntasks: [tasks/*.yaml]\nconfig: {executor: mokc}\n": "unknown-executor",
    "name: s\ntasks: [tasks/*.yaml]\nconfig: {executor: mock, instruction_files: [gone.md]}\n": "missing-instructions",
    "name: s\ntasks: [tasks/*.yaml]\nconfig: {executor: mock, instruction_files: [../up.md]}\n": "outside-path",
    "name: s\ntasks: [tasks/*.yaml]\ngraders: [{type: txet}]\n": "unknown-grader",
    "name: s\ntasks: [tasks/*.yaml]\ngraders: [{type: text}]\n": "grader-config",
    "name: s\ntasks: [tasks/*.yaml]\nrange: [1, 2]\n": "no-effect",
    "name: s\ntasks: [gone/*.yaml]\n": "unmatched-pattern",
    "name: s\ntasks: [tasks/*.yaml]\nconfig: {executor: mock}\nskill: gone\n": "skill-not-found",
    "name: s\ntasks: [tasks/*.yaml]\nconfig: {executor: mock}\n": "unchecked-task",
    "tasks: [tasks/*.yaml]\nconfig: {required_skills: [gone]}\n": "required-skill",
    "tasks: [tasks/*.yaml]\nconfig: {skill_directories: [gone]}\n": "skill-directory",
    "tasks: [tasks/*.yaml]\nskill: ./tasks/t.agent.md\n": "skill-definition",
    "tasks: [tasks/*.yaml]\nmcp_mocks: [{name: files, fixtures: mocks}]\n": "mock-fixture",
    f"tasks: [tasks/*.yaml]\ngraders: [{GRADER}, {GRADER}]\n": "duplicate-grader",
    "tasks: [tasks/*.yaml]\nconfig: {executor: mock, mcp_servers: {wiki: {command: cat}}}\n": "mcp-servers",
    "tasks: [tasks/*.yaml]\nconfig: {executor: command, executor_options: {command: cat}}\n": "unconfirmed-executor",
    "tasks: [tasks/*.yaml]\nhooks: {before_run: [{command: 'true'}]}\n": "unconfirmed-hook",
    "tasks_from: rows.csv\nconfig: {executor: mock}\n": "duplicate-task",
    f"{COMMAND}mcp_mocks: [{{name: wiki, tools: {{}}}}]\n": "mocked-server",
    "tasks: [tasks/*.yaml]\nconfig: {executor: mock, disabled_skills: ['*']}\n": "skills-off",
}
BROKEN_TASKS = {
    "id: t\nname: other\n": "duplicate-task",
    "id: b\ncontext_dir: gone\n": "missing-context-dir",
    "id: b\ncontext_dir: tasks/a.yaml\n": "not-a-directory",
    "id: b\ninputs: {prompt: p, context: {fixture: gone}}\n": "context-fixture",
    "id: b\ninputs: {prompt: p, repos: [{type: worktree, source: gone, dest: d}]}\n": "missing-repository",
    f"id: b\nrequirements: [{{{REQUIREMENT}}}]\n": "uncovered-requirement",
    f"id: b\nrequirements: [{{{REQUIREMENT}, checks: [{{scope: task, grader: gone}}]}}]\n": "requirement-reference",
    "id: b\nrequirements: [{id: R, category: odd, description: d}]\n": "requirement",
}


@pytest.mark.parametrize(("written", "code"), BROKEN.items())
def test_preflight_reports_the_kind_of_each_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, code: str
) -> None:
    files = {
        "eval.yaml": written,
        "tasks/t.yaml": TASK,
        "tasks/t.agent.md": "---\n- t\n---\n",
        "mocks/a.json": "{",
        "rows.csv": "prompt,id\nHello,a\nHello,a\n",
    }
    assert code in codes_of(tmp_path, monkeypatch, files)


@pytest.mark.parametrize(("written", "code"), BROKEN_TASKS.items())
def test_preflight_reports_the_kind_of_each_mistake_in_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, code: str
) -> None:
    suite = "tasks: [tasks/*.yaml]\nconfig: {executor: mock}\n"
    assert code in codes_of(
        tmp_path, monkeypatch, {"eval.yaml": suite, "tasks/a.yaml": TASK, "tasks/b.yaml": written}
    )


def codes_of(root: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> list[str]:
    write_tree(root, files)
    monkeypatch.chdir(root)
    return [one.problem for one in inventory(Path("eval.yaml"), LoadOptions()).diagnostics]
