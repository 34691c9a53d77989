"""When things began: known only on a clock that can be told to be ours."""

from __future__ import annotations

import time

from waza.engine.attempt_clock import AttemptClock
from waza.model.observation import COMPLETE, MESSAGE, PROMPT, START, Event, tool_events


def now() -> float:
    return time.time() * 1000


def call(name: str, at_ms: float | None) -> list[Event]:
    start = Event(type=START, tool_call_id=name, tool_name=name, at_ms=at_ms)
    return [start, Event(type=COMPLETE, tool_call_id=name, success=True, at_ms=at_ms)]


def test_prompts_and_calls_have_their_starts_in_order():
    clock = AttemptClock(measured=True)
    clock.send_prompt()
    first = clock.timed([Event(type=PROMPT), *call("a", now()), *call("b", now())])
    clock.send_prompt()
    later = clock.timed([Event(type=PROMPT), Event(type=MESSAGE, at_ms=now()), *call("c", now())])
    assert first[0].started_ms == 0
    starts = [event.started_ms for event in (*first, *later) if event.type in (PROMPT, START)]
    end = clock.now()
    assert end is not None
    known = [one for one in starts if one is not None]
    assert len(known) == len(starts) == 5
    assert known == sorted(known)
    assert known[-1] <= end
    assert [one.started_ms for one in tool_events([*first, *later])] == [known[1], known[2], known[4]]
    assert {one.started_ms for one in (*first, *later) if one.type in (COMPLETE, MESSAGE)} == {None}


def test_a_time_of_another_clock_is_no_start():
    clock = AttemptClock(measured=True)
    clock.send_prompt()
    for at_ms in (None, 0.0, time.monotonic() * 1000, now() - 3_600_000, now() + 3_600_000):
        timed = clock.timed([Event(type=PROMPT), *call("a", at_ms)])
        assert [one.started_ms for one in timed] == [0, None, None]


def test_the_first_of_several_prompts_of_a_turn_is_the_one_that_was_sent():
    clock = AttemptClock(measured=True)
    clock.send_prompt()
    timed = clock.timed([Event(type=PROMPT), Event(type=PROMPT)])
    assert [one.started_ms for one in timed] == [0, None]


def test_nothing_is_known_before_a_prompt_and_of_a_script():
    unsent, scripted = AttemptClock(measured=True), AttemptClock(measured=False)
    scripted.send_prompt()
    for clock in (unsent, scripted):
        assert clock.now() is None
        assert clock.of_epoch(now()) is None
        assert [one.started_ms for one in clock.timed([Event(type=PROMPT)])] == [None]
