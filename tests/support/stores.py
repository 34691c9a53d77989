"""Servers of stores on this machine: azurite over HTTP and HTTPS, and moto's S3; each with a fresh place for every test."""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import http.client
import ipaddress
import itertools
import json
import re
import socket
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

import httpx
from azure.core.credentials import AccessToken
from azure.storage.blob import BlobServiceClient

from tests.support.program import LIMIT

AZURITE = Path(__file__).parents[1] / "azurite" / "node_modules" / ".bin" / "azurite-blob"
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="  # of all emulators
_LISTENS = re.compile(r"successfully listens on (\S+)")


@dataclass(frozen=True)
class Azurite:
    """An emulator of Azure Blob Storage. `certificate` is that of its HTTPS."""

    address: str
    certificate: Path | None = None

    @property
    def connection(self) -> str:
        """The connection string of its account."""
        return self.connection_of(KEY)

    def connection_of(self, key: str) -> str:
        """A connection string with a key."""
        scheme = self.address.partition(":")[0]
        return f"DefaultEndpointsProtocol={scheme};AccountName={ACCOUNT};AccountKey={key};BlobEndpoint={self.address}/{ACCOUNT};"

    def make_container(self) -> str:
        """Make a container; return its name."""
        name = f"results-{uuid.uuid4().hex[:12]}"
        options: dict[str, Any] = {"connection_verify": str(self.certificate)} if self.certificate else {}
        with BlobServiceClient.from_connection_string(self.connection, **options) as service:
            service.create_container(name)
        return name


@contextmanager
def azurite(directory: Path, *, secure: bool = False) -> Iterator[Azurite]:
    """Run azurite on a free port; `secure`: over HTTPS, which takes tokens."""
    flags = [
        "--blobPort",
        "0",
        "--inMemoryPersistence",
        "--skipApiVersionCheck",
        "--disableTelemetry",
        "--silent",
    ]
    certificate = None
    if secure:
        certificate, key = make_certificate(directory)
        flags += ["--oauth", "basic", "--cert", str(certificate), "--key", str(key)]
    with _program([str(AZURITE), *flags], directory) as lines:
        yield Azurite(_address(lines, _LISTENS), certificate)


@contextmanager
def _program(command: list[str], directory: Path) -> Iterator[Iterator[str]]:
    """Run a server, and yield what it writes; it is ended with the block."""
    process = subprocess.Popen(
        command,
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        process.terminate()
        process.stdout.close()
        try:
            process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()


def _address(lines: Iterator[str], pattern: re.Pattern[str]) -> str:
    seen = []
    for line in lines:
        seen.append(line)
        if found := pattern.search(line):
            return found[1]
    raise AssertionError("".join(seen))


def make_certificate(directory: Path) -> tuple[Path, Path]:
    """Write a certificate of 127.0.0.1 that it signed itself, and its key; return their paths."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    paths = directory / "certificate.pem", directory / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return paths


def make_token() -> str:
    """A token that nobody signed, valid for an hour."""
    now = int(dt.datetime.now(dt.UTC).timestamp())
    claims = {
        "aud": "https://storage.azure.com",
        "iss": "https://sts.windows.net/00000000-0000-0000-0000-000000000000/",
        "iat": now - 60,
        "nbf": now - 60,
        "exp": now + 3600,
    }
    return f"{_segment({'alg': 'none', 'typ': 'JWT'})}.{_segment(claims)}.c2ln"


class Token:
    """A credential whose tokens nobody signed; azurite looks at what they say."""

    async def get_token(self, *scopes: str, **kwargs: Any) -> AccessToken:
        return AccessToken(make_token(), int(dt.datetime.now(dt.UTC).timestamp()) + 3600)

    async def close(self) -> None:
        pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *args: object) -> None:
        pass


def _segment(value: Mapping[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@contextmanager
def s3_server(directory: Path) -> Iterator[str]:
    """Run moto's S3 on a free port; yield its address."""
    code = (
        "from moto.moto_server.threaded_moto_server import ThreadedMotoServer; import time\n"
        "server = ThreadedMotoServer('127.0.0.1', 0, verbose=False); server.start()\n"
        "print('listens on http://%s:%s' % server.get_host_and_port(), flush=True); time.sleep(100000)\n"
    )
    with _program([sys.executable, "-c", code], directory) as lines:
        yield _address(lines, re.compile(r"listens on (\S+)"))


def make_bucket(address: str) -> str:
    """Make a bucket; return its name."""
    name = f"results-{uuid.uuid4().hex[:12]}"
    assert httpx.put(f"{address}/{name}", headers={"Authorization": _AUTHORIZATION}).status_code == 200
    return name


_AUTHORIZATION = (
    "AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=x"
)
S3_KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_EC2_METADATA_DISABLED": "true"}


class Relay:
    """A server in front of another one: it hands requests on, notes them, and misbehaves when a test wants it to."""

    def __init__(self, target: str) -> None:
        self.target, self.address = target, ""
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.fault: Fault | None = None
        self.freed = threading.Event()

    def hang(self, request: BaseHTTPRequestHandler, body: bytes) -> bool:
        """A fault: keep the other side waiting until the test is over."""
        self.freed.wait(LIMIT)
        return self.cut(request, body)

    def cut(self, request: BaseHTTPRequestHandler, body: bytes) -> bool:
        """A fault: end the connection without an answer."""
        request.close_connection = True
        with contextlib.suppress(OSError):
            request.connection.shutdown(socket.SHUT_RDWR)
        return True

    def hand_on(
        self, request: BaseHTTPRequestHandler, body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Ask the other server."""
        place = urlsplit(self.target)
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=LIMIT)
        try:
            connection.putrequest(request.command, request.path, skip_host=True, skip_accept_encoding=True)
            for name, value in request.headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()


Fault = Callable[[BaseHTTPRequestHandler, bytes], bool]
"""Gets a request and its body, and returns whether it dealt with it."""


def answer(
    request: BaseHTTPRequestHandler, status: int, headers: Iterable[tuple[str, str]], body: bytes
) -> None:
    """Send an answer."""
    request.send_response_only(status)
    for name, value in headers:
        if name.lower() not in ("transfer-encoding", "content-length", "connection"):
            request.send_header(name, value)
    length = [value for name, value in headers if name.lower() == "content-length"]
    request.send_header(
        "Content-Length", length[0] if request.command == "HEAD" and length else str(len(body))
    )
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(body)


def azure_error(request: BaseHTTPRequestHandler, status: int, code: str) -> bool:
    """Answer as Azure does with an error."""
    body = f"<?xml version='1.0' encoding='utf-8'?><Error><Code>{code}</Code><Message>m</Message></Error>".encode()
    answer(request, status, [("x-ms-error-code", code), ("Content-Type", "application/xml")], body)
    return True


@contextmanager
def _serving(handle: Callable[[BaseHTTPRequestHandler, bytes], None]) -> Iterator[str]:
    """Serve in threads, and yield the address; `handle` gets each request with its body."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except OSError:  # the other side is gone
                self.close_connection = True

        def do(self) -> None:
            handle(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))

        do_GET = do_PUT = do_HEAD = do  # noqa: N815  # the names are those of the base class

    class Listening(ThreadingHTTPServer):
        daemon_threads = True  # one may hang
        block_on_close = False

    with Listening(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}"
        finally:
            listening.shutdown()
            thread.join()


@contextmanager
def relay(target: str) -> Iterator[Relay]:
    """Serve in front of a server."""
    relaying = Relay(target)

    def handle(request: BaseHTTPRequestHandler, body: bytes) -> None:
        relaying.requests.append((request.command, request.path, dict(request.headers.items())))
        if relaying.fault is None or not relaying.fault(request, body):
            answer(request, *relaying.hand_on(request, body))

    with _serving(handle) as address:
        relaying.address = address
        try:
            yield relaying
        finally:
            relaying.freed.set()


class GoogleCloud:
    """The little of Google Cloud Storage that a store needs: its XML interface, with generations, in memory."""

    def __init__(self) -> None:
        self.address = ""
        self.buckets: dict[str, dict[str, tuple[int, bytes, list[tuple[str, str]]]]] = {}
        self._generations = itertools.count(1)

    def make_bucket(self) -> str:
        """Make a bucket; return its name."""
        name = f"results-{uuid.uuid4().hex[:12]}"
        self.buckets[name] = {}
        return name

    def handle(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        """Answer a request."""
        place = urlsplit(request.path)
        bucket, _, key = unquote(place.path).lstrip("/").partition("/")
        objects = self.buckets.get(bucket)
        if objects is None:
            answer(request, 404, [], b"<Error><Code>NoSuchBucket</Code></Error>")
        elif not key:
            answer(
                request, 200, [("Content-Type", "application/xml")], _listing(objects, parse_qs(place.query))
            )
        elif request.command == "PUT":
            wanted = request.headers.get("x-goog-if-generation-match")
            if wanted is not None and int(wanted) != objects.get(key, (0,))[0]:
                answer(request, 412, [], b"<Error><Code>PreconditionFailed</Code></Error>")
                return
            kept = [pair for pair in request.headers.items() if pair[0].lower().startswith("x-goog-meta-")]
            objects[key] = next(self._generations), body, kept
            answer(request, 200, _headers(objects[key]), b"")
        elif key in objects:
            answer(request, 200, _headers(objects[key]), objects[key][1])
        else:
            answer(request, 404, [], b"<Error><Code>NoSuchKey</Code></Error>")


def _headers(one: tuple[int, bytes, list[tuple[str, str]]]) -> list[tuple[str, str]]:
    generation, body, kept = one
    return [
        ("ETag", f'"{generation}"'), ("x-goog-generation", str(generation)), ("Content-Type", "application/json"),
        ("Last-Modified", format_datetime(dt.datetime.now(dt.UTC), usegmt=True)), ("Content-Length", str(len(body))), *kept,
    ]  # fmt: skip


def _listing(objects: Mapping[str, tuple[int, bytes, Any]], query: Mapping[str, list[str]]) -> bytes:
    prefix = query.get("prefix", [""])[0]
    items = "".join(
        f"<Contents><Key>{escape(key)}</Key><LastModified>{dt.datetime.now(dt.UTC):%Y-%m-%dT%H:%M:%S.000Z}</LastModified>"
        f'<ETag>"{generation}"</ETag><Size>{len(body)}</Size></Contents>'
        for key, (generation, body, _) in sorted(objects.items())
        if key.startswith(prefix)
    )
    return f"<ListBucketResult><IsTruncated>false</IsTruncated>{items}</ListBucketResult>".encode()


@contextmanager
def google_cloud() -> Iterator[GoogleCloud]:
    """Serve in a thread."""
    cloud = GoogleCloud()
    with _serving(cloud.handle) as address:
        cloud.address = address
        yield cloud


def google_key(address: str) -> str:
    """A key of a service account that asks nobody for tokens, for GOOGLE_SERVICE_ACCOUNT_KEY."""
    empty = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
    return json.dumps({"gcs_base_url": address, "disable_oauth": True, **empty})
