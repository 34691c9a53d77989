"""Transcript files: names, contents, and that none is lost."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.unit.report.factory import run, task, verdict

from waza.model.observation import Event
from waza.report.transcripts import slug, write_transcript

START = datetime(2026, 1, 31, 14, 25, 30, tzinfo=UTC)


def same(value: Any) -> Any:
    return value


def test_contents(tmp_path: Path) -> None:
    first = run(
        1, "error", [verdict("a"), verdict("b")], transcript=[Event(type="user.message")], duration_ms=1500
    )
    second = run(
        2, "failed", [verdict("b", passed=False)], transcript=[Event(type="session.idle")], duration_ms=500
    )
    path = write_transcript(tmp_path / "new" / "dir", task("Say Hello", first, second), START, same)
    assert path.name == "say-hello-20260131-142530.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    assert list(data) == [
        "task_id",
        "task_name",
        "status",
        "started_at",
        "completed_at",
        "duration_ms",
        "prompt",
        "final_output",
        "transcript",
        "validations",
        "session",
        "error_msg",
    ]
    assert data["started_at"] == "2026-01-31T14:25:30+00:00"
    assert data["completed_at"] == "2026-01-31T14:25:32+00:00"
    assert data["duration_ms"] == 2000
    assert data["final_output"] == "hey"
    assert [event["type"] for event in data["transcript"]] == ["user.message", "session.idle"]
    assert data["validations"]["b"]["passed"] is False
    assert data["session"]["tool_call_count"] == 0
    assert data["error_msg"] == "the engine broke"


def test_a_file_of_the_same_second_is_kept(tmp_path: Path) -> None:
    paths = [write_transcript(tmp_path, task("T", run(final_output=str(i))), START, same) for i in range(3)]
    assert [path.name for path in paths] == [f"t-20260131-142530{end}.json" for end in ("", "-2", "-3")]
    assert [json.loads(path.read_text())["final_output"] for path in paths] == ["0", "1", "2"]


def test_secrets_are_taken_out_of_all_of_it(tmp_path: Path) -> None:
    def redact(value: Any) -> Any:
        return json.loads(json.dumps(value).replace("hunter2", "[REDACTED]"))

    said = Event(type="assistant.message", content={"deep": ["hunter2"]})
    path = write_transcript(
        tmp_path, task("T", run(final_output="hunter2", transcript=[said])), START, redact
    )
    content = path.read_text()
    assert "hunter2" not in content
    assert content.count("[REDACTED]") == 2


def test_a_task_that_did_not_run_has_a_transcript_too(tmp_path: Path) -> None:
    data = json.loads(write_transcript(tmp_path, task("T", status="skipped"), START, same).read_text())
    assert (data["transcript"], data["session"], data["duration_ms"]) == ([], None, 0)


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("  Say Hello!  ", "say-hello"),
        ("../../etc/passwd", "etcpasswd"),
        ("a:b\\c*?", "abc"),
        ("你好 é_1-2", "你好-é_1-2"),
        ("!!!", "unnamed"),
        ("", "unnamed"),
    ],
)
def test_names_of_files(name: str, start: str) -> None:
    assert slug(name) == start


def test_long_names_are_cut_within_what_file_systems_allow(tmp_path: Path) -> None:
    path = write_transcript(tmp_path, task("你" * 300), START, same)
    assert len(path.name.encode()) < 200
    assert path.exists()


def test_a_directory_that_cannot_be_made_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        write_transcript(tmp_path / "file", task(), START, same)
