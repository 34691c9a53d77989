"""`executor: a2a`: an agent behind the Agent2Agent protocol, over HTTP, streaming or not.

Protocol: https://a2a-protocol.org, spoken by the official SDK. Every attempt is a conversation of its own: the
context that the agent gives with its first answer goes along with all later prompts.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, TypeGuard
from uuid import uuid4

import httpx
import msgspec
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.helpers import get_artifact_text, get_message_text, new_text_part
from a2a.types.a2a_pb2 import (
    AgentCard,
    Artifact,
    Message,
    Role,
    SendMessageRequest,
    StreamResponse,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatus,
    TaskStatusUpdateEvent,
)
from a2a.types.a2a_pb2 import (
    Task as A2ATask,
)
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict

from waza.errors import ExecutorError
from waza.executors._agent_answer import CITATIONS, DIAGNOSTICS, SEARCHES, answer_from_metadata
from waza.kit import http
from waza.model.agent import AttemptWorkspace, Limits, Setup
from waza.model.base import Keys, NonBlank
from waza.model.observation import MESSAGE, Event, Turn
from waza.model.task import Task
from waza.model.trial import Attempt

WAITS = (1.0, 4.0, 15.0)
"""Seconds before the second, third, fourth and every further attempt of a request that is to be made later."""

CARD_LIMIT = 30.0  # seconds
_LONGEST_WAIT = 120.0  # seconds that `Retry-After` may ask for
_LATER = (http.TOO_MANY_REQUESTS, 503, 504)
_CHECK_KEYS = (
    "check the token or key: bearer_env and api_key_env (--bearer-env, --api-key-env) "
    "name the variables that hold them"
)
_ELSEWHERE = (
    "which is another server; prompts and keys go to the server of url only. If that one is meant too, "
    "name it in executor_options.origins"
)
_MALFORMED = (ValueError, TypeError, RecursionError)  # what reading a strange answer may raise
_SHOWN = 500  # characters of an error
_CARD = "/.well-known/agent-card.json"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_REFUSED = (
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_REJECTED,
    TaskState.TASK_STATE_AUTH_REQUIRED,
)


class A2AOptions(Keys, frozen=True, kw_only=True):
    """`config.executor_options`: the address below which the agent's card is, and how it is asked.

    `bearer_env` and `api_key_env` name variables with a token and with the key that the card asks for. They go
    to the server of `url` and to those of `origins`, and no other server is asked anything. `attempts` is how
    often a request is made that the agent puts off.
    """

    strict_keys: ClassVar[bool] = True
    url: NonBlank
    origins: list[NonBlank] = []
    bearer_env: str = ""
    api_key_env: str = ""
    attempts: Annotated[int, msgspec.Meta(ge=1, le=100)] = 4


class A2AExecutor:
    """An agent at a URL."""

    Options = A2AOptions

    def __init__(self, setup: Setup) -> None:
        self.options = setup.options(A2AOptions)
        self.secrets: dict[str, str] = {}  # headers; never those of the client, which go along with redirects
        self.servers = {http.origin(_url(url)) for url in (self.options.url, *self.options.origins)}
        self.http = httpx.AsyncClient(
            timeout=None,  # noqa: S113  # turns have limits of their own
            follow_redirects=True,
            headers=http.UNCOMPRESSED,
            event_hooks={"request": [self._let_out], "response": [http.limit_body_async]},
        )
        self.client: Client | None = None
        self.name = ""  # as the card says

    async def start(self) -> None:
        """Read the agent's card. Raises ExecutorError if it has no card, a key is missing, or its protocol is not supported."""
        options = self.options
        if options.bearer_env:
            self.secrets["Authorization"] = f"Bearer {_secret('bearer_env', options.bearer_env)}"
        key = _secret("api_key_env", options.api_key_env) if options.api_key_env else ""
        url = options.url.rstrip("/").removesuffix(_CARD)
        try:
            async with asyncio.timeout(CARD_LIMIT):
                card = await A2ACardResolver(self.http, url).get_agent_card()
            self.name = card.name
            if key:
                self.secrets[_key_header(card)] = key
            self._check_servers(card)
            self.client = ClientFactory(ClientConfig(httpx_client=self.http)).create(card)
        except (A2AError, httpx.HTTPError, httpx.InvalidURL, TimeoutError, *_MALFORMED) as error:
            raise ExecutorError(_no_card(url, error)) from error

    async def _let_out(self, request: httpx.Request) -> None:
        """Give a request its credentials, also one that a redirect makes. Raises RefusedError if it is for another server."""
        if http.origin(request.url) not in self.servers:
            raise http.RefusedError(f"the agent leads to {http.safe_url(request.url)}, {_ELSEWHERE}")
        request.headers.update(self.secrets)

    def _check_servers(self, card: AgentCard) -> None:
        """Leave out of a card where the agent may not be asked. ExecutorError: it can be asked nowhere else."""
        ours = [one for one in card.supported_interfaces if http.origin(_url(one.url)) in self.servers]
        others = [one.url for one in card.supported_interfaces if one not in ours]
        if others and not ours:
            named = http.safe_url(_url(others[0]))
            raise ExecutorError(f"the card of the agent at {self.options.url} names {named}, {_ELSEWHERE}")
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(ours)

    def works_in(self, task: Task) -> bool:
        """Return False: the agent runs elsewhere."""
        del task
        return False

    async def open(self, attempt: Attempt, place: AttemptWorkspace) -> A2ASession:
        """Start a conversation; the agent hears of it with the first prompt."""
        del attempt, place
        if self.client is None:
            raise ExecutorError("the agent was not started")
        return A2ASession(self.client, self.name, self.options.attempts)

    def judge(self, attempt: Attempt) -> None:
        """Return None: a remote agent is not asked for verdicts."""
        del attempt

    async def aclose(self) -> None:
        """Close the connections."""
        if self.client is not None:
            await self.client.close()
        await self.http.aclose()


class A2ASession:
    """One conversation."""

    def __init__(self, client: Client, agent: str, attempts: int) -> None:
        self.client, self.agent, self.attempts = client, agent, attempts
        self.context_id = self.task_id = ""

    async def send(self, prompt: str, limits: Limits) -> Turn:
        """Send a prompt; a request that the agent puts off is made again, all of them within the turn's limit."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(limits.turn or None):
                turn = await self._send(prompt)
        except TimeoutError:
            turn = Turn(error=f"no answer within {limits.turn:g} s", timed_out=True)
        return msgspec.structs.replace(turn, duration_ms=round((time.monotonic() - started) * 1000))

    async def _send(self, prompt: str) -> Turn:
        for wait in _waits(self.attempts):
            answer = _Answer()
            try:
                async for part in self.client.send_message(self._request(prompt)):
                    answer.take(part)
            except (A2AError, httpx.HTTPError, *_MALFORMED) as error:
                response = _response(error)
                if response is None or response.status_code not in _LATER:
                    return Turn(error=_fault(error), outside=_is_outside(error))
                if wait is None:
                    throttled = response.status_code == http.TOO_MANY_REQUESTS
                    asked = http.parse_retry_after(response)
                    return Turn(error=_fault(error), throttled=throttled, retry_after=asked, outside=True)
                await asyncio.sleep(_wait(response, wait))
            else:
                self.context_id = answer.context_id or self.context_id
                self.task_id = answer.open_task
                return msgspec.structs.replace(answer.turn(), agent=self.agent)
        raise AssertionError("unreachable: the last attempt returns")

    def _request(self, prompt: str) -> SendMessageRequest:
        message = Message(
            message_id=uuid4().hex,
            role=Role.ROLE_USER,
            parts=[new_text_part(prompt)],
            context_id=self.context_id,
            task_id=self.task_id,
        )
        return SendMessageRequest(message=message)

    async def aclose(self) -> None:
        """Do nothing: the protocol has no message for the end of a conversation."""


def _url(text: str) -> httpx.URL:
    """Parse a URL. Raises ExecutorError if it is not valid."""
    try:
        return httpx.URL(text)
    except httpx.InvalidURL as error:
        raise ExecutorError(f"{text[:_SHOWN]!r} is not a valid URL: {error}") from error


def _waits(attempts: int) -> Iterator[float | None]:
    """Yield the pause after each attempt; None after the last one."""
    for number in range(attempts - 1):
        yield WAITS[min(number, len(WAITS) - 1)]
    yield None


def _secret(option: str, name: str) -> str:
    """Return what a variable holds; a name that looks like none may be the key itself and is not repeated."""
    value = os.environ.get(name, "")
    if not value and not _VARIABLE.fullmatch(name):
        flag = f"--{option.replace('_', '-')}"
        raise ExecutorError(
            f"{option} ({flag}) takes the name of a variable, such as AGENT_KEY, never the key itself"
        )
    if not value:
        raise ExecutorError(f"the variable {name}, which should hold a key for the agent, is not set")
    return value


class _Answer:
    """What the parts of one answer come to: the artifacts of a task, or a message."""

    def __init__(self) -> None:
        self.context_id = self.status_text = self.task_id = ""
        self.state = TaskState.TASK_STATE_UNSPECIFIED
        self.artifacts: dict[str, Artifact] = {}
        self.message: str | None = None
        self.metadata: dict[str, Any] = {}

    @property
    def open_task(self) -> str:
        """The task that waits for the next prompt, if there is one."""
        return self.task_id if self.state == TaskState.TASK_STATE_INPUT_REQUIRED else ""

    def take(self, part: StreamResponse) -> None:
        """Take in one part."""
        if part.HasField("message"):
            self._collect_metadata(part.message)
            self.message = get_message_text(part.message)
            self.context_id = part.message.context_id
        elif part.HasField("task"):
            self.task_id, self.context_id = part.task.id, part.task.context_id
            self.artifacts = {one.artifact_id: one for one in part.task.artifacts}
            self._note(part.task)
            self._status(part.task.status)
        elif part.HasField("status_update"):
            update = part.status_update
            self.task_id, self.context_id = update.task_id, update.context_id
            self._note(update)
            self._status(update.status)
        elif part.HasField("artifact_update"):
            self._note(part.artifact_update)
            self._artifact(part.artifact_update.artifact, append=part.artifact_update.append)

    def _status(self, status: TaskStatus) -> None:
        self.state = status.state
        self.status_text = get_message_text(status.message) if status.HasField("message") else ""
        if status.HasField("message"):
            self._collect_metadata(status.message)

    def _collect_metadata(self, what: Message | Artifact) -> None:
        """Collect metadata, and the searches and citations in parts with data."""
        self._note(what)
        for part in what.parts:
            data = MessageToDict(part.data) if part.HasField("data") else None
            if isinstance(data, dict):
                self.metadata |= {key: data[key] for key in (CITATIONS, DIAGNOSTICS, SEARCHES) if key in data}

    def _note(
        self, what: Message | Artifact | A2ATask | TaskStatusUpdateEvent | TaskArtifactUpdateEvent
    ) -> None:
        self.metadata |= MessageToDict(what.metadata)

    def _artifact(self, artifact: Artifact, *, append: bool) -> None:
        known = self.artifacts.get(artifact.artifact_id)
        if append and known is not None:
            known.parts.extend(artifact.parts)
        else:
            self.artifacts[artifact.artifact_id] = artifact

    def turn(self) -> Turn:
        """Return the answer: artifacts, else the message that came with the last status."""
        if self.state in _REFUSED:
            name = TaskState.Name(self.state).removeprefix("TASK_STATE_").lower().replace("_", " ")
            return Turn(
                error=f"the agent's task ended as {name}{': ' if self.status_text else ''}{self.status_text}"
            )
        # A streamed text comes in pieces, and what stands between them is part of them.
        texts = [get_artifact_text(one, "") for one in self.artifacts.values()]
        for artifact in self.artifacts.values():
            self._collect_metadata(artifact)
        answer, output = answer_from_metadata(self.metadata), self.message
        if output is None:
            output = "\n".join(text for text in texts if text) or self.status_text
        return Turn(
            output=output,
            events=(Event(type=MESSAGE, content=output),),
            session_id=self.context_id,
            citations=answer.citations,
            diagnostics=answer.diagnostics,
        )


def _key_header(card: AgentCard) -> str:
    """Return the header that holds an API key, as the card says."""
    keys = (scheme.api_key_security_scheme for scheme in card.security_schemes.values())
    return next((key.name for key in keys if key.location == "header" and key.name), "X-API-Key")


def _no_card(url: str, error: Exception) -> str:
    """Return why there is no card of an agent, and what to do."""
    response = _response(error)
    if response is not None and response.status_code in http.DENIED:
        return _fault(error)  # something is there
    advice = (
        ""
        if _away(_cause(error)) or isinstance(_cause(error), http.RefusedError)
        else f"; give the address below which it has {_CARD}"
    )
    return f"there is no A2A agent at {url}: {_fault(error)}{advice}"


def _fault(error: Exception) -> str:
    """Return in one line what went wrong and, where we know it, what to do."""
    cause = _cause(error)
    if isinstance(cause, httpx.HTTPStatusError):
        response = cause.response
        refusal = f"{_address(cause)} answered {response.status_code} {response.reason_phrase}".rstrip()
        return f"{refusal}; {_CHECK_KEYS}" if response.status_code in http.DENIED else refusal
    if _away(cause):
        why = " ".join(str(cause).split())
        return f"nothing answers at {_address(cause)} ({why}); check the address and whether the agent runs"
    if isinstance(cause, http.RefusedError):
        return str(cause)
    if isinstance(error, TimeoutError):
        return f"no answer within {CARD_LIMIT:g} s"
    return " ".join(str(error)[:_SHOWN].split()) or type(error).__name__


def _is_outside(error: Exception) -> bool:
    """Tell whether an answer failed for a cause outside of the agent: a lost connection, a broken or closed server."""
    response = _response(error)
    if response is not None:
        return http.is_outside(response.status_code)
    return isinstance(_cause(error), httpx.TransportError)


def _away(cause: BaseException | None) -> TypeGuard[httpx.ConnectError]:
    """Tell whether nothing answers; a certificate that is no good is an answer."""
    return isinstance(cause, httpx.ConnectError) and "[SSL" not in str(cause)


def _address(error: httpx.HTTPStatusError | httpx.ConnectError) -> str:
    """Return what was asked, without what may be a secret."""
    return http.safe_url(error.request.url)


def _cause(error: BaseException) -> BaseException | None:
    """Return the HTTP error behind an error of the SDK, or None."""
    return error if isinstance(error, httpx.HTTPError) else error.__cause__


def _response(error: BaseException) -> httpx.Response | None:
    """Return the HTTP response behind an error of the SDK, or None."""
    cause = _cause(error)
    return cause.response if isinstance(cause, httpx.HTTPStatusError) else None


def _wait(response: httpx.Response, otherwise: float) -> float:
    asked = http.parse_retry_after(response)
    return otherwise if asked is None else min(asked, _LONGEST_WAIT)
