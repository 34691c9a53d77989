"""What people are shown: the report in each form, progress, transcripts, session logs, failure artifacts."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import (
    command,
    environment,
    mock_suite,
    newest_results,
    strict_json,
    waza,
    write_tree,
)

SAYS_HELLO = "graders: [{type: text, name: says, config: {contains: [hello]}}]"
TASKS = {
    "a": "name: greets\ninputs: {prompt: p}\nmock: {output: hello, usage: {input_tokens: 1200, output_tokens: 30}}",
    "b": """
name: is silent
inputs: {prompt: p}
graders:
  - {type: action_sequence, name: order, config: {matching_mode: exact_match, expected_actions: [view, edit]}}
mock: {output: "bye\\nand good night", tool_calls: [{name: view}]}
""",
    "c": "name: breaks\ninputs: {prompt: p}\nmock: {error: the engine fell over}",
    "d": "name: wavers\ninputs: {prompt: p}\nmock: {executions: [{output: bye}, {output: hello}]}",
}
NO_SKILL = (
    "eval.yaml:7:1: skill: warning: no skill or agent 'greeter' was found, so none is under test; "
    "looked in .; where the name is only a label, set config.skill_required: false"
)
DURATION = re.compile(r"\b(?:\d+(?:\.\d+)?(?:ms|s))\b")


def titles(text: str) -> list[str]:
    return re.findall(r"={51}\n(.+)\n={51}", text)


def section(text: str, title: str) -> str:
    """The lines of one section of a report."""
    parts = re.split(rf"={{51}}\n{re.escape(title)}\n={{51}}\n", text)
    assert len(parts) == 2, f"{title} is there {len(parts) - 1} times"
    return parts[1].split("\n\n" + "=" * 51)[0].rstrip("\n")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A suite in which one task passes, one fails, one breaks and one wavers, two trials each."""
    root = tmp_path_factory.mktemp("mixed")
    mock_suite(root, TASKS, f"skill: greeter\n{SAYS_HELLO}", ["trials_per_task: 2"], name="greetings")
    return root


# --- forms of the report ---


def test_the_report_on_the_console(mixed: Path):
    ended = waza("run", "eval.yaml", "--no-save", cwd=mixed)
    assert ended.code == 1
    assert titles(ended.out) == [
        "PER-TASK BREAKDOWN", "USAGE SUMMARY", "WARNINGS", "FAILED TASKS", "BENCHMARK RESULTS",
    ]  # fmt: skip
    assert section(ended.out, "WARNINGS") == f"⚠ {NO_SKILL}"
    figures = dict(re.findall(r"^(\w.+?): +(.+)$", section(ended.out, "BENCHMARK RESULTS"), re.MULTILINE))
    assert figures == {
        "Benchmark": "greetings", "Skill": "greeter", "Model": "test-model", "Engine": "mock",
        "Total tests": "4", "Succeeded": "1", "Failed": "2", "Errors": "1",
        "Task success rate": "25.0% (1 of 4 tasks)",
        "Graded success rate": "33.3% (1 of 3, without errors and skipped tasks)",
        "Aggregate score": "0.46 (broken trials included, as 0 without a verdict)", "Min score": "0.00", "Max score": "1.00", "Std deviation": "0.3608",
        "Score CI95": figures["Score CI95"], "Success rate CI95": "[0.05, 0.70]",
        "Any of k passes": "0.38 (k=1), 0.50 (k=2)", "All of k pass": "0.38 (k=1), 0.25 (k=2)", "Duration": figures["Duration"],
    }  # fmt: skip
    assert section(ended.out, "FAILED TASKS") == (
        "✗ is silent [failed]: none of its 2 trials passed\n"
        "  • order (action_sequence) 0.67: missing: edit [trial 1 of 2]\n"
        "      expected: view, edit\n"
        "      found: view\n"
        "  • says (text) 0.00: no 'hello' in the output [trial 1 of 2]\n"
        "    output: bye and good night\n"
        "⚠ breaks [error]: none of its 2 trials passed\n"
        "  • error: the engine fell over [trial 1 of 2]\n"
        "      after that failed: says (text)\n"
        "✗ wavers [failed]\n"
        "  • says (text) 0.00: no 'hello' in the output [trial 1 of 2]\n"
        "    output: bye"
    )
    tasks = [re.split("  +", line) for line in section(ended.out, "PER-TASK BREAKDOWN").splitlines()[2:]]
    assert [cells[:4] for cells in tasks] == [
        ["✓ greets", "passed", "1.00", "2/2"],
        ["✗ is silent", "failed", "0.33", "0/2"],
        ["⚠ breaks", "error", "0.00", "0/2"],
        ["✗ wavers", "failed, flaky", "0.50", "1/2"],
    ]
    assert "Input tokens:           2,400" in section(ended.out, "USAGE SUMMARY")


def test_progress_is_distinguished_from_the_report(mixed: Path):
    ended = waza("run", "eval.yaml", "--no-save", cwd=mixed, env={"NO_COLOR": "", "TERM": "xterm"})
    assert ended.err == (
        f"{NO_SKILL}\n"
        "Benchmark: greetings\nSkill: greeter\nEngine: mock\nModel: test-model\n\n"
        "✓ [1/4] greets\n"
        "✗ [2/4] is silent\n"
        "[ERROR] breaks: the engine fell over\n"
        "[ERROR] breaks: the engine fell over\n"
        "⚠ [3/4] breaks\n"
        "✗ [4/4] wavers\n"
    )
    assert "\x1b" not in ended.out + ended.err


def test_every_step_with_verbose(mixed: Path):
    ended = waza("run", "eval.yaml", "--no-save", "--task", "is silent", "-v", cwd=mixed)
    told = DURATION.sub("T", ended.err)
    one = (
        "    [PROMPT] p\n"
        "    [RESPONSE] bye and good night\n"
        "    [TOOLS] 1 call\n"
        "    [TOOL] ✓ view (T)\n"
        "    [GRADER] ✗ order 0.67 (T): missing: edit\n"
        "    [GRADER] ✗ says 0.00 (T): no 'hello' in the output\n"
    )
    assert told == (
        f"{NO_SKILL}\n"
        "Benchmark: greetings\nSkill: greeter\nEngine: mock\nModel: test-model\n"
        "Selected: 1 task\n  • is silent (is silent)\n\n"
        "Running 1 task\n"
        "[1/1] running: is silent\n"
        f"  Run 1/2\n{one}  Run 1/2: failed (T)\n"
        f"  Run 2/2\n{one}  Run 2/2: failed (T)\n"
        "✗ [1/1] is silent\n"
        "Test is silent: failed (0.33 in T)\n"
        "Total duration: T\n"
    )


def test_a_comment_for_github_is_alone_on_standard_output(mixed: Path):
    ended = waza("run", "eval.yaml", "--no-save", "--format", "github-comment", cwd=mixed)
    assert ended.code == 1
    assert ended.out.startswith("## Waza Evaluation Results\n\n**❌ Failed, score 0.46, ")
    assert ended.out.endswith(
        "\n---\n\nBenchmark: greetings • Skill: greeter • Model: test-model • Engine: mock\n"
    )
    assert (
        "- Tests: 4 total, 1 passed, 2 failed, 1 error\n- Task success rate: 25.0% (1 of 4 tasks)\n"
        in ended.out
    )
    assert "| is silent | 0.33 | ✗ failed | order, says |\n" in ended.out
    assert (
        "#### breaks\n\nNever passed: 0 of 2 trials.\n\nTrial 1/2 (error)\n\n- ⚠ `the engine fell over`\n"
        in ended.out
    )
    assert "### Flaky Tasks\n\n- wavers: trial pass rate 50%\n" in ended.out
    assert "[1/4]" not in ended.out
    assert "✗ [2/4] is silent" in ended.err


def test_a_comment_for_github_of_several_models_is_one(mixed: Path):
    models = ("-m", "x", "-m", "y")
    shown = waza("run", "eval.yaml", "--no-save", "-f", "github-comment", *models, cwd=mixed).out
    assert shown.startswith(
        "## Waza Evaluation Results\n\n**❌ Failed**\n\n"
        "- greeter on x: 3 of 4 tasks did not pass: 2 failed, 1 errored\n"
        "- greeter on y: 3 of 4 tasks did not pass: 2 failed, 1 errored\n"
    )
    assert shown.count("## Waza Evaluation Results\n") == 1
    assert [line for line in shown.splitlines() if line.startswith("## ")][1:] == [
        "## greeter on x",
        "## greeter on y",
    ]


def test_a_comment_for_github_says_what_the_figures_mean(mixed: Path):
    comment = ("--format", "github-comment")
    plain = waza("run", "eval.yaml", "--no-save", *comment, cwd=mixed).out
    told = waza("run", "eval.yaml", "--no-save", *comment, "--interpret", cwd=mixed).out
    assert "### Interpretation" not in plain
    assert "### Interpretation\n\n- The run: failed\n" in told


def test_what_the_figures_mean(mixed: Path):
    found = section(waza("run", "eval.yaml", "--no-save", "--interpret", cwd=mixed).out, "INTERPRETATION")
    assert found.startswith("The run: failed\n")
    assert "Mean score of what ran: 45.8% (broken trials included, as 0 without a verdict)\n" in found
    assert "4 tasks: 1 passed, 2 failed, 1 error." in found
    assert (
        "✓ greets [passed]: score 100.0%, Excellent\n    Steady: every one of its 2 trials passed." in found
    )
    assert "✗ wavers [failed]: score 50.0%, Needs Work\n    Flaky: it passed in 50.0% of its trials;" in found


def test_models_are_compared_and_one_is_recommended(tmp_path: Path):
    mock_suite(tmp_path, {"a": TASKS["a"]}, SAYS_HELLO)
    models = ("-m", "slow", "-m", "fast")
    ended = waza("run", "eval.yaml", *models, "--recommend", "-o", "r.json", cwd=tmp_path)
    assert ended.code == 0
    assert titles(ended.out)[-2:] == ["MODEL COMPARISON", "RECOMMENDATION"]
    table = section(ended.out, "MODEL COMPARISON").splitlines()
    assert re.split("  +", table[0]) == [
        "Model", "Score", "Success", "Duration", "Turns", "Tokens",
    ]  # fmt: skip
    assert sorted(line.split()[0] for line in table[2:]) == ["fast", "slow"]  # which took longer is chance
    assert "1,230" in table[2]
    kept = [path.read_bytes() for path in (tmp_path / ".waza" / "runs").glob("*/results.json")]
    files = [
        strict_json(data) for data in (*kept, *(path.read_bytes() for path in tmp_path.glob("r_*.json")))
    ]
    assert len(files) == 4
    said = [one["metadata"]["recommendation"] for one in files]
    assert all(one == said[0] for one in said)
    assert said[0]["recommended_model"] == "", "they differ in their durations only"
    assert [one["rank"] for one in said[0]["all_models"]] == [1, 2]
    assert section(ended.out, "RECOMMENDATION").startswith(said[0]["reason"])
    (line,) = said[0]["comparisons"]
    assert line.startswith("slow against fast: No difference in 1 task: 0 points; p = 1.")
    assert line in " ".join(ended.out.split())
    alone = waza("run", "eval.yaml", "--recommend", cwd=tmp_path)
    assert "nothing to recommend: it takes two models" in alone.err
    assert "RECOMMENDATION" not in alone.out


def test_each_skill_has_its_own_comparison_and_all_a_summary(tmp_path: Path):
    for name in ("ada", "bob"):
        mock_suite(
            tmp_path / "skills" / name, {"a": TASKS["a"], "b": TASKS["d"]}, f"skill: {name}\n{SAYS_HELLO}"
        )
        write_tree(tmp_path, {f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: d\n---\nb\n"})
    ended = waza("run", "-m", "x", "-m", "y", "--recommend", "--no-save", "--task", "greets", cwd=tmp_path)
    assert ended.code == 0
    counts = Counter(titles(ended.out))
    assert (counts["MODEL COMPARISON"], counts["RECOMMENDATION"], counts["MULTI-SKILL RUN SUMMARY"]) == (
        2,
        2,
        1,
    )
    table = section(ended.out, "MULTI-SKILL RUN SUMMARY").splitlines()
    assert [line.split() for line in table[2:]] == [
        [n, "✅", "Passed", "100.0%", "1.00"] for n in ("ada", "bob")
    ]
    assert [line for line in ended.err.splitlines() if line.startswith("[")] == [
        "[1/4] ada on x", "[2/4] ada on y", "[3/4] bob on x", "[4/4] bob on y",
    ]  # fmt: skip


def test_a_baseline_says_what_the_skills_changed(tmp_path: Path):
    mock_suite(tmp_path, {"a": TASKS["a"], "d": TASKS["d"]}, SAYS_HELLO, ["skill_directories: [s]"])
    write_tree(tmp_path, {"s/SKILL.md": "---\nname: s\ndescription: d\n---\nb\n"})
    ended = waza("run", "eval.yaml", "--baseline", "--no-save", cwd=tmp_path)
    assert ended.code == 1
    found = section(ended.out, "SKILL IMPACT")
    assert "[NEUTRAL] greets: 100.0% without, 100.0% with skills (+0.0 pp)" in found
    assert "Verdict: neutral: the skills change nothing in how many tasks pass" in found
    assert "without the skills: passed in 0.0% of its trials" in section(ended.out, "FAILED TASKS")
    assert "Baseline: the same tasks without skills\n" in ended.err
    off = waza("run", "eval.yaml", "--baseline", "--no-skills", "--no-save", cwd=tmp_path)
    assert "SKILL IMPACT" not in off.out


# --- progress ---


def on_a_terminal(*args: str, cwd: Path, env: Mapping[str, str]) -> tuple[int, str]:
    """Run the program on a terminal; return its exit code and all that came to the screen."""
    ours, theirs = pty.openpty()
    clean = {key: value for key, value in environment().items() if key not in ("NO_COLOR", "CI", "TERM")}
    process = subprocess.Popen(
        command(*args), cwd=cwd, env={**clean, **env}, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    screen = b""
    try:
        while data := os.read(ours, 65536):
            screen += data
    except OSError:
        pass  # Linux says so when the last program on a terminal has ended
    os.close(ours)
    return process.wait(60), screen.decode()


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks, each of which takes longer than the bar needs to show up."""
    root = tmp_path_factory.mktemp("slow")
    mock = "mock: {output: hello, delay_ms: 350}"
    mock_suite(
        root, {"a": f"inputs: {{prompt: p}}\n{mock}", "b": f"inputs: {{prompt: p}}\n{mock}"}, SAYS_HELLO
    )
    return root


def test_a_bar_on_a_terminal(slow: Path):
    code, screen = on_a_terminal("run", "eval.yaml", "--no-save", cwd=slow, env={"TERM": "xterm"})
    assert code == 0
    assert "[----------------] 0/2 trials, 0s" in screen
    assert "running: a" in screen
    assert "[########--------] 1/2 trials, " in screen
    assert " left" in screen
    assert "\x1b[32m✓\x1b[0m [2/2] b\r\n" in screen
    assert "\x1b" not in re.sub(r"\x1b\[(0|32)m", "", screen), "colours only: the cursor is never moved"
    report = screen[screen.index("PER-TASK") :]
    assert "1/2" not in report, "the bar is gone when the report comes"


def test_a_report_on_a_terminal_breaks_lines_between_words(tmp_path: Path):
    """A terminal of 60 columns, and a feedback of 200."""
    words = "every-word-of-it-stays-whole " * 7
    grader = f"{{type: text, name: says, config: {{contains: ['{words.strip()}']}}}}"
    mock_suite(tmp_path, {"a": f"inputs: {{prompt: p}}\nmock: {{output: bye}}\ngraders: [{grader}]"})
    env = {"TERM": "xterm", "COLUMNS": "60"}
    code, screen = on_a_terminal("run", "eval.yaml", "--no-save", cwd=tmp_path, env=env)
    assert code == 1
    report = re.sub(r"\x1b\[\d+m", "", screen[screen.index("FAILED TASKS") :])
    lines = [line.rstrip() for line in report.splitlines()]
    assert all(len(line) <= 60 for line in lines)
    assert sum(line.count("every-word-of-it-stays-whole") for line in lines) >= 7


@pytest.mark.parametrize(
    ("env", "bar"),
    [({"CI": "true"}, False), ({"TERM": "dumb"}, False), ({"NO_COLOR": "1"}, True)],
    ids=["CI", "dumb", "no colour"],
)
def test_no_escape_codes_where_they_are_not_wanted(slow: Path, env: dict[str, str], *, bar: bool):
    code, screen = on_a_terminal("run", "eval.yaml", "--no-save", cwd=slow, env={"TERM": "xterm", **env})
    assert code == 0
    assert "\x1b" not in screen
    assert ("[----" in screen) == bar


@pytest.mark.slow
def test_parallel_tasks_tell_in_whole_lines_and_none_is_lost(tmp_path: Path):
    """2,000 tasks in 8 workers, each with a prompt of 20 lines and a verdict of 50."""
    lines = "\\n".join(f"{{{{.Vars.name}}}} line {n}" for n in range(50))
    grader = "{type: program, name: shows, config: {command: cat}}"
    head = f'config: {{executor: mock}}\nmock: {{output: "{lines}"}}\ntasks_from: rows.csv'
    prompts = {f"task-{n}": "\n".join(f"task-{n} asks {i}" for i in range(20)) for n in range(2000)}
    rows = "".join(f'{name},"{prompt}"\n' for name, prompt in prompts.items())
    write_tree(tmp_path, {"eval.yaml": f"name: s\n{head}\n", "rows.csv": f"name,prompt\n{rows}"})
    write_tree(tmp_path, {"few/eval.yaml": f"name: s\n{head}\nrange: [1, 40]\ngraders: [{grader}]\n", "few/rows.csv": f"name,prompt\n{rows}"})  # fmt: skip
    many = waza("run", "eval.yaml", "--parallel", "-w", "8", "-v", "--no-save", cwd=tmp_path)
    assert many.code == 0
    assert "Parallel: 8 workers\n" in many.err
    finished = re.findall(r"^✓ \[\d+/2000\] (task-\d+)$", many.err, re.MULTILINE)
    assert sorted(finished) == sorted(prompts)
    assert re.findall(r"^✓ (task-\d+) +passed ", many.out, re.MULTILINE) == list(prompts)
    assert blocks(many.err, "[PROMPT]", "asks", 20) == Counter(prompts.keys())
    few = waza("run", "few/eval.yaml", "--parallel", "-w", "8", "-v", "--no-save", cwd=tmp_path)
    assert few.code == 0
    assert blocks(few.err, "[GRADER]", "line", 50) == Counter(list(prompts)[:40])


def blocks(text: str, mark: str, word: str, length: int) -> Counter[str]:
    """Count, by task, the texts of so many lines that follow a mark without another line between them."""
    whole: Counter[str] = Counter()
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if mark in line:
            found = [re.search(rf"(task-\d+) {word} (\d+)$", one) for one in lines[number : number + length]]
            names = {one[1] for one in found if one}
            if [one and int(one[2]) for one in found] == list(range(length)) and len(names) == 1:
                whole.update(names)
    return whole


# --- transcripts, session logs, failure artifacts ---


def test_a_transcript_of_each_task(mixed: Path, tmp_path: Path):
    waza("run", "eval.yaml", "--no-save", "--transcript-dir", tmp_path / "talk", cwd=mixed)
    found = {
        re.sub(r"-\d{8}-\d{6}\.json$", "", path.name): strict_json(path.read_bytes())
        for path in (tmp_path / "talk").iterdir()
    }
    assert sorted(found) == ["breaks", "greets", "is-silent", "wavers"]
    silent = found["is-silent"]
    assert list(silent) == [
        "task_id", "task_name", "status", "started_at", "completed_at", "duration_ms", "prompt", "final_output",
        "transcript", "validations", "session", "error_msg",
    ]  # fmt: skip
    assert (silent["task_id"], silent["status"], silent["prompt"]) == ("is silent", "failed", "p")
    kinds = [event["type"] for event in silent["transcript"]]
    assert kinds.count("assistant.message") == 2, "the events of all runs"
    assert datetime.fromisoformat(silent["started_at"]) <= datetime.fromisoformat(silent["completed_at"])
    assert found["breaks"]["error_msg"] == "the engine fell over"


def test_the_lines_of_a_session_log(mixed: Path, tmp_path: Path):
    log = ("--session-log", "--session-dir", tmp_path / "log")
    ended = waza("run", "eval.yaml", "--no-save", *log, "-m", "x", "-m", "y", cwd=mixed)
    paths = sorted((tmp_path / "log").iterdir())
    assert len(paths) == 2, "one a model, also in the same second"
    assert [line for line in ended.err.splitlines() if line.startswith("Session log: ")]
    for path in paths:
        assert re.fullmatch(r"session-\d{8}T\d{6}Z(-\d+)?\.ndjson", path.name)
        check_log([strict_json(line) for line in path.read_bytes().splitlines()])


def check_log(lines: list[dict[str, Any]]) -> None:
    """Check the form of every line, and that all that happened is there in its order."""
    fields: dict[str, dict[str, Any]] = {
        "session_start": {"spec_path": str, "model": str, "engine": str, "task_count": int, "runs_per_task": int, "run_id": str},
        "task_start": {"task_name": str, "task_num": int, "total_tasks": int},
        "grader_result": {
            "grader_name": str, "grader_type": str, "passed": bool, "score": (int, float), "feedback": str,
            "task_name": str, "run_number": int,
        },
        "error": {"message": str, "task_name": str, "run_number": int},
        "run_start": {"task_name": str, "run_number": int, "runs": int},
        "attempt_start": {"task_name": str, "run_number": int, "attempt": int, "attempts": int},
        "attempt_complete": {"task_name": str, "run_number": int, "attempt": int, "status": str, "duration_ms": int},
        "grader_start": {"task_name": str, "run_number": int, "attempt": int, "grader_name": str, "grader_type": str},
        "grader_complete": {
            "task_name": str, "run_number": int, "attempt": int, "grader_name": str, "grader_type": str,
            "passed": bool, "score": (int, float), "duration_ms": int,
        },
        "turn_start": {"task_name": str, "run_number": int, "attempt": int, "turn": int, "prompt": str},
        "tool_call": {"task_name": str, "run_number": int, "attempt": int, "turn": int, "tool_name": str, "success": bool, "duration_ms": int},
        "turn_complete": {"task_name": str, "run_number": int, "attempt": int, "turn": int, "tool_call_count": int, "output": str},
        "attempt_failed": {"task_name": str, "run_number": int, "attempt": int, "attempts": int, "failed_graders": list},
        "judge_session": {"task_name": str, "run_number": int, "session_digest": dict},
        "run_complete": {"task_name": str, "run_number": int, "session_digest": dict},
        "task_complete": {"task_name": str, "status": str, "score": (int, float), "duration_ms": int},
        "session_complete": {"total_tests": int, "passed": int, "failed": int, "errors": int, "duration_ms": int},
    }  # fmt: skip
    for line in lines:
        assert list(line) == ["timestamp", "type", "data"]
        assert line["timestamp"].endswith("Z")
        wanted = fields[line["type"]]
        optional = {"error", "args", "result", "input_tokens", "output_tokens"}
        assert set(line["data"]) - optional == set(wanted)
        assert all(isinstance(line["data"][key], kind) for key, kind in wanted.items())
    moments = [datetime.fromisoformat(line["timestamp"]) for line in lines]
    assert all(a <= b for a, b in pairwise(moments))
    counts = Counter(line["type"] for line in lines)
    assert counts.pop("turn_start") == counts.pop("turn_complete") >= 8
    assert counts.pop("attempt_start") == counts.pop("attempt_complete") >= 8
    assert counts.pop("grader_start") == counts.pop("grader_complete") >= 10
    for kind in ("tool_call", "attempt_failed", "judge_session"):
        counts.pop(kind, None)
    assert counts == {
        "session_start": 1, "task_start": 4, "run_start": 8, "grader_result": 10, "error": 2, "run_complete": 8,
        "task_complete": 4, "session_complete": 1,
    }  # fmt: skip
    assert [line["type"] for line in (lines[0], lines[-1])] == ["session_start", "session_complete"]
    end = lines[-1]["data"]
    assert (end["total_tests"], end["passed"], end["failed"], end["errors"]) == (4, 1, 2, 1)


def test_failure_artifacts_are_kept_of_runs_that_did_not_pass(mixed: Path):
    waza("run", "eval.yaml", cwd=mixed)
    tasks = {task["test_id"]: task for task in newest_results(mixed)["tasks"]}
    assert all("failure_artifacts" not in run for run in tasks["greets"]["runs"])
    silent, broken = (tasks[name]["runs"][0]["failure_artifacts"] for name in ("is silent", "breaks"))
    assert (silent["stdout"], silent["exit_code"], silent["failed_graders"]) == (
        "bye\nand good night",
        1,
        ["order", "says"],
    )
    assert (broken["stderr"], broken["exit_code"]) == ("the engine fell over", 2)
    assert silent["triage_summary"].splitlines()[2] == "- failed grader: order"
