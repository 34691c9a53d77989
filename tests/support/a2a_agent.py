"""An A2A agent on 127.0.0.1, served by the official SDK. It repeats, and counts the prompts of a context."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types.a2a_pb2 import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    APIKeySecurityScheme,
    SecurityScheme,
)
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class Repeater(AgentExecutor):
    """Answers `<number>: <prompt>` as a message or, while streaming, as the artifact of a task in two pieces."""

    def __init__(self, *, streaming: bool) -> None:
        self.streaming = streaming
        self.counts = Counter[str]()
        self.prompts: list[str] = []
        self.metadata: dict[str, Any] = {}  # of every answer

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Answer a prompt; FAIL makes the task fail."""
        prompt = context.get_user_input()
        self.prompts.append(prompt)
        self.counts[context.context_id or ""] += 1
        number = self.counts[context.context_id or ""]
        if not self.streaming and prompt != "FAIL":
            message = new_text_message(f"{number}: {prompt}", context_id=context.context_id)
            message.metadata.update(self.metadata)
            await event_queue.enqueue_event(message)
            return
        if context.message is None:
            raise ValueError("there is no message")
        task = new_task_from_user_message(context.message)
        await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        if prompt == "FAIL":
            await updater.failed(
                new_text_message("no luck today", context_id=task.context_id, task_id=task.id)
            )
            return
        await updater.add_artifact(
            [new_text_part(f"{number}: ")],
            artifact_id="a",
            metadata=self.metadata,
            append=False,
            last_chunk=False,
        )
        await updater.add_artifact([new_text_part(prompt)], artifact_id="a", append=True, last_chunk=True)
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        """Nothing takes long enough."""


class Gate:
    """Refuses the first `busy` requests with 429, and all that lack `headers`."""

    def __init__(self, app: ASGIApp, served: Served) -> None:
        self.app, self.served = app, served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        served = self.served
        if scope["type"] == "http" and scope["method"] == "POST":
            given = {name.decode().lower(): value.decode() for name, value in scope["headers"]}
            served.requests += 1
            if any(given.get(name.lower()) != value for name, value in served.headers.items()):
                await PlainTextResponse("who are you?", 401)(scope, receive, send)
                return
            if served.busy:
                served.busy -= 1
                await PlainTextResponse("later", 429, {"Retry-After": "0"})(scope, receive, send)
                return
        await self.app(scope, receive, send)


class Served:
    """A running agent: its address, what it was asked, and how it behaves."""

    def __init__(self, repeater: Repeater, headers: dict[str, str]) -> None:
        self.repeater, self.headers = repeater, headers
        self.url, self.busy, self.requests = "", 0, 0


@contextmanager
def served(*, streaming: bool = False, headers: dict[str, str] | None = None) -> Iterator[Served]:
    """Serve the agent in a thread; `headers` are what every request must have."""
    agent = Served(Repeater(streaming=streaming), headers or {})
    config = uvicorn.Config(Starlette(), host="127.0.0.1", port=0, log_level="error", lifespan="off")
    sockets = [config.bind_socket()]
    agent.url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
    config.app = _app(agent, streaming=streaming)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": sockets})
    thread.start()
    try:
        yield agent
    finally:
        server.should_exit = True
        thread.join()


def _app(agent: Served, *, streaming: bool) -> Any:
    key = SecurityScheme(api_key_security_scheme=APIKeySecurityScheme(location="header", name="X-Desk-Key"))
    card = AgentCard(
        name="repeater",
        description="repeats",
        version="1",
        supported_interfaces=[
            AgentInterface(url=f"{agent.url}/rpc", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        capabilities=AgentCapabilities(streaming=streaming),
        security_schemes={"key": key},
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
    )
    handler = DefaultRequestHandler(
        agent_executor=agent.repeater, task_store=InMemoryTaskStore(), agent_card=card
    )
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/rpc")]
    return Starlette(routes=routes, middleware=[Middleware(Gate, served=agent)])
