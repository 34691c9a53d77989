"""What every client of HTTP keeps to: bodies of a bounded size, servers that were named, what failures mean. Needs httpx."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

from waza.kit import process

MAX_BODY = process.MAX_OUTPUT  # bytes of a body, as of what a program writes
UNCOMPRESSED = {"Accept-Encoding": "identity"}
"""Headers for every request: a compressed body could be of any size, so that none is accepted."""

DENIED = (401, 403)
TOO_MANY_REQUESTS = 429
_OF_THE_REQUEST = (400, 404, 413, 422)  # these blame what was asked
_BROKEN = 500
_YEAR = 365 * 86_400.0  # seconds

_THIS_MACHINE = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}  # noqa: S104  # agents name themselves so
_PORTS = {"http": 80, "https": 443}


class RefusedError(httpx.RequestError):
    """A request or its response is not gone on with; the message says why."""


def is_server_error(status: int) -> bool:
    """Tell whether a status says that the server itself is broken."""
    return status >= _BROKEN


def is_transient(status: int) -> bool:
    """Tell whether the same request may be answered later: the server is busy or broken."""
    return status == TOO_MANY_REQUESTS or is_server_error(status)


def is_outside(status: int | None) -> bool:
    """Tell whether a failure is the server's matter, and says nothing of who asked or of what was asked.

    So is one without a status, and one of credentials, which are ours.
    """
    return status not in _OF_THE_REQUEST


def parse_retry_after(response: httpx.Response) -> float | None:
    """Return how many seconds a server asks to wait (`Retry-After`: seconds or a date), None where it does not.

    It is 0 where the moment has passed, and a year for all that is longer or no number.
    """
    text = response.headers.get("Retry-After", "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, OverflowError):
            return None
        seconds = (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return _YEAR if math.isnan(seconds) else min(max(seconds, 0.0), _YEAR)


def origin(url: httpx.URL) -> tuple[str, str, int | None]:
    """Return what tells servers apart: scheme, host and port. The names of this machine are one host."""
    host = "localhost" if url.host in _THIS_MACHINE else url.host
    return url.scheme, host, url.port or _PORTS.get(url.scheme)


def limit_body(response: httpx.Response) -> None:
    """Let reading a body raise RefusedError at `MAX_BODY` bytes. A hook for responses, before they are read."""
    if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise RefusedError(f"{_place(response)} compressed its answer, which was not asked for")
    response.stream = _Bounded(response)


async def limit_body_async(response: httpx.Response) -> None:
    """Do what `limit_body` does, as a hook of asynchronous clients."""
    limit_body(response)


class _Bounded(httpx.AsyncByteStream, httpx.SyncByteStream):
    """A body that is given up when it gets too large."""

    def __init__(self, response: httpx.Response) -> None:
        self._stream, self._place = response.stream, _place(response)
        self._size = 0

    def _check_size(self, part: bytes) -> bytes:
        self._size += len(part)
        if self._size > MAX_BODY:
            raise RefusedError(f"{self._place} answered with more than {MAX_BODY:,} bytes")
        return part

    def __iter__(self) -> Iterator[bytes]:
        if isinstance(self._stream, httpx.SyncByteStream):
            for part in self._stream:
                yield self._check_size(part)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if isinstance(self._stream, httpx.AsyncByteStream):
            async for part in self._stream:
                yield self._check_size(part)

    def close(self) -> None:
        """Close the connection's side of it."""
        if isinstance(self._stream, httpx.SyncByteStream):
            self._stream.close()

    async def aclose(self) -> None:
        """Close the connection's side of it."""
        if isinstance(self._stream, httpx.AsyncByteStream):
            await self._stream.aclose()


def _place(response: httpx.Response) -> str:
    """Return what was asked, without what may be a secret."""
    return safe_url(response.request.url)


def safe_url(url: httpx.URL) -> str:
    """Return an address for a message: without user, password, query and fragment."""
    return f"{url.scheme}://{url.netloc.decode()}{url.path}"
