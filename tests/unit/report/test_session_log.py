"""The session log: its lines, its name, and what happens when it cannot be written."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.unit.report.factory import checkpoint, run, verdict

from waza.errors import RunError
from waza.model.event import (
    CheckpointGraded,
    PromptSent,
    RunEvent,
    SuiteFinished,
    SuiteStarted,
    TaskFinished,
    TaskStarted,
    TrialFinished,
)
from waza.model.observation import Denial
from waza.model.result import SessionDigest
from waza.report.session_log import SessionLog

NOW = datetime(2026, 1, 31, 15, 25, 30, 250_000, tzinfo=UTC)


def same(value: Any) -> Any:
    return value


def logged(directory: Path, *events: RunEvent, redact: Any = same) -> list[dict[str, Any]]:
    log = SessionLog(directory, redact, now=lambda: NOW)
    for event in events:
        log.handle(event)
    log.close()
    return [json.loads(line) for line in log.path.read_text(encoding="utf-8").splitlines()]


STARTED = SuiteStarted(
    suite="s",
    path="evals/eval.yaml",
    skill="k",
    executor="mock",
    model="m",
    judge_model="",
    workers=1,
    tasks=2,
)


def test_lines_of_a_run(tmp_path: Path) -> None:
    denied = Denial(tool="bash", kind="shell", reason="not listed")
    digest = SessionDigest(tool_call_count=0, tools_used=[], errors=[], tool_policy_denials=[denied])
    trial = run(2, "error", [verdict("b", passed=False), verdict("a")], session_digest=digest)
    lines = logged(
        tmp_path,
        STARTED,
        TaskStarted(task_id="t", name="T", index=1, total=2),
        PromptSent(task_id="t", name="T", turn=1, text="hi"),
        CheckpointGraded(task_id="t", name="T", checkpoint=checkpoint(3, verdict("c"))),
        TrialFinished(task_id="t", name="T", trials=2, result=trial),
        TaskFinished(
            task_id="t", name="T", index=1, total=2, status="error", score=0.5, duration_ms=9, cached=True
        ),
        SuiteFinished(total=2, passed=1, failed=0, errors=1, skipped=0, duration_ms=12),
    )
    assert [line["type"] for line in lines] == [
        "session_start",
        "task_start",
        "grader_result",
        "grader_result",
        "grader_result",
        "error",
        "run_complete",
        "task_complete",
        "session_complete",
    ]
    assert {line["timestamp"] for line in lines} == {"2026-01-31T15:25:30.250000Z"}
    data = [line["data"] for line in lines]
    assert data[0] == {"spec_path": "evals/eval.yaml", "model": "m", "engine": "mock", "task_count": 2}
    assert data[1] == {"task_name": "T", "task_num": 1, "total_tasks": 2}
    assert data[2]["checkpoint"] == 3
    assert data[3] == {
        "grader_name": "a",
        "grader_type": "text",
        "passed": True,
        "score": 1.0,
        "feedback": "all checks passed",
        "task_name": "T",
        "run_number": 2,
    }
    assert data[4]["grader_name"] == "b"
    assert data[5]["message"] == "the engine broke"
    assert data[6]["session_digest"]["tool_policy_denials"] == [
        {"tool": "bash", "kind": "shell", "reason": "not listed"}
    ]
    assert data[7] == {"task_name": "T", "status": "error", "score": 0.5, "duration_ms": 9, "cached": True}
    assert data[8] == {"total_tests": 2, "passed": 1, "failed": 0, "errors": 1, "duration_ms": 12}


def test_the_name_is_in_utc_and_never_taken_twice(tmp_path: Path) -> None:
    names = []
    for _ in range(2):
        log = SessionLog(tmp_path / "logs", same, now=NOW.astimezone)
        names.append(log.path.name)
        log.close()
    assert names == ["session-20260131T152530Z.ndjson", "session-20260131T152530Z-2.ndjson"]


def test_a_line_is_in_the_file_as_soon_as_it_is_written(tmp_path: Path) -> None:
    log = SessionLog(tmp_path, same)
    log.handle(STARTED)
    assert log.path.read_bytes().endswith(b"}\n")
    log.close()


def test_times_are_those_of_the_events(tmp_path: Path) -> None:
    moments = iter([NOW, NOW, NOW + timedelta(seconds=1)])
    log = SessionLog(tmp_path, same, now=lambda: next(moments))
    log.handle(STARTED)
    log.handle(STARTED)
    log.close()
    stamps = [json.loads(line)["timestamp"] for line in log.path.read_text().splitlines()]
    assert stamps == ["2026-01-31T15:25:30.250000Z", "2026-01-31T15:25:31.250000Z"]


def test_secrets_are_taken_out(tmp_path: Path) -> None:
    def redact(value: Any) -> Any:
        return json.loads(json.dumps(value).replace("hunter2", "[REDACTED]"))

    trial = run(1, "error", [verdict(feedback="is hunter2")], error_msg="no hunter2")
    lines = logged(tmp_path, TrialFinished(task_id="t", name="T", trials=1, result=trial), redact=redact)
    assert "hunter2" not in json.dumps(lines)
    assert lines[0]["data"]["feedback"] == "is [REDACTED]"
    assert lines[1]["data"]["message"] == "no [REDACTED]"


def test_the_arm_without_skills_is_named(tmp_path: Path) -> None:
    event = SuiteStarted(
        suite="s",
        path="p",
        skill="",
        executor="mock",
        model="",
        judge_model="",
        workers=1,
        tasks=0,
        arm="baseline",
    )
    assert logged(tmp_path, event)[0]["data"]["arm"] == "baseline"


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="session log"):
        SessionLog(tmp_path / "file", same)


def test_a_full_disk_is_remembered_and_does_not_stop_the_run(tmp_path: Path) -> None:
    log = SessionLog(tmp_path, same)
    log._file.close()
    log._file = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115  # the log closes it
    log.handle(STARTED)
    log.handle(STARTED)
    assert "not complete" in log.trouble
    log.close()
