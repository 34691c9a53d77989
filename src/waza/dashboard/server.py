"""The HTTP server of `waza serve`: the API and the built pages, for browsers on this machine alone.

Read-only, on 127.0.0.1. A page of another site could ask for it under a name that leads here (DNS rebinding), so the
`Host` of a request must be ours. Answers are JSON or built files, never HTML made of results.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from waza.dashboard.api import Answer, Api
from waza.dashboard.live import RETRY, Follower, frame
from waza.dashboard.openapi import make_document
from waza.dashboard.pages import ErrorAnswer, LiveEvent
from waza.dashboard.requests import LONGEST_TARGET, RequestError, read_request, segments_of
from waza.dashboard.static_files import NOT_BUILT, StaticFile
from waza.errors import WazaError

HOST = "127.0.0.1"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""What every answer has, besides the policy of its pages."""
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
"""What serves requests."""
_POLL = 0.25  # seconds
_SILENCE = 15.0  # seconds
_DIGITS = 16  # of the number of an event
_METHODS = ("GET", "HEAD", "OPTIONS")
_ALLOW = ", ".join(_METHODS)
_HTTP = 80  # the port that browsers leave out
_NAMES = frozenset({"localhost", HOST, "[::1]"})
_JSON = "application/json"
_encode = msgspec.json.Encoder(enc_hook=str).encode


class Dashboard:
    """The application. `report` takes what went wrong inside, as a text of several lines."""

    def __init__(
        self, api: Api, files: Mapping[str, StaticFile], port: int, report: Callable[[str], None]
    ) -> None:
        self.api, self.files, self.port, self.report = api, files, port, report
        self._document = _encode(make_document())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            return
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
        except RequestError as error:
            response = _refuse(error.status, str(error))
        except Exception:  # noqa: BLE001  # a defect of ours must not end the server, nor show its insides
            self.report(traceback.format_exc())
            response = _refuse(500, "this is a defect of waza; the terminal of `waza serve` says more")
        for name, value in {**HEADERS, "Content-Security-Policy": POLICY}.items():
            response.headers[name] = value
        response.headers.setdefault("Cache-Control", "no-store")
        try:
            await response(scope, receive, send)
        except (
            WazaError,
            OSError,
        ) as error:  # of a large answer, when a part of it was sent; the connection is cut
            self.report(f"warning: {request.url.path}: the answer was cut off: {error}")

    async def _respond(self, request: Request) -> Response:
        check_host(request, self.port)
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": _ALLOW})
        if request.method not in _METHODS:
            response = _refuse(405, f"only {_ALLOW} are served: nothing is changed from here")
            response.headers["Allow"] = _ALLOW
            return response
        raw_path, query = request.scope.get("raw_path") or b"/", request.scope["query_string"]
        if len(raw_path) + len(query) > LONGEST_TARGET:
            raise RequestError(414, f"the address is longer than {LONGEST_TARGET} bytes")
        segments = segments_of(raw_path)
        if segments == ["openapi.json"]:
            return Response(self._document, media_type=_JSON)
        if segments[0] == "api":
            return await self._call(request, raw_path, query)
        return self._static(segments)

    async def _call(self, request: Request, raw_path: bytes, query: bytes) -> Response:
        found = read_request(raw_path, query)
        if found.route.answer is None:
            return await self._stream(request, found.values)
        answer = await run_in_threadpool(self.api.call, found.route.name, found.values)
        return json_response(answer)

    async def _stream(self, request: Request, values: Mapping[str, Any]) -> Response:
        """Answer with the events of a run, from the one on that the client saw last."""
        seen = values["lastEventId"] or 0
        if text := request.headers.get("last-event-id"):
            if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
                raise RequestError(400, f"Last-Event-ID is {text[:60]!r}, and not the number of an event")
            seen = int(text)
        follower = await run_in_threadpool(self.api.follow, values.get("id"), seen)
        if follower is None:
            return Response(status_code=204)
        first = await run_in_threadpool(follower.poll)
        if follower.ended and not first:
            return Response(status_code=204)  # so that a client that comes back does not come again
        return StreamingResponse(self._events(follower, first), media_type="text/event-stream")

    async def _events(self, follower: Follower, first: list[LiveEvent]) -> AsyncIterator[bytes]:
        yield RETRY
        events, silent = first, 0.0
        while True:
            for event in events:
                yield frame(event)
            if follower.ended or self.api.closing():
                return
            silent = 0.0 if events else silent + _POLL
            if silent >= _SILENCE:  # so that a client that has gone is noticed
                silent = 0.0
                yield b": nothing new\n\n"
            await asyncio.sleep(_POLL)
            events = await run_in_threadpool(follower.poll)

    def _static(self, segments: list[str]) -> Response:
        found = self.files.get("/" + "/".join(segments)) or self.files.get("/")
        if found is None:
            raise RequestError(503, NOT_BUILT)
        # The files keep their names: a browser must ask whether they are still those of this version.
        return Response(found.data, headers={"Content-Type": found.type, "Cache-Control": "no-cache"})


def check_host(request: Request, port: int) -> None:
    """Raise RequestError unless a request names this machine and the port, as no page of another site can."""
    known = {f"{name}:{port}" for name in _NAMES} | (_NAMES if port == _HTTP else frozenset())
    hosts = request.headers.getlist("host")
    host = hosts[0].lower() if len(hosts) == 1 else ""
    if host not in known:
        raise RequestError(421, f"this server is http://localhost:{port} and nothing else")


def json_response(answer: Answer) -> Response:
    """Return an answer as JSON."""
    response = (
        Response(_encode(answer.body), media_type=_JSON)
        if answer.pieces is None
        else StreamingResponse(answer.pieces, media_type=_JSON)
    )
    if answer.total is not None:
        response.headers["X-Total-Count"] = str(answer.total)
    return response


def _refuse(status: int, message: str) -> Response:
    return Response(_encode(ErrorAnswer(error=message, code=status)), status_code=status, media_type=_JSON)
