"""Runs that are killed, torn, and resumed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.support.journals import rewritten
from tests.support.live import Live, Project, lasting, nap
from tests.support.program import (
    Ended,
    command,
    environment,
    mock_suite,
    newest_results,
    strict_json,
    write_tree,
)

SIDE = (
    "{type: program, name: side, config: {command: sh, args: ['-c', 'cat >> \"$SIDE\"'], cache_inputs: []}}"
)


def counted(name: str, trials: int, delay: int = 0) -> str:
    """A task whose trials say who they are; a grader writes that into the side file."""
    said = [f'    - {{output: "{name} {n}\\n", delay_ms: {delay}}}' for n in range(1, trials + 1)]
    return "\n".join(["inputs: {prompt: count}", "mock:", "  executions:", *said])


def counting_suite(
    project: Project, tasks: int, trials: int, *config: str, delay: int = 0, head: str = ""
) -> dict[str, str]:
    """Write a suite of counted tasks; return the environment that names its side file."""
    texts = {f"t{n:03d}": counted(f"t{n:03d}", trials, delay) for n in range(tasks)}
    mock_suite(project.home, texts, f"graders: [{SIDE}]\n{head}", [f"trials_per_task: {trials}", *config])
    return {"SIDE": str(project.home / "side.txt")}


def executions(project: Project, name: str = "side.txt") -> Counter[tuple[str, int]]:
    """How often each trial was executed."""
    path = project.home / name
    words = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    return Counter((task, int(number)) for task, number in words)


def unfinished(project: Project, keep: int) -> Path:
    """Cut the newest journal after `keep` trials, as if the run had been killed then; return its path."""
    path = project.runs[-1] / "journal.ndjson"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: 2 + keep]))
    (path.parent / "results.json").unlink()
    return path


def results_of(directory: Path) -> Any:
    return json.loads((directory / "results.json").read_bytes())


def told_and_finished(project: Project, live: Live, trials: int) -> bool:
    """Whether a run has said what it is, and its journal holds so many trials."""
    return "Engine:" in live.err and len(project.finished()) >= trials


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 8])
def test_killed_at_ten_random_moments_and_resumed(project: Project, workers: int):
    env = counting_suite(project, 100, 3, "parallel: true", f"workers: {workers}", delay=2)
    moments = sorted(random.Random(workers).sample(range(1, 290), 7))
    for place in (2, 4, 6):
        moments.insert(place, 0)  # killed while resuming, as soon as the run says what it is
    done = Counter[tuple[str, int]]()
    for moment in moments:
        with project.started("run", "eval.yaml", "--resume", env=env) as live:
            live.until(partial(told_and_finished, project, live, moment))
        executed = executions(project)
        done.update({key: executed[key] for key in project.finished() if key not in done})
    assert 0 < len(done) < 300
    ended = project.run("run", "eval.yaml", "--resume", env=env)
    assert ended.code == 0, ended.err
    assert len(project.runs) == 1
    assert sorted(project.finished()) == [(f"t{n:03d}", k) for n in range(100) for k in (1, 2, 3)]
    executed = executions(project)
    assert {key: executed[key] for key in done} == done, "a finished trial was executed again"
    resumed = newest_results(project.home)
    undisturbed = project.run("run", "eval.yaml", env={"SIDE": str(project.home / "other.txt")})
    assert undisturbed.code == 0
    assert set(executions(project, "other.txt").values()) == {1}
    assert lasting(resumed) == lasting(newest_results(project.home))
    assert project.left == []


@pytest.mark.slow
def test_both_arms_of_a_baseline_run_survive_a_kill(project: Project):
    env = counting_suite(project, 12, 2, "skill_directories: [skills]", delay=10, head="baseline: true")
    write_tree(project.home, {"skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\nbody\n"})
    for moment in (9, 37):  # in the first and in the second arm of 24 trials each
        with project.started("run", "eval.yaml", "--resume", env=env) as live:
            live.until(partial(told_and_finished, project, live, moment))
    assert project.run("run", "eval.yaml", "--resume", env=env).code == 1  # no better than without skills
    arms = Counter(line["trial"]["arm"] for line in project.journal() if "trial" in line)
    assert arms == {"main": 24, "baseline": 24}
    resumed = newest_results(project.home)
    assert project.run("run", "eval.yaml", env=env).code == 1
    assert lasting(resumed) == lasting(newest_results(project.home))
    assert len(resumed["baseline_outcome"]["tasks"]) == 12


def test_a_torn_last_line_costs_one_trial(project: Project):
    env = counting_suite(project, 3, 2)
    assert project.run("run", "eval.yaml", env=env).code == 0
    before = newest_results(project.home)
    journal = unfinished(project, 5)
    journal.write_bytes(journal.read_bytes()[:-40])
    ended = project.run("run", "eval.yaml", "--resume", env=env)
    assert ended.code == 0
    assert "4 finished runs kept" in ended.err
    assert executions(project) == {
        ("t000", 1): 1,
        ("t000", 2): 1,
        ("t001", 1): 1,
        ("t001", 2): 1,
        ("t002", 1): 2,
        ("t002", 2): 2,
    }
    assert lasting(newest_results(project.home)) == lasting(before)
    assert len(project.finished()) == 6


def test_a_damaged_line_is_reported(project: Project):
    env = counting_suite(project, 3, 1)
    project.run("run", "eval.yaml", env=env)
    journal = unfinished(project, 2)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0] + lines[1][:-20] + b"\n" + lines[2])
    ended = project.run("run", "eval.yaml", "--resume", env=env)
    assert ended.code == 2
    assert "journal.ndjson:2: the checksum of this line does not fit" in ended.err
    assert "start a new run" in ended.err
    assert "Traceback" not in ended.err


def test_a_run_killed_before_its_first_line_is_none(project: Project):
    env = counting_suite(project, 1, 1)
    write_tree(project.home, {".waza/runs/run-20200101T000000Z-abcdef/journal.ndjson": '{"run": {"id"'})
    assert project.run("run", "eval.yaml", "--resume", env=env).code == 0
    ended = project.run("run", "eval.yaml", "--resume=run-20200101T000000Z-abcdef", env=env)
    assert ended.code == 2
    assert "was never started" in ended.err


def test_without_an_earlier_run_a_new_one_starts_and_says_so(project: Project):
    env = counting_suite(project, 1, 1)
    ended = project.run("run", "eval.yaml", "--resume", env=env)
    assert ended.code == 0
    assert "no earlier run" in ended.err
    assert executions(project) == {("t000", 1): 1}
    assert "no earlier run" not in project.run("run", "eval.yaml", "--resume", env=env).err


def test_a_finished_run_is_only_reported_again(project: Project):
    head = (
        "hooks: {before_task: [{command: 'test \"{{.Vars.fine}}\" = yes || exit 3', error_on_fail: true}]}\n"
    )
    env = counting_suite(project, 2, 2, head=head + "mock: {triggers: {p: true}}\ninputs: {fine: 'yes'}")
    write_tree(project.home, {"trigger_tests.yaml": "skill: s\nshould_trigger_prompts: [{prompt: p}]\n"})
    first = project.run("run", "eval.yaml", env=env)
    assert first.code == 0
    stored = (project.runs[-1] / "results.json").read_bytes()
    again = project.run(
        "run", "eval.yaml", "--resume", "-o", "again.json", "--reporter", "junit:j.xml", env=env
    )
    assert again.code == 0
    assert again.out == first.out
    assert set(executions(project).values()) == {1}
    assert len(project.runs) == 1
    assert (project.runs[-1] / "results.json").read_bytes() == stored
    again_written = strict_json((project.home / "again.json").read_text(encoding="utf-8"))
    assert again_written["metadata"].pop("invocation")["verdict"]["passed"] is True
    assert again_written == strict_json(stored.decode())
    assert (project.home / "j.xml").exists()
    assert "it is only reported again" in again.err
    (project.runs[-1] / "results.json").unlink()  # as if killed between the end of the run and its results
    assert project.run("run", "eval.yaml", "--resume", env=env).code == 0
    assert (project.runs[-1] / "results.json").read_bytes() == stored
    assert set(executions(project).values()) == {1}


@pytest.mark.slow
def test_a_journal_that_cannot_grow_ends_the_run_in_order(project: Project):
    env = counting_suite(project, 40, 3, head="hooks: {after_run: [{command: 'touch after'}]}")
    done = subprocess.run(
        ["sh", "-c", 'ulimit -f 64; exec "$@"', "sh", *command("run", "eval.yaml")],
        cwd=project.home,
        env=environment({**env, "TMPDIR": str(project.temp)}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "cannot write" in done.stderr
    assert "journal.ndjson" in done.stderr
    assert "Traceback" not in done.stderr
    assert (project.home / "after").exists()
    finished = project.finished()
    assert 5 < len(finished) < 120
    assert project.left == []
    ended = project.run("run", "eval.yaml", "--resume", env=env)
    assert ended.code == 0, ended.err
    assert f"{len(finished)} finished runs kept" in ended.err
    assert sorted(project.finished()) == [(f"t{n:03d}", k) for n in range(40) for k in (1, 2, 3)]


def test_a_task_that_a_hook_stopped_is_reported_again(project: Project):
    hooks = "hooks: {before_task: [{command: 'test {{.TaskName}} != t001', error_on_fail: true}]}"
    env = counting_suite(project, 3, 1, head=hooks)
    first = project.run("run", "eval.yaml", env=env)
    stored = results_of(project.runs[-1])
    assert [task["status"] for task in stored["tasks"]] == ["passed", "error", "passed"]
    again = project.run("run", "eval.yaml", "--resume", env=env)
    assert (first.code, again.code, again.out) == (1, 1, first.out)
    assert results_of(project.runs[-1]) == stored


def test_fail_fast_still_holds_after_a_resume(project: Project):
    texts = {f"t{n}": f"inputs: {{prompt: p}}\nmock: {{output: {said}}}" for n, said in enumerate("yyny")}
    grader = "graders: [{type: text, name: fine, config: {contains: ['y']}}]"
    mock_suite(project.home, texts, grader, ["fail_fast: true"])
    assert project.run("run", "eval.yaml").code == 1
    before = newest_results(project.home)
    assert [task["status"] for task in before["tasks"]] == ["passed", "passed", "failed", "skipped"]
    unfinished(project, 3)
    assert project.run("run", "eval.yaml", "--resume").code == 1
    assert lasting(newest_results(project.home)) == lasting(before)


def test_a_resume_without_fail_fast_runs_the_tasks_that_it_had_skipped(project: Project):
    texts = {f"t{n}": f"inputs: {{prompt: p}}\nmock: {{output: {said}}}" for n, said in enumerate("yny")}
    grader = "graders: [{type: text, name: fine, config: {contains: ['y']}}]"
    mock_suite(project.home, texts, grader, ["fail_fast: true"])
    assert project.run("run", "eval.yaml").code == 1
    assert [task["status"] for task in newest_results(project.home)["tasks"]] == [
        "passed",
        "failed",
        "skipped",
    ]
    suite = project.home / "eval.yaml"
    suite.write_text(
        suite.read_text(encoding="utf-8").replace("fail_fast: true", "fail_fast: false"), encoding="utf-8"
    )
    assert project.run("run", "eval.yaml", "--resume").code == 1
    assert [task["status"] for task in newest_results(project.home)["tasks"]] == [
        "passed",
        "failed",
        "passed",
    ]


def test_a_cached_task_is_not_doubled_by_a_resume(project: Project):
    env = counting_suite(project, 2, 3)
    assert project.run("run", "eval.yaml", "--cache", env=env).code == 0
    unfinished(project, 2)  # two trials of the first task; all of it stands in the cache
    assert project.run("run", "eval.yaml", "--cache", "--resume", env=env).code == 0
    assert sorted(project.finished()) == [(f"t{n:03d}", k) for n in (0, 1) for k in (1, 2, 3)]
    assert set(executions(project).values()) == {1}


def test_resume_takes_the_newest_run_of_this_suite_or_the_one_with_an_id(project: Project):
    env = counting_suite(project, 2, 1)
    mock_suite(project.home / "other", {"o": counted("o", 1)}, f"graders: [{SIDE}]", name="other")
    for _ in range(2):
        project.run("run", "eval.yaml", env=env)
        unfinished(project, 1)
    older, newer = project.runs
    project.run("run", "other/eval.yaml", env=env)
    assert len(project.runs) == 3
    assert "1 finished run kept" in project.run("run", "eval.yaml", "--resume", env=env).err
    assert (newer / "results.json").exists()
    assert not (older / "results.json").exists()
    ended = project.run("run", "eval.yaml", f"--resume={older.name}", env=env)
    assert f"Resumed: {older.name}" in ended.err
    assert results_of(older)["eval_id"] == older.name
    assert lasting(results_of(older)) == lasting(results_of(newer))
    assert executions(project) == {("t000", 1): 2, ("t001", 1): 4, ("o", 1): 1}


@pytest.mark.parametrize("name", ["run-20200101T000000Z-000000", "../runs", "a b", "."])
def test_an_unknown_id_is_refused(project: Project, name: str):
    env = counting_suite(project, 1, 1)
    ended = project.run("run", "eval.yaml", f"--resume={name}", env=env)
    assert ended.code == 2
    assert f"there is no run '{name}'" in ended.err
    assert not executions(project)


def changed_to(text: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        path.write_text(text, encoding="utf-8")

    return change


def replaced(old: str, new: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")

    return change


@pytest.mark.slow
def test_a_run_of_something_else_is_refused(project: Project):
    files = {
        "fixtures/given.txt": "one",
        "fixtures/rules.md": "obey",
        "ctx/deep/file.txt": "one",
        "judge.sh": "exit 0",
        "skills/s/SKILL.md": "---\nname: s\ndescription: d\n---\nbody\n",
    }
    head = "graders: [{type: program, name: j, config: {command: sh, args: [judge.sh]}}]\nhooks: {after_task: [{command: 'true'}]}"
    task = (
        "inputs: {prompt: p, files: [{path: given.txt}], context: {fixture: ctx}}\n"
        "instruction_files: [rules.md]\nmock: {output: said}"
    )
    mock_suite(write_tree(project.home, files), {"a": task, "b": task}, head, ["skill_directories: [skills]"])
    assert project.run("run", "eval.yaml").code == 0
    journal = unfinished(project, 1)
    before = journal.read_bytes()
    changes: list[tuple[str, Callable[[Path], None]]] = [
        ("eval.yaml", replaced("model: test-model", "model: test-model\n  max_attempts: 7")),
        ("eval.yaml", replaced("after_task", "before_task")),
        ("eval.yaml", replaced("name: j", "name: k")),
        ("tasks/a.yaml", replaced("prompt: p", "prompt: q")),
        ("tasks/b.yaml", replaced("output: said", "output: other")),
        ("fixtures/given.txt", changed_to("two")),
        ("fixtures/rules.md", changed_to("disobey")),
        ("ctx/deep/file.txt", changed_to("two")),
        ("judge.sh", changed_to("exit 1")),
        ("skills/s/SKILL.md", replaced("body", "soul")),
    ]
    for name, change in changes:
        path = project.home / name
        original = path.read_bytes()
        change(path)
        refused(
            project.run("run", "eval.yaml", "--resume"),
            "the suite, a task, a grader, a skill, a file they name",
        )
        path.write_bytes(original)
    options = [
        (["--trials", "2"], "the number of trials (--trials) changed"),
        (["--task", "a"], "the choice of tasks or items (--task, --tags, -k, --shard) changed"),
        (["--no-skills"], "whether skills can be seen (--no-skills) changed"),
        (["--baseline", "--judge-model", "j"], "the judge (--judge-model, --judge) and the comparison"),
        (["--timeout", "7"], "the time limit (--timeout)"),
    ]
    for words, reason in options:
        refused(project.run("run", "eval.yaml", "--resume", *words), reason)
    run_id = journal.parent.name
    refused(project.run("run", "eval.yaml", "--model", "other", f"--resume={run_id}"), "the model changed")
    rewritten(journal, lambda lines: lines[0]["run"].update(waza="0.0.1"))
    refused(project.run("run", "eval.yaml", "--resume"), "waza's version changed")
    journal.write_bytes(before)
    fine = project.run("run", "eval.yaml", "--resume", "--parallel", "--workers", "2")
    assert fine.code == 0
    assert f"Resumed: {run_id}, 1 finished run kept" in fine.err


def refused(ended: Ended, why: str) -> None:
    assert ended.code == 2, ended.err
    assert why in ended.err
    assert "run without --resume" in ended.err
    assert "Resumed" not in ended.err


def test_a_run_that_still_lives_is_left_alone(project: Project):
    duration = nap()
    hooks = f"hooks: {{before_run: [{{command: 'touch begun; sleep {duration}'}}]}}"
    env = counting_suite(project, 1, 1, head=hooks)
    with project.started("run", "eval.yaml", env=env) as live:
        live.until((project.home / "begun").exists)
        ended = project.run("run", "eval.yaml", "--resume", env=env)
        assert ended.code == 2
        assert "is in use by another run; wait until that run has ended" in ended.err
        live.send(signal.SIGINT)
        assert live.ended().code == 130


def test_each_model_goes_on_with_its_own_run(project: Project):
    env = counting_suite(project, 2, 1)
    models = ["--model", "a", "--model", "b"]
    assert project.run("run", "eval.yaml", *models, env=env).code == 0
    assert len(project.runs) == 2
    unfinished(project, 1)
    assert project.run("run", "eval.yaml", "--resume", *models, env=env).code == 0
    assert len(project.runs) == 2
    assert executions(project) == {("t000", 1): 2, ("t001", 1): 3}


def git(directory: Path, *args: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *args]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.parametrize("commit", ["", "main"])
def test_worktrees_of_a_resumed_run_are_of_the_commit_that_it_started_with(project: Project, commit: str):
    source = write_tree(project.home / "source", {"f.txt": "one"})
    git(source, "init", "-q", "-b", "main")
    git(source, "add", ".")
    git(source, "commit", "-qm", "one")
    repo = f"{{type: worktree, source: source{', commit: ' + commit if commit else ''}}}"
    shows = "graders: [{type: file, name: f, config: {content_patterns: [{path: f.txt, must_match: [one]}]}}]"
    task = f"inputs: {{prompt: p, repos: [{repo}]}}\nmock: {{output: said}}"
    mock_suite(project.home, {"a": task, "b": task}, shows)
    assert project.run("run", "eval.yaml").code == 0
    unfinished(project, 1)
    write_tree(source, {"f.txt": "two"})
    git(source, "commit", "-qam", "two")
    ended = project.run("run", "eval.yaml", "--resume")
    assert ended.code == 0, ended.out
    assert "1 finished run kept" in ended.err


def test_a_changed_script_of_a_hook_or_changed_settings_are_refused(project: Project):
    write_tree(project.home, {"tools/prepare.sh": "true\n", ".waza.yaml": "graders: {programTimeout: 20}\n"})
    hook = "hooks: {before_task: [{command: sh ./prepare.sh, working_directory: tools}]}"
    mock_suite(project.home, dict.fromkeys("ab", "inputs: {prompt: p}\nmock: {output: said}"), hook)
    assert project.run("run", "eval.yaml").code == 0
    unfinished(project, 1)
    for name, text, why in (
        ("tools/prepare.sh", "true # changed\n", "programs of hooks and agents"),
        (".waza.yaml", "graders: {programTimeout: 21}\n", "the graders or provider of .waza.yaml changed"),
    ):
        before = (project.home / name).read_bytes()
        (project.home / name).write_text(text, encoding="utf-8")
        refused(project.run("run", "eval.yaml", "--resume"), why)
        (project.home / name).write_bytes(before)
    assert project.run("run", "eval.yaml", "--resume").code == 0


def test_a_changed_program_of_the_agent_is_refused_and_what_cannot_be_known_is_reported(project: Project):
    write_tree(project.home, {"agent.py": "print('said')\n"})
    suite = mock_suite(project.home, dict.fromkeys("ab", "inputs: {prompt: p}"))
    agent = """executor_options: {command: 'python3 "$WAZA_SUITE_DIR"/agent.py'}"""
    replaced("executor: mock", f"executor: command\n  {agent}")(suite)
    assert project.run("run", "eval.yaml").code == 0
    unfinished(project, 1)
    changed_to("print('other')\n")(project.home / "agent.py")
    refused(project.run("run", "eval.yaml", "--resume"), "programs of hooks and agents")
    changed_to("print('said')\n")(project.home / "agent.py")
    ended = project.run("run", "eval.yaml", "--resume")
    assert ended.code == 0
    assert "whether the agent behind command is still as it was cannot be known" in ended.err


CHECKED = {
    "checks/grade.py": "import helper\n",
    "checks/helper.py": "",
    "checks/.hidden": "x",
    "checks/vendor/lib.py": "x",
    "mygrade.py": "",
    "bin/judge": "#!/bin/sh\n",
    "pythonpath/pkg/__main__.py": "",
}
READ = {
    "helper": ("python3", ["checks/grade.py"], "checks/helper.py", "changed"),
    "hidden": ("python3", ["checks/grade.py"], "checks/.hidden", "changed"),
    "vendored": ("python3", ["checks/grade.py"], "checks/vendor/lib.py", "changed"),
    "new": ("python3", ["checks/grade.py"], "checks/json.py", "was added"),
    "module": ("python3", ["-m", "mygrade"], "mygrade.py", "changed"),
    "package": ("python3", ["-m", "pkg"], "pythonpath/pkg/__main__.py", "changed"),
    "on-path": ("judge", [], "bin/judge", "changed"),
}


def cut_run_of_a_program(project: Project, grader: dict[str, Any], *args: str, **env: str) -> dict[str, str]:
    """Run a suite with a program grader, and cut its journal; return the environment."""
    write_tree(project.home, CHECKED)
    (project.home / "bin/judge").chmod(0o755)
    program = {"type": "program", "name": "g", "config": grader}
    mock_suite(
        project.home, {"t": counted("t", 2)}, f"graders: [{json.dumps(program)}]", ["trials_per_task: 2"]
    )
    path = f"{project.home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    env = {"PATH": path, "PYTHONPATH": str(project.home / "pythonpath"), **env}
    assert project.run("run", "eval.yaml", *args, env=env).code == 0
    unfinished(project, 1)
    return env


@pytest.mark.parametrize("case", READ)
def test_a_run_whose_grader_reads_something_else_now_is_refused(project: Project, case: str):
    command, args, file, said = READ[case]
    env = cut_run_of_a_program(project, {"command": command, "args": args})
    known = (project.home / file).read_bytes() if said == "changed" else b""
    (project.home / file).write_bytes(known + b"\n# changed")
    ended = project.run("run", "eval.yaml", "--resume", env=env)
    why = f"{project.home / file} {said} since it started; change it back, or run without --resume"
    assert (ended.code, len(project.finished())) == (2, 1), "nothing was run"
    assert why in ended.err
    if said == "changed":
        (project.home / file).write_bytes(known)
    else:
        (project.home / file).unlink()
    ended = project.run("run", "eval.yaml", "--resume", env=env)
    assert (ended.code, len(project.finished())) == (0, 2), ended.err


def test_a_run_whose_grader_is_given_another_variable_is_refused(project: Project):
    env = cut_run_of_a_program(project, {"command": "sh", "args": ["-c", 'exit "$CODE"']}, CODE="0")
    ended = project.run("run", "eval.yaml", "--resume", env={**env, "CODE": "1"})
    refused(ended, "an environment variable in the arguments of a grader")


def test_where_the_code_of_a_grader_was_not_found_a_resumed_run_says_so(project: Project):
    env = cut_run_of_a_program(project, {"command": "bash", "args": ["-c", 'source "$HOME/x" || true']})
    ended = project.run("run", "eval.yaml", "--resume", env=env)
    assert ended.code == 0
    assert (
        "whether the grader g is still as it was cannot be known, since its code was not found" in ended.err
    )


def test_what_the_command_itself_writes_beside_a_grader_does_not_keep_a_run_from_going_on(project: Project):
    outputs = (
        "-o",
        "checks/o.json",
        "--reporter",
        "junit:checks/junit.xml",
        "--transcript-dir",
        "checks/said",
    )
    env = cut_run_of_a_program(project, {"command": "python3", "args": ["checks/grade.py"]}, *outputs)
    assert (project.home / "checks/junit.xml").exists()
    ended = project.run("run", "eval.yaml", "--resume", *outputs, env=env)
    assert ended.code == 0, ended.err
    assert "cannot be known" not in ended.err
