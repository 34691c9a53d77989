"""Chat completions over HTTP: which answers are asked for again, after which waits, and what errors say. Needs httpx.

Nothing here sends: built-in judges do so asynchronously, `.prompty` files synchronously in a child process, and both
keep to these rules.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping
from typing import Any, TypeAlias

import httpx
import msgspec

from waza.kit import http
from waza.kit.redact import Redactor
from waza.m365.judges.judge_model import JudgeError
from waza.m365.judges.refusals import Refusals

Outcome: TypeAlias = httpx.Response | httpx.HTTPError
"""What came of sending a request."""

_BAD_REQUEST, _UNPROCESSABLE = 400, 422
_MAX_SHOWN = 300  # characters of an answer that a message repeats
_log = logging.getLogger(__name__)


class RetryPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How often a request is sent again, and after how many seconds.

    `waits` are those before the second, third ... try; `jitter` is the share by which they vary at random, so that
    requests sent together do not return together. A wait that the server asks for (`Retry-After`) replaces ours;
    one longer than `longest_wait` ends the tries. A status 422 is tried again `unprocessable_retries` times at most.
    """

    waits: tuple[float, ...]
    jitter: float = 0.0
    longest_wait: float = 60.0
    unprocessable_retries: int = 0


class ChatModel:
    """A model behind HTTP: its name in messages, what it refused so far, and the secrets that no message shows.

    `check_address` and `check_key` name the settings to check where it cannot be reached, or denies access.
    """

    def __init__(
        self, name: str, retries: RetryPolicy, *, check_address: str = "", check_key: str = ""
    ) -> None:
        self.name, self.retries, self.refusals = name, retries, Refusals()
        self._check_address, self._check_key = check_address, check_key
        self._headers: Mapping[str, str] = {}

    def hide(self, headers: Mapping[str, str]) -> None:
        """Keep secrets of these headers, the latest that are sent, out of messages."""
        self._headers = headers

    def failure(self, outcome: Outcome, note: str = "") -> JudgeError:
        """Return the error of a request that is not sent again; `note` comes before the advice."""
        return self.error(_describe(outcome), f"{note}{self._advice(outcome)}")

    def error(self, text: str, note: str = "") -> JudgeError:
        """Return an error whose text, of any origin, is without secrets and cut to a length that fits a message."""
        text = Redactor.for_environment({}, dict(self._headers)).text(text)
        shown = text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "..."
        return JudgeError(f"{self.name} {shown}{note}")

    def _advice(self, outcome: Outcome) -> str:
        if isinstance(outcome, httpx.Response):
            denied = outcome.status_code in http.DENIED and self._check_key
            return f"; check {self._check_key}" if denied else ""
        unreachable = not isinstance(outcome, http.RefusedError) and self._check_address
        return f"; check whether the server runs, and {self._check_address}" if unreachable else ""


class ChatRequest:
    """One question to a model. Send `body` and hand over what came of it, as long as `next_wait` returns a time."""

    def __init__(self, model: ChatModel, question: Mapping[str, Any]) -> None:
        self._model, self._question, self._retries = model, question, 0
        self.body = model.refusals.fit(question)

    def next_wait(self, outcome: Outcome) -> float | None:
        """Return the seconds until `body` is to be sent again; None for a successful response.

        A parameter that the model refuses is left out of `body` at once. Raises JudgeError after the last try.
        """
        model, policy = self._model, self._model.retries
        asked = None
        if isinstance(outcome, httpx.Response):
            if outcome.is_success:
                return None
            if outcome.status_code == _BAD_REQUEST and self._leave_out(outcome.content):
                return 0.0
            asked = http.parse_retry_after(outcome)
        note = f" ({self._retries + 1} tries)" if self._retries else ""
        limit = self._limit(outcome)
        if limit and asked is not None and asked > policy.longest_wait:
            note += (
                f"; it asks to wait {asked:.0f} s, and no more than {policy.longest_wait:g} s are waited: "
                "run again later"
            )
            raise model.failure(outcome, note)
        if self._retries >= limit:
            raise model.failure(outcome, note)
        spread = random.uniform(1 - policy.jitter, 1 + policy.jitter)  # noqa: S311  # not for secrets
        wait = asked if asked is not None else policy.waits[self._retries] * spread
        self._retries += 1
        number, most = self._retries + 1, len(policy.waits) + 1
        brief = (
            f"answers {outcome.status_code}" if isinstance(outcome, httpx.Response) else "cannot be reached"
        )
        _log.warning("%s %s; asking again in %.0f s (try %d of %d)", model.name, brief, wait, number, most)
        return wait

    def _leave_out(self, answer: bytes) -> bool:
        refused = self._model.refusals.learn(self.body, answer)
        if refused:
            _log.info("%s does not accept %r; it is asked again without", self._model.name, refused)
            self.body = self._model.refusals.fit(self._question)
        return bool(refused)

    def _limit(self, outcome: Outcome) -> int:
        """Return how many retries an outcome may have."""
        policy = self._model.retries
        if isinstance(outcome, http.RefusedError):
            return 0
        if isinstance(outcome, httpx.HTTPError) or http.is_transient(outcome.status_code):
            return len(policy.waits)
        if outcome.status_code == _UNPROCESSABLE:
            return min(len(policy.waits), policy.unprocessable_retries)
        return 0


def _describe(outcome: Outcome) -> str:
    if isinstance(outcome, httpx.Response):
        return f"answered with HTTP {outcome.status_code}: {_message(outcome)}"
    if isinstance(outcome, http.RefusedError):
        return f"gave no usable answer: {outcome}"
    return f"cannot be reached: {type(outcome).__name__}: {outcome}"


def _message(response: httpx.Response) -> str:
    """Return what a response of failure says, in one line."""
    try:
        text = response.json()["error"]["message"]
    except (ValueError, LookupError, TypeError, RecursionError):
        text = response.text
    return " ".join(str(text).split()) or response.reason_phrase
