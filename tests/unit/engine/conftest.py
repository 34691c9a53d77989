"""Running a suite without the command line: `ran` writes one, runs it in this process, and returns what came out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.program import mock_suite

from waza.engine.cancellation import Cancellation
from waza.engine.run import FinishedRun, RunOptions
from waza.engine.run_all import run_one
from waza.model.event import RunEvent
from waza.model.loaded import Project
from waza.model.result import SuiteResult, TaskResult, TrialResult
from waza.suite.load import load


@dataclass
class Ran:
    """What came out of a run."""

    head: SuiteResult
    tasks: dict[str, TaskResult]
    events: list[RunEvent]
    run: FinishedRun

    def of(self, task: str, number: int = 1) -> TrialResult:
        """One trial."""
        return self.tasks[task].runs[number - 1]

    def said(self, kind: type[RunEvent]) -> list[RunEvent]:
        """The events of one kind."""
        return [event for event in self.events if type(event) is kind]


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Ran]]:
    (tmp_path / "temp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temp"))

    def run(tasks: Mapping[str, str], head: str = "", config: Sequence[str] = (), **options: Any) -> Ran:
        suite = load(mock_suite(tmp_path / "suite", tasks, head, config))
        events: list[RunEvent] = []
        given = RunOptions(project=Project(directory=tmp_path), **options)
        done = asyncio.run(run_one(suite, "test-model", given, events.append, Cancellation()))
        try:
            found = {task.test_id: task for task in done.outcome.tasks()}
            return Ran(done.outcome.head, found, events, done)
        finally:
            done.run_directory.close()

    yield run
    assert list((tmp_path / "temp").iterdir()) == []
