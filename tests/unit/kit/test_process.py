import asyncio
import os
import random
import signal
import sys
from pathlib import Path

import psutil
import pytest

from waza.kit import process
from waza.kit._child import Child, Keep
from waza.kit.process import Finished, leftovers, run, shell

NAPS = random.SystemRandom()


def nap() -> str:
    """A sleeping time that no other process on this machine has: survivors are found by it."""
    return f"300.{NAPS.randrange(10**9):09d}"


def survivors(duration: str) -> list[int]:
    return [
        found.pid
        for found in psutil.process_iter(["cmdline", "status"])
        if duration in (found.info["cmdline"] or []) and found.info["status"] != psutil.STATUS_ZOMBIE
    ]


def stubborn(duration: str) -> str:
    return f"sleep {duration} & setsid sleep {duration} & trap '' TERM; sleep {duration}"


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


async def until(condition) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - other processes set no event here
            await asyncio.sleep(0.01)


async def stop(command: str, when, cwd: Path | None = None) -> None:
    """Cancel a command line as soon as the condition holds."""
    task = asyncio.create_task(shell(command, cwd=cwd))
    await until(when)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_output_status_and_input():
    code = "import sys; print(sys.stdin.read().upper()); print('oh', file=sys.stderr); sys.exit(3)"
    finished = asyncio.run(run(python(code), stdin="grüße".encode()))
    assert finished == Finished(returncode=3, stdout="GRÜSSE\n".encode(), stderr=b"oh\n")
    assert finished.ending == "exit status 3"
    assert not finished.ok


def test_success_is_ok():
    assert asyncio.run(run(["true"])).ok


def test_without_input_stdin_is_empty():
    assert asyncio.run(run(["cat"], timeout=20)) == Finished(returncode=0)


def test_child_that_ignores_a_large_input_is_harmless():
    assert asyncio.run(run(["true"], stdin=b"x" * 5_000_000, timeout=20)).ok


def test_a_grandchild_that_holds_a_full_stdin_open_does_not_block():
    duration = nap()
    code = f"import os, subprocess as s; s.Popen(['sleep', {duration!r}]); os._exit(0)"
    finished = asyncio.run(run(python(code), stdin=b"x" * 5_000_000, timeout=20))
    assert finished.ok
    assert survivors(duration) == []


def test_directory_and_environment(tmp_path: Path):
    finished = asyncio.run(
        shell('pwd; echo "$GREETING"', cwd=tmp_path, env={"GREETING": "hej", "PATH": os.environ["PATH"]})
    )
    assert finished.stdout.decode().splitlines() == [str(tmp_path.resolve()), "hej"]


def test_killed_by_a_signal():
    finished = asyncio.run(shell("kill -SEGV $$"))
    assert (finished.returncode, finished.signal) == (None, "SIGSEGV")
    assert finished.ending == "killed by SIGSEGV"


def test_killed_by_a_signal_without_a_name():
    number = int(signal.SIGRTMIN) + 1
    finished = asyncio.run(run(python(f"import os; os.kill(os.getpid(), {number})")))
    assert finished.ending == f"killed by signal {number}"


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
def test_what_cannot_be_started_is_told(argv, why):
    finished = asyncio.run(run(argv))
    assert why in finished.start_error
    assert finished.ending == finished.start_error
    assert not finished.ok


def test_file_without_execute_permission(tmp_path: Path):
    script = tmp_path / "tool"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    assert "Permission denied" in asyncio.run(run([str(script)])).start_error


def test_missing_directory_is_told(tmp_path: Path):
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


def test_time_limit_ends_the_whole_tree():
    duration = nap()
    finished = asyncio.run(shell(stubborn(duration), timeout=1))
    assert survivors(duration) == []
    assert leftovers() == []
    assert finished.timed_out
    assert finished.signal == "SIGKILL"
    assert finished.ending == "time limit reached"


def test_what_was_said_before_the_time_limit_is_kept():
    finished = asyncio.run(shell(f"echo so far; sleep {nap()}", timeout=1))
    assert (finished.stdout, finished.timed_out, finished.signal) == (b"so far\n", True, "SIGTERM")


def test_a_stopped_program_may_clean_up(tmp_path: Path):
    ready, note = tmp_path / "ready", tmp_path / "note"

    async def scenario() -> None:
        await stop(
            f"trap 'echo bye > note; exit 0' TERM; touch ready; sleep {nap()} & wait", ready.exists, tmp_path
        )

    asyncio.run(scenario())
    assert note.read_text(encoding="utf-8") == "bye\n"


def test_negative_control_without_the_kill_all_of_them_survive(monkeypatch):
    """The leak check of the tests above sees a leak when there is one."""
    duration = nap()
    spared: list[Child] = []
    end = process.end

    async def spare(child: Child) -> None:
        spared.append(child)

    async def scenario() -> None:
        monkeypatch.setattr(process, "end", spare)
        finished = await shell(stubborn(duration), timeout=1)
        assert finished.timed_out
        assert len(survivors(duration)) == 3
        assert set(survivors(duration)) < set(leftovers())
        await end(spared[0])
        assert survivors(duration) == []
        assert leftovers() == []

    asyncio.run(scenario())


def test_background_process_that_holds_stdout_open_does_not_block():
    duration = nap()
    finished = asyncio.run(shell(f"sleep {duration} & echo started", timeout=60))
    assert (finished.stdout, finished.returncode, finished.timed_out) == (b"started\n", 0, False)
    assert survivors(duration) == []


@pytest.mark.parametrize(
    ("background", "sleepers"),
    [
        ("sleep {0} &", 2),
        ("setsid sleep {0} &", 2),
        ("env -i setsid sleep {0} &", 2),
        ("setsid sh -c '(sleep {0} &)'; setsid sleep {0} &", 3),
    ],
)
def test_background_process_dies_with_a_child_that_was_stopped(background, sleepers):
    duration = nap()
    command = f"{background.format(duration)} sleep {duration}"
    asyncio.run(stop(command, lambda: len(survivors(duration)) == sleepers))
    assert survivors(duration) == []


def test_detached_background_process_dies_with_a_child_that_ended_by_itself():
    duration = nap()
    finished = asyncio.run(shell(f"(setsid sleep {duration} >/dev/null 2>&1 &)"))
    assert finished.ok
    assert survivors(duration) == []


def test_background_process_without_a_mark_dies_with_its_group():
    duration = nap()
    finished = asyncio.run(shell(f"env -i sleep {duration} >/dev/null 2>&1 & echo started"))
    assert finished.stdout == b"started\n"
    assert survivors(duration) == []


def test_late_words_of_a_background_process_are_heard():
    finished = asyncio.run(shell("(sleep 0.01; echo late) & echo early"))
    assert finished.stdout == b"early\nlate\n"


def test_cancelling_kills_the_tree_first():
    duration = nap()
    asyncio.run(stop(stubborn(duration), lambda: len(survivors(duration)) == 3))
    assert survivors(duration) == []


def test_cancelling_twice_kills_at_once(monkeypatch):
    duration = nap()
    children: list[Child] = []

    class Noted(Child):
        def __init__(self, number: int, keep: Keep) -> None:
            super().__init__(number, keep)
            children.append(self)

    async def scenario() -> None:
        task = asyncio.create_task(shell(stubborn(duration)))
        await until(lambda: len(survivors(duration)) == 3)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert survivors(duration) == []
        await children[0].over.wait()

    monkeypatch.setattr(process, "Child", Noted)
    asyncio.run(scenario())


@pytest.mark.parametrize("ticks", range(6))
def test_cancelling_during_the_start(ticks):
    duration = nap()

    async def scenario() -> None:
        task = asyncio.create_task(shell(f"sleep {duration} & sleep {duration}"))
        for _ in range(ticks):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert leftovers() == []

    asyncio.run(scenario())
    assert survivors(duration) == []


def test_an_outer_time_limit_kills_the_tree():
    duration = nap()

    async def scenario() -> None:
        async with asyncio.timeout(1):
            await shell(stubborn(duration))

    with pytest.raises(TimeoutError):
        asyncio.run(scenario())
    assert survivors(duration) == []


def test_kill_leftovers_finds_orphans_of_orphans():
    duration = nap()

    async def scenario() -> None:
        task = asyncio.create_task(shell(f"(setsid sh -c '(setsid sleep {duration} &)' &); sleep {duration}"))
        await until(lambda: len(survivors(duration)) == 2)
        orphans = set(survivors(duration))
        assert orphans <= set(leftovers())
        assert orphans <= set(process.kill_leftovers())
        assert survivors(duration) == []
        assert (await task).signal == "SIGKILL"

    asyncio.run(scenario())


def test_sweep_spares_the_other_children(monkeypatch):
    mine, other = nap(), nap()
    monkeypatch.setattr(process, "_numbers", iter([31, 3]))

    async def scenario() -> None:
        spared = asyncio.create_task(run(["sleep", other]))
        await until(lambda: survivors(other))
        await shell(f"(setsid sleep {mine} &)")
        assert survivors(mine) == []
        assert len(survivors(other)) == 1
        spared.cancel()
        await asyncio.gather(spared, return_exceptions=True)

    asyncio.run(scenario())


def test_the_mark_of_an_outer_waza_is_passed_on(monkeypatch):
    monkeypatch.setenv(process.MARK, "outer:7")
    marks = (
        asyncio.run(shell(f'echo "${process.MARK}"', env={"PATH": os.environ["PATH"]}))
        .stdout.decode()
        .split()
    )
    assert marks[0] == "outer:7"
    assert marks[1].startswith(f"{os.getpid()}-")


def test_many_at_once():
    async def scenario() -> list[Finished]:
        return await asyncio.gather(*(run(["cat"], stdin=str(n).encode()) for n in range(20)))

    assert [finished.stdout for finished in asyncio.run(scenario())] == [str(n).encode() for n in range(20)]
    assert leftovers() == []


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
