import asyncio
import os
import signal

import pytest

from waza.engine.cancellation import Cancellation


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_cancels_what_is_watched_and_nothing_else(number, code, capsys):
    control = Cancellation()

    async def run():
        async def wait() -> None:
            await asyncio.Event().wait()

        with control.handle_signals():
            other = asyncio.create_task(wait())
            os.kill(os.getpid(), number)
            with pytest.raises(asyncio.CancelledError):
                await control.run_cancellable(wait())
        assert not other.done()
        other.cancel()

    asyncio.run(run())
    assert control.exit_code == code
    assert "once more to stop at once" in capsys.readouterr().err


def test_a_signal_cancels_later_what_has_a_grace_whenever_it_starts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("waza.engine.cancellation.GRACE", 0.2)
    control = Cancellation()

    async def wait() -> None:
        await asyncio.Event().wait()

    async def run():
        for _ in range(2):
            finishing = asyncio.create_task(control.run_with_grace(wait()))
            await asyncio.sleep(0.01)
            if control.stopped_by is None:
                control.handle_signal(signal.SIGTERM)
            await asyncio.sleep(0.01)
            assert not finishing.done()
            assert not await finishing

    asyncio.run(run())


def test_without_signals_work_comes_to_its_end():
    control = Cancellation()

    async def answer() -> int:
        return 3

    assert asyncio.run(control.run_cancellable(answer())) == 3
    assert control.exit_code is None


def test_after_the_block_signals_do_what_they_did_before():
    before = signal.getsignal(signal.SIGTERM)

    async def run():
        with Cancellation().handle_signals():
            assert signal.getsignal(signal.SIGTERM) != before

    asyncio.run(run())
    assert signal.getsignal(signal.SIGTERM) == before


def test_finished_work_is_no_longer_watched():
    control = Cancellation()

    async def run():
        await control.run_cancellable(asyncio.sleep(0))
        await asyncio.sleep(0)
        control.handle_signal(signal.SIGINT)

    asyncio.run(run())
    assert control.exit_code == 130
