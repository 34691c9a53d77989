"""Broken suites through the command line: every message in full, exit code 2, and nothing left behind.

The table is in the modules of `tests/e2e/broken`, by what is broken.
"""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import pytest
from tests.e2e.broken import calls, checks, graders, keys, mocks, places, suites, syntax, tasks
from tests.e2e.broken.case import SUITE, Case
from tests.support.program import mock_suite, waza, write_tree

TABLES = (syntax, suites, keys, checks, tasks, graders, mocks, places, calls)
CASES = [
    pytest.param(case, id=f"{module.__name__.rpartition('.')[2]}-{case.name}")
    for module in TABLES
    for case in module.CASES
]


def tree(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*"))


@pytest.mark.parametrize("case", CASES)
def test_a_broken_suite_is_refused(tmp_path: Path, case: Case) -> None:
    case.write(tmp_path)
    before = tree(tmp_path)
    ended = waza("run", *case.args, cwd=tmp_path, limit=30)
    assert ended.err == case.stderr
    assert ended.out == ""
    assert ended.code == 2
    assert tree(tmp_path) == before


def test_the_table_is_long_and_has_no_case_twice() -> None:
    names = [(module.__name__, case.name) for module in TABLES for case in module.CASES]
    assert len(names) == len(set(names)) >= 70


def test_messages_are_for_people() -> None:
    said = list(chain.from_iterable(case.says for module in TABLES for case in module.CASES))
    words = (
        "Errno",
        "Traceback",
        "None",
        "NoneType",
        "object",
        "codec",
        "str,",
        "dict",
        "<class",
        "ValueError",
        "%s",
        "{}",
    )
    assert [line for line in said if any(word in line for word in words)] == []
    for line in said:
        assert len(set(line.split("; "))) == len(line.split("; ")), line


UNKNOWN_SUITE = """\
nmae: s
config: {executor: mock, model: m, treads: 4}
colour: red
metrics: [{name: a, threshold: 1}]
hooks: {before_runs: [], after_run: [{command: 'true', comment: x}]}
mcp_mocks: [{name: m, tools: {t: {responses: [{match: {}, return: 1}]}}}]
command_mocks: [{name: gh, responses: [{args: [], stdout: x}]}]
adversarial: {packs: [scope-bypass], pack: x}
tasks: [t.yaml, none.yaml]
range: [1, 2]
"""
UNKNOWN_TASK = """\
id: t
tagz: [a]
inputs:
  prompt: read ./a.txt
  promt: hi
  files: [{path: b.txt, content: x, mode: 755}, {content: y}]
  responder: {instructions: help, max_followups: 1, modle: x}
  repos: []
expected: {}
checkpoints: [{after_turn: 1, on_failure: stop, graders: [{type: text, name: c, config: {not_contains: [zzz]}}]}]
requirements: [{id: r, grade: x, checks: [{scope: task, graders_: g}]}]
mock: {responder: [{stop: true}]}
"""
UNKNOWN_WARNINGS = """\
eval.yaml:1:1: nmae: warning: unknown key 'nmae', ignored; did you mean 'name'?
eval.yaml:2:36: config.treads: warning: unknown key 'treads', ignored; known: disabled_skills, enforce_expected, error_retries, executor, executor_options, fail_fast, first_event_timeout_seconds, group_by, idle_timeout_seconds, inject_skill_body, instruction_files, isolation, judge_model, judge_reasoning_effort, judge_timeout_seconds, limits, max_attempts, mcp_servers, model, parallel, pass_rule, reasoning_effort, required_skills, skill_directories, skill_required, stop_after_errors, stop_when, timeout_seconds, trials_per_task, trigger_skill_routing, wire, workers
eval.yaml:3:1: colour: warning: unknown key 'colour', ignored; known: adversarial, baseline, canary, caveats, command_mocks, config, description, graders, hooks, inputs, mcp_mocks, metrics, mock, name, range, scenario, schemaVersion, skill, tasks, tasks_from, version
eval.yaml:4:12: metrics[0].name: warning: there is no metric 'a', so it is left out; known: behavior_quality, task_completion, trigger_accuracy, trigger_precision, trigger_recall, trigger_routing
eval.yaml:5:9: hooks.before_runs: warning: unknown key 'before_runs', ignored; did you mean 'before_run'?
eval.yaml:5:56: hooks.after_run[0].comment: warning: unknown key 'comment', ignored; did you mean 'command'?
eval.yaml:6:1: mcp_mocks: warning: has no effect with the executor 'mock', but on calls of its script that have no result
eval.yaml:7:1: command_mocks: warning: has no effect with the executor 'mock', but on calls of its script that have no result
eval.yaml:8:38: adversarial.pack: warning: unknown key 'pack', ignored; did you mean 'packs'?
eval.yaml:9:17: tasks[1]: warning: no file matches 'none.yaml'; patterns are relative to the suite's directory
eval.yaml:10:1: range: warning: has no effect without tasks_from
t.yaml:2:1: tagz: warning: unknown key 'tagz', ignored; did you mean 'tags'?
t.yaml:5:3: inputs.promt: warning: unknown key 'promt', ignored; did you mean 'prompt'?
t.yaml:6:37: inputs.files[0].mode: warning: unknown key 'mode', ignored; known: content, path
t.yaml:6:49: inputs.files[1].path: warning: is empty, so this file is left out
t.yaml:7:53: inputs.responder.modle: warning: unknown key 'modle', ignored; did you mean 'model'?
t.yaml:11:24: requirements[0].grade: warning: unknown key 'grade', ignored; known: category, checks, description, id
t.yaml:11:57: requirements[0].checks[0].graders_: warning: unknown key 'graders_', ignored; did you mean 'grader'?
"""


def test_unknown_keys_and_keys_without_effect_are_warnings(tmp_path: Path) -> None:
    write_tree(tmp_path, {"eval.yaml": UNKNOWN_SUITE, "t.yaml": UNKNOWN_TASK})
    ended = waza("run", "eval.yaml", "--executor", "mock", "--no-save", cwd=tmp_path)
    warnings = [line for line in ended.err.splitlines() if ": warning: " in line]
    assert "\n".join(warnings) + "\n" == UNKNOWN_WARNINGS
    assert ended.code == 0


def test_a_suite_of_a_newer_version_may_have_keys_that_we_do_not_know(tmp_path: Path) -> None:
    suite = (
        "schemaVersion: '1.10'\n"
        + SUITE
        + "timeout_seconds: 5\ngraders: [{type: text, name: g, config: {contains: [hi], fuzzy: true}, when: always}]\n"
    )
    write_tree(tmp_path, {"eval.yaml": suite, "t.yaml": "id: t\ninputs: {prompt: hi, budget: 3}\n"})
    ended = waza("run", "eval.yaml", "--no-save", cwd=tmp_path)
    assert [line for line in ended.err.splitlines() if ": warning: " in line] == [
        "eval.yaml:1:1: schemaVersion: warning: 1.10 is newer than what this version of waza reads in full; unknown keys are ignored",
        "eval.yaml:5:1: timeout_seconds: warning: unknown key 'timeout_seconds', ignored; it belongs under 'config'",
        "eval.yaml:6:58: graders[0].config.fuzzy: warning: unknown key 'fuzzy', ignored; known: contains, contains_cs, not_contains, not_contains_cs, regex_match, regex_not_match",
        "eval.yaml:6:72: graders[0].when: warning: unknown key 'when', ignored; known: assertions, config, model, name, only_with_skills, override, ref, rubric, script, type, weight",
        "t.yaml:2:22: inputs.budget: warning: unknown key 'budget', ignored; known: context, environment, files, follow_up_prompts, prompt, prompt_file, repos, responder, workdir",
    ]
    assert ended.code == 0


def test_files_of_other_systems_load_and_large_fixtures_are_copied(tmp_path: Path) -> None:
    """BOM, CRLF, a fixture of 50 MB, JSON as YAML, links inside, and a file name in another script."""
    write_tree(
        tmp_path,
        {
            "eval.yaml": b"\xef\xbb\xbf" + SUITE.replace("t.yaml", "'*.task'").replace("\n", "\r\n").encode(),
            "crlf.task": "id: crlf\r\ninputs:\r\n  prompt: |\r\n    one\r\n    two\r\n",
            "bom.task": b"\xef\xbb\xbfid: bom\ninputs: {prompt_file: p.md}\n",
            "p.md": b"\xef\xbb\xbfread me\r\n",
            "json.task": '{"id": "json", "inputs": {"prompt": "caf\\u00e9 \\/"}}',
            "большой.task": "inputs: {prompt: hi, files: [{path: big.bin}, {path: link.txt}, {path: 日本.txt}]}\n",
            "fixtures/a.txt": "linked",
            "fixtures/日本.txt": "named",
        },
    )
    (tmp_path / "fixtures/link.txt").symlink_to("a.txt")
    with (tmp_path / "fixtures/big.bin").open("wb") as big:
        big.truncate(50 * 2**20)
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert ended.code == 0, ended.err
    found = {task["test_id"]: task["runs"][0] for task in ended.results()["tasks"]}
    assert found["crlf"]["prompt"] == "one\ntwo\n"
    assert found["bom"]["prompt"] == "read me\r\n"
    assert found["json"]["prompt"] == "café /"
    assert "Analyzed 3 file(s)" in found["большой"]["final_output"]
    assert "linked" in found["большой"]["final_output"]
    assert "named" in found["большой"]["final_output"]


def test_bad_patterns_of_text_and_file_warn_and_fail_one_check(tmp_path: Path) -> None:
    head = """\
graders:
- {name: g, type: text, config: {contains: [hi], regex_match: ['(?=x)']}}
- {name: f, type: file, config: {content_patterns: [{path: a.txt, must_match: [hi, '(']}]}}
"""
    mock_suite(tmp_path, {"t": "inputs: {prompt: hi, files: [{path: a.txt, content: hi}]}"}, head)
    ended = waza("run", "eval.yaml", cwd=tmp_path)
    assert [line for line in ended.err.splitlines() if ": warning: " in line] == [
        "eval.yaml:7:64: graders[0].config.regex_match[0]: warning: the pattern '(?=x)' cannot be used: look-ahead `(?=` is not available in RE2; match the surrounding text itself, or write two patterns, one that must match and one that must not; every run fails this check until the pattern is corrected",
        "eval.yaml:8:84: graders[1].config.content_patterns[0].must_match[1]: warning: the pattern '(' cannot be used: a group is not closed; add `)`, or write `\\(` for the sign itself; every run fails this check until the pattern is corrected",
    ]
    assert ended.code == 1
    validations = ended.results()["tasks"][0]["runs"][0]["validations"]
    assert {name: (found["score"], found["passed"]) for name, found in validations.items()} == {
        "g": (0.5, False),
        "f": (2 / 3, False),
    }


def test_a_suite_with_warnings_runs_unless_these_are_errors(tmp_path: Path) -> None:
    write_tree(tmp_path, {"eval.yaml": SUITE, "t.yaml": "id: t\ninputs: {prompt: hi}\n"})
    strict = waza("run", "eval.yaml", "--warnings-as-errors", cwd=tmp_path)
    assert (strict.code, strict.out) == (2, "")
    assert "1 task has no check: t" in strict.err
    assert strict.err.endswith("1 mistake; nothing was run\n")
    assert not (tmp_path / ".waza").exists()
    assert waza("run", "eval.yaml", "--no-save", cwd=tmp_path).code == 0


def test_mistakes_of_all_kinds_are_reported_in_one_round(tmp_path: Path) -> None:
    suite = """\
name: s
skill: nobody
config: {executor: copilot-sdk, model: m, trials_per_task: many}
metrics: [3, {name: task_compltion, threshold: soon, gate: true}]
inputs: {a: [1], b: x}
graders:
  - {type: text, name: g, weight: heavy, config: {regex_match: [1.5, {}, "("]}}
  - {type: txt}
tasks: [{}, t.yaml, none.yaml]
"""
    task = """\
id: t
inputs: {prompt: "{{.Vars.a}} {{.Vars.c}}", files: [7, {path: gone.txt}]}
checkpoints: [{graders: []}, {after_turn: 9, graders: [{type: regex}]}]
"""
    csv = "prompt,x\np,1,2\nq\n"
    write_tree(tmp_path, {"eval.yaml": suite, "t.yaml": task, "rows.csv": csv})
    ended = waza("run", "eval.yaml", "--task", "zzz", cwd=tmp_path)
    places = [line.split(": ")[1] for line in ended.err.splitlines() if line.startswith(("eval.", "t."))]
    assert places == [
        "skill",
        "config.trials_per_task",
        "metrics[0]",
        "metrics[1].name",
        "metrics[1].threshold",
        "inputs.a",
        "graders[0].weight",
        "graders[0].config.regex_match[1]",
        "graders[0].config.regex_match[2]",
        "graders[1].type",
        "tasks[0]",
        "tasks[2]",
        "inputs.prompt",
        "inputs.files[0]",
        "inputs.files[1].path",
        "checkpoints[0]",
        "checkpoints[0].graders",
        "checkpoints[1].after_turn",
        "checkpoints[1].graders[0].type",
    ], ended.err
    of_rows = suite.replace("tasks: [{}, t.yaml, none.yaml]", "tasks_from: rows.csv")
    write_tree(tmp_path, {"eval.yaml": of_rows})
    said = waza("run", "eval.yaml", cwd=tmp_path).err
    assert "rows.csv:2:1: row 1 has 3 fields" in said
    assert "rows.csv:3:1: row 2 has 1 field," in said
