import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest
from tests.support.live import nap, survivors

from waza.kit.process import FinishedProcess, find_leftovers, run, run_shell
from waza.kit.process_marks import MARK


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


def test_output_status_and_input():
    code = "import sys; print(sys.stdin.read().upper()); print('oh', file=sys.stderr); sys.exit(3)"
    finished = asyncio.run(run(python(code), stdin="grüße".encode()))
    assert finished == FinishedProcess(returncode=3, stdout="GRÜSSE\n".encode(), stderr=b"oh\n")
    assert finished.outcome == "exit status 3"
    assert not finished.ok


def test_success_is_ok():
    assert asyncio.run(run(["true"])).ok


def test_without_input_stdin_is_empty():
    assert asyncio.run(run(["cat"], timeout=120)) == FinishedProcess(returncode=0)


def test_child_that_ignores_a_large_input_is_harmless():
    assert asyncio.run(run(["true"], stdin=b"x" * 5_000_000, timeout=120)).ok


def test_a_grandchild_that_holds_a_full_stdin_open_does_not_block():
    duration = nap()
    code = f"import os, subprocess as s; s.Popen(['sleep', {duration!r}]); os._exit(0)"
    finished = asyncio.run(run(python(code), stdin=b"x" * 5_000_000, timeout=120))
    assert finished.ok
    assert survivors(duration) == []


def test_directory_and_environment(tmp_path: Path):
    finished = asyncio.run(
        run_shell('pwd; echo "$GREETING"', cwd=tmp_path, env={"GREETING": "hej", "PATH": os.environ["PATH"]})
    )
    assert finished.stdout.decode().splitlines() == [str(tmp_path.resolve()), "hej"]


def test_killed_by_a_signal():
    finished = asyncio.run(run_shell("kill -SEGV $$"))
    assert (finished.returncode, finished.signal) == (None, "SIGSEGV")
    assert finished.outcome == "killed by SIGSEGV"


def test_killed_by_a_signal_without_a_name():
    number = int(signal.SIGRTMIN) + 1
    finished = asyncio.run(run(python(f"import os; os.kill(os.getpid(), {number})")))
    assert finished.outcome == f"killed by signal {number}"


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["no-such-program-anywhere"], "No such file"),
        (["/"], "Permission denied"),
        (["ech\0o"], "null byte"),
        (["echo", "a\0b"], "null byte"),
        (["echo", "\ud800"], "surrogates not allowed"),
        (["echo", "x" * 20_000_000], "too long"),
        ([], "no program"),
    ],
)
def test_what_cannot_be_started_is_reported(argv, why):
    finished = asyncio.run(run(argv))
    assert why in finished.start_error
    assert finished.outcome == finished.start_error
    assert not finished.ok


def test_file_without_execute_permission(tmp_path: Path):
    script = tmp_path / "tool"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    assert "Permission denied" in asyncio.run(run([str(script)])).start_error


def test_missing_directory_is_reported(tmp_path: Path):
    finished = asyncio.run(run(["true"], cwd=tmp_path / "gone"))
    assert f"the directory {tmp_path / 'gone'} does not exist" in finished.start_error


def test_output_is_capped_and_drained():
    code = "import sys; [sys.stdout.write('x' * 1000) for _ in range(20_000)]; sys.stderr.write('done')"
    finished = asyncio.run(run(python(code), max_output=1_000_000, timeout=60))
    assert finished.returncode == 0
    assert finished.stdout == b"x" * 1_000_000
    assert finished.stderr == b"done"
    assert finished.truncated


def test_output_of_just_the_cap_is_whole():
    finished = asyncio.run(run(["printf", "12345"], max_output=5))
    assert (finished.stdout, finished.truncated) == (b"12345", False)


def test_on_start_gets_the_process_id():
    pids: list[int] = []
    finished = asyncio.run(run(["sh", "-c", "echo $$"], on_start=pids.append))
    assert int(finished.stdout) == pids[0]


def test_child_leads_a_session_of_its_own():
    code = "import os; print(os.getsid(0) == os.getpid())"
    assert asyncio.run(run(python(code))).stdout == b"True\n"


def test_the_mark_of_an_outer_waza_is_passed_on(monkeypatch):
    monkeypatch.setenv(MARK, "outer:7")
    marks = (
        asyncio.run(run_shell(f'echo "${MARK}"', env={"PATH": os.environ["PATH"]})).stdout.decode().split()
    )
    assert marks[0] == "outer:7"
    assert marks[1].startswith(f"{os.getpid()}-")


def test_many_at_once():
    async def scenario() -> list[FinishedProcess]:
        return await asyncio.gather(*(run(["cat"], stdin=str(n).encode()) for n in range(20)))

    assert [finished.stdout for finished in asyncio.run(scenario())] == [str(n).encode() for n in range(20)]
    assert find_leftovers() == []


def test_no_descriptor_is_left_open():
    asyncio.run(run(["true"]))
    before = psutil.Process().num_fds()
    for _ in range(5):
        asyncio.run(run(["true"], stdin=b"x"))
        asyncio.run(run(["no-such-program-anywhere"]))
    assert psutil.Process().num_fds() == before


def test_psutil_is_loaded_only_when_needed():
    code = "import sys, waza.kit.process; print('psutil' in sys.modules)"
    assert asyncio.run(run([sys.executable, "-c", code])).stdout == b"False\n"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("#!/bin/sh\r\nexit 0\r\n", "lines end as on Windows (CRLF)"),
        ("#!/no/such/interpreter -x\nexit 0\n", "the interpreter '/no/such/interpreter' of its '#!' line"),
        ("\ufeff#!/bin/sh\nexit 0\n", "neither a program of this system nor a script"),
    ],
)
def test_a_script_that_is_there_is_not_reported_as_missing(tmp_path: Path, content: str, why: str):
    script = tmp_path / "run.sh"
    script.write_bytes(content.encode())
    script.chmod(0o755)
    for argv, cwd in (([str(script)], None), (["./run.sh"], tmp_path)):
        told = asyncio.run(run(argv, cwd=cwd)).start_error
        assert why in told
        assert "No such file" not in told


def test_a_command_line_in_place_of_a_program_is_reported():
    told = asyncio.run(run(["python3 -c pass"])).start_error
    assert told.endswith("a program is named without its arguments, which go into a list of their own")
