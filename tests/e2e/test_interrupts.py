"""Ctrl-C and SIGTERM: what finished is kept, nothing is left running, and the run can go on."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from tests.support.live import Project, lasting, nap, stubborn, survivors, until, without_doubts
from tests.support.program import LIMIT, command, environment, mock_suite, newest_results, strict_json

SIGINT, SIGTERM = signal.SIGINT, signal.SIGTERM
AFTER_RUN = "after_run: [{command: 'echo after >> after.txt'}]"


def blocking(duration: str, *files: str) -> str:
    """A command that sleeps three times over, unless there is a file `go`."""
    begin = "".join(f"touch {name}; " for name in files)
    return f'[ -e "$HOME_DIR/go" ] || {{ {begin}{stubborn(duration)}; }}'


def task(grader: str = "", mock: str = "output: done") -> str:
    lines = ["inputs: {prompt: p}", f"mock: {{{mock}}}"]
    return "\n".join([*lines, f"graders: [{grader}]"] if grader else lines)


def program(name: str, command: str) -> str:
    quoted = command.replace("'", "''")
    return f"{{type: program, name: {name}, config: {{command: sh, args: ['-c', '{quoted}']}}}}"


def env_of(project: Project) -> dict[str, str]:
    return {"HOME_DIR": str(project.home)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "workers"), [(SIGINT, 1), (SIGINT, 8), (SIGTERM, 1), (SIGTERM, 8)], ids=str
)
def test_interrupted_at_a_third_and_resumed(project: Project, number: signal.Signals, workers: int):
    duration = nap()
    tasks = {f"t{n:03d}": task(mock="output: done, delay_ms: 5") for n in range(100)}
    tasks["t030"] = task(program("waits", blocking(duration)))
    suite = mock_suite(project.home, tasks, f"hooks: {{{AFTER_RUN}}}")
    asked = ["run", suite, "--trials", "3", "--task", "t*", "--parallel", "--workers", workers]
    with project.started(*asked, env=env_of(project)) as live:
        sleeping = 3 * min(workers, 3)  # all three trials of that task wait at once, where there are workers
        live.until(lambda: len(project.finished()) >= 90 and len(survivors(duration)) == sleeping)
        live.send(number)
        ended = live.ended()
    assert ended.code == {SIGINT: 130, SIGTERM: 143}[number]
    assert survivors(duration) == []
    assert project.left == []
    assert (project.home / "after.txt").read_text() == "after\n"
    finished = project.finished()
    kept = newest_results(project.home)
    assert kept["metadata"]["run_status"] == "cancelled"
    listed = [(one["test_id"], run["run_number"]) for one in kept["tasks"] for run in one["runs"]]
    assert sorted(listed) == sorted(finished)
    assert 90 <= len(finished) < 298
    assert ("t030", 1) not in finished
    how = next(line for line in ended.err.splitlines() if line.startswith("Go on with: "))
    words = shlex.split(how.removeprefix("Go on with: "))
    assert words[:3] == command()
    words = words[3:]
    assert "Traceback" not in ended.err
    (project.home / "go").touch()
    assert project.run(*words, env=env_of(project)).code == 0
    assert len(project.runs) == 1
    resumed = newest_results(project.home)
    assert sorted(project.finished()) == [(f"t{n:03d}", k) for n in range(100) for k in (1, 2, 3)]
    assert project.finished()[: len(finished)] == finished
    assert project.run(*asked, env=env_of(project)).code == 0
    assert without_doubts(lasting(resumed)) == lasting(newest_results(project.home))


@pytest.mark.parametrize("numbers", [(SIGINT, SIGINT), (SIGTERM, SIGINT)], ids=str)
def test_the_second_signal_ends_at_once(project: Project, numbers: tuple[signal.Signals, signal.Signals]):
    agent, hook = nap(), nap()
    hooks = f'hooks: {{after_run: [{{command: "touch after.txt; {stubborn(hook)}"}}]}}'
    tasks = {"a": task(), "b": task(program("waits", blocking(agent)))}
    suite = mock_suite(project.home, tasks, hooks)
    with project.started("run", suite, env=env_of(project)) as live:
        live.until(lambda: len(survivors(agent)) == 3)
        live.send(numbers[0])
        live.until(lambda: len(survivors(hook)) == 3)  # the first one waits for after_run
        assert survivors(agent) == []
        live.send(numbers[1])
        ended = live.ended()
    assert ended.code == 130
    assert survivors(hook) == []
    assert project.finished() == [("a", 1)]
    assert "once more to stop at once" in ended.err
    (project.home / "go").touch()
    mended = suite.read_text().replace(stubborn(hook), "true")
    suite.write_text(mended)
    assert project.run("run", suite, env=env_of(project)).code == 0
    assert project.left == []  # the room that stayed behind is cleared by the next run


@pytest.mark.parametrize("point", ["before_run", "before_task", "after_task"])
def test_during_a_hook(project: Project, point: str):
    duration = nap()
    hooks = f'hooks: {{{point}: [{{command: "{stubborn(duration)}", error_on_fail: true}}], {AFTER_RUN}}}'
    suite = mock_suite(project.home, {"a": task(), "b": task()}, hooks)
    with project.started("run", suite) as live:
        live.until(lambda: len(survivors(duration)) == 3)
        live.send(SIGINT)
        ended = live.ended()
    assert ended.code == 130
    assert survivors(duration) == []
    assert (project.home / "after.txt").read_text() == "after\n"
    assert project.finished() == ([("a", 1)] if point == "after_task" else [])
    assert newest_results(project.home)["metadata"]["run_status"] == "cancelled"


def test_during_after_run_that_hook_is_left_to_end(project: Project):
    command = "touch begun; until [ -e go ]; do sleep 0.02; done; sleep 1.5; touch ended"  # time enough to be killed
    suite = mock_suite(project.home, {"a": task()}, f"hooks: {{after_run: [{{command: '{command}'}}]}}")
    with project.started("run", suite) as live:
        live.until((project.home / "begun").exists)
        live.send(SIGINT)
        live.until(lambda: "stopping" in live.err)
        (project.home / "go").touch()
        ended = live.ended()
    assert ended.code == 130
    assert (project.home / "ended").exists()
    assert project.finished() == [("a", 1)]


@pytest.mark.slow
def test_one_signal_ends_a_run_whose_after_run_hook_hangs(project: Project):
    duration = nap()
    hooks = f'hooks: {{after_run: [{{command: "{stubborn(duration)}"}}, {{command: "touch second"}}]}}'
    suite = mock_suite(project.home, {"a": task()}, hooks)
    with project.started("run", suite) as live:
        live.until(lambda: len(survivors(duration)) == 3)
        live.send(SIGTERM)
        ended = live.ended()
    assert ended.code == 143
    assert "an after_run hook was ended" in ended.err
    assert survivors(duration) == []
    assert project.finished() == [("a", 1)]
    assert newest_results(project.home)["metadata"]["run_status"] == "cancelled"
    assert project.left == []


def test_during_a_turn(project: Project):
    tasks = {"a": task(), "b": task(mock="delay_ms: 100000000")}
    suite = mock_suite(project.home, tasks, f"hooks: {{{AFTER_RUN}}}")
    with project.started("run", suite, "-v") as live:
        live.until(lambda: "running: b" in live.err and "[PROMPT]" in live.err.split("running: b")[1])
        live.send(SIGINT)
        ended = live.ended()
    assert ended.code == 130
    assert project.finished() == [("a", 1)]
    assert "1 of 1 task that ran passed, 1 cut off" in ended.out  # the report is of what finished
    assert "✗ FAILED\n  • the run did not come to its end (cancelled): 1 trial did not run" in ended.out
    assert (project.home / "after.txt").exists()


def test_during_a_code_assertion(project: Project):
    grader = "{type: code, name: c, config: {assertions: ['sum(1 for x in range(10 ** 15)) > 0']}}"
    suite = mock_suite(project.home, {"a": task(grader)})
    with project.started("run", suite) as live:
        waza = psutil.Process(live.process.pid)
        live.until(waza.children)
        children = waza.children()
        live.send(SIGINT)
        assert live.ended().code == 130
    assert not any(child.is_running() for child in children)


def test_with_several_suites_and_models_no_other_starts(project: Project):
    duration = nap()
    suite = mock_suite(project.home, {"a": task(program("waits", blocking(duration)))})
    with project.started("run", suite, "--model", "one", "--model", "two", env=env_of(project)) as live:
        live.until(lambda: len(survivors(duration)) == 3)
        live.send(SIGINT)
        ended = live.ended()
    assert ended.code == 130
    assert len(project.runs) == 1
    assert "Model: two" not in ended.err


def test_json_on_stdout_stays_json(project: Project):
    duration = nap()
    tasks = {"a": task(), "b": task(program("waits", blocking(duration)))}
    suite = mock_suite(project.home, tasks)
    with project.started("run", suite, "--json", "--no-save", env=env_of(project)) as live:
        live.until(lambda: len(survivors(duration)) == 3)
        live.send(SIGINT)
        ended = live.ended()
    assert ended.code == 130
    document = strict_json(ended.out)
    assert [(one["test_id"], one["status"]) for one in document["tasks"]] == [
        ("a", "passed"),
        ("b", "skipped"),
    ]
    assert document["metadata"]["verdict"] == {
        "passed": False,
        "reasons": ["the run did not come to its end (cancelled): 1 trial did not run"],
    }
    assert "--resume" not in ended.err  # nothing was saved that could be resumed
    assert project.left == []


UNCLEAN = """
import waza.kit.process as process
async def end(child): pass
process.kill_tree, process.kill_marked = end, lambda *args: []
from waza.__main__ import main
main()
"""


def test_the_check_sees_survivors_where_cleaning_is_switched_off(project: Project):
    """The negative control of every `survivors(...) == []` here and in the tests of limits."""
    duration = nap()
    suite = mock_suite(project.home, {"a": task(program("g", stubborn(duration)))})
    with subprocess.Popen(
        [sys.executable, "-c", UNCLEAN, "run", str(suite)],
        cwd=project.home,
        env=environment({"TMPDIR": str(project.temp)}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as started:
        until(lambda: len(survivors(duration)) == 3)
        started.send_signal(SIGINT)
        code = started.wait(LIMIT)
    found = survivors(duration)
    try:
        assert code == 130
        assert found
    finally:
        for pid in found:
            psutil.Process(pid).kill()
    until(lambda: not survivors(duration))


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
@pytest.mark.parametrize("kind", ["suite", "document"])
def test_a_terminal_that_is_closed_ends_a_run_in_order(project: Project, kind: str):
    duration = nap()
    document = {"schemaVersion": "1.7.0", "default_evaluators": {"Citations": {}}, "items": [{"prompt": "p"}]}
    agent = f"command:sleep {duration}"
    (project.home / "evals.json").write_text(json.dumps(document), encoding="utf-8")
    suite = mock_suite(project.home, {"a": task()})
    asked = {
        "suite": ["run", str(suite), "--executor", agent, "-o", "r.json"],
        "document": ["m365", "run", "evals.json", "--agent", agent, "-o", "r.json"],
    }[kind]
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(project.home)
        argv, env = command(*asked), environment({"TMPDIR": str(project.temp)})
        os.execve(argv[0], argv, env)  # noqa: S606 - the child of a fork becomes the program
    until(lambda: survivors(duration))
    os.close(terminal)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 129
    assert survivors(duration) == []
    assert (project.home / "r.json").exists()
    assert project.left == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGHUP, 0), (SIGINT, 130)], ids=str)
def test_of_what_is_ignored_from_the_start_only_a_closed_terminal_stays_so(
    project: Project, number: signal.Signals, code: int
):
    waiting = 'touch "$HOME_DIR/begun"; until [ -e "$HOME_DIR/go" ]; do sleep 0.05; done'
    suite = mock_suite(project.home, {"a": task(program("waits", waiting))})
    ignore = f"trap '' {number.name.removeprefix('SIG')}; {shlex.join(['exec', *command('run', suite)])}"
    with subprocess.Popen(
        ["sh", "-c", ignore],
        cwd=project.home,
        env=environment(env_of(project)),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as started:
        try:
            until((project.home / "begun").exists)
            started.send_signal(number)
            if code == 0:
                (project.home / "go").touch()
            assert started.wait(LIMIT) == code
        finally:
            started.kill()


DEAF = """
import signal, subprocess, sys
import tests.conftest
for number in (signal.SIGHUP, signal.SIGINT):
    signal.raise_signal(number)
    kill = f"import os; os.kill(os.getpid(), {number})"
    print(number.name, subprocess.run([sys.executable, "-c", kill], stderr=subprocess.DEVNULL).returncode)
"""


def test_tests_that_ignore_signals_start_programs_that_do_not():
    """Under `nohup` and in the background of a shell, too, signals end the programs that tests start."""
    asked = ["sh", "-c", "trap '' HUP INT; exec \"$@\"", "sh", sys.executable, "-c", DEAF]
    root = Path(__file__).parents[2]
    done = subprocess.run(asked, cwd=root, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "SIGHUP -1\nSIGINT -2\n"), done.stderr


def test_models_that_were_cut_off_are_not_compared(project: Project):
    duration = nap()
    first = f'[ -e "$HOME_DIR/first" ] && {{ {stubborn(duration)}; }}; touch "$HOME_DIR/first"'
    suite = mock_suite(project.home, {"a": task(program("waits", first))})
    asked = ["run", suite, "--model", "one", "--model", "two", "--recommend"]
    with project.started(*asked, env=env_of(project)) as live:
        live.until(lambda: len(survivors(duration)) == 3)
        live.send(SIGINT)
        ended = live.ended()
    assert (ended.code, "RECOMMENDATION" in ended.out) == (130, False)


def test_scripted_trials_that_never_wait_heed_the_first_signal(project: Project):
    suite = mock_suite(project.home, {"t": task()})
    with project.started("run", suite, "--trials", "20000") as live:
        live.until(lambda: len(project.finished()) >= 5)
        live.send(SIGINT)
        ended = live.ended()
    assert ended.code == 130
    assert 5 <= len(project.finished()) < 20000
