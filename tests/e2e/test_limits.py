"""Whatever hangs ends at its limit; whatever is huge is cut when stored; nothing else suffers from either."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import Any

import pytest
from tests.support.live import Project, nap, stubborn, survivors
from tests.support.program import command, environment, mock_suite, newest_results, write_tree


def shell_grader(name: str, script: str, timeout: int = 0) -> str:
    quoted = script.replace("'", "''")
    return f"{{type: program, name: {name}, config: {{command: sh, args: ['-c', '{quoted}'], timeout: {timeout}}}}}"


def task(mock: str, *graders: str) -> str:
    return f"inputs: {{prompt: p}}\nmock: {{{mock}}}\ngraders: [{', '.join(graders)}]"


def runs_by_task(project: Project) -> dict[str, Any]:
    return {one["test_id"]: one["runs"][0] for one in newest_results(project.home)["tasks"]}


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 8])
def test_each_hang_ends_at_its_limit_and_the_others_are_unharmed(project: Project, workers: int):
    held, forked, agent = nap(), nap(), nap()
    endless = (
        "{type: code, name: g, config: {assertions: ['sum(1 for x in range(10 ** 15)) > 0'], timeout: 1}}"
    )
    fine = "{type: code, name: g, config: {assertions: ['output == \"fine\"']}}"
    tasks = {
        "a-fine": task("output: fine", fine),
        "b-assertion": task("output: x", endless, shell_grader("after", "true")),
        "c-stubborn": task("output: x", shell_grader("g", stubborn(held), timeout=1)),
        "d-holds-stdout": task("output: x", shell_grader("g", f"sleep {forked} & exit 0", timeout=60)),
        "e-never-answers": task("delay_ms: 100000000", shell_grader("g", "true")),
        "f-never-answers-again": (
            "inputs: {prompt: p, follow_up_prompts: [q, r]}\n"
            "mock: {turns: [{output: one}, {delay_ms: 100000000}, {output: three}]}"
        ),
        "g-regex": task(f"output: {'a' * 40}!", "{type: text, name: g, config: {regex_match: ['^(a+)+$']}}"),
        "h-fine": task("output: fine", fine),
    }
    tasks["e-never-answers"] += "\ntimeout_seconds: 1"
    tasks["f-never-answers-again"] += "\ntimeout_seconds: 1"
    hooks = f"hooks: {{after_task: [{{command: 'sleep {agent} & exit 0'}}]}}"
    suite = mock_suite(project.home, tasks, hooks, ["parallel: true", f"workers: {workers}"])
    ended = project.run("run", suite)
    assert ended.code == 1
    for duration in (held, forked, agent):
        assert survivors(duration) == []
    assert project.left == []
    assert "left over" not in ended.err
    found = runs_by_task(project)
    statuses = {name: run["status"] for name, run in found.items()}
    assert statuses == {
        "a-fine": "passed",
        "b-assertion": "error",
        "c-stubborn": "failed",
        "d-holds-stdout": "passed",
        "e-never-answers": "error",
        "f-never-answers-again": "error",
        "g-regex": "failed",
        "h-fine": "passed",
    }
    slow = found["b-assertion"]
    assert "did not end within 1 s" in slow["validations"]["g"]["details"]["error"]
    assert slow["error_msg"].startswith("running graders: g:")
    assert (slow["validations"]["g"]["passed"], slow["validations"]["after"]["passed"]) == (False, True)
    assert "time limit of 1 s" in found["c-stubborn"]["validations"]["g"]["feedback"]
    silent = found["e-never-answers"]
    assert silent["timed_out"] is True
    assert "did not end within 1 s" in silent["error_msg"]
    assert silent["validations"]["g"]["passed"] is True  # graded all the same, on what there is
    again = found["f-never-answers-again"]
    assert again["timed_out"] is True
    assert again["error_msg"].startswith("follow-up 1/2: ")
    assert again["final_output"] == "one"


CUT = "bytes in all, the middle is not stored"


@pytest.mark.slow
def test_huge_texts_are_graded_whole_and_stored_as_head_and_tail(project: Project):
    result = "start" + "x" * (20_000_000 - 8) + "end"
    output = "start" + "ü" * 1_000_000 + "end"  # 2,000,008 bytes
    whole = (
        "{type: code, name: whole, config: {assertions: ["
        '"len(tool_calls[0][\'result\']) == 20_000_000", "len(output) == 1_000_008"]}}'
    )
    counted = shell_grader("counted", 'test "$(wc -c)" -eq 2000008')
    mock_suite(
        project.home,
        {
            "a": "\n".join(
                [
                    "inputs: {prompt: p}",
                    f"graders: [{whole}, {counted}]",
                    "mock:",
                    "  tool_calls:",
                    f"    - {{name: cat, result: {result}}}",
                    "    - {name: cat, result: small}",
                    "  output: '{{.Vars.output}}'",
                ]
            )
        },
        f"inputs: {{output: {output}}}",
    )
    ended = project.run("run", "eval.yaml")
    assert ended.code == 0, ended.err + ended.out
    run = runs_by_task(project)["a"]
    assert (run["truncated"], run["output_bytes"]) == (True, 2_000_008)
    check_cut(run["final_output"], 2_000_008)
    big, small = run["tool_events"]
    assert (big["truncated"], big["result_bytes"]) == (True, 20_000_000)
    check_cut(big["result"], 20_000_000)
    assert small["result"] == "small"
    assert "truncated" not in small
    complete = [event for event in run["transcript"] if event["type"] == "tool.execution_complete"]
    check_cut(complete[0]["tool_result"]["content"], 20_000_000)
    check_cut(run["session_digest"]["tool_calls"][0]["result"]["content"], 20_000_000)
    directory = project.runs[-1]
    assert all(path.stat().st_size < 2_500_000 for path in directory.iterdir())


def check_cut(text: str, size: int) -> None:
    assert text.startswith("start")
    assert text.endswith("end")
    assert f"{size} {CUT}" in text
    assert 190_000 < len(text.encode()) < 210_000


MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def measured(project: Project, *args: str) -> tuple[int, float]:
    """Run `waza`; return its exit code and the most memory that it had, in MB."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *command(*args)],
        cwd=project.home,
        env=environment({"TMPDIR": str(project.temp)}),
        capture_output=True,
        text=True,
        check=True,
    )
    code, kilobytes = done.stdout.split()
    return int(code), int(kilobytes) / 1024


@pytest.mark.slow
def test_memory_does_not_grow_with_the_outputs(project: Project):
    rows = "".join(f"row {n}\n" for n in range(300))
    said = "y" * 990_000  # just below the size from which on only the ends are stored
    suite = (
        "name: big\nconfig: {executor: mock, model: m, parallel: true, workers: 2}\ntasks_from: rows.csv\n"
        f"mock: {{output: {said}}}\ngraders: [{{type: text, name: t, config: {{contains: [y]}}}}]\n"
    )
    write_tree(project.home, {"rows.csv": "prompt\n" + rows, "eval.yaml": suite})
    for args in (["run", "eval.yaml"], ["run", "eval.yaml", "--resume"]):
        code, used = measured(project, *args)
        assert code == 0
        assert (project.runs[-1] / "results.json").stat().st_size > 2 * 295_000_000  # output and transcript
        assert used < 150, f"{used} MB"
    shutil.rmtree(project.home)  # more than a gigabyte


def test_a_daemon_that_hides_its_mark_is_ended_with_its_grader(project: Project):
    duration = nap()
    start = f"env -i setsid sh -c 'touch ready; sleep {duration} & wait' > /dev/null 2>&1 &"
    write_tree(project.home, {"start.sh": f"{start}\nuntil [ -e ready ]; do sleep 0.02; done\n"})
    grader = "{type: program, name: g, config: {command: sh, args: [start.sh]}}"
    ended = project.run("run", mock_suite(project.home, {"t": task("output: x", grader)}))
    assert ended.code == 0
    assert survivors(duration) == []


def test_a_worktree_that_git_will_not_give_back_is_reported(project: Project):
    repo = project.home / "repo"
    write_tree(repo, {"a": "a"})
    for args in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "m"],
    ):
        subprocess.run(["git", *args], cwd=repo, check=True)
    inputs = "inputs: {prompt: p, repos: [{type: worktree, source: repo, dest: tree}]}"
    lock = shell_grader("g", 'cd "$WAZA_WORKSPACE_DIR/tree" && git worktree unlock . && git worktree lock .')
    ended = project.run("run", mock_suite(project.home, {"t": f"{inputs}\ngraders: [{lock}]"}))
    assert ended.code == 0
    assert "could not be removed" not in ended.err  # a lock of the agent's keeps nothing
    lose = shell_grader("g", f"mv {repo}/.git {repo}/.lost")
    ended = project.run("run", mock_suite(project.home, {"t": f"{inputs}\ngraders: [{lose}]"}))
    assert ended.code == 0
    assert f"of {repo} could not be removed" in ended.err
    assert project.left == []
