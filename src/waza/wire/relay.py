"""The relay between agents and models. Needs aiohttp.

It listens on the loopback interface, in the process of the run. Each attempt has a port, a path and a token of its own, so
requests are told apart without a look into them, and an agent that floods its port harms nobody else. The keys of servers stay here: an agent knows its token alone, and that opens
only what `routes` lets through, and only while the attempt lasts.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
from aiohttp import web

from waza.model.wire import WireAddress, WireFault
from waza.wire.api import Family, WireApi
from waza.wire.cassette import CassettePlayer, CassetteRecorder
from waza.wire.exchange import Ending, Exchange
from waza.wire.json_value import mapping, parse, text
from waza.wire.read_answer import read_answer
from waza.wire.reply import ModelReply
from waza.wire.routes import Route, find_route

MOST_REQUEST = 128 * 1024 * 1024
"""Bytes of a request; no model takes more."""
MOST_ANSWER = 32 * 1024 * 1024
"""Bytes of an answer, after which it is cut: no model says so much."""
MOST_CONNECTIONS = 64
"""Connections that an attempt may have at once; agents have a few."""
MOST_REQUESTS = 10_000
"""Requests of an attempt."""
MOST_KEPT = 64 * 1024 * 1024
"""Characters of instructions and results that are kept of an attempt, after which it gets no more answers."""
_MOST_STRAYS = 50  # of an attempt that are named
_CONNECT = 30  # seconds
_BACKLOG = 1024  # connections of judges at once, and such that wait to be accepted; beyond, clients wait for a second or more
_DIFFERS = 400  # an error that clients do not ask again for
_SILENT = logging.getLogger("waza.wire")  # what an agent sends that is no HTTP is its own affair
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
# What belongs to a connection, or tells who the client is: neither goes on to the other side.
_OWN = frozenset({
    "accept-encoding", "api-key", "authorization", "connection", "content-encoding", "content-length", "cookie", "host",
    "keep-alive", "proxy-authorization", "set-cookie", "transfer-encoding", "upgrade", "x-api-key",
})  # fmt: skip


class Upstream(msgspec.Struct, frozen=True, kw_only=True):
    """A model server. `repr` shows no key."""

    url: str
    """Its address, up to where the paths of its interfaces begin (`https://api.example.com/v1`)."""
    headers: Mapping[str, str] = {}
    """Headers of every request, the key among them."""

    def __repr__(self) -> str:
        return f"Upstream({self.url})"


async def _never() -> str:
    return ""


class WireSession:
    """The wire of one attempt. Made by `WireRelay.open`.

    `exchanges` are the requests so far whose answers have ended, in that order. `strays` are requests that were not let through.
    """

    def __init__(
        self,
        address: WireAddress,
        faults: Sequence[WireFault],
        idle: float,
        refuse: Callable[[], Awaitable[str]],
        ended: Callable[[Exchange], None],
        closed: Callable[[], None],
        *,
        keep: bool,
        tape: CassetteRecorder | CassettePlayer | None,
    ) -> None:
        self.address = address
        self.exchanges: list[Exchange] = []
        self.strays: list[str] = []
        self._kept = 0
        self.idle, self.refuse = idle, refuse
        self._faults, self._ended, self._closed, self._keep = faults, ended, closed, keep
        self.tape = tape
        self._threads: dict[str, _Thread] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._count = 0

    def stray(self, what: str) -> None:
        """Note a request that was not let through."""
        if len(self.strays) < _MOST_STRAYS:
            self.strays.append(what)

    @property
    def excess(self) -> str:
        """Why no more requests are let through; empty: they are."""
        if not self._keep:
            return ""  # those of a whole run
        if self._count >= MOST_REQUESTS:
            return f"more than {MOST_REQUESTS:,} requests"
        return f"more than {MOST_KEPT:,} characters of instructions" if self._kept > MOST_KEPT else ""

    def begin(self, api: WireApi, request: Mapping[str, Any]) -> Exchange:
        """Return the exchange that a request begins."""
        self._count += 1
        texts = api.texts(request)
        key = hashlib.sha256("\0".join(texts[:2]).encode("utf-8", "replace")).hexdigest()[:12]
        thread = self._threads.setdefault(key, _Thread()) if self._keep else _Thread()
        exchange = Exchange(
            number=self._count,
            api=api.name,
            thread=key,
            model=text(request.get("model")),
            tools=tuple(api.tools(request)),
            texts=thread.new_texts(texts),
            results=thread.new_results(api.results(request)),
            at_ms=time.time() * 1000,
        )
        if self._keep:
            self._kept += sum(map(len, exchange.texts)) + sum(map(len, exchange.results.values()))
        return exchange

    def fault(self, number: int) -> WireFault | None:
        """Return the fault that meets a request."""
        return next((fault for fault in self._faults if fault.meets(number)), None)

    def end(self, exchange: Exchange) -> None:
        """Keep an exchange that has ended."""
        if self._keep:
            self.exchanges.append(exchange)
        self._ended(exchange)

    @contextlib.contextmanager
    def working(self) -> Any:
        """Return the block in which a request is served; closing the session ends it."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  # handlers run in tasks
        self._tasks.add(task)
        try:
            yield
        finally:
            self._tasks.discard(task)

    async def aclose(self) -> None:
        """End what is under way; later requests are refused. A second call does nothing."""
        self._closed()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if isinstance(self.tape, CassetteRecorder):
            self.tape.close()


class _Thread:
    """What the requests of a conversation have shown so far."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._results: set[str] = set()

    def new_texts(self, texts: list[str]) -> tuple[str, ...]:
        """Return those texts that the last request did not begin with."""
        same = sum(1 for _ in _common_start(self._texts, texts))
        self._texts = texts
        return tuple(texts[same:])

    def new_results(self, results: dict[str, str]) -> dict[str, str]:
        new = {key: value for key, value in results.items() if key not in self._results}
        self._results.update(new)
        return new


def _common_start(first: Iterable[str], second: Iterable[str]) -> Iterable[str]:
    for one, other in zip(first, second, strict=False):
        if one != other:
            return
        yield one


class WireRelay:
    """Serves the wires of all attempts of a run, from `start` to `aclose`. `upstreams` are the model servers by their family."""

    def __init__(self, upstreams: Mapping[Family, Upstream]) -> None:
        self.upstreams = upstreams
        self._sessions: dict[str, WireSession] = {}
        self._runner: web.AppRunner | None = None
        self._clients: dict[Family, aiohttp.ClientSession] = {}

    async def start(self, socket: Path | None = None) -> None:
        """Get ready to open wires; listen on a unix socket, for agents without a network."""
        app = web.Application(client_max_size=MOST_REQUEST)
        app.router.add_route("*", "/s/{session}/{path:.*}", self._serve)
        self._runner = web.AppRunner(
            app, access_log=None, logger=_SILENT, handler_cancellation=True, shutdown_timeout=1
        )
        await self._runner.setup()
        if socket is not None:
            await web.UnixSite(self._runner, socket).start()
        timeout = aiohttp.ClientTimeout(total=None, connect=_CONNECT)
        for family, upstream in self.upstreams.items():
            # A server on this machine is asked directly, whatever proxies there are.
            direct = urlsplit(upstream.url).hostname in _THIS_MACHINE
            self._clients[family] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0),  # each attempt is held to a few
                timeout=timeout,
                trust_env=not direct,
                auto_decompress=False,
            )

    async def open(
        self,
        *,
        faults: Sequence[WireFault] = (),
        idle: float = 0,
        refuse: Callable[[], Awaitable[str]] = _never,
        ended: Callable[[Exchange], None] = lambda _: None,
        keep: bool = True,
        tape: CassetteRecorder | CassettePlayer | None = None,
    ) -> WireSession:
        """Open the wire of an attempt.

        `idle` are seconds of silence after which an answer is cut; 0: none. `refuse` is asked before each request, and may
        let it wait: a text ends the turn of the agent with it. `ended` gets each exchange at its end, and the session has it then,
        unless `keep` is false. `tape` records them, or answers in the place of the model.
        """
        name = secrets.token_hex(8)
        assert self._runner is not None  # noqa: S101  # it was started
        assert self._runner.server is not None  # noqa: S101  # the same
        door = _Door(self._runner.server, MOST_CONNECTIONS if keep else _BACKLOG)
        server = await asyncio.get_running_loop().create_server(door, "127.0.0.1", 0, backlog=_BACKLOG)
        port = server.sockets[0].getsockname()[1]
        address = WireAddress(root=f"http://127.0.0.1:{port}/s/{name}", token=f"waza-{secrets.token_hex(24)}")

        def close() -> None:
            self._sessions.pop(name, None)
            server.close()
            door.close()

        session = WireSession(address, faults, idle, refuse, ended, close, keep=keep, tape=tape)
        self._sessions[name] = session
        door.turned_away = lambda: session.stray(f"more than {door.most} connections at once")
        return session

    async def aclose(self) -> None:
        """Close all wires, and stop listening. ExecutorError: a cassette could not be written."""
        async with contextlib.AsyncExitStack() as stack:
            if self._runner is not None:
                stack.push_async_callback(self._runner.cleanup)
            for client in self._clients.values():
                stack.push_async_callback(client.close)
            for session in list(self._sessions.values()):
                stack.push_async_callback(session.aclose)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        session = self._sessions.get(request.match_info["session"])
        if session is None or not _shows(request, session.address.token):
            return _error(401, "this address is not open to this key")
        route = find_route(request.method, request.match_info["path"], request.headers)
        upstream = self.upstreams.get(route.family) if route else None
        player = session.tape if isinstance(session.tape, CassettePlayer) else None
        if route is not None and route.api is None and player is not None:
            return web.json_response(
                {"object": "list", "data": []}
            )  # the models, which no agent needs for a turn
        if route is None or (upstream is None and player is None):
            asked = f"{request.method} {request.match_info['path']}"
            session.stray(asked)
            why = (
                f"{route.family} is not configured" if route else "it is none that an agent needs for a model"
            )
            return _error(404, f"waza does not pass {asked} on: {why}")
        if excess := session.excess:
            session.stray(excess)
            return _error(_DIFFERS, f"waza does not pass this on: {excess}", {"x-should-retry": "false"})
        with session.working():
            try:
                body = await request.read()
            except web.HTTPRequestEntityTooLarge:
                session.stray(f"a request of more than {MOST_REQUEST:,} bytes")
                raise
            if route.api is not None and player is not None:
                return await self._play(session, request, route.api, player, body)
            assert upstream is not None  # noqa: S101  # only players do without
            if route.api is None:
                return await self._pass(request, route, upstream, body)
            return await self._exchange(session, request, route, route.api, upstream, body)

    async def _pass(
        self, request: web.Request, route: Route, upstream: Upstream, body: bytes
    ) -> web.StreamResponse:
        """Pass on a request that asks no model, such as for the list of models."""
        try:
            async with self._ask(request, route, upstream, body) as answer:
                content = await answer.content.read(MOST_ANSWER)
                return web.Response(status=answer.status, headers=_passed(answer.headers), body=content)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return _error(502, _unreachable(error))

    def _ask(self, request: web.Request, route: Route, upstream: Upstream, body: bytes) -> Any:
        headers = {**_passed(request.headers), "Accept-Encoding": "identity", **upstream.headers}
        query = f"?{request.query_string}" if request.query_string else ""
        return self._clients[route.family].request(
            request.method,
            f"{upstream.url.rstrip('/')}/{route.path}{query}",
            data=body or None,
            headers=headers,
            allow_redirects=False,
        )

    async def _exchange(
        self,
        session: WireSession,
        request: web.Request,
        route: Route,
        api: WireApi,
        upstream: Upstream,
        body: bytes,
    ) -> web.StreamResponse:
        asked = mapping(parse(body))
        end = _Ending(session, request, api, asked)
        exchange = end.exchange
        if refused := await self._refused(session, api, asked, end):
            return refused
        fault = session.fault(exchange.number)
        if fault is not None and fault.status is not None:
            wait = {} if fault.retry_after is None else {"Retry-After": str(fault.retry_after)}
            end("fault", fault.status, note=f"injected: status {fault.status}", headers=wait)
            return _error(fault.status, "injected by waza", wait)
        answer = _Answer(session.idle, None if fault is None else fault.truncate)
        try:
            if fault is not None and fault.stall is not None:
                await asyncio.sleep(fault.stall)
            async with self._ask(request, route, upstream, body) as got:
                return await answer.relay(request, got)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            answer.ending, answer.note = "unreachable", _unreachable(error)
            return _error(502, answer.note)
        except asyncio.CancelledError:
            answer.ending = "gone"
            raise
        finally:
            note = answer.note
            if fault is not None and fault.stall is not None:
                note = f"injected: silence of {fault.stall} s"
            end(answer.ending, answer.status, bytes(answer.content), note, answer.headers)

    @staticmethod
    async def _refused(
        session: WireSession, api: WireApi, asked: Mapping[str, Any], end: _Ending
    ) -> web.Response | None:
        """Return the answer that ends the turn of an agent which a limit stops."""
        try:
            reason = await session.refuse()
        except asyncio.CancelledError:
            end("gone", 0)
            raise
        if not reason:
            return None
        kind, content = api.write(f"[{reason}]", asked)
        end("refused", 200, note=reason)
        return web.Response(body=content, headers={"Content-Type": kind})

    async def _play(
        self, session: WireSession, request: web.Request, api: WireApi, player: CassettePlayer, body: bytes
    ) -> web.StreamResponse:
        """Answer from a cassette. An answer that ended early does so again, without the wait for it."""
        asked = mapping(parse(body))
        end = _Ending(session, request, api, asked)
        if refused := await self._refused(session, api, asked, end):
            return refused
        found = player.find(api.name, asked, end.exchange.number)
        if found is None:
            end("differs", _DIFFERS, note=player.differs)
            return _error(_DIFFERS, player.differs, {"x-should-retry": "false"})
        end(found.ending, found.status, found.body, found.note)
        if not found.body:
            return _error(found.status or 502, found.note, found.headers)
        response = web.StreamResponse(status=found.status, headers=found.headers)
        await response.prepare(request)
        await response.write(found.body)
        if found.ending == "whole" or (end.reply is not None and end.reply.stop):
            await response.write_eof()
        elif request.transport is not None:
            request.transport.close()
        return response


class _Door:
    """Makes the protocols of the connections of one attempt, and turns away those that are too many."""

    def __init__(self, server: web.Server, most: int) -> None:
        self._server, self.most = server, most
        self.transports: set[asyncio.BaseTransport] = set()
        self.turned_away: Callable[[], None] = lambda: None

    def __call__(self) -> asyncio.Protocol:
        return _Connection(self, self._server())

    def close(self) -> None:
        """End all connections, once what was written is sent."""
        for transport in list(self.transports):
            transport.close()


class _Connection(asyncio.Protocol):
    """A connection of an attempt, served by aiohttp unless there are too many."""

    def __init__(self, door: _Door, inner: asyncio.Protocol) -> None:
        self._door, self._inner = door, inner
        self._transport: asyncio.BaseTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if len(self._door.transports) >= self._door.most:
            self._door.turned_away()
            transport.close()
            return
        self._transport = transport
        self._door.transports.add(transport)
        self._inner.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._transport is not None:
            self._door.transports.discard(self._transport)
            self._inner.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._transport is not None:
            self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received() if self._transport is not None else False

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()


class _Ending:
    """The end of an exchange, which begins here."""

    def __init__(
        self, session: WireSession, request: web.Request, api: WireApi, asked: Mapping[str, Any]
    ) -> None:
        self._session, self._request, self._api, self._asked = session, request, api, asked
        self._started = time.monotonic()
        self.exchange = session.begin(api, asked)
        self.reply: ModelReply | None = None

    def __call__(
        self,
        ending: Ending,
        status: int,
        content: bytes = b"",
        note: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Keep the exchange with how it ended."""
        self.reply = read_answer(self._api, content) if content else None
        exchange = msgspec.structs.replace(
            self.exchange,
            status=status,
            ending=ending,
            reply=self.reply,
            note=note,
            duration_ms=round((time.monotonic() - self._started) * 1000, 1),
        )
        self._session.end(exchange)
        if isinstance(self._session.tape, CassetteRecorder):
            known = {name.lower(): value for name, value in (headers or {}).items()}
            agent = self._request.headers.get("user-agent", "")
            size = self._request.content_length or 0
            self._session.tape.add(self._api, exchange, self._asked, content, known, agent, size)


class _Answer:
    """An answer on its way to the agent."""

    def __init__(self, idle: float, truncate: int | None) -> None:
        self._idle, self._truncate = idle or None, truncate
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.ending: Ending = "whole"
        self.note = ""
        self.content = bytearray()

    async def relay(self, request: web.Request, got: aiohttp.ClientResponse) -> web.StreamResponse:
        """Send on what arrives, as it arrives. Where the answer is cut, the connection to the agent ends without its end."""
        self.status, self.headers = got.status, got.headers
        response = web.StreamResponse(status=got.status, headers=_passed(got.headers))
        await response.prepare(request)
        try:
            await self._send(response, got)
        except ConnectionError:
            if request.transport is not None:
                request.transport.close()  # what was written is sent before
        return response

    async def _send(self, response: web.StreamResponse, got: aiohttp.ClientResponse) -> None:
        """Send what arrives. Raises ConnectionError where that ends in the middle."""
        chunks = got.content.iter_any()
        while chunk := await self._next(chunks):
            if self._truncate is not None and len(self.content) + len(chunk) >= self._truncate:
                chunk = chunk[: self._truncate - len(self.content)]
                self.content += chunk
                await response.write(chunk)
                self._cut("fault", f"injected: cut after {self._truncate} bytes")
            self.content += chunk
            if len(self.content) > MOST_ANSWER:
                self._cut("too long", f"the answer is longer than {MOST_ANSWER:,} bytes")
            try:
                await response.write(chunk)
            except ConnectionError:
                self.ending = "gone"
                raise
        await response.write_eof()

    async def _next(self, chunks: Any) -> bytes:
        try:
            async with asyncio.timeout(self._idle):
                chunk: bytes = await anext(chunks, b"")
                return chunk
        except TimeoutError:
            self.ending, self.note = "silent", f"the model was silent for {self._idle:g} s"
            raise ConnectionResetError(self.note) from None
        except aiohttp.ClientError as error:
            self.ending, self.note = "cut", f"the server ended the connection: {error}"
            raise ConnectionResetError(self.note) from error

    def _cut(self, ending: Ending, note: str) -> None:
        self.ending, self.note = ending, note
        raise ConnectionResetError(note)


def _shows(request: web.Request, token: str) -> bool:
    """Return whether a request shows the token of its address, in whichever way its interface has for keys."""
    headers = request.headers
    given = (
        headers.get("x-api-key")
        or headers.get("api-key")
        or headers.get("authorization", "").removeprefix("Bearer ")
    )
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def _passed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _OWN}


def _error(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    """Return an error in the form that the interfaces share."""
    body = {"type": "error", "error": {"type": "api_error", "message": message}}
    return web.json_response(body, status=status, headers=headers)


def _unreachable(error: BaseException) -> str:
    reason = str(error) or type(error).__name__
    return f"the model server cannot be reached: {reason}"
