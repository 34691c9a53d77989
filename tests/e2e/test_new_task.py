"""`waza new task`: what was seen of an agent becomes a task, which plays it again; and a failure fails again."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_new_eval import fits_schemas
from tests.e2e.test_new_skill import plain
from tests.support.live import nap, survivors, until
from tests.support.program import (
    LIMIT,
    Ended,
    command,
    environment,
    mock_suite,
    strict_json,
    waza,
    write_tree,
)
from tests.unit.registry._upstream import files_below

ANSWER = """
output: |
  Hello "Ada": {{.TaskName}} {{"{{"}}.Vars.x}}
tool_calls:
  - {name: bash, args: {command: "git log -1 && echo 'x'"}, result: "a\\nb", duration_ms: 4}
  - {name: view, args: {path: notes.md}, success: false}
skills: [greeter]
files: [{path: out/report.md, content: "# Report\\n"}]
"""
HEAD = "inputs: {x: '1'}"


def suite(root: Path, **tasks: str) -> Path:
    write_tree(root, {"fixtures/notes.md": "Ada\n", "answer.yaml": ANSWER})
    return mock_suite(
        root, tasks or {"other": "{inputs: {prompt: p}, expected: {output_contains: [p]}}"}, HEAD
    )


def from_prompt(root: Path, *words: str) -> Ended:
    return waza("new", "task", "from-prompt", *words, cwd=root)


def test_one_answer_becomes_a_task_that_plays_it_and_holds_it(tmp_path: Path):
    suite(tmp_path)
    ended = from_prompt(
        tmp_path,
        "Say hello",
        "tasks/hello.yaml",
        "--script",
        "answer.yaml",
        "--file",
        "notes.md",
        "--tags",
        "a, b",
    )
    assert ended.code == 0, ended.err
    path = tmp_path / "tasks" / "hello.yaml"
    task = plain(path)
    assert (task["id"], task["tags"]) == ("auto-generated-test", ["inferred", "a", "b"])
    assert "INFERRED" in path.read_text(encoding="utf-8")
    assert {grader["type"]: grader["name"] for grader in task["graders"]} == {
        "skill_invocation": "inferred_skills",
        "tool_constraint": "inferred_calls",
        "file": "inferred_files",
        "text": "inferred_answer",
    }
    assert len(task["graders"][1]["config"]["expect_tools"]) == 1  # a call that failed need not happen again
    line = next(line for line in ended.out.splitlines() if "waza run" in line)
    ran = waza(*shlex.split(line, comments=True)[1:], cwd=tmp_path)
    assert ran.code == 0, ran.out + ran.err
    (seen,) = ran.results()["tasks"]
    assert seen["runs"][0]["final_output"] == 'Hello "Ada": auto-generated-test {{.Vars.x}}\n'
    assert "nobody has reviewed" in ran.out  # in every report
    assert waza("preflight", "eval.yaml", cwd=tmp_path).code == 0
    assert fits_schemas(tmp_path / "tasks") == 1
    changes: list[dict[str, object]] = [
        {"output": "Hello"},
        {"skills": []},
        {"tool_calls": []},
        {"files": []},
    ]
    for change in changes:
        path.write_text(json.dumps({**task, "mock": {**task["mock"], **change}}), encoding="utf-8")
        assert waza("run", "eval.yaml", "--task", "auto*", "--no-save", cwd=tmp_path).code == 1, change
    again = from_prompt(tmp_path, "Say more", "tasks/more.yaml", "--script", "answer.yaml")
    assert (again.code, plain(tmp_path / "tasks" / "more.yaml")["id"]) == (0, "auto-generated-test-2")
    assert "no suite has it among its tasks" not in again.err


def test_a_task_that_no_pattern_of_the_suite_takes_is_said_not_to_run(tmp_path: Path):
    suite(tmp_path)
    ended = from_prompt(tmp_path, "Say hello", "hello.yaml", "--script", "answer.yaml")
    assert ended.code == 0, ended.err
    assert "no suite has it among its tasks; put it into the tasks of one to run it" in ended.err
    assert "waza run" not in ended.out  # which would run no task


def test_any_program_can_be_the_agent_and_no_suite_is_needed(tmp_path: Path):
    bot = "import sys; print('You asked:', sys.stdin.read()); open('made.txt', 'w').write('x')"
    write_tree(
        tmp_path, {"bot.py": bot, "skills/a/SKILL.md": "---\nname: a\ndescription: Does a.\n---\nDo.\n"}
    )
    agent = f"command:{shlex.join([sys.executable, str(tmp_path / 'bot.py')])}"
    ended = from_prompt(
        tmp_path, "What is up?", "new.yaml", "--executor", agent, "--testname", "up", "--timeout", "1m"
    )
    assert ended.code == 0, ended.err
    task = plain(tmp_path / "new.yaml")
    assert [grader["type"] for grader in task["graders"]] == ["file", "text"]
    assert task["graders"][1]["config"]["contains"] == ["You asked: What is up?"]
    assert "put it into the tasks of one" in ended.err
    write_tree(tmp_path, {"evals/eval.yaml": "{name: e, config: {executor: mock}, tasks: ['*.task.yaml']}"})
    (tmp_path / "new.yaml").rename(tmp_path / "evals" / "up.task.yaml")
    assert waza("run", "evals/eval.yaml", cwd=tmp_path).code == 0


def test_nothing_is_written_where_there_is_nothing_to_hold(tmp_path: Path):
    suite(tmp_path)
    write_tree(
        tmp_path, {"broken.yaml": "error: no luck", "empty.yaml": "output: ''", "wrong.yaml": "outptu: x"}
    )
    before = files_below(tmp_path)
    fresh = "tasks/x.yaml"
    for words, advice in (
        (["p", "tasks/other.yaml"], "overwrite it with --overwrite"),
        (["", fresh], "the prompt is empty"),
        (["p", "tasks"], "is not the path of a task file"),
        (["p", "tasks/x.txt"], "is not the path of a task file"),
        (["p", fresh, "--script", "broken.yaml"], "the agent gave no answer: no luck"),
        (["p", fresh, "--script", "empty.yaml"], "answered nothing and did nothing"),
        (["p", fresh, "--script", "wrong.yaml"], "did you mean 'output'?"),
        (["p", fresh, "--script", "gone.yaml"], "gone.yaml"),
        (
            ["p", fresh, "--script", "answer.yaml", "--file", "nope.md"],
            "there is no file 'nope.md' in fixtures",
        ),
        (["p", fresh, "--script", "answer.yaml", "--file", "../answer.yaml"], "climbs with `..`"),
        (["p", fresh, "--script", "answer.yaml", "--testname", "other"], "is used in tasks/other.yaml"),
        (["p", fresh, "--executor", "command:true", "--script", "answer.yaml"], "--script is for the mock"),
        (["p", fresh, "--executor", "mokc"], "did you mean 'mock'?"),
        (["p", fresh, "--timeout", "soon"], "is not a whole number of seconds"),
    ):
        ended = from_prompt(tmp_path, *words)
        assert (ended.code, advice in ended.err) == (2, True), (words, ended.err)
    assert files_below(tmp_path) == before
    echoed = from_prompt(tmp_path, "p", fresh)
    assert (echoed.code, "has no script" in echoed.err) == (0, True)


CHECK = "{type: text, name: polite, config: {contains: [please]}}"
TASKS = {
    "greet": f"""
id: greet
name: Greet them
tags: [a]
inputs:
  prompt: Greet {{{{.Vars.x}}}}.
  follow_up_prompts: [Again.]
  files: [{{path: notes.md}}]
expected: {{output_contains: [Ada]}}
graders:
  - {CHECK}
  - {{type: text, name: short, config: {{regex_match: [Bob]}}}}
  - {{type: prompt, name: tone, config: {{prompt: Judge the tone.}}}}
  - {{type: file, name: no_notes, config: {{must_not_exist: [private.md]}}}}
mock:
  turns: [{{output: "Hello Bob"}}, {{output: "Bob?", files: [{{path: private.md}}], tool_calls: [{{name: bash}}]}}]
  judge: {{tone: [{{fail: "It is curt: {{{{.Vars.x}}}}"}}]}}
""",
    "fine": "{inputs: {prompt: p}, mock: {output: hello p}, expected: {output_contains: [p]}}",
    "broken": "{inputs: {prompt: p}, mock: {error: away}, expected: {output_contains: [p]}}",
    "point": """
inputs: {prompt: one, follow_up_prompts: [two]}
checkpoints: [{after_turn: 1, graders: [{type: text, name: early, config: {contains: [no]}}]}]
mock: {turns: [{output: hello}, {output: hello}]}
""",
}
OF_SUITE = HEAD + "\ngraders: [{type: text, name: greets, config: {contains: [hello]}}]"


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("failed")
    write_tree(root, {"fixtures/notes.md": "Ada\n"})
    mock_suite(root, TASKS, OF_SUITE)
    assert waza("run", "eval.yaml", "-o", "results.json", cwd=root).code == 1
    return root


def from_run(root: Path, *words: str) -> Ended:
    return waza("new", "task", "from-run", *words, cwd=root)


def run_alone(root: Path, task: str) -> dict[str, Any]:
    ended = waza("run", "eval.yaml", "--task", task, "-o", "again.json", "--no-save", cwd=root)
    assert ended.code == 1, ended.err
    (found,) = strict_json((root / "again.json").read_bytes())["tasks"]
    run: dict[str, Any] = found["runs"][0]
    return run


def verdicts(run: dict[str, Any]) -> dict[str, bool]:
    return {name: one["passed"] for name, one in run["validations"].items()}


def test_a_failure_becomes_a_task_that_fails_in_the_same_way(failed: Path):
    ended = from_run(failed, "results.json", "greet")
    assert ended.code == 0, ended.err
    assert "does not fail" not in ended.err
    path = failed / "tasks" / "greet-regression.yaml"
    task = plain(path)
    assert (task["id"], task["tags"]) == ("greet-regression", ["regression", "a"])
    assert task["inputs"]["prompt"] == "Greet 1."
    assert task["inputs"]["follow_up_prompts"] == ["Again."]
    assert [grader["name"] for grader in task["graders"]] == [
        "polite",
        "tone",
        "no_notes",
    ]  # `greets` is the suite's
    comment = path.read_text(encoding="utf-8")
    assert "polite: no 'please' in the output" in comment
    run = run_alone(failed, "greet-regression")
    assert verdicts(run) == dict.fromkeys(("greets", "polite", "tone", "no_notes", "_output_contains"), False)
    assert run["validations"]["tone"]["feedback"] == "It is curt: 1"
    assert run["final_output"] == "Bob?"
    assert [one["content"] for one in run["transcript"] if one["type"] == "user.message"] == [
        "Greet 1.",
        "Again.",
    ]
    better = {**task, "mock": {"output": "hello Ada, please", "judge": {"tone": [{"pass": "warm"}]}}}
    del better["inputs"]["follow_up_prompts"]
    path.write_text(json.dumps(better), encoding="utf-8")
    assert waza("run", "eval.yaml", "--task", "greet-regression", "--no-save", cwd=failed).code == 0
    second = from_run(failed, "results.json", "Greet them")  # by its name; the first one is kept
    assert (second.code, (failed / "tasks" / "greet-regression-2.yaml").is_file()) == (0, True), second.err


def test_what_is_left_out_of_the_results_is_reported(failed: Path, tmp_path: Path):
    write_tree(tmp_path, {"out/other.json": "[1]"})
    (tmp_path / "out" / "r.json").write_bytes((failed / "results.json").read_bytes())
    ended = from_run(failed, str(tmp_path / "out"), "greet")
    assert ended.code == 0, ended.err
    assert "note: left out, since they are not results files: " in ended.err


def test_a_checkpoint_that_failed_is_in_the_task(failed: Path):
    (run,) = (failed / ".waza" / "runs").iterdir()
    ended = from_run(failed, run.name, "point", "-o", "tasks/mine.yaml")
    assert ended.code == 0, ended.err
    assert verdicts(run_alone(failed, "point-regression")) == {"greets": True}
    assert plain(failed / "tasks" / "mine.yaml")["checkpoints"][0]["after_turn"] == 1


def test_in_another_suite_it_has_its_fixtures_and_all_graders(failed: Path, tmp_path: Path):
    ended = from_run(failed, "results.json", "greet", "-o", str(tmp_path / "elsewhere" / "x.yaml"))
    assert ended.code == 0, ended.err
    task = plain(tmp_path / "elsewhere" / "x.yaml")
    assert task["inputs"]["files"] == [{"path": "notes.md", "content": "Ada\n"}]
    assert [grader["name"] for grader in task["graders"]] == ["greets", "polite", "tone", "no_notes"]
    (tmp_path / "elsewhere" / "eval.yaml").write_text(
        "{name: e, config: {executor: mock}, tasks: [x.yaml]}", encoding="utf-8"
    )
    assert waza("run", "elsewhere/eval.yaml", cwd=tmp_path).code == 1


def test_what_is_no_failure_is_refused_with_advice(failed: Path, tmp_path: Path):
    before = files_below(failed / "tasks")
    for words, advice in (
        (["results.json", "fine"], "passed in run-"),
        (["results.json", "broken"], "broke without a verdict (away)"),
        (["results.json", "gret"], "did you mean 'greet'?"),
        (["nothing.json", "greet"], "is neither a file nor a directory nor the id of a run"),
        (["results.json", "greet", "--trial", "7"], "no trial 7 of it is in run-"),
        (["results.json", "greet", "-o", "tasks/fine.yaml"], "overwrite with --overwrite"),
        (["results.json", "greet", "--suite", "gone.yaml"], "gone.yaml"),
    ):
        ended = from_run(failed, *words)
        assert (ended.code, advice in ended.err) == (2, True), (words, ended.err)
    assert files_below(failed / "tasks") == before
    (tmp_path / "results.json").write_bytes((failed / "results.json").read_bytes())
    ended = from_run(tmp_path, "results.json", "greet")
    assert (ended.code, "name the suite of the run with --suite" in ended.err) == (2, True), ended.err
    mock_suite(tmp_path, {"greet": "{inputs: {prompt: p}}"})
    assert from_run(tmp_path, "results.json", "greet", "--suite", "eval.yaml").code == 0


def test_a_fixture_that_leads_out_is_not_copied(failed: Path, tmp_path: Path):
    secret = write_tree(tmp_path / "secret", {"x.md": "secret"}) / "x.md"
    kept = failed / "fixtures" / "notes.md"
    kept.rename(tmp_path / "notes.md")
    kept.symlink_to(secret)
    try:
        ended = from_run(failed, "results.json", "greet", "-o", str(tmp_path / "out" / "x.yaml"))
    finally:
        (tmp_path / "notes.md").replace(kept)
    assert (ended.code, "'notes.md' cannot be written into a task" in ended.err) == (2, True), ended.err
    assert not (tmp_path / "out").exists()


def test_the_rows_of_a_dataset_need_another_suite(tmp_path: Path):
    rows = {"rows.csv": "id,prompt,want\none,Say one,eins\n"}
    grader = "{type: text, name: wanted, config: {contains: ['{{.Vars.want}}']}}"
    write_tree(
        tmp_path,
        {
            **rows,
            "eval.yaml": f"{{name: e, config: {{executor: mock}}, tasks_from: rows.csv, graders: [{grader}]}}",
        },
    )
    assert waza("run", "eval.yaml", "-o", "results.json", cwd=tmp_path).code == 1
    refused = from_run(tmp_path, "results.json", "one")
    assert (refused.code, "--output" in refused.err) == (2, True)
    assert from_run(tmp_path, "results.json", "one", "-o", "other/one.yaml").code == 0
    task = plain(tmp_path / "other" / "one.yaml")
    assert (task["inputs"]["prompt"], task["graders"][0]["config"]) == ("Say one", {"contains": ["eins"]})


def test_what_results_do_not_have_is_said(tmp_path: Path):
    """A file that the agent left is in no results; so the script cannot leave it, and the grader passes on the mock."""
    suite_file = mock_suite(
        tmp_path,
        {
            "t": "{inputs: {prompt: p}, graders: [{type: file, name: clean, config: {must_not_exist: [junk]}}]}"
        },
    )
    bot = f"command:{shlex.join([sys.executable, '-c', 'open(chr(106)+chr(117)+chr(110)+chr(107),chr(119)); print(1)'])}"
    assert waza("run", suite_file, "--executor", bot, cwd=tmp_path).code == 1
    (run,) = (tmp_path / ".waza" / "runs").iterdir()
    ended = from_run(tmp_path, run.name, "t")
    assert (ended.code, "on the mock it does not fail" in ended.err) == (0, True), ended.err


def test_an_interrupt_ends_the_agent_and_writes_nothing(tmp_path: Path):
    suite(tmp_path)
    duration, started = nap(), tmp_path / "started"
    agent = f"command:touch '{started}'; sleep {duration}"
    words = ("new", "task", "from-prompt", "p", "tasks/x.yaml", "--executor", agent)
    with subprocess.Popen(command(*words), cwd=tmp_path, env=environment(), stderr=subprocess.PIPE) as ran:
        until(started.exists)
        ran.send_signal(signal.SIGINT)
        ran.communicate(timeout=LIMIT)
    assert ran.returncode == 130
    assert survivors(duration) == []
    assert not (tmp_path / "tasks" / "x.yaml").exists()


def test_a_regression_says_what_it_left_out_and_that_there_is_one_of_the_trial_already(tmp_path: Path):
    task = """
inputs: {prompt: p}
graders:
  - {type: text, name: long, config: {contains: [hello]}}
  - {type: text, name: polite, config: {contains: [please]}}
  - {type: prompt, name: tone, config: {prompt: Judge two criteria.}}
mock: {output: hello, judge: {tone: [{pass: It is short.}, {fail: It is curt.}, {pass: It is clear.}]}}
"""
    mock_suite(tmp_path, {"t": task})
    assert waza("run", "eval.yaml", "-o", "results.json", cwd=tmp_path).code == 1
    first = from_run(tmp_path, "results.json", "t")
    assert first.code == 0, first.err
    assert "without those that passed (long) its score is lower than that of the trial" in first.err
    assert "was made of the same trial" not in first.err
    (before,) = strict_json((tmp_path / "results.json").read_bytes())["tasks"]
    tone = run_alone(tmp_path, "t-regression")["validations"]["tone"]
    assert (tone["score"], tone["passed"]) == (before["runs"][0]["validations"]["tone"]["score"], False)
    assert tone["score"] == pytest.approx(2 / 3)
    second = from_run(tmp_path, "results.json", "t")
    assert second.code == 0, second.err
    assert "tasks/t-regression.yaml was made of the same trial" in second.err.replace("\\", "/")
