"""What the commands `run`, `grade` and `m365 run` do alike: print, write files, take signals, say how to resume."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from waza.cli.open_project import open_project
from waza.cli.outputs import JSON, CommandResults, SkillOutcome, json_documents, make_report
from waza.cli.resume_hint import ResumeHint
from waza.cli.streams import Output, print_notice
from waza.engine.cancellation import Cancellation
from waza.engine.run import FinishedRun
from waza.errors import WazaError

Writer = Callable[[], Sequence[Path]]
"""Writes files, and returns their paths."""


class CommandRun:
    """One call of a command in the project of the current directory, whose warnings are printed."""

    def __init__(self) -> None:
        self.project = open_project()
        self.out = Output()
        self.cancellation = Cancellation()
        self.resume_hint = ResumeHint()
        self._errors: list[Exception] = []

    def write(
        self,
        writers: Iterable[Writer],
        print_line: Callable[[str], None] = print_notice,
        label: str = "Written",
    ) -> None:
        """Write files, and print a line for each. What cannot be written keeps no other file from it: see `finish`."""
        for write in writers:
            try:
                for path in write():
                    print_line(f"{label}: {path}")
            except (WazaError, OSError) as error:
                self._errors.append(error)

    def print_report(self, name: str, results: CommandResults) -> list[Path]:
        """Print what a reporter without a path makes; there is no file."""
        if name == JSON:
            self.out.json(json_documents(results))
        else:
            self.out.document(make_report(name, results.invocation))
        return []

    def finish(self, *, complete: bool, hint: str = "") -> None:
        """End the output; where the run is not complete, say again how to resume it.

        Raises WazaError with everything that could not be written, and the hint behind it.
        """
        if not complete:
            self.resume_hint.repeat()
        if self.cancellation.exit_code is None:  # who interrupts a run may have closed the terminal
            try:
                self.out.close()
            except WazaError as error:
                self._errors.append(error)
        if self._errors:
            several = ExceptionGroup("what could not be written", self._errors)
            cause = self._errors[0] if len(self._errors) == 1 else several
            raise WazaError("; ".join(map(str, self._errors)) + hint) from cause


def with_metadata(one: SkillOutcome, run: FinishedRun, key: str, value: Any) -> SkillOutcome:
    """Put something into the metadata of an outcome, and into its file."""
    metadata = {**one.outcome.head.metadata, key: value}
    head = msgspec.structs.replace(one.outcome.head, metadata=metadata)
    outcome = msgspec.structs.replace(one.outcome, head=head)
    if run.run_directory.saved is not None and (trouble := run.run_directory.save(outcome)):
        print_notice(f"{key} is not in the results file: {trouble}")
    return msgspec.structs.replace(one, outcome=outcome)
