"""Listeners of a run: trouble with one of them does not stop it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.unit.report.factory import outcome, task

from waza.cli.listeners import Listeners
from waza.kit.redact import Redactor
from waza.model.event import SuiteStarted, TaskStarted
from waza.report.progress import Progress
from waza.report.session_log import SessionLog

STARTED = SuiteStarted(
    suite="s", path="eval.yaml", skill="", executor="mock", model="m", judge_model="", workers=1, tasks=1
)
FULL = Path("/dev/full")


class Stream:
    """A console that may be gone."""

    def __init__(self, *, gone: bool = False) -> None:
        self.gone, self.text = gone, ""

    def write(self, text: str, /) -> None:
        if self.gone:
            raise BrokenPipeError
        self.text += text

    def flush(self) -> None: ...

    def isatty(self) -> bool:
        return True


def plain(value: Any) -> Any:
    return value


def test_a_console_that_is_gone_leaves_the_others_listening(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    log = SessionLog(tmp_path, plain)
    listeners = Listeners([Progress(Stream(gone=True)), log], Redactor([]))
    listeners.emit(STARTED)
    listeners.emit(STARTED)
    listeners.close()
    assert log.path.read_bytes().count(b'"session_start"') == 2
    assert capsys.readouterr().err == f"Session log: {log.path}\n"


def test_a_console_that_goes_while_a_bar_is_shown(tmp_path: Path):
    stream = Stream()
    listeners = Listeners([Progress(stream, live=True)], Redactor([]))
    listeners.emit(STARTED)
    stream.gone = True
    listeners.close()
    assert stream.text == "", "what was held back for the bar is lost, and nothing else"


@pytest.mark.skipif(not FULL.exists(), reason="only Linux has a device that is always full")
def test_a_log_on_a_full_disk_is_reported_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    log = SessionLog(tmp_path, plain)
    full = os.open(FULL, os.O_WRONLY)
    os.dup2(full, log._file.fileno())
    os.close(full)
    listeners = Listeners([log], Redactor([]))
    listeners.emit(STARTED)
    listeners.emit(STARTED)
    listeners.close()
    said = f"warning: the session log {log.path} is not complete: No space left on device\n"
    assert capsys.readouterr().err == said


def test_transcripts_that_cannot_be_written_are_one_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    blocked = tmp_path / "file"
    blocked.write_text("")
    listeners = Listeners([], Redactor([]))
    listeners.emit(TaskStarted(task_id="a", name="A", index=1, total=2))
    listeners.write_transcripts(blocked, outcome(task("A"), task("B")))
    assert capsys.readouterr().err == "warning: no transcript of A: File exists\n"
    listeners.write_transcripts(tmp_path / "talk", outcome(task("A"), task("B")))
    assert len(list((tmp_path / "talk").iterdir())) == 2


def test_what_a_command_asks_for(tmp_path: Path):
    redactor = Redactor(["a-secret-of-many-letters"])
    listeners = Listeners.of(redactor, verbose=True, keep_workspace=False, session_dir=tmp_path / "new")
    listeners.emit(TaskStarted(task_id="a", name="a-secret-of-many-letters", index=1, total=1))
    listeners.close()
    (log,) = (tmp_path / "new").iterdir()
    assert b"[REDACTED]" in log.read_bytes()
    assert b"a-secret" not in log.read_bytes()
    Listeners.of(redactor, verbose=False, keep_workspace=False, session_dir=None).close()
