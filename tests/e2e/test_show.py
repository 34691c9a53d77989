"""`waza show`: who has not seen the suite finds the cause of a failed trial in the first screen."""

from __future__ import annotations

import json
import os
import pty
import select
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.journals import rewritten
from tests.support.program import Ended, command, environment, mock_suite, waza, write_tree

from waza.kit.line_file import LineFile
from waza.report.table import columns

SCREEN = 24
HOOKS = """
hooks:
  before_task:
    - {command: '[ "{{.TaskName}}" != hooked ] || { echo "the database is down" >&2; exit 3; }', error_on_fail: true}
"""
GRADERS = "graders: [{type: text, name: done, config: {contains: [done]}}]"
TASKS = {
    "text": """
id: text
name: Capital of France
inputs: {prompt: "What is the capital of France?", follow_up_prompts: ["Are you sure?"]}
graders:
 - {type: text, name: answer, config: {contains: [Paris], regex_match: ["^P"]}}
 - {type: prompt, name: tone, config: {prompt: "Is it polite?"}}
mock:
  turns:
   - output: "The capital is Lyon."
     tool_calls:
       - {name: bash, args: {command: "cat facts.txt"}, result: "cat: facts.txt: No such file", success: false, duration_ms: 40}
     skills: [geo]
     usage: {input_tokens: 1200, output_tokens: 30}
   - {output: "Yes, it is Lyon."}
  judge: {tone: [{fail: "It is curt"}, {fail: "It is curt"}]}
""",
    "checkpoint": f"""
inputs: {{prompt: plan, follow_up_prompts: [go on]}}
checkpoints:
 - {{after_turn: 1, on_failure: stop, graders: [{{type: text, name: has_plan, config: {{contains: [PLAN]}}}}]}}
{GRADERS}
mock: {{turns: [{{output: "I just start"}}, {{output: more}}]}}
""",
    "broken-turn": f"inputs: {{prompt: p}}\n{GRADERS}\nmock: {{output: half, error: 'the server answered 500'}}",
    "slow": f"inputs: {{prompt: p}}\n{GRADERS}\nmock: {{output: late, delay_ms: 600000}}",
    "hooked": f"inputs: {{prompt: p}}\n{GRADERS}\nmock: {{output: done}}",
    "grader-broken": """
inputs: {prompt: p}
graders:
 - {type: code, name: asserts, config: {assertions: ["output.nothing()"]}}
 - {type: prompt, name: tone, config: {prompt: "Is it polite?"}}
mock: {output: done, judge: {tone: [{error: "the judge is ill"}, {error: "the judge is ill"}]}}
""",
    "responder": f"""
inputs: {{prompt: p, responder: {{instructions: be nice, max_followups: 3}}}}
{GRADERS}
mock:
  turns: [{{output: "Which language?"}}, {{output: "and which colour?"}}]
  responder: [{{reply: Use Python}}, {{abstain: I do not know the colour}}]
""",
    "fine": f"inputs: {{prompt: p}}\n{GRADERS}\nmock: {{output: done}}",
}
CAUSES = {
    "text": [
        "no 'Paris' in the output; no match for the pattern `^P`",
        "It is curt",
        "cat: facts.txt: No such file",
    ],
    "checkpoint": [
        "the checkpoint after turn 1 stopped the run",
        "no 'PLAN' in the output",
        "output: I just start",
    ],
    "broken-turn": ["error: the server answered 500"],
    "slow": ["error: the turn did not end within 1 s", "a time limit ended it"],
    "hooked": ["it did not run:", "exit status 3"],
    "grader-broken": ["the judge is ill", "AttributeError"],
    "responder": ["the responder abstained: I do not know the colour"],
}


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("zoo")
    suite = mock_suite(root, TASKS, HOOKS, ["timeout_seconds: 1", "max_attempts: 2"], name="zoo")
    ended = waza("run", suite, cwd=root)
    assert ended.code == 1, ended.err
    (root / "shown.txt").write_text(ended.out)
    return root


def show(root: Path, *words: str | Path, code: int = 0) -> str:
    ended = waza("show", *words, cwd=root)
    assert ended.code == code, ended.err
    assert "Traceback" not in ended.err
    if "--json" not in words:
        assert (
            max((columns(line) for line in ended.out.splitlines() if "waza show" not in line), default=0)
            <= 80
        )
    return ended.out if code == 0 else ended.err


def flat(lines: list[str]) -> str:
    """The text of lines that were wrapped."""
    return " ".join(" ".join(lines).split())


@pytest.mark.parametrize("task", CAUSES)
def test_the_cause_is_on_the_first_screen(zoo: Path, task: str):
    screen = flat(show(zoo, task).splitlines()[:SCREEN])
    for part in CAUSES[task]:
        assert part in screen


def test_the_newest_run_shows_all_causes_before_the_list_of_tasks(zoo: Path):
    out = show(zoo)
    top, _, rest = out.partition("TASKS\n")
    for task, parts in CAUSES.items():
        assert task in top
        assert (parts[0] if task != "hooked" else "exit status 3") in flat(top.splitlines())
    assert top.index("broken-turn") < top.index("checkpoint")
    assert "fine" not in top
    assert "✓ fine" in rest


def test_a_page_has_all_that_is_recorded(zoo: Path):
    out = show(zoo, "text", "--full")
    for part in (
        "contains: Paris",
        "regex_match: ^P",
        "the judge was asked: Is it polite?",
        "[1] user: What is the capital of France?",
        "skill loaded: geo",
        '✗ bash {"command":"cat facts.txt"} (40ms)',
        "-> cat: facts.txt: No such file",
        "[2] user: Are you sure?",
        "agent: Yes, it is Lyon.",
        "✗ attempt 1: failed in 0s, 2 turns, 1,200 tokens in, 30 out: answer, tone",
        "skills loaded: geo",
        "attempts: 2",
    ):
        assert part in out
    assert "✗ after turn 1: failed, and ended the conversation" in show(zoo, "checkpoint")
    assert "abstained after 1 reply: I do not know the colour" in show(zoo, "responder")


def test_the_commands_that_a_run_prints_show_its_failures(zoo: Path):
    printed = (zoo / "shown.txt").read_text()
    commands = [line.split("show: ")[1] for line in printed.splitlines() if "show: " in line]
    assert len(commands) == len(CAUSES) - 1  # what did not run has no trial to show
    for line in commands:
        words = shlex.split(line)
        assert words[:2] == ["waza", "show"]
        assert f" {words[3]}" in show(zoo, *words[2:]).splitlines()[2]
    unsaved = waza("run", "eval.yaml", "--no-save", "--task", "text", cwd=zoo)
    assert "show: " not in unsaved.out


def test_filters(zoo: Path):
    failed = show(zoo, "--failed")
    assert "TASKS" not in failed
    assert "Capital" not in failed
    judged = show(zoo, "--grader", "tone")
    assert "grader-broken" in judged
    assert "✗ text" in judged
    assert "checkpoint" not in judged
    page = show(zoo, "text", "--grader", "tone")
    verdicts = page.split("VERDICTS\n")[1].split("CONVERSATION\n")[0]
    assert "✗ tone" in verdicts
    assert "answer" not in verdicts
    assert show(zoo, "text") == show(zoo, "Capital of France") == show(zoo, "tex*")


def test_json_has_the_records(zoo: Path):
    found = json.loads(show(zoo, "--json", "--failed"))
    (run,) = found["runs"]
    assert [*run] == [
        "run", "run_status", "selection", "results", "suite", "skill", "model", "started", "verdict", "trials", "not_run",
    ]  # fmt: skip
    assert {one["task"] for one in run["trials"]} == CAUSES.keys() - {"hooked"}
    assert [(one["task"], one["status"]) for one in run["not_run"]] == [("hooked", "error")]
    assert "exit status 3" in run["not_run"][0]["error"]
    text = next(one for one in run["trials"] if one["task"] == "text")
    assert text["cause"].startswith("answer (text) 0.00: no 'Paris' in the output")
    assert text["record"]["tool_events"][0]["duration_ms"] == 40
    stored = json.loads(Path(run["results"]).read_text())
    assert text["record"] == next(one for one in stored["tasks"] if one["test_id"] == "text")["runs"][0]
    alone = json.loads(show(zoo, "text", "--json"))["runs"][0]
    assert [one["number"] for one in alone["trials"]] == [1]
    assert alone["not_run"] == []


def test_mistakes_say_what_to_do(zoo: Path, tmp_path: Path):
    assert "no task of this name: did you mean 'text'?" in show(zoo, "txt", code=2)
    run = next((zoo / ".waza" / "runs").iterdir()).name
    assert "there is no task 'txt'" in show(zoo, run, "txt", code=2)
    assert "has no trial 7; those are 1" in show(zoo, "text", "--trial", "7", code=2)
    assert "--trial goes with a task" in show(zoo, "--trial", "1", code=2)
    assert "a grader 'ton'; did you mean 'tone'?" in show(zoo, "--grader", "ton", code=2)
    assert "come with `waza run --baseline`" in show(zoo, "--baseline", code=2)
    assert "'*e*' is " in show(zoo, run, "*e*", code=2)
    assert "start one with `waza run`" in show(tmp_path, code=2)


def test_trials_and_arms(tmp_path: Path):
    task = """
inputs: {prompt: p}
graders: [{type: text, name: done, config: {contains: [done]}}]
mock: {executions: [{output: done}, {output: no}, {output: nothing}]}
"""
    suite = mock_suite(tmp_path, {"t": task}, "skill: x", ["skill_required: false"])
    write_tree(tmp_path, {"skills/x/SKILL.md": "---\nname: x\ndescription: d\n---\nbody"})
    waza("run", suite, "--trials", "3", "--baseline", cwd=tmp_path)
    assert "✗ t, trial 2 of 3: failed" in show(tmp_path, "t")
    assert "output: nothing" in show(tmp_path, "t", "--trial", "3")
    assert "other trials: 1 passed, 3 failed (--trial N)" in show(tmp_path, "t")
    assert "✗ t, trial 2 of 3, without skills: failed" in show(tmp_path, "t", "--baseline")
    out = show(tmp_path)
    assert "✗ t, trial 2, 3\n" in out
    assert "✗ t, trial 2, 3, without skills\n" in out


def test_a_run_that_was_cut_off_or_is_in_progress_is_shown_from_its_journal(tmp_path: Path):
    task = "inputs: {prompt: p}\ngraders: [{type: text, name: done, config: {contains: [done]}}]\nmock: {output: no}"
    suite = mock_suite(tmp_path, {"a": task, "b": task})
    waza("run", suite, cwd=tmp_path)
    (directory,) = (tmp_path / ".waza" / "runs").iterdir()
    (directory / "results.json").unlink()
    rewritten(directory / "journal.ndjson", lambda lines: lines.__delitem__(slice(-2, None)))
    ended = waza("show", cwd=tmp_path)
    assert ended.code == 0
    assert f"was cut off and has no results; go on with it: waza run {suite} --resume=" in ended.err
    assert f"○ {directory.name}: cut off" in ended.out
    assert "no results yet: 1 of 2 trials have finished" in ended.out
    assert "✗ a\n" in ended.out
    assert "passed" not in ended.out
    assert "no 'done' in the output" in show(tmp_path, "a")
    record = json.loads(show(tmp_path, "--json"))["runs"][0]
    assert (record["run_status"], record["results"], record["verdict"]) == ("cut off", None, None)
    with LineFile.open(directory / "journal.ndjson"):
        assert "in progress" in show(tmp_path)


def test_an_evaluation_document(tmp_path: Path):
    assert waza("m365", "init", cwd=tmp_path).code == 0
    document = tmp_path / "evals" / "evals.json"
    content = json.loads(document.read_text())
    content["default_evaluators"]["max_words"]["options"]["words"] = 2
    document.write_text(json.dumps(content))
    ended = waza("m365", "run", "--agent", "mock", cwd=tmp_path)
    assert ended.code == 1
    (why,) = (line for line in ended.out.splitlines() if line.startswith("Why: "))
    screen = flat(show(tmp_path, *shlex.split(why)[3:]).splitlines()[:SCREEN])
    assert "item-1 max_words (evaluator) 0.00: 11 words, at most 2 wanted" in screen
    page = show(tmp_path, "keeps the subject")
    assert "max_words (evaluator, after turn 1) 0.00: 15 words, at most 2 wanted" in flat(
        page.splitlines()[:SCREEN]
    )
    assert "[1] user: I missed my train and need a refund." in page
    assert "[2] user: In one sentence: which form is it?" in page


def test_an_agent_without_events_has_its_prompts_and_its_last_answer(tmp_path: Path):
    task = "id: t\ninputs: {prompt: first, follow_up_prompts: [second]}\n"
    write_tree(
        tmp_path, {"eval.yaml": "name: s\nconfig: {executor: mock}\ntasks: [t.yaml]\n", "t.yaml": task}
    )
    assert waza("run", "eval.yaml", cwd=tmp_path).code == 0
    conversation = show(tmp_path, "t").split("CONVERSATION")[1].split("TRIAL")[0].splitlines()
    assert [line.strip() for line in conversation if line.strip("= ")] == [
        "[1] user: first",
        "(no answer is recorded)",
        "[2] user: second",
        "agent: Mock response for: second",
        "Task: t",
    ]


def test_files_of_other_programs_with_missing_fields(tmp_path: Path):
    run: dict[str, Any] = {
        "run_number": 1,
        "status": "failed",
        "validations": {"v": {"passed": False, "score": 0.25, "feedback": "wrong colour"}},
        "session_digest": {
            "tool_calls": [{"name": "bash", "success": False, "result": {"content": "no such file"}}]
        },
        "final_output": "blue",
    }
    tasks = [
        {"test_id": "t", "status": "failed", "runs": [run]},
        {"test_id": "u", "status": "passed", "runs": None},
    ]
    for version in ("1.0", "1.9"):
        file = tmp_path / f"r{version}.json"
        file.write_text(json.dumps({"schemaVersion": version, "summary": {}, "tasks": tasks}))
        assert "v 0.25: wrong colour" in show(tmp_path, file)
        page = show(tmp_path, file, "t")
        assert "• v 0.25: wrong colour" in page
        assert "✗ bash" in page
        assert "-> no such file" in page
        assert "no transcript: the first prompt and the final output are all that is recorded" in flat(
            page.splitlines()
        )
        assert "no trial of it ran" in show(tmp_path, file, "u")
    (tmp_path / "two.json").write_text(json.dumps({"schemaVersion": "2.0", "summary": {}, "tasks": tasks}))
    assert "use the version of waza that wrote it" in show(tmp_path, "two.json", code=2)


def test_foreign_text_cannot_steer_the_terminal_and_long_texts_are_cut(tmp_path: Path):
    long = "\\n".join(f"line {number}" for number in range(100))
    task = f"""
inputs: {{prompt: p}}
graders: [{{type: text, name: "a\\x1b[2Jb", config: {{contains: [done]}}}}]
mock:
  output: "\\x1b[31mred {long}"
  tool_calls: [{{name: "x\\x1b[0m", args: {{a: "::error::x", file_text: "{long}"}}, result: "\\u202e{long}"}}]
"""
    suite = mock_suite(tmp_path, {"t": task})
    assert waza("run", suite, cwd=tmp_path).code == 1
    for out in (show(tmp_path), show(tmp_path, "t"), full := show(tmp_path, "t", "--full")):
        assert "\x1b" not in out
        assert "\u202e" not in out
        assert "\n::error" not in out
    assert "characters are left out; --full shows all" in flat(show(tmp_path, "t").splitlines())
    assert "left out" not in full
    assert (
        full.count("line 57") == 4
    )  # the output at the top and in the conversation, the argument, the result


@pytest.mark.parametrize(
    ("flag", "paged", "encoding"),
    [("--pager", True, "utf-8"), ("--no-pager", False, "utf-8"), ("--pager", True, "ascii")],
)
def test_the_pager_of_a_terminal(zoo: Path, tmp_path: Path, flag: str, paged: bool, encoding: str):
    write_tree(tmp_path, {"page.py": "import sys\nopen(sys.argv[1], 'w').write(sys.stdin.read())\n"})
    pages = tmp_path / "paged.txt"
    env = environment(
        {"PAGER": shlex.join([sys.executable, str(tmp_path / "page.py"), str(pages)]), "TERM": "xterm"}
    )
    env |= {"PYTHONUTF8": "0", "PYTHONIOENCODING": encoding}
    env.pop("CI", None)
    parent, child = pty.openpty()
    with subprocess.Popen(
        command("show", "text", flag), cwd=zoo, env=env, stdin=child, stdout=child, stderr=child
    ) as process:
        os.close(child)
        seen = read_all(parent)
    os.close(parent)
    assert process.returncode == 0
    assert pages.exists() is paged
    text = pages.read_text() if paged else seen
    assert "no 'Paris' in the output" in text
    assert ("── VERDICTS" if encoding == "utf-8" else "\nx answer (text)") in text.replace("\r", "")


def read_all(terminal: int) -> str:
    """What a program wrote on a terminal until it ended."""
    data = b""
    while select.select([terminal], [], [], 60)[0]:
        try:
            found = os.read(terminal, 65536)
        except OSError:  # Linux reports the other side's end so
            break
        if not found:
            break
        data += found
    return data.decode()


def test_several_runs_of_one_invocation(tmp_path: Path):
    task = "inputs: {prompt: p}\ngraders: [{type: text, name: done, config: {contains: [done]}}]\nmock: {output: no}"
    suite = mock_suite(tmp_path, {"t": task})
    waza("run", suite, "-m", "a", "-m", "b", cwd=tmp_path)
    newest: Ended = waza("show", cwd=tmp_path)
    assert "eval" in newest.out or "suite on b" in newest.out
    assert "note: inv-000001" in newest.err
    both = show(tmp_path, "inv-000001")
    assert both.count("no 'done' in the output") == 2
    assert "2 runs have the task 't'; name one: run-" in show(tmp_path, "inv-000001", "t", code=2)
    assert len(json.loads(show(tmp_path, "inv-000001", "t", "--json"))["runs"]) == 2
