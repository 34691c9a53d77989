"""What telemetry a user asked for. This module imports nothing of OpenTelemetry, so that options can be checked without."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from waza.errors import UsageError

Exporter = Literal["otlp", "stdout", "file"]
_TRACES, _METRICS = "/v1/traces", "/v1/metrics"


class TelemetrySettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where telemetry goes, and what it holds. `repr` shows no header."""

    exporter: Exporter
    """`otlp`: OTLP over HTTP; `stdout`: JSON on standard error; `file`: JSON lines in `file`."""
    endpoint: str = ""
    """The address of the collector, as given; empty: that of the `OTEL_*` environment variables."""
    headers: Mapping[str, str] = {}
    """Headers of each request."""
    file: Path | None = None
    """The file, which is emptied first."""
    payloads: bool = False
    """Whether texts are included, redacted; else their digests and lengths are."""
    compat: bool = False
    """Whether the attributes of older conventions are included as well."""

    def __repr__(self) -> str:
        return f"TelemetrySettings({self.exporter}, {self.endpoint!r})"

    @property
    def traces_url(self) -> str | None:
        """The address for spans; None: the environment says."""
        return self._url(_TRACES)

    @property
    def metrics_url(self) -> str | None:
        """The address for metrics; None: the environment says."""
        return self._url(_METRICS)

    def _url(self, path: str) -> str | None:
        if not self.endpoint:
            return None
        base = self.endpoint if "://" in self.endpoint else f"http://{self.endpoint}"
        return base.rstrip("/").removesuffix(_TRACES) + path


def read_settings(
    *, exporter: str, endpoint: str, headers: str, file: Path | None, payloads: bool, compat: bool
) -> TelemetrySettings | None:
    """Return the settings that options of a command make; None: no telemetry is wanted.

    Raises UsageError for options that do not go together, and values that cannot be used.
    """
    if not exporter:
        given = {
            "--otel-endpoint": endpoint,
            "--otel-headers": headers,
            "--otel-file": file,
            "--otel-include-payloads": payloads,
            "--otel-compat": compat,
        }
        if lost := [flag for flag, value in given.items() if value]:
            raise UsageError(f"{lost[0]} has no effect without --otel-exporter; give both, or neither")
        return None
    if exporter == "file" and file is None:
        raise UsageError("--otel-exporter file needs a file; give --otel-file FILE, too")
    if exporter != "file" and file is not None:
        raise UsageError("--otel-file is for --otel-exporter file; leave one of them out")
    if exporter != "otlp" and (endpoint or headers):
        flag = "--otel-endpoint" if endpoint else "--otel-headers"
        raise UsageError(f"{flag} is for --otel-exporter otlp; leave it out")
    if endpoint:
        _check_endpoint(endpoint)
    return TelemetrySettings(
        exporter=exporter,  # type: ignore[arg-type]  # the option takes no other word
        endpoint=endpoint,
        headers=_read_headers(headers),
        file=file,
        payloads=payloads,
        compat=compat,
    )


def _check_endpoint(endpoint: str) -> None:
    """Raise UsageError for what is no address. It is not repeated, since it may hold credentials."""
    try:
        parts = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        fits = fits and not (parts.query or parts.fragment)  # a path is put behind it
    except ValueError:
        fits = False
    if not fits or any(char.isspace() for char in endpoint):
        raise UsageError(
            "--otel-endpoint is not the address of a collector; use one like http://127.0.0.1:4318 or collector:4318"
        )


def _read_headers(text: str) -> dict[str, str]:
    """Return headers of `name=value,name=value`. UsageError does not repeat them, since they hold keys."""
    headers: dict[str, str] = {}
    for number, part in enumerate(text.split(",") if text else (), 1):
        name, equals, value = (word.strip() for word in part.partition("="))
        fits = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
        if not (equals and fits and value.isprintable() and value.isascii()):
            raise UsageError(
                f"--otel-headers: part {number} is not a header; use name=value, separated by commas"
            )
        if name.lower() in headers:
            raise UsageError(f"--otel-headers: duplicate header {name}")
        headers[name.lower()] = value
    return headers
