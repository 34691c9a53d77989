"""The listeners of a run: progress on stderr, the session log, and when tasks started."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from datetime import datetime
from pathlib import Path

from waza.cli.std_streams import is_debug, silence
from waza.cli.streams import print_notice
from waza.kit.redact import Redactor
from waza.model.attempt_event import AttemptEvent
from waza.model.event import RunEvent, TaskStarted
from waza.report.progress import Progress
from waza.report.session_log import SessionLog
from waza.report.terminal import has_colour, is_live
from waza.report.transcripts import write_transcript
from waza.results.outcome import Outcome


class Listeners:
    """All listeners of one run. Trouble with one of them does not stop the run.

    Those of a run that is `held` keep what they show until `show` is called: it is another run's turn.
    """

    def __init__(
        self,
        listeners: list[Progress | SessionLog],
        redactor: Redactor,
        *,
        held: bool = False,
        transcripts: bool = False,
    ) -> None:
        self._listeners, self._redactor = listeners, redactor
        self._held: list[RunEvent] | None = [] if held else None
        self._started: dict[str, float] = {}  # seconds since the epoch, for transcripts
        self._transcripts = transcripts

    @classmethod
    def of(
        cls,
        redactor: Redactor,
        *,
        verbose: bool,
        keep_workspace: bool,
        session_dir: Path | None,
        transcripts: bool = False,
    ) -> Listeners:
        """Return the listeners that a command asks for, held; `transcripts` are to be written at the end."""
        progress = Progress(
            sys.stderr,
            verbose=verbose,
            debug=is_debug(),
            keep_workspace=keep_workspace,
            live=is_live(sys.stderr, os.environ),
            colour=has_colour(sys.stderr, os.environ),
            redact=redactor.value,
        )
        listeners: list[Progress | SessionLog] = [progress]
        if session_dir is not None:
            listeners.append(SessionLog(session_dir, redactor.full_value))
        return cls(listeners, redactor, held=True, transcripts=transcripts)

    def emit(self, event: RunEvent) -> None:
        """Pass an event to every listener."""
        if self._transcripts and isinstance(event, TaskStarted):
            self._started.setdefault(event.task_id, time.time())
        if isinstance(event, AttemptEvent):  # progress has no use for it
            self._pass_on(event, SessionLog)
        elif self._held is None:
            self._pass_on(event, Progress, SessionLog)
        else:
            self._held.append(event)
            self._pass_on(event, SessionLog)

    def show(self) -> None:
        """Show what was held, and from now on everything at once."""
        held, self._held = self._held or [], None
        for event in held:
            self._pass_on(event, Progress)

    def _pass_on(self, event: RunEvent, *kinds: type[Progress | SessionLog]) -> None:
        for listener in tuple(self._listeners):
            if not isinstance(listener, kinds):
                continue
            try:
                listener.handle(event)
            except OSError:  # nobody reads the progress any more
                self._listeners.remove(listener)
                silence(sys.stderr)

    def write_transcripts(self, directory: Path, outcome: Outcome) -> None:
        """Write a transcript of each task; one that cannot be written is a warning."""
        for task in outcome.tasks():
            at = self._started.get(task.test_id)
            run = datetime.fromisoformat(outcome.head.timestamp)
            started = run if at is None else datetime.fromtimestamp(at).astimezone()
            try:
                write_transcript(directory, task, started, self._redactor.full_value)
            except OSError as error:
                print_notice(f"warning: no transcript of {task.display_name}: {error.strerror or error}")
                return

    def close(self) -> None:
        """Close all listeners."""
        for listener in self._listeners:
            with contextlib.suppress(OSError):  # as above
                listener.close()
            if isinstance(listener, SessionLog):
                print_notice(
                    f"warning: {listener.trouble}" if listener.trouble else f"Session log: {listener.path}"
                )
