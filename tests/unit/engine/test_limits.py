"""Limits of runs: how sends are paced, how many judges are asked at the same time, what is counted."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from waza.engine.error_retries import LONGEST_REQUEST, wait_before
from waza.engine.limits import Pace, RunMeter
from waza.model.agent import JudgeAnswer, JudgeQuestion
from waza.model.observation import Turn, Usage
from waza.model.suite import LimitKeys, TrialLimitKeys


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run an asynchronous test."""

    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        asyncio.run(test(**arguments))

    return run


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


def usage(tokens: int) -> Usage:
    return Usage(
        turns=1,
        input_tokens=tokens,
        output_tokens=0,
        cache_read_tokens=0,
        cache_write_tokens=0,
        premium_requests=0,
    )


@in_loop
async def test_no_more_sends_than_allowed_start_within_a_minute():
    time, sent = Time(), list[float]()
    pace = Pace(3, time, time.sleep)

    async def send() -> None:
        await pace.wait()
        sent.append(time.now)

    await asyncio.gather(*(send() for _ in range(10)))
    assert sent == [0, 0, 0, 60, 60, 60, 120, 120, 120, 180]


class Interview:
    """Counts how many are asked at the same time."""

    asked = most = 0

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        self.asked += 1
        self.most = max(self.most, self.asked)
        for _ in range(5):
            await asyncio.sleep(0)
        self.asked -= 1
        return JudgeAnswer(text=question.text, usage=usage(10))

    async def aclose(self) -> None:
        pass


@pytest.mark.parametrize(("limit", "most"), [(2, 2), (None, 6)])
@in_loop
async def test_no_more_judges_are_asked_at_the_same_time_than_allowed(limit: int | None, most: int):
    run, interview = RunMeter(LimitKeys(max_concurrent_judges=limit)), Interview()
    question = JudgeQuestion(asker="g", text="?")
    await asyncio.gather(*(run.trial().ask(interview, question, "m") for _ in range(6)))
    assert interview.most == most
    assert run.account.spent.tokens == 60


@in_loop
async def test_agents_and_judges_are_paced_together_and_waiting_is_no_time_of_the_trial():
    time = Time()
    keys = LimitKeys(requests_per_minute=1, trial=TrialLimitKeys(max_wall_seconds=30))
    meter = RunMeter(keys, clock=time, sleep=time.sleep).trial()
    await meter.admit()
    await meter.ask(Interview(), JudgeQuestion(asker="g", text="?"), "m")
    assert time.now == 60
    assert meter.within(0) == 30


@in_loop
async def test_requests_on_the_wire_are_paced_and_a_turn_that_ran_out_of_time_so_says_nothing_of_its_agent():
    time = Time()
    meter = RunMeter(LimitKeys(requests_per_minute=1), clock=time, sleep=time.sleep).trial()
    await meter.admit(on_wire=True)
    assert (await meter.admit_request(), await meter.admit_request(), time.now) == ("", "", 60)
    turn = meter.count_turn(Turn(error="no answer within 30 s", timed_out=True), "m")
    waited = "no answer within 30 s; its requests waited 60.0 s for config.limits.requests_per_minute"
    assert (turn.error, turn.outside) == (waited, True)
    turn = meter.count_turn(Turn(error="no answer within 30 s", timed_out=True), "m")
    assert (turn.error, turn.outside) == ("no answer within 30 s", False)


@in_loop
async def test_requests_on_the_wire_count_at_once_and_once():
    run = RunMeter(LimitKeys(max_total_tokens=100))
    meter = run.trial()
    meter.count_request(usage(60), "m")
    assert (await meter.admit_request(), run.account.spent.tokens) == ("", 60)
    meter.count_turn(Turn(usage=usage(70)), "m")  # the agent knows of one that the wire has not seen
    assert run.account.spent.tokens == 70
    meter.count_request(usage(50), "m")
    assert await meter.admit_request() == (
        "the limit config.limits.max_total_tokens is met: 120 of 100 tokens used"
    )
    turn = meter.count_turn(Turn(), "m")
    assert (turn.outside, turn.error, run.account.spent.tokens) == (True, run.met, 120)


@in_loop
async def test_a_turn_without_a_count_of_tokens_ends_a_run_whose_tokens_are_limited():
    run = RunMeter(LimitKeys(max_total_tokens=100))
    meter = run.trial()
    meter.count_turn(Turn(output="x"), "m")
    assert (
        run.met
        == "config.limits.max_total_tokens cannot be kept: an answer came without a count of its tokens"
    )
    answer = await meter.ask(Interview(), JudgeQuestion(asker="g", text="?"), "m")
    assert (answer.error, meter.cut, meter.outside) == (run.met, run.met, True)


def test_usage_without_a_price_ends_a_run_whose_cost_is_limited():
    run = RunMeter(LimitKeys(max_cost=1))
    run.trial().count(usage(5), "no such model", answered=True)
    assert (
        run.met
        == "config.limits.max_cost cannot be kept: no price is known of no such model (prices of .waza.yaml)"
    )


def test_waits_before_retries_grow_and_keep_what_a_server_asks_for_up_to_a_bound():
    assert all(0.25 <= (wait_before(1, None) or 0) <= 0.5 for _ in range(50))
    assert all(1 <= (wait_before(3, None) or 0) <= 2 for _ in range(50))
    assert all((wait_before(99, None) or 0) <= 60 for _ in range(50))
    assert wait_before(1, 7.0) == 7
    assert wait_before(1, LONGEST_REQUEST) == LONGEST_REQUEST
    assert wait_before(1, LONGEST_REQUEST + 1) is None
