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
    AttemptRetried,
    CheckpointGraded,
    PromptSent,
    ResponseSeen,
    RunEvent,
    SuiteFinished,
    SuiteStarted,
    TaskFinished,
    TaskStarted,
    TrialFinished,
)
from waza.model.observation import Denial, ToolEvent
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
        "turn_start",
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
    assert data[0] == {
        "spec_path": "evals/eval.yaml",
        "model": "m",
        "engine": "mock",
        "task_count": 2,
        "runs_per_task": 1,
        "run_id": "",
    }
    assert data[1] == {"task_name": "T", "task_num": 1, "total_tasks": 2}
    assert data[2] == {"task_name": "T", "run_number": 0, "attempt": 0, "turn": 1, "prompt": "hi"}
    assert data[3]["checkpoint"] == 3
    assert data[4] == {
        "grader_name": "a",
        "grader_type": "text",
        "passed": True,
        "score": 1.0,
        "feedback": "all checks passed",
        "task_name": "T",
        "run_number": 2,
    }
    assert data[5]["grader_name"] == "b"
    assert data[6]["message"] == "the engine broke"
    assert data[7]["session_digest"]["tool_policy_denials"] == [
        {"tool": "bash", "kind": "shell", "reason": "not listed"}
    ]
    assert data[8] == {"task_name": "T", "status": "error", "score": 0.5, "duration_ms": 9, "cached": True}
    assert data[9] == {"total_tests": 2, "passed": 1, "failed": 0, "errors": 1, "duration_ms": 12}


def test_lines_of_turns_attempts_and_judges(tmp_path: Path) -> None:
    where: dict[str, Any] = {"task_id": "t", "name": "T", "trial": 2, "attempt": 1}
    calls = (
        ToolEvent(
            turn=1,
            sequence=1,
            tool_name="view",
            args={"path": "a"},
            result="x" * 20_000,
            success=True,
            duration_ms=7,
        ),
        ToolEvent(turn=1, sequence=2, tool_name="bash", success=False),
    )
    judge = SessionDigest(tool_call_count=1, tools_used=["view"], errors=[])
    lines = logged(
        tmp_path,
        PromptSent(turn=1, text="hi", **where),
        ResponseSeen(turn=1, text="well", calls=calls, **where),
        ResponseSeen(turn=2, text="", error="it broke", **where),
        AttemptRetried(attempts=3, failed_graders=("a", "b"), **where),
        TrialFinished(task_id="t", name="T", trials=2, result=run(2, "passed", [], grader_sessions=[judge])),
    )
    place = {"task_name": "T", "run_number": 2, "attempt": 1}
    data = [line["data"] for line in lines]
    assert [line["type"] for line in lines] == [
        "turn_start", "tool_call", "tool_call", "turn_complete", "turn_complete", "attempt_failed", "judge_session",
        "run_complete",
    ]  # fmt: skip
    assert data[0] == {**place, "turn": 1, "prompt": "hi"}
    assert len(data[1].pop("result")) <= 10_000, "readers take lines of up to 1 MB"
    assert data[1] == {
        **place,
        "turn": 1,
        "tool_name": "view",
        "args": {"path": "a"},
        "success": True,
        "duration_ms": 7,
    }
    assert data[2] == {
        **place, "turn": 1, "tool_name": "bash", "args": None, "success": False, "duration_ms": 0, "result": None,
    }  # fmt: skip
    assert data[3] == {**place, "turn": 1, "tool_call_count": 2, "output": "well"}
    assert data[4] == {**place, "turn": 2, "tool_call_count": 0, "output": "", "error": "it broke"}
    assert data[5] == {**place, "attempts": 3, "failed_graders": ["a", "b"]}
    assert data[6]["session_digest"]["tool_call_count"] == 1


def test_the_name_is_in_utc_and_unique(tmp_path: Path) -> None:
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
