import asyncio
import os
import signal
import sys

import psutil
import pytest

from waza.kit.line_process import LineProcess, ProcessPool
from waza.kit.process import ProcessDiedError, find_leftovers

ECHO = "for line in sys.stdin: print(line.upper(), end='', flush=True)"


def child(code: str, **options) -> LineProcess:
    return LineProcess(
        [sys.executable, "-I", "-S", "-c", f"import os, subprocess, sys, time\n{code}"], **options
    )


def asked(process: LineProcess, *lines: bytes, timeout: float = 120) -> list[bytes]:
    async def scenario() -> list[bytes]:
        await process.start()
        try:
            return [await process.ask(line, timeout) for line in lines]
        finally:
            await process.aclose()

    answers = asyncio.run(scenario())
    assert find_leftovers() == []
    return answers


def test_one_child_answers_many_questions():
    code = "for line in sys.stdin: print(os.getpid(), flush=True)"
    answers = asked(child(code), *[b"who"] * 3)
    assert len(set(answers)) == 1


def test_large_question_and_answer():
    line = b"x" * 3_000_000
    assert asked(child(ECHO), line, b"again") == [line.upper(), b"AGAIN"]


def test_answer_up_to_the_limit_and_beyond():
    assert asked(child(ECHO, max_reply=5), b"12345") == [b"12345"]
    with pytest.raises(ProcessDiedError, match="more than 5 bytes"):
        asked(child(ECHO, max_reply=5), b"123456")


def test_endless_answer_is_cut():
    with pytest.raises(ProcessDiedError, match="more than 100000 bytes"):
        asked(child("while True: sys.stdout.write('x' * 10000)", max_reply=100_000), b"go")


def test_time_limit_kills_the_tree():
    code = "subprocess.Popen(['sleep', '300'], start_new_session=True); time.sleep(300)"
    with pytest.raises(TimeoutError):
        asked(child(code), b"hello", timeout=1)


def test_exit_is_reported_with_the_last_output():
    with pytest.raises(ProcessDiedError, match=r"exit status 3\): I give up"):
        asked(child("sys.stdin.readline(); sys.exit(print('I give up', file=sys.stderr) or 3)"), b"hello")


def test_only_the_last_words_are_kept():
    process = child("sys.stderr.write('x' * 100_000 + ' the end'); sys.exit(1)")
    with pytest.raises(ProcessDiedError, match=r"x the end$") as caught:
        asked(process, b"hello")
    assert len(str(caught.value)) < 5000


def test_death_by_a_signal_is_reported():
    with pytest.raises(ProcessDiedError, match="killed by SIGKILL"):
        asked(child("sys.stdin.readline(); os.kill(os.getpid(), 9)"), b"hello")


def test_death_is_seen_although_a_background_process_holds_stdout():
    with pytest.raises(ProcessDiedError, match="exit status 4"):
        asked(child("sys.stdin.readline(); subprocess.Popen(['sleep', '300']); os._exit(4)"), b"hello")


def test_closed_stdout_is_reported():
    with pytest.raises(ProcessDiedError, match="closed its output"):
        asked(child("sys.stdin.readline(); os.close(1); time.sleep(300)"), b"hello")


def test_a_line_without_its_end_is_no_answer():
    with pytest.raises(ProcessDiedError, match="exit status 0"):
        asked(child("sys.stdin.readline(); sys.stdout.write('half')"), b"hello")


def test_missing_program():
    with pytest.raises(ProcessDiedError, match="'no-such-program-anywhere' cannot be started: No such file"):
        asked(LineProcess(["no-such-program-anywhere"]))


def test_asking_after_the_end():
    async def scenario() -> None:
        process = child(ECHO)
        await process.start()
        await process.aclose()
        await process.aclose()
        assert not process.alive
        await process.ask(b"hello", 1)

    with pytest.raises(ProcessDiedError, match="not running"):
        asyncio.run(scenario())


def test_alive_tells_of_a_death_between_questions():
    async def scenario() -> None:
        process = child(ECHO)
        assert not process.alive
        await process.start()
        assert process.alive
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)
        async with asyncio.timeout(120):
            while process.alive:  # noqa: ASYNC110 - nobody waits for this event outside
                await asyncio.sleep(0.01)
        with pytest.raises(ProcessDiedError, match="killed by SIGKILL"):
            await process.ask(b"hello", 120)

    asyncio.run(scenario())


def test_cancelled_question_ends_the_child():
    async def scenario() -> None:
        process = child("print('ready', flush=True); time.sleep(300)")
        await process.start()
        assert await process.ask(b"", 120) == b"ready"
        pid = process.pid
        question = asyncio.create_task(process.ask(b"hello", 300))
        await asyncio.sleep(0)
        question.cancel()
        with pytest.raises(asyncio.CancelledError):
            await question
        assert pid
        assert not psutil.pid_exists(pid)

    asyncio.run(scenario())


PID = "for line in sys.stdin: print(os.getpid(), flush=True)"


class Children:
    """A pool of children that say who they are; `born` are those that it started."""

    def __init__(self, limit: int) -> None:
        self.born: list[LineProcess] = []
        self.pool = ProcessPool(limit, self._started)

    async def _started(self) -> LineProcess:
        one = child(PID)
        self.born.append(one)
        await one.start()
        return one

    async def ask(self) -> bytes:
        async with self.pool.acquire() as one:
            return await one.ask(b"who", 120)


def test_a_pool_starts_as_many_as_its_limit_and_leaves_none():
    async def scenario() -> None:
        children = Children(2)
        answers = await asyncio.gather(*(children.ask() for _ in range(8)))
        assert len(children.born) == len(set(answers)) == 2
        await children.pool.aclose()

    asyncio.run(scenario())
    assert find_leftovers() == []


def test_a_pool_replaces_a_child_that_died_while_it_waited():
    async def scenario() -> None:
        children = Children(1)
        first = await children.ask()
        os.kill(int(first), signal.SIGKILL)
        async with asyncio.timeout(120):
            while children.born[0].alive:  # noqa: ASYNC110 - nobody waits for this event outside
                await asyncio.sleep(0.01)
        assert await children.ask() != first
        await children.pool.aclose()

    asyncio.run(scenario())
    assert find_leftovers() == []


def test_a_pool_ends_a_child_whose_answer_is_not_taken():
    async def scenario() -> None:
        children = Children(1)
        first = await children.ask()
        with pytest.raises(KeyError):
            async with children.pool.acquire():
                raise KeyError
        assert find_leftovers() == []
        assert await children.ask() != first, "its place is free"
        await children.pool.aclose()

    asyncio.run(scenario())
    assert find_leftovers() == []


def test_a_pool_hands_on_why_a_child_did_not_start_and_goes_on():
    async def fails() -> LineProcess:
        raise ProcessDiedError("it cannot be started")

    async def scenario() -> None:
        pool = ProcessPool(1, fails)
        for _ in range(2):
            with pytest.raises(ProcessDiedError, match="cannot be started"):
                async with asyncio.timeout(120), pool.acquire():
                    pass

    asyncio.run(scenario())
