import asyncio
import os
import signal

import pytest

from waza.engine.control import Control


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_cancels_what_is_watched_and_nothing_else(number, code, capsys):
    control = Control()

    async def run():
        async def wait() -> None:
            await asyncio.Event().wait()

        with control.signals():
            watched, other = (asyncio.create_task(wait()) for _ in range(2))
            control.watch(watched)
            os.kill(os.getpid(), number)
            with pytest.raises(asyncio.CancelledError):
                await watched
        assert not other.done()
        other.cancel()

    asyncio.run(run())
    assert control.exit_code == code
    assert not control.may_start
    assert "once more to stop at once" in capsys.readouterr().err


def test_a_signal_cancels_later_what_has_a_grace_whenever_it_starts():
    control = Control()

    async def wait() -> None:
        await asyncio.Event().wait()

    async def run():
        for _ in range(2):
            task = asyncio.create_task(wait())
            control.watch(task, grace=0.2)
            if control.stopped_by is None:
                control.interrupt(signal.SIGTERM)
            await asyncio.sleep(0.01)
            assert not task.cancelling()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(run())


def test_without_signals_work_may_start_until_one_fails():
    control = Control()
    assert control.may_start
    assert control.exit_code is None
    control.failed_fast = True
    assert not control.may_start
    assert control.exit_code is None


def test_after_the_block_signals_do_what_they_did_before():
    before = signal.getsignal(signal.SIGTERM)

    async def run():
        with Control().signals():
            assert signal.getsignal(signal.SIGTERM) != before

    asyncio.run(run())
    assert signal.getsignal(signal.SIGTERM) == before


def test_finished_work_is_no_longer_watched():
    control = Control()

    async def run():
        task = asyncio.create_task(asyncio.sleep(0))
        control.watch(task)
        await task
        await asyncio.sleep(0)
        control.interrupt(signal.SIGINT)

    asyncio.run(run())
    assert control.exit_code == 130
