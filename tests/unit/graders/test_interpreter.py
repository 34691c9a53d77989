"""The children: limits, crashes, reuse."""

import asyncio

import psutil
import pytest
from tests.unit.graders.gradings import DEPLOYED, OS, PID, in_children, javascript

from waza.errors import GraderError
from waza.graders._interpreter import Interpreters
from waza.kit.process import find_leftovers

LIMIT = 120  # seconds; an assertion that hangs by mistake fails its test


@pytest.mark.parametrize(
    ("language", "hang"),
    [
        ("python", "any(x < 0 for x in range(10**18))"),
        ("python", "re.match('(a+)+$', 'a' * 60 + '!')"),
        ("javascript", "while (true);"),
    ],
)
def test_after_a_time_limit_the_next_grading_works(language, hang):
    async def scenario(interpreters: Interpreters):
        with pytest.raises(GraderError, match="did not end within 1 s"):
            await interpreters.evaluate(language, DEPLOYED, ["output", hang], 1)
        assert find_leftovers() == []
        return await interpreters.evaluate(language, DEPLOYED, ["output"], LIMIT)

    assert in_children(scenario) == [None]


def test_after_a_crash_the_next_grading_works():
    async def scenario(interpreters: Interpreters):
        with pytest.raises(GraderError, match=r"python interpreter failed: .*exit status 3"):
            await interpreters.evaluate("python", DEPLOYED, [f"{OS}['_exit'](3)"], LIMIT)
        return await interpreters.evaluate("python", DEPLOYED, ["output"], LIMIT)

    assert in_children(scenario) == [None]


def test_nonsense_is_an_error_and_ends_the_child():
    async def scenario(interpreters: Interpreters):
        writes = [f"[{OS}['write'](fd, b'{{}}\\n') for fd in (4,)]"]
        with pytest.raises(GraderError, match="answered nonsense"):
            await interpreters.evaluate("python", DEPLOYED, writes, LIMIT)
        assert find_leftovers() == []
        return await interpreters.evaluate("python", DEPLOYED, ["output"], LIMIT)

    assert in_children(scenario) == [None]


def test_children_are_reused():
    async def scenario(interpreters: Interpreters):
        pids = [await interpreters.evaluate("python", DEPLOYED, [PID], LIMIT) for _ in range(3)]
        await interpreters.evaluate("javascript", DEPLOYED, ["1"], LIMIT)
        before = find_leftovers()
        await interpreters.evaluate("javascript", DEPLOYED, ["1"], LIMIT)
        assert find_leftovers() == before
        assert len(before) == 2
        return {text for texts in pids for text in texts}

    assert len(in_children(scenario)) == 1


def test_many_gradings_share_few_children():
    async def scenario(interpreters: Interpreters):
        answers = await asyncio.gather(
            *(
                interpreters.evaluate(
                    "python", {**DEPLOYED, "output": str(n)}, [f"output == '{n}'", PID], LIMIT
                )
                for n in range(8)
            )
        )
        assert [first for first, _ in answers] == [None] * 8
        return {pid for _, pid in answers}

    assert len(in_children(scenario, limit=2)) == 2


def test_idle_child_that_died_is_replaced():
    async def scenario(interpreters: Interpreters):
        await interpreters.evaluate("javascript", DEPLOYED, ["1"], LIMIT)
        (idle,) = interpreters._pools["javascript"]._idle
        assert idle.pid
        psutil.Process(idle.pid).kill()
        async with asyncio.timeout(LIMIT):
            while idle.alive:  # noqa: ASYNC110 - nobody outside can wait for this end
                await asyncio.sleep(0.01)
        return await interpreters.evaluate("javascript", DEPLOYED, ["1"], LIMIT)

    assert in_children(scenario) == [None]


def test_cancelled_grading_ends_its_child():
    async def scenario(interpreters: Interpreters):
        grading = asyncio.create_task(
            interpreters.evaluate("python", DEPLOYED, ["any(x < 0 for x in range(10**18))"], 300)
        )
        async with asyncio.timeout(LIMIT):
            while not find_leftovers():  # noqa: ASYNC110 - the start of another process sets no event here
                await asyncio.sleep(0.01)
        grading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await grading
        assert find_leftovers() == []

    in_children(scenario)


def test_missing_interpreter_is_reported_with_the_way_out(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GraderError, match=r"'node' cannot be started: .*; install Node\.js"):
        javascript("true")


def test_options_for_node_in_the_environment_do_not_disturb(monkeypatch, tmp_path):
    (tmp_path / "noise.js").write_text("console.log('noise')", encoding="utf-8")
    monkeypatch.setenv("NODE_OPTIONS", f"--require={tmp_path / 'noise.js'}")
    assert javascript("true") == [None]
