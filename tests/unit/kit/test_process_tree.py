"""Nothing that a child started outlives the call that started the child."""

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.live import nap, stubborn, survivors
from tests.support.live import until as waited_for
from tests.unit.kit.sleepers import FAR, overdue, stop, until

from waza.kit import process, process_marks
from waza.kit._child import Child, OutputHandler
from waza.kit.process import find_leftovers, run, run_shell


def test_time_limit_ends_the_whole_tree():
    duration = nap()

    async def scenario() -> process.FinishedProcess:
        return await overdue(
            run_shell(stubborn(duration), timeout=FAR), lambda: len(survivors(duration)) == 3
        )

    finished = asyncio.run(scenario())
    assert survivors(duration) == []
    assert find_leftovers() == []
    assert finished.timed_out
    assert finished.signal == "SIGKILL"
    assert finished.outcome == "time limit reached"


def test_the_output_before_the_time_limit_is_kept():
    duration = nap()

    async def scenario() -> process.FinishedProcess:
        said = run_shell(f"echo so far; sleep {duration}", timeout=FAR)
        return await overdue(said, lambda: survivors(duration))

    finished = asyncio.run(scenario())
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
    end = process.kill_tree

    async def spare(child: Child) -> None:
        spared.append(child)

    async def scenario() -> None:
        monkeypatch.setattr(process, "kill_tree", spare)
        finished = await overdue(
            run_shell(stubborn(duration), timeout=FAR), lambda: len(survivors(duration)) == 3
        )
        assert finished.timed_out
        assert len(survivors(duration)) == 3
        assert set(survivors(duration)) < set(find_leftovers())
        await end(spared[0])
        assert survivors(duration) == []
        assert find_leftovers() == []

    asyncio.run(scenario())


def test_background_process_that_holds_stdout_open_does_not_block():
    duration = nap()
    finished = asyncio.run(run_shell(f"sleep {duration} & echo started", timeout=60))
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
    finished = asyncio.run(run_shell(f"(setsid sleep {duration} >/dev/null 2>&1 &)"))
    assert finished.ok
    assert survivors(duration) == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere marks are in the environment only")
@pytest.mark.parametrize(
    "command",
    [
        "env -i setsid sh -c 'env -i setsid sleep {0} &'",
        "env -i sh -c '(setsid sleep {0} &)' &",
        'env -i python3 -c \'import os; os.fork() or (os.setsid(), os.fork() or os.execlp("sleep", "sleep", "{0}"))\'',
    ],
)
def test_a_daemon_without_our_environment_dies_with_a_child_that_ended_by_itself(command: str):
    duration = nap()
    finished = asyncio.run(
        run_shell(f"{{ {command.format(duration)}\n}} >/dev/null 2>&1 </dev/null; echo done")
    )
    assert finished.stdout == b"done\n"
    assert survivors(duration) == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere marks are in the environment only")
def test_daemons_of_other_children_are_spared():
    mine, other = nap(), nap()

    async def scenario() -> None:
        spared = asyncio.create_task(run_shell(f"env -i setsid sleep {other} & sleep {other}"))
        await until(lambda: len(survivors(other)) == 2)
        await run_shell(f"env -i setsid sleep {mine} & ")
        assert survivors(mine) == []
        assert len(survivors(other)) == 2
        spared.cancel()
        await asyncio.gather(spared, return_exceptions=True)

    asyncio.run(scenario())
    assert survivors(other) == []


LIMITED = """
import asyncio, resource, sys
from waza.kit.process import find_leftovers, run_shell
resource.setrlimit(resource.RLIMIT_RTTIME, (1000000, 1000000))
print(asyncio.run(run_shell("(setsid sleep " + sys.argv[1] + " &); echo $WAZA_CHILD_OF")).stdout, find_leftovers())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="there is no such limit")
def test_where_the_limit_of_the_marks_cannot_be_set_the_environment_serves():
    duration = nap()
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, duration], capture_output=True, text=True, check=True
    )
    assert ":1\\n" in done.stdout
    assert done.stdout.endswith("[]\n")
    assert survivors(duration) == []


def test_processes_that_are_not_children_of_ours_are_spared():
    duration = nap()
    with subprocess.Popen(["setsid", "sleep", duration]) as theirs:
        asyncio.run(run_shell("true"))
        assert process.kill_leftovers() == []
        assert theirs.poll() is None
        theirs.kill()


PARENT = """
import asyncio, os, sys
from waza.kit.process import run
async def use():
    await run(["sh", "-c", "trap '' TERM; exec sleep " + sys.argv[1]], on_start=lambda pid: os.kill(os.getpid(), 9))
asyncio.run(use())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children of the death of their parent")
def test_a_child_is_killed_with_a_parent_that_cannot_end_it():
    duration = nap()
    done = subprocess.run([sys.executable, "-c", PARENT, duration], check=False)
    assert done.returncode == -signal.SIGKILL
    waited_for(lambda: survivors(duration) == [])


def test_background_process_without_a_mark_dies_with_its_group():
    duration = nap()
    finished = asyncio.run(run_shell(f"env -i sleep {duration} >/dev/null 2>&1 & echo started"))
    assert finished.stdout == b"started\n"
    assert survivors(duration) == []


def test_late_output_of_a_background_process_is_kept():
    finished = asyncio.run(run_shell("(sleep 0.01; echo late) & echo early"))
    assert finished.stdout == b"early\nlate\n"


def test_cancelling_kills_the_tree_first():
    duration = nap()
    asyncio.run(stop(stubborn(duration), lambda: len(survivors(duration)) == 3))
    assert survivors(duration) == []


def test_cancelling_twice_kills_at_once(monkeypatch):
    duration = nap()
    children: list[Child] = []

    class Noted(Child):
        def __init__(self, number: int, keep: OutputHandler) -> None:
            super().__init__(number, keep)
            children.append(self)

    async def scenario() -> None:
        task = asyncio.create_task(run_shell(stubborn(duration)))
        await until(lambda: len(survivors(duration)) == 3)
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert survivors(duration) == []
        await children[0].closed.wait()

    monkeypatch.setattr(process, "Child", Noted)
    asyncio.run(scenario())


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("ticks", range(6))
def test_cancelling_during_the_start(ticks, twice):
    duration = nap()

    async def scenario() -> None:
        task = asyncio.create_task(run_shell(f"sleep {duration} & sleep {duration}"))
        for _ in range(ticks):
            await asyncio.sleep(0)
        task.cancel()
        if twice:
            await asyncio.sleep(0)
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert find_leftovers() == []

    asyncio.run(scenario())
    assert survivors(duration) == []


LEFT_WHILE_STARTING = """
import asyncio, sys
from waza.kit.process import find_leftovers, run

async def fail(ticks):
    started = asyncio.create_task(run(["sleep", sys.argv[1]], stdin=b"x"))
    for _ in range(ticks):
        await asyncio.sleep(0)
    raise KeyError

for ticks in range(12):
    try:
        asyncio.run(fail(ticks))
    except KeyError:
        print(ticks, find_leftovers())
"""


def test_leaving_the_event_loop_during_the_start_ends_the_child_and_does_not_hang():
    duration = nap()
    left = subprocess.run(  # in a process of its own: here a hang would take all tests with it
        [sys.executable, "-c", LEFT_WHILE_STARTING, duration],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert left.stdout.splitlines() == [f"{ticks} []" for ticks in range(12)]
    assert left.stderr == ""
    assert survivors(duration) == []


def test_an_outer_time_limit_kills_the_tree():
    duration = nap()

    async def limited() -> None:
        async with asyncio.timeout(FAR):
            await run_shell(stubborn(duration))

    async def scenario() -> None:
        await overdue(limited(), lambda: len(survivors(duration)) == 3)

    with pytest.raises(TimeoutError):
        asyncio.run(scenario())
    assert survivors(duration) == []


def test_kill_leftovers_finds_orphans_of_orphans():
    duration = nap()

    async def scenario() -> None:
        task = asyncio.create_task(
            run_shell(f"(setsid sh -c '(setsid sleep {duration} &)' &); sleep {duration}")
        )
        await until(lambda: len(survivors(duration)) == 2)
        orphans = set(survivors(duration))
        assert orphans <= set(find_leftovers())
        assert orphans <= set(process.kill_leftovers())
        assert survivors(duration) == []
        assert (await task).signal == "SIGKILL"

    asyncio.run(scenario())


def test_sweep_spares_the_other_children(monkeypatch):
    mine, other = nap(), nap()
    monkeypatch.setattr(process_marks, "_numbers", iter([31, 3]))

    async def scenario() -> None:
        spared = asyncio.create_task(run(["sleep", other]))
        await until(lambda: survivors(other))
        await run_shell(f"(setsid sleep {mine} &)")
        assert survivors(mine) == []
        assert len(survivors(other)) == 1
        spared.cancel()
        await asyncio.gather(spared, return_exceptions=True)

    asyncio.run(scenario())
