"""Options of telemetry: what goes together, and where it leads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from waza.cli.telemetry import TelemetryArguments, open_telemetry
from waza.errors import UsageError
from waza.telemetry.settings import TelemetrySettings, read_settings

NOTHING: dict[str, Any] = {
    "exporter": "",
    "endpoint": "",
    "headers": "",
    "file": None,
    "payloads": False,
    "compat": False,
}


def read(**given: Any) -> TelemetrySettings:
    settings = read_settings(**{**NOTHING, "exporter": "otlp", **given})
    assert settings is not None
    return settings


@pytest.mark.parametrize(
    ("endpoint", "traces", "metrics"),
    [
        ("", None, None),
        ("collector:4318", "http://collector:4318/v1/traces", "http://collector:4318/v1/metrics"),
        ("https://c/otlp/", "https://c/otlp/v1/traces", "https://c/otlp/v1/metrics"),
        ("http://c:1/v1/traces", "http://c:1/v1/traces", "http://c:1/v1/metrics"),
        ("http://c:1/a/v1/traces/", "http://c:1/a/v1/traces", "http://c:1/a/v1/metrics"),
        ("[::1]:4318", "http://[::1]:4318/v1/traces", "http://[::1]:4318/v1/metrics"),
    ],
)
def test_addresses_of_both_signals(endpoint: str, traces: str | None, metrics: str | None) -> None:
    settings = read(endpoint=endpoint)
    assert (settings.traces_url, settings.metrics_url) == (traces, metrics)


def test_headers_are_read_and_not_shown() -> None:
    settings = read(headers="X-Key=a=b, x-other=c")
    assert settings.headers == {"x-key": "a=b", "x-other": "c"}
    assert "a=b" not in repr(settings)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"exporter": "", "endpoint": "c"}, "--otel-endpoint has no effect without --otel-exporter"),
        ({"exporter": "", "compat": True}, "--otel-compat has no effect"),
        ({"exporter": "file"}, "give --otel-file FILE"),
        ({"exporter": "otlp", "file": Path("f")}, "--otel-file is for --otel-exporter file"),
        ({"exporter": "stdout", "headers": "a=b"}, "--otel-headers is for --otel-exporter otlp"),
        ({"exporter": "file", "file": Path("f"), "endpoint": "c"}, "--otel-endpoint is for"),
        ({"endpoint": "ftp://c"}, "use one like http://127.0.0.1:4318"),
        ({"endpoint": "http://"}, "is not the address of a collector"),
        ({"endpoint": "c:99999"}, "is not the address of a collector"),
        ({"endpoint": "http://c/?key=k"}, "is not the address of a collector"),
        ({"endpoint": "c d"}, "is not the address of a collector"),
        ({"headers": "a"}, "part 1 is not a header; use name=value"),
        ({"headers": "a=b,=c"}, "part 2 is not a header"),
        ({"headers": "a=b\nc"}, "part 1 is not a header"),
        ({"headers": "a=b,A=c"}, "duplicate header A"),
    ],
)
def test_what_cannot_be_used_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("(", r"\(")):
        read_settings(**{**NOTHING, "exporter": "otlp", **given})


def test_without_an_exporter_there_is_no_telemetry() -> None:
    assert read_settings(**NOTHING) is None
    with open_telemetry(TelemetryArguments()) as tracing:
        assert tracing is None


def test_without_opentelemetry_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(sys.modules):
        if name.startswith(("opentelemetry", "waza.telemetry.")) and name != "waza.telemetry.settings":
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with (
        pytest.raises(UsageError, match=r"pip install 'waza\[otel\]'"),
        open_telemetry(TelemetryArguments(otel_exporter="stdout")),
    ):
        pass
