"""Listening on a port of this machine until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import uvicorn

from waza.dashboard.api import Api
from waza.dashboard.server import HOST, Application, Dashboard
from waza.dashboard.static_files import NOT_BUILT, read_static_files
from waza.errors import UsageError
from waza.kit.os_errors import describe_os_error

GRACE = 5
"""Seconds that requests have to end after the first signal; a second signal ends them at once."""
_BACKLOG = 128
_MOST_REQUESTS = 200  # at the same time; streams of events count as well
_LONGEST_HEAD = 65_536  # bytes of a request up to its headers


def serve(root: Path, port: int, on_start: Callable[[int], None], report: Callable[[str], None]) -> None:
    """Serve a directory on a port (0: any that is free) until SIGINT or SIGTERM.

    `on_start` gets the port once the server listens, `report` what goes wrong inside. Raises UsageError if the port
    cannot be had.
    """
    files = read_static_files()
    if not files:
        report(f"warning: {NOT_BUILT}")

    def make(port: int, closing: Callable[[], bool]) -> Application:
        api = Api(root, report)
        api.closing = closing
        # What there is gets read while the browser starts; a thread of its own, which keeps nothing from ending.
        threading.Thread(target=_warm_up, args=(api,), daemon=True).start()
        return Dashboard(api, files, port, report)

    listen(make, port, on_start)


def listen(
    make: Callable[[int, Callable[[], bool]], Application], port: int, on_start: Callable[[int], None]
) -> None:
    """Serve an application on a port of this machine (0: any that is free) until SIGINT or SIGTERM.

    `make` gets the port, and what tells whether the server is ending. Raises UsageError if the port cannot be had.
    """
    logging.getLogger("uvicorn").addHandler(logging.NullHandler())  # else it writes to stderr by itself
    with contextlib.closing(_bind(port)) as listener:
        port = int(listener.getsockname()[1])
        server: _Server
        server = _Server(
            uvicorn.Config(
                make(port, lambda: server.should_exit),
                http="h11",
                loop="asyncio",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                backlog=_BACKLOG,
                limit_concurrency=_MOST_REQUESTS,
                h11_max_incomplete_event_size=_LONGEST_HEAD,
                timeout_graceful_shutdown=GRACE,
            ),
            lambda: on_start(port),
        )
        asyncio.run(server.serve(sockets=[listener]))


def _warm_up(api: Api) -> None:
    with contextlib.suppress(Exception):  # the request that meets the same trouble reports it
        api.catalogue.runs()


def _bind(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows, where SO_REUSEADDR shares a port that is in use
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"port {port} of {HOST} cannot be used: {describe_os_error(error)}; end the program that uses it, or choose "
            f"another one: --port {port + 1 if port < _LAST else 0}, or --port 0 for any that is free"
        ) from error
    return listener


_LAST = 65_535


class _Server(uvicorn.Server):
    """A server that ends in order on a signal, instead of raising it again afterwards."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        self._on_start()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM while the server runs."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self.handle_exit) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End; at once if it is the second signal."""
        del sig, frame
        self.force_exit = self.should_exit
        self.should_exit = True
