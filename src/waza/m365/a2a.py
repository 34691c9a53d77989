"""An agent behind the Agent2Agent protocol, over HTTP, streaming or not.

Protocol: https://a2a-protocol.org, spoken by the official SDK. Every item is a conversation of its own: the
context that the agent gives with its first answer goes along with all later prompts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from uuid import uuid4

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.helpers import get_artifact_text, get_message_text, new_text_part
from a2a.types.a2a_pb2 import (
    AgentCard,
    Artifact,
    Message,
    Role,
    SendMessageRequest,
    StreamResponse,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import A2AError

from waza.errors import RunError
from waza.m365.agents import Conversation, Credentials, Reply
from waza.m365.document import Item
from waza.m365.status import AGENT_THROTTLED, Failure

WAITS = (1.0, 4.0, 15.0)
"""Seconds before the second, third and fourth attempt of a request that the agent asks to make later."""

_LONGEST_WAIT = 120.0  # seconds that `Retry-After` may ask for
_THROTTLED = 429
_LATER = (_THROTTLED, 503, 504)
_REFUSED = (
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_REJECTED,
    TaskState.TASK_STATE_AUTH_REQUIRED,
)


class A2AAgent:
    """An agent at a URL. `timeout` is that of one request, in seconds; `waits` come before its repetitions."""

    def __init__(
        self, url: str, credentials: Credentials, timeout: float, waits: Sequence[float] = WAITS
    ) -> None:
        self.url, self.credentials, self.timeout, self.waits = url, credentials, timeout, waits
        self.http = httpx.AsyncClient(timeout=timeout, follow_redirects=True)
        self.client: Client | None = None

    async def start(self) -> None:
        """Read the agent's card. RunError: there is none, or it offers no way that we speak."""
        if self.credentials.token:
            self.http.headers["Authorization"] = f"Bearer {self.credentials.token}"
        try:
            card = await A2ACardResolver(self.http, self.url).get_agent_card()
            if self.credentials.key:
                self.http.headers[_key_header(card)] = self.credentials.key
            self.client = ClientFactory(ClientConfig(httpx_client=self.http)).create(card)
        except (A2AError, httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise RunError(
                f"there is no A2A agent at {self.url}: {error}; "
                "give the address below which it has /.well-known/agent-card.json"
            ) from error

    async def open(self, item: Item) -> Conversation:
        """Start a conversation; the agent hears of it with the first prompt."""
        del item
        if self.client is None:
            raise RunError("the agent was not started")
        return _Dialogue(self, self.client)

    async def aclose(self) -> None:
        """Close the connections."""
        if self.client is not None:
            await self.client.close()
        await self.http.aclose()


class _Dialogue:
    def __init__(self, agent: A2AAgent, client: Client) -> None:
        self.agent, self.client = agent, client
        self.context_id = self.task_id = ""

    async def send(self, prompt: str) -> Reply:
        for wait in (*self.agent.waits, None):
            answer = _Answer()
            try:
                async with asyncio.timeout(self.agent.timeout):
                    async for part in self.client.send_message(self._request(prompt)):
                        answer.take(part)
            except TimeoutError:
                return _failed(f"no answer within {self.agent.timeout:g} s")
            except (A2AError, httpx.HTTPError, ValueError) as error:
                response = _response(error)
                if response is None or response.status_code not in _LATER:
                    return _failed(str(error))
                if wait is None:
                    return _failed(str(error), throttled=response.status_code == _THROTTLED)
                await asyncio.sleep(_wait(response, wait))
            else:
                self.context_id = answer.context_id or self.context_id
                self.task_id = answer.open_task
                return answer.reply()
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
        pass


class _Answer:
    """What the parts of one answer come to: the artifacts of a task, or a message."""

    def __init__(self) -> None:
        self.context_id = self.said = self.task_id = ""
        self.state = TaskState.TASK_STATE_UNSPECIFIED
        self.artifacts: dict[str, Artifact] = {}
        self.message: str | None = None

    @property
    def open_task(self) -> str:
        """The task that waits for the next prompt, if there is one."""
        return self.task_id if self.state == TaskState.TASK_STATE_INPUT_REQUIRED else ""

    def take(self, part: StreamResponse) -> None:
        """Take in one part."""
        if part.HasField("message"):
            self.message = get_message_text(part.message)
            self.context_id = part.message.context_id
        elif part.HasField("task"):
            self.task_id, self.context_id = part.task.id, part.task.context_id
            self.artifacts = {one.artifact_id: one for one in part.task.artifacts}
            self._status(part.task.status)
        elif part.HasField("status_update"):
            update = part.status_update
            self.task_id, self.context_id = update.task_id, update.context_id
            self._status(update.status)
        elif part.HasField("artifact_update"):
            self._artifact(part.artifact_update.artifact, append=part.artifact_update.append)

    def _status(self, status: TaskStatus) -> None:
        self.state = status.state
        self.said = get_message_text(status.message) if status.HasField("message") else ""

    def _artifact(self, artifact: Artifact, *, append: bool) -> None:
        known = self.artifacts.get(artifact.artifact_id)
        if append and known is not None:
            known.parts.extend(artifact.parts)
        else:
            self.artifacts[artifact.artifact_id] = artifact

    def reply(self) -> Reply:
        """Return the answer: artifacts, else the message that came with the last status."""
        if self.state in _REFUSED:
            name = TaskState.Name(self.state).removeprefix("TASK_STATE_").lower().replace("_", " ")
            return _failed(f"the agent's task ended as {name}{': ' if self.said else ''}{self.said}")
        if self.message is not None:
            return Reply(text=self.message)
        # A streamed text comes in pieces, and what stands between them is part of them.
        texts = [get_artifact_text(one, "") for one in self.artifacts.values()]
        return Reply(text="\n".join(text for text in texts if text) or self.said)


def _failed(cause: str, *, throttled: bool = False) -> Reply:
    return Reply(failure=Failure(cause, AGENT_THROTTLED) if throttled else Failure(cause))


def _key_header(card: AgentCard) -> str:
    """Return the header that holds an API key, as the card says."""
    keys = (scheme.api_key_security_scheme for scheme in card.security_schemes.values())
    return next((key.name for key in keys if key.location == "header" and key.name), "X-API-Key")


def _response(error: BaseException) -> httpx.Response | None:
    """Return the HTTP response that an error of the SDK stands for."""
    cause = error if isinstance(error, httpx.HTTPStatusError) else error.__cause__
    return cause.response if isinstance(cause, httpx.HTTPStatusError) else None


def _wait(response: httpx.Response, otherwise: float) -> float:
    asked = response.headers.get("Retry-After", "")
    return min(float(asked), _LONGEST_WAIT) if asked.isdecimal() else otherwise
