"""Servers of stores on this machine: azurite over HTTP and HTTPS, and moto's S3; each with a fresh place for every test."""

from __future__ import annotations

import base64
import datetime as dt
import ipaddress
import json
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

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


class Token:
    """A credential whose tokens nobody signed; azurite looks at what they say."""

    def __init__(self) -> None:
        self.asked = 0

    async def get_token(self, *scopes: str, **kwargs: Any) -> AccessToken:
        self.asked += 1
        now = int(dt.datetime.now(dt.UTC).timestamp())
        claims = {
            "aud": "https://storage.azure.com",
            "iss": "https://sts.windows.net/00000000-0000-0000-0000-000000000000/",
            "iat": now - 60,
            "nbf": now - 60,
            "exp": now + 3600,
        }
        return AccessToken(f"{_segment({'alg': 'none', 'typ': 'JWT'})}.{_segment(claims)}.c2ln", now + 3600)

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
