"""The spans of a run that are open, as a tree, and those that are made of what is over."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from waza.telemetry.payloads import Attributes

Path = tuple[str | int, ...]
"""Where a span is in the tree. That of its parent is a beginning of it; the whole run is `()`."""

_PROPAGATOR = TraceContextTextMapPropagator()


class SpanFault(NamedTuple):
    """What something broke with: its `error.type`, which is one of few words, and why, without secrets."""

    type: str
    reason: str = ""


def ci_context(environ: Mapping[str, str]) -> Context:
    """Return the context that `TRACEPARENT` and `TRACESTATE` describe, in which a job's trace goes on; else an empty one."""
    carrier = {name.lower(): environ.get(name, "") for name in ("TRACEPARENT", "TRACESTATE")}
    return _PROPAGATOR.extract({name: value for name, value in carrier.items() if value}, Context())


class SpanTree:
    """Open spans by their paths.

    Times are nanoseconds since the epoch that never go back, whatever happens to the system's clock. A span lies within
    the one above it. One that is still open when the one above it ends was cut off: it ends as well, as an error.
    """

    def __init__(self, tracer: Tracer, parent: Context) -> None:
        self._tracer, self._parent = tracer, parent
        self._offset = time.time_ns() - time.monotonic_ns()
        self._open: dict[Path, tuple[Span, int]] = {}

    def now(self) -> int:
        """Return the present time."""
        return time.monotonic_ns() + self._offset

    def __contains__(self, path: object) -> bool:
        return path in self._open

    def __iter__(self) -> Iterator[Path]:
        return iter(self._open)

    def span(self, path: Path) -> Span | None:
        """Return the open span at a path, or None."""
        found = self._open.get(path)
        return found[0] if found else None

    def started(self, path: Path) -> int:
        """Return when the open span at a path started."""
        return self._open[path][1]

    def closest(self, path: Path) -> Path | None:
        """Return the longest path that is open and a beginning of this one, or this one itself."""
        places = (path[:length] for length in range(len(path), -1, -1))
        return next((place for place in places if place in self._open), None)

    def begin(
        self,
        path: Path,
        name: str,
        attributes: Attributes,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
        at: int | None = None,
        link: Span | None = None,
    ) -> Span:
        """Start a span below the closest one that is open."""
        above = self.closest(path[:-1]) if path else None
        context = self._parent if above is None else set_span_in_context(self._open[above][0], self._parent)
        start = self.now() if at is None else at
        links = [Link(link.get_span_context())] if link is not None else []
        span = self._tracer.start_span(
            name, context, kind=kind, attributes=attributes, links=links, start_time=start
        )
        self._open[path] = (span, start)
        return span

    def end(
        self,
        path: Path,
        attributes: Attributes | None = None,
        fault: SpanFault | None = None,
        *,
        at: int | None = None,
    ) -> float:
        """End a span, if it is open, and whatever is open below it; return how many seconds it took."""
        if path not in self._open:
            return 0.0
        now = self.now() if at is None else at
        below = [key for key in self._open if len(key) > len(path) and key[: len(path)] == path]
        for key in sorted(below, key=len, reverse=True):
            self._finish(key, {}, SpanFault("cut_off", fault.reason if fault else "it did not end"), now)
        return self._finish(path, attributes or {}, fault, now)

    def add(
        self,
        path: Path,
        name: str,
        attributes: Attributes,
        fault: SpanFault | None = None,
        *,
        start: int,
        end: int,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> None:
        """Make a span of something that is over."""
        above = self.closest(path[:-1])
        earliest = start if above is None else max(start, self.started(above))
        self.begin(path, name, attributes, kind=kind, at=min(earliest, end))
        self._finish(path, {}, fault, end)

    def environment(self, path: Path) -> Mapping[str, str]:
        """Return `TRACEPARENT` and `TRACESTATE` for processes that belong to an open span."""
        if path not in self._open:
            return {}
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier, set_span_in_context(self._open[path][0]))
        if "traceparent" not in carrier:
            return {}  # the SDK is switched off
        state = carrier.get("tracestate", "")
        # The state of another trace must not go with ours.
        more = {"TRACESTATE": state} if state or "TRACESTATE" in os.environ else {}
        return {"TRACEPARENT": carrier["traceparent"], **more}

    def _finish(self, path: Path, attributes: Attributes, fault: SpanFault | None, at: int) -> float:
        span, started = self._open.pop(path)
        end = max(started, at)
        span.set_attributes(attributes)
        if fault is not None:
            span.set_attribute("error.type", fault.type)
            span.set_status(Status(StatusCode.ERROR, fault.reason))
        span.end(end)
        return (end - started) / 1e9
