"""Telemetry of the commands `run`, `grade` and `m365 run`: started when it is asked for, sent when the command is over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from waza.cli.streams import print_notice
from waza.errors import UsageError

if TYPE_CHECKING:
    from waza.model.tracing import Tracing


class TelemetryArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of telemetry, named as in `waza.cli.options`."""

    otel_exporter: str | None = None
    otel_endpoint: str = ""
    otel_headers: str = ""
    otel_file: Path | None = None
    otel_include_payloads: bool = False
    otel_compat: bool = False


@contextmanager
def open_telemetry(arguments: TelemetryArguments) -> Iterator[Tracing | None]:
    """Yield what follows runs, None where no telemetry is asked for; at the end send what was not sent yet.

    Raises UsageError for options that cannot be used, and where OpenTelemetry is not installed. What cannot be sent is
    a warning.
    """
    arguments = of_telemetry(arguments)
    if arguments == TelemetryArguments():
        yield None
        return
    from waza.telemetry.settings import read_settings  # most runs do without it, and without what follows

    settings = read_settings(
        exporter=arguments.otel_exporter or "",
        endpoint=arguments.otel_endpoint,
        headers=arguments.otel_headers,
        file=arguments.otel_file,
        payloads=arguments.otel_include_payloads,
        compat=arguments.otel_compat,
    )
    if settings is None:  # unreachable: without an exporter the other options are refused
        yield None
        return
    try:
        from waza.telemetry.pipeline import Telemetry
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("waza"):
            raise
        raise UsageError(
            "--otel-exporter needs OpenTelemetry. Install it:\n  pip install 'waza[otel]'\nor leave the option out"
        ) from error
    telemetry = Telemetry(settings)
    try:
        yield telemetry
    finally:
        for warning in telemetry.close():
            print_notice(f"warning: {warning}")


def of_telemetry(arguments: TelemetryArguments) -> TelemetryArguments:
    """Return the options of telemetry alone, out of those of a command."""
    return TelemetryArguments(
        **{name: getattr(arguments, name) for name in TelemetryArguments.__struct_fields__}
    )
