"""What every client of HTTP keeps to: bodies of a bounded size, and servers that were named. Needs httpx."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx

from waza.kit import process

MOST = process.MAX_OUTPUT  # bytes of a body, as of what a program writes
PLAIN = {"Accept-Encoding": "identity"}
"""Headers for every request: a compressed body could be of any size, so that none is accepted."""

_THIS_MACHINE = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}  # noqa: S104  # agents name themselves so
_PORTS = {"http": 80, "https": 443}


class Refused(httpx.RequestError):
    """A request or its response is not gone on with; the message says why."""


def origin(url: httpx.URL) -> tuple[str, str, int | None]:
    """Return what tells servers apart: scheme, host and port. The names of this machine are one host."""
    host = "localhost" if url.host in _THIS_MACHINE else url.host
    return url.scheme, host, url.port or _PORTS.get(url.scheme)


def bound(response: httpx.Response) -> None:
    """Let reading a body raise Refused at `MOST` bytes. A hook for responses, before they are read."""
    if response.headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise Refused(f"{_place(response)} compressed its answer, which was not asked for")
    response.stream = _Bounded(response)


async def bound_async(response: httpx.Response) -> None:
    """Do what `bound` does, as a hook of asynchronous clients."""
    bound(response)


class _Bounded(httpx.AsyncByteStream, httpx.SyncByteStream):
    """A body that is given up when it gets too large."""

    def __init__(self, response: httpx.Response) -> None:
        self._stream, self._place = response.stream, _place(response)
        self._size = 0

    def _counted(self, part: bytes) -> bytes:
        self._size += len(part)
        if self._size > MOST:
            raise Refused(f"{self._place} answered with more than {MOST:,} bytes")
        return part

    def __iter__(self) -> Iterator[bytes]:
        if isinstance(self._stream, httpx.SyncByteStream):
            for part in self._stream:
                yield self._counted(part)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if isinstance(self._stream, httpx.AsyncByteStream):
            async for part in self._stream:
                yield self._counted(part)

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
    return address(response.request.url)


def address(url: httpx.URL) -> str:
    """Return an address for a message: without user, password, query and fragment."""
    return f"{url.scheme}://{url.netloc.decode()}{url.path}"
