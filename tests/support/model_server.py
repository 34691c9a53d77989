"""A scripted model behind a server of the OpenAI and Anthropic interfaces: real agents run on it, offline.

    scripts = {
        "Count the words": [
            Reply("Looking.", calls=[Call("view", {"path": "hello.txt"})]),
            lambda turn: Reply(f"The tool said {turn.tool_results[-1]}."),
        ],
        "Is it right?": [Reply(calls=[Call("set_waza_grade_pass", {"description": "it is"})]), Reply("Done.")],
    }
    with ModelServer(scripts) as server:
        waza("run", "eval.yaml", cwd=tmp_path, env=copilot_environment(server))
    assert server.prompts() == ["Count the words in hello.txt", "Is it right?"]

A script is found by a text in the newest message of a user; a responder, a judge and an agent that instructs a
sub-agent are users too. The first script that fits is taken; "" fits every message. Its step is the number of
answers since that message, and the last step lasts. All of this is read from the request: conversations that are
concurrent, resumed or repeated need no state here.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from tests.support.model_formats import CHAT, MESSAGES, RESPONSES, chunks, error
from tests.support.model_script import Call, Json, Reply, Scripts, Step, Turn, Usage, read_turn

__all__ = ["Call", "ModelServer", "Reply", "Request", "Scripts", "Step", "Turn", "Usage"]

_PATIENCE = 30  # seconds; a server that does not start fails its test
_BLOCKING_STEPS = 64  # step functions that may wait for each other
_LARGEST_BODY = 2**26  # bytes
_AZURE = re.compile(r"\A/openai/deployments/[^/]+(?=/chat/completions\Z)")


@dataclass(frozen=True)
class Request:
    """A request as it came: headers by lower-case name, the body decoded if it is JSON.

    `turn` is None for what is no question to the model.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    turn: Turn | None


class ModelServer:
    """The server, in a thread of its own, from the beginning of a `with` block to its end.

    A step that is a function may block, with a time limit of its own. If it raises, the client gets an error that
    it does not retry, and the end of the block raises the first such exception.
    """

    def __init__(
        self,
        scripts: Scripts | Iterable[tuple[str, Sequence[Step]]] = (),
        models: Sequence[str] = ("test-model",),
    ) -> None:
        self.scripts = dict(scripts)
        self.models = models
        self.base_url = ""  # ends in /v1
        self.requests: list[Request] = []  # all, in the order of arrival
        self.unscripted: list[str] = []  # messages of users that no script fits
        self.hanging = threading.Event()
        self._failures: list[Exception] = []
        self._loop: Future[asyncio.AbstractEventLoop] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def prompts(self) -> list[str]:
        """The messages of users that began a turn; a request that is sent again counts again."""
        return [turn.user for turn in self._beginnings()]

    def systems(self) -> list[str]:
        """The system messages that belong to `prompts()`."""
        return [turn.system for turn in self._beginnings()]

    @staticmethod
    def tools_of(request: Request) -> list[str]:
        """The names of the tools that a request offers to the model."""
        return request.turn.tools if request.turn else []

    def _beginnings(self) -> list[Turn]:
        return [request.turn for request in self.requests if request.turn and request.turn.step == 0]

    def __enter__(self) -> Self:
        self._thread.start()
        self._loop.result(_PATIENCE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.result().call_soon_threadsafe(self._closing.set)
        self._thread.join()
        if self._failures and raised is None:
            raise self._failures[0]

    async def _serve(self) -> None:
        self._closing = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(_BLOCKING_STEPS))
        app = web.Application(client_max_size=_LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        self._loop.set_result(loop)
        await self._closing.wait()
        await runner.cleanup()

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        request = await _received(http)
        self.requests.append(request)
        if request.turn:
            return await self._send(http, request.turn.body, await self._reply(request.turn))
        if request.path == "/v1/models":
            models = [
                {"id": name, "object": "model", "created": 0, "owned_by": "test"} for name in self.models
            ]
            return web.json_response({"object": "list", "data": models})
        return web.json_response(error(f"nothing to answer at {request.path}"), status=404)

    async def _reply(self, turn: Turn) -> Reply:
        steps = next((steps for text, steps in self.scripts.items() if text in turn.user), None)
        if steps is None:
            self.unscripted.append(turn.user)
            return Reply(f"no script for: {turn.user}")
        step = steps[min(turn.step, len(steps) - 1)]
        if isinstance(step, Reply):
            return step
        try:
            return await asyncio.to_thread(step, turn)
        except Exception as failure:  # noqa: BLE001  # it is the test's, and the end of its block raises it
            self._failures.append(failure)
            return Reply(status=400, body=error(f"a step of the script failed: {failure!r}"))

    async def _send(self, http: web.Request, body: Json, reply: Reply) -> web.StreamResponse:
        if reply.hang:
            self.hanging.set()
        await self._pause(None if reply.hang else reply.delay)
        content_type, pieces = chunks(_wire(http), body, reply)
        response = web.StreamResponse(
            status=reply.status, headers={"Content-Type": content_type, **reply.headers}
        )
        if not reply.hang:
            await response.prepare(http)
            for piece in pieces[: len(pieces) // 2] if reply.drop else pieces:
                await response.write(piece.encode())
                await self._pause(reply.chunk_delay)
        if (reply.drop or reply.hang) and http.transport:
            http.transport.close()
        return response

    async def _pause(self, seconds: float | None) -> None:
        """Wait so many seconds, None for ever, but no longer than the server is open."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), seconds)


async def _received(http: web.Request) -> Request:
    text = await http.text()
    try:
        body = json.loads(text)
    except ValueError:
        body = text
    headers = {name.lower(): value for name, value in http.headers.items()}
    asks = http.method == "POST" and _wire(http) in {CHAT, RESPONSES, MESSAGES} and isinstance(body, dict)
    return Request(http.method, http.path_qs, headers, body, read_turn(body, headers) if asks else None)


def _wire(http: web.Request) -> str:
    """The path that tells the format of a request; Azure OpenAI has paths of its own for chat completions."""
    return _AZURE.sub("/v1", http.path)
