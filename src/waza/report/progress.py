"""Progress on the console while a run goes on: whole lines, and on a terminal a bar below them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from waza.model.event import (
    RunEvent,
    SuiteFinished,
    SuiteStarted,
    TaskFinished,
    TrialFinished,
    TrialStarted,
)
from waza.report.bar import Bar
from waza.report.event_lines import BRIEF, Detailed, brief_lines, tracebacks
from waza.report.terminal import Console
from waza.report.words import make_printer


class Progress:
    """A listener that prints the progress of a run on `stream` (stderr).

    Without `verbose` it writes one line a finished task, and errors and warnings. `live` adds a bar; see
    `waza.report.terminal` for where that can be. `keep_workspace`: with `verbose`, say where each workspace
    is. `debug` shows the tracebacks of executors and graders that broke. `redact` takes a text and returns it with the secrets taken out. `lines` says something else of
    events. The lines of one event are written by one call, so those of parallel tasks do not mix.
    """

    def __init__(
        self,
        stream: Console,
        *,
        verbose: bool = False,
        debug: bool = False,
        live: bool = False,
        colour: bool = False,
        keep_workspace: bool = False,
        redact: Callable[[Any], Any] = lambda text: text,
        lines: Callable[[RunEvent], Iterable[str]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._bar = Bar(stream, clock) if live else None
        self._debug, self._redact = debug, redact
        self._trials, self._seen = 1, dict[str, int]()
        self._say = make_printer(self._bar or stream, colour=colour)
        self._redact = redact
        detailed = Detailed(redact, workspaces=keep_workspace).lines if verbose else None
        self._lines = lines or detailed or self._brief

    def handle(self, event: RunEvent) -> None:
        """Print an event, or do nothing."""
        if self._bar:
            self._move(self._bar, event)
        lines = list(self._lines(event))
        if self._debug:
            lines += tracebacks(event, self._redact)
        if lines:
            self._say(self._redact("\n".join(lines)))

    def _brief(self, event: RunEvent) -> Iterable[str]:
        return brief_lines(event, self._redact) if type(event) in BRIEF else ()

    def close(self) -> None:
        """Show what is still to be shown, and take the bar away."""
        if self._bar:
            self._bar.stop()

    def _move(self, bar: Bar, event: RunEvent) -> None:
        match event:
            case SuiteStarted():
                self._trials, self._seen = event.trials, {}
                bar.start(event.tasks * event.trials, event.resumed if event.arm == "main" else 0)
            case TrialStarted():
                bar.run(event.name)
            case TrialFinished():
                self._seen[event.task_id] = self._seen.get(event.task_id, 0) + 1
                bar.count(event.result.status, event.name)
            case TaskFinished():  # from the cache, stopped by a hook, or with fewer trials than it could have
                bar.pass_over(event.spared if event.task_id in self._seen else self._trials)
            case SuiteFinished():
                bar.stop()
