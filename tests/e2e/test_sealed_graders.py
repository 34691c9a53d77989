"""Files of graders that an agent rewrites while it runs: what they then say is no verdict of the suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import Ended, strict_json, waza, write_tree

FILES = {
    "grade.sh": "exit 1\n",
    "schema.json": '{"type": "object"}',
    "expected.txt": "good\n",
    "rubric.md": "Be strict.",
    "checks/grade.py": "import sys, helper; sys.exit(helper.CODE)\n",
    "checks/helper.py": "CODE = 1\n",
    "check.sh": "exit 1\n",
    "refers.json": '{"$ref": "defs.json"}',
    "defs.json": '{"type": "object", "required": ["x"]}',
}
GRADERS = {
    "program": {"type": "program", "config": {"command": "sh", "args": ["grade.sh"]}},
    "schema": {"type": "json_schema", "config": {"schema_file": "schema.json"}},
    "snapshot": {
        "type": "diff",
        "config": {"expected_files": [{"path": "out.txt", "snapshot": "expected.txt"}]},
    },
}
THEIR_FILES = {
    "helper": ("checks/helper.py", "CODE = 0"),
    "script": ("check.sh", "exit 0"),
    "reference": ("defs.json", "{}"),
}
BY_WAY = {
    "helper": {"type": "program", "config": {"command": "python3", "args": ["checks/grade.py"]}},
    "script": {"type": "program", "config": {"command": "sh", "args": ["-c", "sh check.sh --strict"]}},
    "reference": {"type": "json_schema", "config": {"schema_file": "refers.json"}},
}
CHANGES = {
    "program": "echo exit 0 > $S/grade.sh",
    "program, with size and time kept": "touch -r $S/grade.sh ref; printf 'exit 0\\n' > $S/grade.sh; touch -r ref $S/grade.sh",
    "program, removed": "rm $S/grade.sh",
    "schema": "echo '{}' > $S/schema.json",
    "snapshot": "echo bad > $S/expected.txt",
}


def run(root: Path, change: str, grader: dict[str, Any], *args: str, head: str = "") -> Ended:
    command = json.dumps(f'S="$WAZA_SUITE_DIR"; echo bad > out.txt; {change}; echo {{}}')
    config = f"config: {{executor: command, model: any, executor_options: {{command: {command}}}}}"
    suite = f"name: s\n{config}\ngraders: [{json.dumps({'name': 'g', **grader})}]\ntasks: [t.yaml]\n{head}"
    write_tree(root, {**FILES, "eval.yaml": suite, "t.yaml": "id: t\ninputs: {prompt: p}\n"})
    return waza("run", "eval.yaml", "-o", "o.json", "--no-save", *args, cwd=root)


def result(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = strict_json((root / "o.json").read_bytes())["tasks"][0]["runs"][0]
    return found


@pytest.mark.parametrize("case", CHANGES)
def test_a_verdict_by_a_file_that_changed_is_an_error_that_names_it(tmp_path: Path, case: str):
    kind = case.partition(",")[0]
    ended = run(tmp_path, CHANGES[case], GRADERS[kind])
    assert ended.code == 1
    found = result(tmp_path)
    assert found["status"] == "error"
    assert found["validations"]["g"]["passed"] is False
    name = {"program": "grade.sh", "schema": "schema.json", "snapshot": "expected.txt"}[kind]
    assert f"{tmp_path / name} changed during the run" in found["validations"]["g"]["details"]["error"]
    assert f"{name} changed during the run" in ended.err


@pytest.mark.parametrize("kind", BY_WAY)
def test_a_verdict_by_a_file_that_another_one_leads_to_is_an_error_as_well(tmp_path: Path, kind: str):
    name, text = THEIR_FILES[kind]
    assert run(tmp_path, f"echo '{text}' > $S/{name}", BY_WAY[kind]).code == 1
    found = result(tmp_path)
    assert found["status"] == "error"
    assert f"{tmp_path / name} changed during the run" in found["validations"]["g"]["details"]["error"]


PLANTED = {
    "module": "echo 'raise SystemExit(0)' > $S/checks/json.py",
    "hidden": "echo x > $S/checks/.config",
    "vendored": "mkdir -p $S/checks/vendor/sys; echo x > $S/checks/vendor/sys/new.py",
    "folder": "mkdir $S/checks/flag",
    "link": "ln -s /etc $S/checks/etc",
    "another file by rename": "echo 'CODE = 0' > new; mv new $S/checks/helper.py",
    "link in place of a file": "mv $S/checks/helper.py $S/real.py; ln -s ../real.py $S/checks/helper.py",
    "behind a link": "echo 2 > $S/words/one.txt",
    "folder by another name": "mv $S/checks/data $S/checks/date",
    "more than can be looked through": "cd $S/checks; seq 5000 | xargs touch",
    "results of its own": """printf '{\\n  "schemaVersion": 1, "eval_id": 1}' > $S/checks/x.json""",
}


@pytest.mark.parametrize("case", PLANTED)
def test_what_is_planted_in_the_folder_of_a_program_is_noticed(tmp_path: Path, case: str):
    write_tree(tmp_path, {"words/one.txt": "1", "checks/data/a.txt": "a"})
    (tmp_path / "checks/words").symlink_to("../words")
    ended = run(tmp_path, PLANTED[case], BY_WAY["helper"])
    assert ended.code == 1
    found = result(tmp_path)
    assert found["status"] == "error", found
    assert (
        "during the run, so its verdict would not be the suite's"
        in found["validations"]["g"]["details"]["error"]
    )
    assert f"{tmp_path / 'checks'}" in ended.err


def test_what_others_write_beside_the_suite_is_not_planted(tmp_path: Path):
    """Logs, reports and what hooks leave come and go where the suite is; a program there is judged by its code."""
    (tmp_path / "build.log").write_text("old")
    change = "echo new >> $S/build.log; date > $S/today.txt; mkdir -p $S/out; echo '{}' > $S/out/b.json"
    assert run(tmp_path, change, GRADERS["program"]).code == 1
    assert result(tmp_path)["status"] == "failed"


def test_code_that_is_planted_beside_the_suite_is_noticed(tmp_path: Path):
    run(tmp_path, "echo 'raise SystemExit(0)' > $S/json.py", GRADERS["program"])
    error = result(tmp_path)["validations"]["g"]["details"]["error"]
    assert f"{tmp_path / 'json.py'} was added during the run" in error


def test_what_python_and_waza_write_there_is_not_planted(tmp_path: Path):
    change = "mkdir $S/checks/__pycache__ $S/checks/.waza; echo x > $S/checks/__pycache__/x.pyc"
    run(tmp_path, change, BY_WAY["helper"], "--reporter", "junit:checks/junit.xml")
    assert result(tmp_path)["status"] == "failed"


BROUGHT = {
    "added to a fixture": ("echo x > $WAZA_SUITE/ctx/new.txt", "ctx/new.txt was added"),
    "hidden in a fixture": ("echo x > $WAZA_SUITE/ctx/vendor/.new", "ctx/vendor/.new was added"),
    "fixture of an MCP server": ("""echo '{"description": "e"}' > $WAZA_SUITE/mcp/u.json""", "mcp/u.json changed"),
    "added to an MCP server": ("""echo '{"description": "e"}' > $WAZA_SUITE/mcp/v.json""", "mcp/v.json was added"),
    "fixture of a command": ("echo x > $WAZA_SUITE/gh.out", "gh.out changed"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROUGHT)
def test_what_a_task_brings_is_the_same_for_all_trials(tmp_path: Path, case: str):
    change, said = BROUGHT[case]
    grader = {"type": "program", "name": "g", "config": {"command": "sh", "args": ["-c", change]}}
    head = (
        "mcp_mocks: [{name: m, fixtures: mcp}]\n"
        "command_mocks: [{name: gh, responses: [{args: [x], fixture: gh.out, exit_code: 0}]}]\n"
    )
    suite = f"name: s\nconfig: {{executor: copilot-sdk, model: any, trials_per_task: 2}}\n{head}graders: [{json.dumps(grader)}]\ntasks: [t.yaml]\n"
    files = {
        "eval.yaml": suite,
        "t.yaml": "id: t\ninputs: {prompt: p, context: {fixture: ctx}}\nmock: {output: x}\n",
        "ctx/vendor/a.txt": "a",
        "mcp/u.json": '{"description": "d", "responses": [{"return": 1}]}',
        "gh.out": "printed",
    }
    write_tree(tmp_path, files)
    args = ("run", "eval.yaml", "--executor", "mock", "-o", "o.json", "--no-save")
    assert waza(*args, cwd=tmp_path, env={"WAZA_SUITE": str(tmp_path)}).code == 1
    first, second = strict_json((tmp_path / "o.json").read_bytes())["tasks"][0]["runs"]
    assert (first["status"], second["status"]) == ("passed", "error")
    assert f"{tmp_path}/{said} during the run, so the task would be another one" in second["error_msg"]


@pytest.mark.parametrize("kind", BY_WAY)
def test_what_another_file_leads_to_judges_as_long_as_it_stays(tmp_path: Path, kind: str):
    run(tmp_path, f"touch $S/{THEIR_FILES[kind][0]}", BY_WAY[kind])
    assert result(tmp_path)["status"] == "failed"


@pytest.mark.parametrize("kind", GRADERS)
def test_what_did_not_change_judges(tmp_path: Path, kind: str):
    run(tmp_path, "touch $S/grade.sh $S/schema.json $S/expected.txt", GRADERS[kind])
    assert result(tmp_path)["status"] == ("passed" if kind == "schema" else "failed")


def test_snapshots_that_are_updated_may_change(tmp_path: Path):
    assert run(tmp_path, "echo odd > $S/expected.txt", GRADERS["snapshot"], "--update-snapshots").code == 0
    assert (tmp_path / "expected.txt").read_text(encoding="utf-8") == "bad\n"


def test_hooks_before_the_run_may_make_what_graders_read(tmp_path: Path):
    head = "hooks: {before_run: [{command: 'echo exit 0 > grade.sh'}]}"
    assert run(tmp_path, "true", GRADERS["program"], head=head).code == 0
