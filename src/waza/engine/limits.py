"""The limits of a run and of its trials: what was used of them, and whether more work may start.

Everything that asks a model goes through a `TrialMeter`: prompts to agents, questions to judges and responders, prompts of
trigger tests; where there is a wire, each request of agents, too. It is asked before each, and counts afterwards what was used. The `RunMeter` above it holds what all of the
run used, in all its parts.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

import msgspec

from waza.errors import ExecutorError, OutsideError
from waza.kit.text import list_first
from waza.model.agent import Interview, Judge, JudgeAnswer, JudgeQuestion, JudgeSession
from waza.model.cost import Spent
from waza.model.observation import Turn, Usage
from waza.model.suite import LimitKeys, TrialLimitKeys
from waza.results.cost import spent
from waza.suite.prices import Prices

Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]

_RUN, _TRIAL = "config.limits", "config.limits.trial"
_MINUTE = 60.0
_EARLY = 0.05  # seconds by which a timer may be early
_GRACE = 5.0  # seconds that a judge gets to notice its own limit
_NAMED = 3  # models in a message


class Pace:
    """Lets no more than so many sends start within a minute; others wait in the order in which they came."""

    def __init__(self, per_minute: int, clock: Clock = time.monotonic, sleep: Sleep = asyncio.sleep) -> None:
        self._most, self._clock, self._sleep = per_minute, clock, sleep
        self._sent: deque[float] = deque()  # when, of those of the last minute
        self._turn = asyncio.Lock()

    async def wait(self) -> None:
        """Wait until one more may start, and count it."""
        async with self._turn:
            while len(self._sent) >= self._most:
                left = self._sent[0] + _MINUTE - self._clock()
                if left > 0:
                    await self._sleep(left)
                else:
                    self._sent.popleft()
            self._sent.append(self._clock())


class _Account:
    """What was used of some limits."""

    def __init__(self, name: str, keys: TrialLimitKeys, before: Spent, seconds: float, clock: Clock) -> None:
        self.keys, self.spent = keys, before
        self._name, self._clock, self._began = name, clock, clock() - seconds

    @property
    def seconds_left(self) -> float | None:
        """Seconds until `max_wall_seconds`; None: there is no such limit."""
        most = self.keys.max_wall_seconds
        return None if most is None else self._began + most - self._clock()

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return self._clock() - self._began

    def leave_out(self, seconds: float) -> None:
        """Let seconds that were spent waiting not count."""
        self._began += seconds

    def used_up(self) -> str:
        """Return which limit leaves nothing for more work, with its figures, or nothing."""
        for key, used, most, unit in self._figures():
            if used >= most:
                return _met(f"{self._name}.{key}", used, most, unit)
        left = self.seconds_left
        return self.time_is_up() if left is not None and left <= _EARLY else ""

    def exceeded(self) -> str:
        """Return of which limit more was used than it allows, with its figures, or nothing."""
        found = (
            _met(f"{self._name}.{key}", used, most, unit)
            for key, used, most, unit in self._figures()
            if used > most
        )
        return next(found, "")

    def time_is_up(self) -> str:
        """Return that no time is left, with the figures."""
        most = self.keys.max_wall_seconds or 0
        return _met(f"{self._name}.max_wall_seconds", max(most, self._clock() - self._began), most, "seconds")

    def unknown(self, usage: Usage | None, used: Spent) -> str:
        """Return which limit cannot be kept, since it is not known what an answer used, or nothing."""
        keys = self.keys
        if (keys.max_total_tokens or keys.max_cost) and not used.tokens:
            key = "max_total_tokens" if keys.max_total_tokens else "max_cost"
            return f"{self._name}.{key} cannot be kept: an answer came without a count of its tokens"
        if keys.max_ai_credits and (usage is None or usage.ai_credits is None):
            return f"{self._name}.max_ai_credits cannot be kept: an answer came without its AI credits"
        return ""

    def unpriced(self, usage: Usage | None, model: str) -> str:
        """Return that a limit of money cannot be kept, for lack of a price; nothing where there is no such limit."""
        if self.keys.max_cost is None:
            return ""
        models = list_first(sorted(usage.model_metrics) if usage and usage.model_metrics else [model], _NAMED)
        return f"{self._name}.max_cost cannot be kept: no price is known of {models} (prices of .waza.yaml)"

    def _figures(self) -> Iterator[tuple[str, float, float, str]]:
        keys, used = self.keys, self.spent
        for key, amount, most, unit in (
            ("max_total_tokens", used.tokens, keys.max_total_tokens, "tokens"),
            ("max_cost", round(used.cost, 9), keys.max_cost, ""),
            ("max_ai_credits", round(used.ai_credits, 9), keys.max_ai_credits, "AI credits"),
        ):
            if most is not None:
                yield key, amount, most, unit


def _met(name: str, used: float, most: float, unit: str) -> str:
    what = f" {unit}" if unit else ""
    return f"the limit {name} is met: {_shown(used)} of {_shown(most)}{what} used"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.4g}"


class RunMeter:
    """What a run may use, and has used. `before` and `seconds` are of its earlier parts.

    `met` says why no more work starts; empty: it may.
    """

    def __init__(
        self,
        keys: LimitKeys | None = None,
        prices: Prices | None = None,
        *,
        scripted: bool = False,
        before: Spent | None = None,
        seconds: float = 0,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.keys, self.prices, self.scripted, self.clock = (
            keys or LimitKeys(),
            prices or Prices(),
            scripted,
            clock,
        )
        self.account = _Account(_RUN, self.keys, before or Spent(), seconds, clock)
        self.met, self.sleep = "", sleep
        if self.keys.max_cost is not None and self.account.spent.unpriced:
            self.met = f"{_RUN}.max_cost cannot be kept: it is not known what earlier parts of the run cost"
        per_minute, judges = self.keys.requests_per_minute, self.keys.max_concurrent_judges
        self.pace = Pace(per_minute, clock, sleep) if per_minute else None
        self.judges = asyncio.Semaphore(judges) if judges else nullcontext()

    def refusal(self) -> str:
        """Return why no more work may start; empty: it may."""
        self.met = self.met or self.account.used_up()
        return self.met

    @property
    def seconds(self) -> float:
        """How many seconds of the time of the run have passed, in all its parts."""
        return self.account.seconds

    def count_elsewhere(self, used: Spent, met: str) -> None:
        """Count what a trial used that ran in another process, and which limit it met there."""
        self.account.spent = self.account.spent.plus(used)
        self.met = self.met or met

    def end(self) -> str:
        """Return which limit was met, now that nothing runs any more; empty: none was."""
        self.met = self.met or self.account.exceeded()
        return self.met

    def trial(self) -> TrialMeter:
        """Return the meter of one trial, or of one prompt of the trigger tests, which begins now."""
        return TrialMeter(self)


class TrialMeter:
    """What one trial may use and has used, in all its attempts.

    `cut` says which limit ended it, empty: none did; `outside`: one of the run, so that the trial says nothing of its agent.
    """

    def __init__(self, run: RunMeter) -> None:
        self.run = run
        self._account = _Account(_TRIAL, run.keys.trial or TrialLimitKeys(), Spent(), 0, run.clock)
        self.cut = ""
        self.outside = False
        self._requests = Spent()  # what requests on the wire used that are in no turn yet
        self._waited = 0.0  # seconds for which requests on the wire waited in this turn

    async def admit(self, *, on_wire: bool = False) -> None:
        """Wait until a prompt or question may be sent. OutsideError, ExecutorError: a limit of the run, or of the trial, is met.

        What asks its model `on_wire` waits there, with each request.
        """
        self._refuse()
        if self.run.pace is not None and not on_wire:
            began = self.run.clock()
            try:
                async with asyncio.timeout(self.run.account.seconds_left):
                    await self.run.pace.wait()
            except TimeoutError:
                pass  # which the next line says
            self._account.leave_out(self.run.clock() - began)
            self._refuse()

    async def admit_request(self) -> str:
        """Wait until a request on the wire may be passed on; return why it may not: a limit is met."""
        try:
            self._refuse()
            if self.run.pace is not None:
                began = self.run.clock()
                try:
                    await self.run.pace.wait()
                finally:
                    self._waited += self.run.clock() - began
                self._refuse()
        except ExecutorError as error:
            return str(error)
        return ""

    def count_request(self, usage: Usage, model: str) -> None:
        """Count what a request on the wire used, before the turn that it belongs to ends."""
        used = spent(usage, model, self.run.prices)
        self._requests = self._requests.plus(used)
        self._add(usage, model, used)

    def within(self, seconds: float) -> float:
        """Return how long a turn may take that may take so many seconds (0: any number), and no limit be exceeded."""
        left = (self.run.account.seconds_left, self._account.seconds_left)
        known = [max(_EARLY, one) for one in left if one is not None]
        return min([*known, *([seconds] if seconds else [])], default=0)

    def count_turn(self, turn: Turn, model: str) -> Turn:
        """Count what a turn used beyond its requests on the wire; return the turn, which says so if a limit cut it off."""
        counted, self._requests = self._requests, Spent()
        waited, self._waited = self._waited, 0.0
        self.count(turn.usage, model, answered=not turn.error, counted=counted)
        if self.cut or (turn.timed_out and self._is_late()):
            return msgspec.structs.replace(turn, error=self.cut, outside=self.outside)
        if turn.timed_out and waited:
            why = f"{turn.error}; its requests waited {waited:,.1f} s for {_RUN}.requests_per_minute"
            return msgspec.structs.replace(turn, error=why, outside=True)
        return turn

    def count(self, usage: Usage | None, model: str, *, answered: bool, counted: Spent | None = None) -> None:
        """Count what a session used, but for what was `counted` of it before.

        Where limits cannot be kept, since that is not known, no more work starts.
        """
        run = self.run
        used = spent(usage, model, run.prices) if usage is not None else Spent()
        self._add(usage, model, used.beyond(counted) if counted else used)
        if answered and not run.scripted:
            accounts = (run.account, self._account)
            run.met = run.met or next(filter(None, (one.unknown(usage, used) for one in accounts)), "")

    def _add(self, usage: Usage | None, model: str, used: Spent) -> None:
        accounts = (self.run.account, self._account)
        for account in accounts:
            account.spent = account.spent.plus(used)
        if used.unpriced:
            unpriced = next(filter(None, (one.unpriced(usage, model) for one in accounts)), "")
            self.run.met = self.run.met or unpriced

    def judge(self, judge: Judge, model: str) -> Judge:
        """Return a judge that asks nothing beyond the limits; `model` is that of questions that name none."""
        return _MeteredJudge(judge, self, model)

    def count_question(self, question: JudgeQuestion) -> Callable[[JudgeAnswer], None]:
        """Count a question that a grader asks a model without the judge of the executor; return what takes the answer.

        OutsideError, ExecutorError: it may not be asked, since a limit of the run, or of the trial, is met.
        """
        self._refuse()
        return lambda answer: self.count(answer.usage, question.model, answered=not answer.error)

    async def wait(self, seconds: float) -> None:
        """Wait, but no longer than the run may take. The time does not count as that of the trial."""
        left = self.run.account.seconds_left
        began = self.run.clock()
        await self.run.sleep(seconds if left is None else max(0, min(seconds, left)))
        self._account.leave_out(self.run.clock() - began)

    def end(self) -> str:
        """Return which limit ended the trial, now that it has ended; empty: none did."""
        if not self.cut and (why := self._account.exceeded()):
            self.cut = why
        return self.cut

    def _refuse(self) -> None:
        if why := self.run.refusal():
            self._end(why, outside=True)
            raise OutsideError(why)
        if why := self._account.used_up():
            self._end(why, outside=False)
            raise ExecutorError(why)

    def _is_late(self) -> bool:
        """Tell whether the time of the run or of the trial is up, and note it."""
        for account, outside in ((self.run.account, True), (self._account, False)):
            left = account.seconds_left
            if left is not None and left <= _EARLY:
                self._end(account.time_is_up(), outside=outside)
                return True
        return False

    def _end(self, why: str, *, outside: bool) -> None:
        if outside:
            self.run.met = self.run.met or why
        if not self.cut:
            self.cut, self.outside = why, outside

    async def ask(self, interview: Interview, question: JudgeQuestion, model: str) -> JudgeAnswer:
        """Ask a judge or responder within the limits. One that may not be asked is an answer with that error."""
        async with self.run.judges:
            try:
                await self.admit()
            except ExecutorError as error:
                return JudgeAnswer(error=str(error))
            limit = self.within(question.timeout)
            try:
                async with asyncio.timeout(limit + _GRACE if limit < question.timeout else None):
                    answer = await interview.ask(msgspec.structs.replace(question, timeout=limit))
            except TimeoutError:
                answer = JudgeAnswer(error=f"no answer within {limit:g} s")
        self.count(answer.usage, question.model or model, answered=not answer.error)
        if answer.error and self._is_late():
            return msgspec.structs.replace(answer, error=self.cut)
        return answer


class _MeteredJudge:
    """A judge whose questions are counted."""

    def __init__(self, judge: Judge, meter: TrialMeter, model: str) -> None:
        self._judge, self._meter, self._model = judge, meter, model

    @property
    def sessions(self) -> Sequence[JudgeSession]:
        """The sessions that were held so far."""
        return self._judge.sessions

    async def open(self, workdir: Path | None, resume_id: str = "") -> Interview:
        """Start a conversation."""
        return _MeteredInterview(await self._judge.open(workdir, resume_id), self._meter, self._model)


class _MeteredInterview:
    """A conversation whose questions are counted."""

    def __init__(self, interview: Interview, meter: TrialMeter, model: str) -> None:
        self._interview, self._meter, self._model = interview, meter, model

    async def ask(self, question: JudgeQuestion) -> JudgeAnswer:
        """Ask, and wait for the answer."""
        return await self._meter.ask(self._interview, question, self._model)

    async def aclose(self) -> None:
        """End the conversation."""
        await self._interview.aclose()
