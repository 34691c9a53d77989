from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.wgp import graded, grader, program, response

from waza.errors import GraderError
from waza.graders.wgp import Wgp
from waza.kit.process import find_leftovers
from waza.kit.process_marks import MARK
from waza.model.observation import Observation
from waza.model.verdict import Helpers

ANSWER = f"print('''{response()}''')"
TELLS = "import json; print(json.dumps({'schema': 'wgp/1', 'score': 1, 'passed': True, 'rationale': json.dumps(%s)}))"


def told(path: Path, expression: str, seen: dict[str, Any] | None = None, **config: Any) -> Any:
    """What a program sees: the value of a Python expression in it."""
    return json.loads(graded(grader(program(path, TELLS % expression), **config), **(seen or {})).feedback)


def error_of(asked: Wgp, **seen: Any) -> str:
    with pytest.raises(GraderError) as caught:
        graded(asked, **seen)
    assert find_leftovers() == []
    return str(caught.value)


def running(word: str) -> list[int]:
    """The processes that have a word in their command line."""
    return [one.pid for one in psutil.process_iter(["cmdline"]) if word in (one.info["cmdline"] or [])]


def test_the_request_comes_on_stdin(tmp_path: Path):
    seen = {"task_id": "t", "prompt": "Grüße", "output": "🐍", "workspace": str(tmp_path), "trial": 2}
    request = told(tmp_path / "p", "json.loads(request)", seen, config={"min": 1})
    assert request["schema"] == "wgp/1"
    assert request["task"] == {"id": "t", "input": "Grüße", "expected": None}
    assert request["agent"]["output"] == "🐍"
    assert request["config"] == {"min": 1}
    assert request["context"] == {"workspace_dir": str(tmp_path), "trial": 2}


def test_it_runs_in_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(tmp_path)
    seen = {"workspace": "work"}
    expression = "[os.getcwd(), os.environ['WAZA_WORKSPACE_DIR'], json.loads(request)['context']['workspace_dir'], sys.argv[1:]]"
    assert told(tmp_path / "p", expression, seen) == [str(work), str(work), str(work), []]


def test_without_a_workspace_it_runs_in_an_empty_directory(tmp_path: Path):
    expression = "[os.getcwd(), os.listdir('.'), os.environ['WAZA_WORKSPACE_DIR'], json.loads(request)['context']['workspace_dir']]"
    cwd, *rest = told(tmp_path / "p", expression)
    assert rest == [[], "", ""]
    assert not Path(cwd).exists()


def test_its_environment_is_minimal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_secret")
    monkeypatch.setenv("HOME", "/home/someone")
    names = told(tmp_path / "p", "dict(os.environ)", {"environment": {"TASKS": "own"}})
    assert names["PATH"] == os.environ["PATH"]
    assert names["HOME"] == "/home/someone"
    allowed = {"PATH", "HOME", "LANG", "WAZA_WORKSPACE_DIR", MARK, "PWD", "LC_CTYPE", "_", "SHLVL", "OLDPWD"}
    allowed |= {"PYTHONDONTWRITEBYTECODE"}
    assert set(names) <= allowed  # what a shell and Python set themselves is among these


def test_a_program_need_not_read_the_request(tmp_path: Path):
    script = tmp_path / "p"
    script.write_text(f"#!/bin/sh\necho '{response()}'\n")
    script.chmod(0o755)
    assert graded(grader(script), output="x" * 3_000_000).score == 0.5


def test_stderr_is_the_log(tmp_path: Path):
    wordy = grader(program(tmp_path / "p", f"sys.stderr.write('x' * 3_000_000 + 'Ende ü\\n'); {ANSWER}"))
    log = graded(wordy).details["log"]
    assert log.endswith("xxEnde ü")
    assert 65_000 < len(log.encode()) <= 65_536
    assert "log" not in graded(grader(program(tmp_path / "q", ANSWER))).details


def test_the_end_of_the_log_is_in_errors(tmp_path: Path):
    script = program(
        tmp_path / "p", "sys.stderr.write('lost' * 5000 + '\\nno such model: gpt\\n'); sys.exit(3)"
    )
    found = error_of(grader(script))
    assert found.startswith("the program ended badly: exit status 3; its log ends: ")
    assert found.endswith("\nno such model: gpt")
    assert len(found) < 2200


def test_a_program_that_disappears_or_cannot_start(tmp_path: Path):
    asked = grader(program(tmp_path / "p", ANSWER))
    assert "cannot be started: the directory" in error_of(asked, workspace=str(tmp_path / "gone"))
    (tmp_path / "p").write_text("#!/no/such/interpreter\n")
    assert "exit status 127" in error_of(asked)
    (tmp_path / "p").unlink()
    assert "exit status 127" in error_of(asked)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("", "the response is empty"),
        (f"{ANSWER}; {ANSWER}", "more than one JSON document"),
        (f"print('Checking...'); {ANSWER}", "is not JSON"),
        ("print('x' * 10_000_000)", "larger than 1,048,576 bytes"),
        (f"{ANSWER}; sys.exit(3)", "ended badly: exit status 3"),
        (f"{ANSWER}; sys.stdout.flush(); os.kill(os.getpid(), 9)", "ended badly: killed by SIGKILL"),
        ("raise KeyError('agent')", "KeyError: 'agent'"),
    ],
)
def test_an_answer_that_is_none(tmp_path: Path, body: str, message: str):
    assert message in error_of(grader(program(tmp_path / "p", body)))


def test_the_clock_ends_the_whole_tree(tmp_path: Path):
    body = (
        "import subprocess, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "subprocess.Popen(['sleep', '3143']); subprocess.Popen(['setsid', 'sleep', '3143'])\n"
        f"{ANSWER}; sys.stdout.flush(); time.sleep(3143)"
    )
    asked = grader(program(tmp_path / "p", body), limits={"wall_seconds": 1})
    assert error_of(asked) == "the time limit of 1 s was reached"
    assert running("3143") == []


@pytest.mark.slow
def test_cpu_time_is_limited(tmp_path: Path):
    asked = grader(program(tmp_path / "p", "while True: pass"), limits={"cpu_seconds": 1})
    assert error_of(asked) == "the CPU limit of 1 s was reached"
    stubborn = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    asked = grader(program(tmp_path / "q", stubborn), limits={"cpu_seconds": 1})
    assert error_of(asked) == "the program ended badly: killed by SIGKILL"


def test_memory_is_limited_only_if_the_suite_says_so(tmp_path: Path):
    script = program(tmp_path / "p", f"much = bytes(600 << 20); {ANSWER}")
    assert graded(grader(script)).passed
    assert "MemoryError" in error_of(grader(script, limits={"memory_mb": 300}))


def test_what_holds_stdout_open_is_not_waited_for(tmp_path: Path):
    body = f"import subprocess; subprocess.Popen(['sleep', '3144']); {ANSWER}"
    assert graded(grader(program(tmp_path / "p", body))).score == 0.5
    assert running("3144") == []
    silent = "import subprocess; subprocess.Popen(['sleep', '3144'])"
    assert error_of(grader(program(tmp_path / "q", silent))) == "the response is empty"
    assert running("3144") == []


def test_a_cancelled_grading_leaves_nothing(tmp_path: Path):
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    asked = grader(
        program(tmp_path / "p", f"open({str(begun)!r}, 'w').close(); os.execlp('sleep', 'sleep', '3145')")
    )

    async def cancelled() -> None:
        grading = asyncio.create_task(asked.grade(Observation(), Helpers()))
        await asyncio.to_thread(begun.read_bytes)
        grading.cancel()
        await grading

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert find_leftovers() == []
    assert running("3145") == []
