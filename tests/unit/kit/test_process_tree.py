"""Nothing that a child started outlives the call that started the child."""

import asyncio
from pathlib import Path

import pytest
from tests.support.live import nap, stubborn, survivors
from tests.unit.kit.sleepers import stop, until

from waza.kit import process
from waza.kit._child import Child, Keep
from waza.kit.process import leftovers, run, shell


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


@pytest.mark.parametrize("twice", [False, True])
@pytest.mark.parametrize("ticks", range(6))
def test_cancelling_during_the_start(ticks, twice):
    duration = nap()

    async def scenario() -> None:
        task = asyncio.create_task(shell(f"sleep {duration} & sleep {duration}"))
        for _ in range(ticks):
            await asyncio.sleep(0)
        task.cancel()
        if twice:
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
