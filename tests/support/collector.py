"""An OTLP receiver on this machine: it decodes what is posted to it, and answers as a test says."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as ProtoSpan

TRACES, METRICS = "/v1/traces", "/v1/metrics"


@dataclass(frozen=True)
class Seen:
    """A span as it arrived; times are nanoseconds since the epoch."""

    name: str
    id: str
    parent: str
    trace: str
    start: int
    end: int
    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    links: list[str]
    error: str | None
    """The description of the status of an error; None: no error."""
    state: str = ""


@dataclass
class Collector:
    """What arrived. With `hanging` nothing is answered until the end; with another `status` nothing is taken."""

    port: int = 0
    status: int = 200
    hanging: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    """More headers of its answers."""
    answers: dict[str, bytes] = field(default_factory=dict)
    """What it answers with, by the paths of requests; else nothing."""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """The paths of requests, with their headers."""
    spans: list[Seen] = field(default_factory=list)
    points: dict[str, list[tuple[dict[str, Any], float]]] = field(default_factory=dict)
    """The latest points of each metric: attributes, and the sum or the value."""
    resources: list[dict[str, Any]] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """The base of its addresses."""
        return f"http://127.0.0.1:{self.port}"

    def named(self, name: str) -> list[Seen]:
        """The spans of a name, in the order in which they started."""
        return sorted((span for span in self.spans if span.name == name), key=lambda span: span.start)

    def parent(self, span: Seen) -> Seen:
        """The span above another."""
        (found,) = (one for one in self.spans if one.id == span.parent)
        return found

    def take(self, path: str, body: bytes) -> None:
        """Decode a request."""
        if path == TRACES:
            traces = ExportTraceServiceRequest.FromString(body)
            for resource in traces.resource_spans:
                self.resources.append(_plain(resource.resource.attributes))
                self.spans += [_seen(span) for scope in resource.scope_spans for span in scope.spans]
        elif path == METRICS:
            metrics = ExportMetricsServiceRequest.FromString(body)
            for one in metrics.resource_metrics:
                for metric in (metric for scope in one.scope_metrics for metric in scope.metrics):
                    data = metric.histogram if metric.HasField("histogram") else metric.sum
                    self.points[metric.name] = [
                        (
                            _plain(point.attributes),
                            point.sum if metric.HasField("histogram") else point.as_int or point.as_double,
                        )
                        for point in data.data_points
                    ]


@contextmanager
def collecting(**given: Any) -> Iterator[Collector]:
    """Start a receiver; it ends with the block."""
    collector = Collector(**given)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.requests.append(
                (self.path, {key.lower(): value for key, value in self.headers.items()})
            )
            if collector.hanging:
                collector.released.wait()
            if collector.status == 200:
                collector.take(self.path, body)
            answer = collector.answers.get(self.path, b"")
            self.send_response(collector.status)
            self.send_header("Content-Length", str(len(answer)))
            for name, value in collector.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *args: object) -> None:
            del args

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *args: object) -> None:  # the program may be gone
            del args

    with Server(("127.0.0.1", 0), Handler) as server:
        collector.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield collector
        finally:
            collector.released.set()
            server.shutdown()


def _seen(span: ProtoSpan) -> Seen:
    return Seen(
        name=span.name,
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        trace=span.trace_id.hex(),
        start=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        attributes=_plain(span.attributes),
        events=[(event.name, _plain(event.attributes)) for event in span.events],
        links=[link.span_id.hex() for link in span.links],
        error=span.status.message if span.status.code == 2 else None,
        state=span.trace_state,
    )


def _plain(attributes: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in attributes}
