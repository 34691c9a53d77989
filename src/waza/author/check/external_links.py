"""Asking whether the addresses that a skill links are there, without asking anything inside of a network.

A host is resolved once, and its connection goes to the address that was looked at, so that a name cannot lead to another
one in between. Redirects are followed in the same way. Nothing of a body is read.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import partial
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit

from waza.errors import WazaError
from waza.kit.os_errors import describe_os_error
from waza.version import __version__

if TYPE_CHECKING:
    from http.client import HTTPMessage

WORKERS = 5
LIMIT = 10.0  # seconds for an address, redirects included
MOST = 500  # addresses that one call asks for
_REDIRECTS = 10
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")  # addresses of IPv4 in those of IPv6 (RFC 6052)
_REDIRECTED = (301, 302, 303, 307, 308)  # such a status is left where a redirect cannot be followed
_DEAD = 400  # statuses from here on
_ASK_AGAIN = (403, 405)  # to HEAD, which some servers refuse
_HEADERS = {"User-Agent": f"waza-link-check/{__version__}", "Accept": "*/*"}

Allowed = Callable[[str], bool]
"""Whether an IP address may be asked."""


class _RefusedError(WazaError):
    """An address is not asked for; the message says why."""


def is_public(address: str) -> bool:
    """Return whether an IP address is one of the public network: not private, of this machine, link-local or reserved."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        within = ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF) if found in _NAT64 else None
        found = found.ipv4_mapped or found.sixtofour or within or found
    return found.is_global and not found.is_multicast


def check_addresses(
    addresses: Iterable[str],
    *,
    allowed: Allowed = is_public,
    limit: float = LIMIT,
    report: Callable[[int, int], None] = lambda _done, _all: None,
) -> dict[str, str]:
    """Return by address why it is dead; addresses that answer are left out.

    Each is asked for once. `report` gets how many are done, and how many there are. Of more than `MOST` addresses the
    rest is reported as not asked for.
    """
    unique = list(dict.fromkeys(addresses))
    dead = dict.fromkeys(unique[MOST:], f"was not asked for, since there are more than {MOST} addresses")
    asked = unique[:MOST]
    with ThreadPoolExecutor(WORKERS) as pool:
        futures = {pool.submit(_explain_dead, one, allowed, limit): one for one in asked}
        for done, future in enumerate(as_completed(futures), start=1):
            if reason := future.result():
                dead[futures[future]] = reason
            report(done, len(asked))
    return {one: dead[one] for one in unique if one in dead}


def _explain_dead(address: str, allowed: Allowed, limit: float) -> str:
    """Return why nothing is at an address, or an empty text."""
    try:
        status = _ask(address, "HEAD", allowed, limit)
    except _RefusedError as error:
        return str(error)
    except (OSError, http.client.HTTPException, ValueError):
        status = _ASK_AGAIN[0]
    if status in _ASK_AGAIN:
        try:
            status = _ask(address, "GET", allowed, limit)
        except _RefusedError as error:
            return str(error)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return _describe(error)
    if status in _REDIRECTED:
        return f"its redirects lead to no page (status {status})"
    return f"the server answers with status {status}" if status >= _DEAD else ""


def _describe(error: Exception) -> str:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return "there is no answer in time"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return f"the certificate is not valid: {reason.verify_message}"
    if isinstance(reason, socket.gaierror):
        return "there is no such host, or no network"
    if isinstance(reason, OSError):
        return f"there is no connection: {describe_os_error(reason)}"
    return f"there is no usable answer: {reason}"


def _ask(address: str, method: str, allowed: Allowed, limit: float) -> int:
    """Return the status of an address behind its redirects. Raises OSError, HTTPException, ValueError and _RefusedError."""
    watch = _Watch(limit)
    opener = _make_opener(allowed, watch)
    request = urllib.request.Request(address, headers=_HEADERS, method=method)  # noqa: S310  # links of files: http(s) only
    watch.start()
    try:
        with opener.open(request, timeout=limit) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        with suppress(OSError):
            error.close()
        return error.code
    except Exception as error:
        if watch.ended:
            raise TimeoutError from error
        raise
    finally:
        watch.stop()


def _make_opener(allowed: Allowed, watch: _Watch) -> urllib.request.OpenerDirector:
    """Return what opens addresses of http and https, and of nothing else: no files, no FTP."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        _Http(allowed, watch),
        _Https(allowed, watch),
        _Redirects(),
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


class _Watch:
    """Ends the connections of a request when its time is over, however slowly a server answers."""

    def __init__(self, limit: float) -> None:
        self._timer = threading.Timer(limit, self._end)
        self._timer.daemon = True
        self._sockets: list[socket.socket] = []
        self.ended = False

    def start(self) -> None:
        self._timer.start()

    def stop(self) -> None:
        self._timer.cancel()

    def add(self, connected: socket.socket) -> None:
        self._sockets.append(connected)

    def _end(self) -> None:
        self.ended = True
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


def _connect(
    address: tuple[str, int],
    timeout: float | None = None,
    source_address: tuple[str, int] | None = None,
    *,
    allowed: Allowed,
    watch: _Watch,
) -> socket.socket:
    """Connect to a host, all addresses of which may be asked. In place of `socket.create_connection`."""
    host, port = address
    found = [info[4][0] for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    if not found or not all(allowed(str(one)) for one in found):
        raise _RefusedError(f"{host} is in a private network or this machine itself, which is not asked")
    error: OSError = OSError(f"{host} has no address")
    for one in found:
        try:
            connected = socket.create_connection((str(one), port), timeout, source_address)
        except OSError as failed:
            error = failed
        else:
            watch.add(connected)
            return connected
    raise error


def _handler_of(
    kind: type[http.client.HTTPConnection], allowed: Allowed, watch: _Watch, request: urllib.request.Request
) -> Callable[..., http.client.HTTPConnection]:
    """Return what makes the connections of a request. A proxy is asked by its own address, in a private network or not."""

    def make(host: str, **options: Any) -> http.client.HTTPConnection:
        connection = kind(host, **options)
        through_proxy = request.has_proxy() or getattr(request, "_tunnel_host", None)
        may = (lambda _: True) if through_proxy else allowed
        connection._create_connection = partial(_connect, allowed=may, watch=watch)  # type: ignore[attr-defined]  # noqa: SLF001  # where http.client connects; it has no public seam
        return connection

    return make


def _refuse_private(request: urllib.request.Request, allowed: Allowed) -> None:
    """Refuse what a proxy is to be asked for where the name is known here to be of a private network."""
    host = urlsplit(request.full_url).hostname or ""
    with suppress(OSError):
        found = [str(info[4][0]) for info in socket.getaddrinfo(host, None)]
        if not all(map(allowed, found)):
            raise _RefusedError(f"{host} is in a private network or this machine itself, which is not asked")


class _Http(urllib.request.HTTPHandler):
    """Opens http addresses."""

    def __init__(self, allowed: Allowed, watch: _Watch) -> None:
        super().__init__()
        self._allowed, self._watch = allowed, watch

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Connect and send the request."""
        if req.has_proxy():
            _refuse_private(req, self._allowed)
        made = _handler_of(http.client.HTTPConnection, self._allowed, self._watch, req)
        return self.do_open(made, req)


class _Https(urllib.request.HTTPSHandler):
    """Opens https addresses."""

    def __init__(self, allowed: Allowed, watch: _Watch) -> None:
        super().__init__(context=ssl.create_default_context())
        self._allowed, self._watch = allowed, watch

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Connect and send the request."""
        if req.has_proxy() or getattr(req, "_tunnel_host", None):
            _refuse_private(req, self._allowed)
        made = _handler_of(http.client.HTTPSConnection, self._allowed, self._watch, req)
        return self.do_open(made, req, context=self._context)  # type: ignore[attr-defined]  # of the base class


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows redirects by the method that was used, to http and https only."""

    max_redirections = _REDIRECTS

    def redirect_request(  # as in the base class
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        following = super().redirect_request(req, fp, code, msg, headers, newurl)
        if following is not None:
            following.method = req.get_method()
        return following
