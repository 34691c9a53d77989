"""The protocols by which telemetry follows runs; the engine knows nothing else of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from waza.model.event import RunEvent


class RunTracer(Protocol):
    """Follows one run by its events, also those of attempts."""

    def handle(self, event: RunEvent) -> None:
        """Take an event of the run, at the moment it happens."""
        ...

    def environment(self, event: RunEvent) -> Mapping[str, str]:
        """Return the environment variables by which child processes continue the trace.

        They are of what the event, which was taken before, says has started: an attempt, a prompt of the trigger tests, a grader or a hook.
        """
        ...


class Tracing(Protocol):
    """Follows the runs of an invocation."""

    def run_tracer(self, redact: Callable[[Any], Any]) -> RunTracer:
        """Return the tracer of one more run; `redact` returns JSON data without secrets."""
        ...
