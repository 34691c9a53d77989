"""From spans and metrics to a collector, a file or standard error, in threads of their own."""

from __future__ import annotations

import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar
from urllib.parse import urlsplit

import requests
from google.protobuf.json_format import Parse, ParseError
from google.protobuf.message import DecodeError
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from waza.errors import RunError
from waza.kit.os_errors import describe_error, describe_os_error
from waza.telemetry.measures import Measures
from waza.telemetry.payloads import Payloads
from waza.telemetry.settings import TelemetrySettings
from waza.telemetry.span_tree import ci_context
from waza.telemetry.tracer import RunSpans
from waza.version import __version__

FLUSH_LIMIT = 10.0  # seconds in which everything must be sent when the run is over
_LONGEST_QUEUE = 65_536  # spans that wait to be sent; more are dropped, and counted
_UNSAMPLED = "OTEL_SDK_DISABLED is set, or the trace is not sampled: see TRACEPARENT and OTEL_TRACES_SAMPLER"
_CREDENTIAL_PROVIDER = "_CREDENTIAL_PROVIDER"  # the end of the variables that name a package with sessions
_SHOWN = 300  # characters of what went wrong


class Telemetry:
    """The telemetry of one invocation. `close` it at the end: it sends what was not sent yet."""

    def __init__(self, settings: TelemetrySettings, environ: Mapping[str, str] = os.environ) -> None:
        """Raise RunError where the file cannot be written."""
        self._settings, self._runs = settings, list[RunSpans]()
        self._parent = ci_context(environ)
        self._lines = None if settings.exporter == "otlp" else _Lines(settings.file)
        self._troubles = _Troubles()
        self._count = _Count()
        self._refused_spans, self._refused_points = _Refused("spans"), _Refused("data points")
        own = {} if environ.get("OTEL_SERVICE_NAME") else {"service.name": "waza"}
        resource = Resource.create({**own, "service.version": __version__})
        self._spans = _WatchedSpans(self._span_exporter())
        self._traces = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._traces.add_span_processor(self._count)
        queue = None if environ.get("OTEL_BSP_MAX_QUEUE_SIZE") else _LONGEST_QUEUE
        self._traces.add_span_processor(BatchSpanProcessor(self._spans, max_queue_size=queue))
        self._metric_exporter = self._make_metric_exporter()
        # In a file only the last state is of interest; a collector gets it from time to time.
        interval = None if self._lines is None else math.inf
        reader = PeriodicExportingMetricReader(self._metric_exporter, export_interval_millis=interval)
        self._metrics = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self._tracer = self._traces.get_tracer("waza", __version__)
        self._measures = Measures(self._metrics.get_meter("waza", __version__))

    def run_tracer(self, redact: Callable[[Any], Any]) -> RunSpans:
        """Return the tracer of one more run; `redact` returns JSON data without secrets."""
        settings = self._settings
        payloads = Payloads(redact, included=settings.payloads, compat=settings.compat)
        self._runs.append(
            RunSpans(self._tracer, self._measures, payloads, self._parent, compat=settings.compat)
        )
        return self._runs[-1]

    def close(self) -> list[str]:
        """End what is open, and send what was not sent within FLUSH_LIMIT; return warnings about what was lost."""
        for run in self._runs:
            run.close()
        # A collector that hangs on the one shall still get the other; in a file the metrics are the last line.
        apart = (self._traces.shutdown, self._metrics.shutdown)
        works = apart if self._lines is None else (self._close_lines,)
        workers = [threading.Thread(target=work, daemon=True) for work in works]
        deadline, impatient = time.monotonic() + FLUSH_LIMIT, False
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                worker.join(max(0.0, deadline - time.monotonic()))
        except KeyboardInterrupt:  # the run is over: only the waiting is given up, and the exit code stays
            impatient = True
        late = any(worker.is_alive() for worker in workers)
        if not late:  # else it may still log
            self._troubles.stop()
        if self._lines is not None:
            self._lines.close()
        return self._warnings(late=late, impatient=impatient)

    def _close_lines(self) -> None:
        self._traces.shutdown()
        self._metrics.force_flush()
        self._metrics.shutdown()

    def _warnings(self, *, late: bool, impatient: bool) -> list[str]:
        ended, sent = self._count.ended, self._spans.sent
        if self._runs and not ended:
            return [f"telemetry: no spans were sent: {_UNSAMPLED}"]
        metrics = self._metric_exporter.failed or (late and not self._metric_exporter.done)
        lost = [
            *([f"{ended - sent} of {ended} spans"] if sent < ended else []),
            *(["metrics"] if metrics else []),
        ]
        refused = self._refused_spans.warnings(ended) + self._refused_points.warnings()
        warnings = [f"telemetry: {self._target()} {warning}; the results are whole" for warning in refused]
        if not lost:
            return warnings
        reason = self._reason()
        if late:
            limit = f"it did not answer within {FLUSH_LIMIT:g} s"
            reason = "waiting for it was interrupted" if impatient else limit
        return [
            f"telemetry: {' and '.join(lost)} did not reach {self._target()}: {reason}; the results are whole",
            *warnings,
        ]

    def _reason(self) -> str:
        trouble = self._lines.trouble if self._lines is not None else ""
        return (trouble or self._troubles.latest or "more than could wait to be sent")[:_SHOWN]

    def _target(self) -> str:
        settings = self._settings
        if settings.exporter == "file":
            return str(settings.file)
        if settings.exporter == "stdout":
            return "standard error"
        parts = urlsplit(settings.traces_url or "")  # without credentials
        return f"the collector {parts.netloc.rpartition('@')[2]}" if parts.netloc else "the collector"

    def _span_exporter(self) -> SpanExporter:
        if self._lines is not None:
            return _SpanLines(self._lines)
        session = _make_session(self._refused_spans.note_spans)
        return OTLPSpanExporter(self._settings.traces_url, headers=self._headers(), session=session)

    def _make_metric_exporter(self) -> _WatchedMetrics:
        if self._lines is not None:
            return _WatchedMetrics(_MetricLines(self._lines))
        session = _make_session(self._refused_points.note_points)
        exporter = OTLPMetricExporter(self._settings.metrics_url, headers=self._headers(), session=session)
        return _WatchedMetrics(exporter)

    def _headers(self) -> dict[str, str] | None:
        """Return the headers that were given; None: those of the environment."""
        return dict(self._settings.headers) or None


def _make_session(note: Callable[[requests.Response], None]) -> requests.Session | None:
    """Return a session that takes no answer for success which is none; None: a package brings its own one.

    `note` takes the answers that are.
    """
    if any(name.endswith(_CREDENTIAL_PROVIDER) and value for name, value in os.environ.items()):
        return None
    session = requests.Session()
    session.hooks["response"].append(lambda answer, **_kwargs: _check_answer(answer, note))
    return session


def _check_answer(answer: requests.Response, note: Callable[[requests.Response], None]) -> None:
    """Raise for a redirect, which the SDK counts as success, and for a page, such as one to sign in at."""
    if 300 <= answer.status_code < 400:
        raise requests.RequestException(
            f"it answered {answer.status_code}, a redirect, which is not followed; give the address of the collector itself"
        )
    if answer.ok and answer.headers.get("Content-Type", "").lower().startswith("text/html"):
        raise requests.RequestException("it answered with a page of HTML, so it is no collector")
    if answer.ok:
        note(answer)


class _Refused:
    """What a collector refused of what arrived (`partial_success`), and what it says of it."""

    def __init__(self, what: str) -> None:
        self._what, self._number, self._message = what, 0, ""

    def note_spans(self, answer: requests.Response) -> None:
        """Take the answer to spans, each of which is sent once."""
        partial = _read(answer, ExportTraceServiceResponse()).partial_success
        self._number += partial.rejected_spans
        self._message = partial.error_message or self._message

    def note_points(self, answer: requests.Response) -> None:
        """Take the answer to metrics, whose state is sent again and again; the last one counts."""
        partial = _read(answer, ExportMetricsServiceResponse()).partial_success
        self._number, self._message = partial.rejected_data_points, partial.error_message

    def warnings(self, total: int | None = None) -> list[str]:
        """Return what to warn of; `total` is how many there were, if that is known."""
        if not (self._number or self._message):
            return []
        message = " ".join(self._message.split())[:_SHOWN]
        if not self._number:
            return [f"took all {self._what}, with a warning: {message}"]
        number = f"{self._number} of {total}" if total else str(self._number)
        return [f"refused {number} {self._what}: {message or 'it does not say why'}"]


M = TypeVar("M", ExportTraceServiceResponse, ExportMetricsServiceResponse)


def _read(answer: requests.Response, message: M) -> M:
    """Return the message that an answer holds; the empty one, which means success, of what is no such message."""
    try:
        if answer.headers.get("Content-Type", "").lower().startswith("application/json"):
            Parse(answer.content, message, ignore_unknown_fields=True)
        else:
            message.MergeFromString(answer.content)
    except (DecodeError, ParseError):
        message.Clear()
    return message


class _Count(SpanProcessor):
    """Counts the spans that ended and are to be sent."""

    def __init__(self) -> None:
        self.ended = 0

    def on_end(self, span: ReadableSpan) -> None:
        context = span.get_span_context()
        self.ended += bool(context and context.trace_flags.sampled)


class _WatchedSpans(SpanExporter):
    """Counts the spans that arrived."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.sent = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._exporter.export(spans)
        self.sent += len(spans) if result is SpanExportResult.SUCCESS else 0
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


class _WatchedMetrics(MetricExporter):
    """Notes whether the last state of all metrics arrived."""

    def __init__(self, exporter: MetricExporter) -> None:
        super().__init__(exporter._preferred_temporality, exporter._preferred_aggregation)  # noqa: SLF001 - the reader takes both from its exporter, and there is no public way
        self._exporter = exporter
        self.failed = self.done = False

    def export(
        self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        self.failed, result = True, self._exporter.export(metrics_data, timeout_millis, **kwargs)
        self.failed = result is not MetricExportResult.SUCCESS
        return result

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return self._exporter.force_flush(timeout_millis)

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        self.done = True
        self._exporter.shutdown(timeout_millis, **kwargs)


class _Lines:
    """Lines of JSON in a file, which is emptied first, or on standard error."""

    def __init__(self, path: Path | None) -> None:
        self.trouble = ""
        self._lock, self._own = threading.Lock(), path is not None
        try:
            self._stream: TextIO = (
                sys.stderr if path is None else path.open("w", encoding="utf-8", newline="")
            )
        except OSError as error:
            raise RunError(f"--otel-file {path} cannot be written: {describe_os_error(error)}") from error

    def write(self, lines: Sequence[str]) -> bool:
        """Write lines at once; return whether that worked."""
        with self._lock:
            if self.trouble:
                return False
            try:
                self._stream.write("".join(f"{line}\n" for line in lines))
                self._stream.flush()
            except (OSError, ValueError) as error:
                self.trouble = describe_error(error)
        return not self.trouble

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self.trouble = self.trouble or "it is closed"
            if self._own:
                try:
                    self._stream.close()
                except OSError as error:
                    self.trouble = describe_os_error(error)


class _SpanLines(SpanExporter):
    """Writes a line for each span."""

    def __init__(self, lines: _Lines) -> None:
        self._lines = lines

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        written = self._lines.write([span.to_json(indent=None) for span in spans])
        return SpanExportResult.SUCCESS if written else SpanExportResult.FAILURE


class _MetricLines(MetricExporter):
    """Writes one line for the state of all metrics."""

    def __init__(self, lines: _Lines) -> None:
        super().__init__()
        self._lines = lines

    def export(
        self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        del timeout_millis, kwargs
        written = self._lines.write([metrics_data.to_json(indent=None)])
        return MetricExportResult.SUCCESS if written else MetricExportResult.FAILURE

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        del timeout_millis
        return True

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        del timeout_millis, kwargs


class _Troubles(logging.Handler):
    """Takes what the SDK logs, so that it is not printed in the middle of a run; the latest is the reason of a warning."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.latest = ""
        self._logger = logging.getLogger("opentelemetry")
        self._propagated, self._logger.propagate = self._logger.propagate, False
        self._logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.latest = record.getMessage()

    def stop(self) -> None:
        """Let the SDK log as before."""
        self._logger.removeHandler(self)
        self._logger.propagate = self._propagated
