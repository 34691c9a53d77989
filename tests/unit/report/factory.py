"""Makes results for tests: each function fills in what a test does not care about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from waza.model.result import (
    CheckpointRecord,
    RunConfig,
    SessionDigest,
    SuiteResult,
    Summary,
    TaskResult,
    TaskStats,
    TaskStatus,
    TrialResult,
    TrialStatus,
    Validation,
)
from waza.report.section import Draw, plain_draw
from waza.results.invocation import InvocationResults
from waza.results.outcome import Outcome

EVIL = 'bad \x01 \x1b[31m \ufffe ]]> <&"'


def verdict(
    name: str = "polite", *, passed: bool = True, score: float | None = None, **more: Any
) -> Validation:
    given = {
        "identifier": name,
        "type": "text",
        "score": float(passed) if score is None else score,
        "weight": 1.0,
        "passed": passed,
        "feedback": "all checks passed" if passed else "'hello' is missing",
        "duration_ms": 2,
    }
    return Validation(**{**given, **more})


def run(
    number: int = 1, status: TrialStatus = "passed", verdicts: Sequence[Validation] | None = None, **more: Any
) -> TrialResult:
    if verdicts is None:
        verdicts = [verdict(passed=status == "passed")]
    given = {
        "run_number": number,
        "attempts": 1,
        "prompt": "Say hello",
        "status": status,
        "duration_ms": 4,
        "validations": {said.identifier: said for said in verdicts},
        "session_digest": SessionDigest(tool_call_count=0, tools_used=[], errors=[]),
        "final_output": "hello" if status == "passed" else "hey",
        "error_msg": "the engine broke" if status == "error" else "",
    }
    return TrialResult(**{**given, **more})


def checkpoint(turn: int, *verdicts: Validation) -> CheckpointRecord:
    return CheckpointRecord(
        after_turn=turn,
        status="passed" if all(said.passed for said in verdicts) else "failed",
        validations={said.identifier: said for said in verdicts},
    )


def stats(runs: Sequence[TrialResult]) -> TaskStats:
    passed = sum(one.status == "passed" for one in runs)
    rate = passed / len(runs)
    scores = [
        sum(v.score for v in (one.validations or {}).values()) / len(one.validations or [1]) for one in runs
    ]
    return TaskStats(
        pass_rate=rate,
        flakiness_percent=0.0,
        passed_runs=passed,
        failed_runs=sum(one.status == "failed" for one in runs),
        error_runs=sum(one.status == "error" for one in runs),
        total_runs=len(runs),
        avg_score=sum(scores) / len(scores),
        avg_weighted_score=sum(scores) / len(scores),
        min_score=min(scores),
        max_score=max(scores),
        std_dev_score=0.25,
        score_variance=0.0625,
        ci95_lo=0.5,
        ci95_hi=1.0,
        flaky=0 < rate < 1,
        avg_duration_ms=4,
    )


def task(
    name: str = "Greets", *runs: TrialResult, status: TaskStatus | None = None, **more: Any
) -> TaskResult:
    """Make a task of its runs; without any it is as its status says (default: one passed run)."""
    if not runs and status is None:
        runs = (run(),)
    if status is None:
        states = {one.status for one in runs}
        status = next(state for state in ("failed", "error", "passed", "skipped") if state in states)
    given = {
        "test_id": name.lower(),
        "display_name": name,
        "status": status,
        "runs": list(runs),
        "missing_trials": 1 if status == "skipped" and not runs else 0,
        "stats": stats(runs) if runs else None,
    }
    return TaskResult(**{**given, **more})


def suite(
    tasks: Sequence[TaskResult] = (), *, summary: dict[str, Any] | None = None, **more: Any
) -> SuiteResult:
    counted = [one for one in tasks if one.status != "skipped"]
    states = [one.status for one in tasks]
    scores = [one.stats.avg_score if one.stats else 0.0 for one in counted] or [0.0]
    passed, failed = states.count("passed"), states.count("failed")
    figures = {
        "total_tests": len(counted),
        "succeeded": passed,
        "failed": failed,
        "errors": states.count("error"),
        "skipped": states.count("skipped"),
        "success_rate": passed / len(counted) if counted else 0.0,
        "graded_success_rate": passed / (passed + failed) if passed + failed else None,
        "aggregate_score": sum(scores) / len(scores),
        "weighted_score": sum(scores) / len(scores),
        "min_score": min(scores),
        "max_score": max(scores),
        "std_dev": 0.0,
        "duration_ms": 1234,
    }
    model = more.pop("model", "gpt-x")
    given = {
        "schemaVersion": "1.4",
        "eval_id": "run-20260131T142530Z-abcdef",
        "skill": "greeter",
        "eval_name": "greeter-eval",
        "timestamp": "2026-01-31T14:25:30.5+00:00",
        "config": RunConfig(runs_per_test=1, model_id=model, engine_type="mock", timeout_sec=60),
        "summary": Summary(**{**figures, **(summary or {})}),
        "metrics": {},
        "tasks": list(tasks),
    }
    return SuiteResult(**{**given, **more})


def outcome(*tasks: TaskResult, **more: Any) -> Outcome:
    return Outcome.of(suite(tasks, **more))


def invocation(*outcomes: Outcome) -> InvocationResults:
    return InvocationResults(outcomes=outcomes)


class Lines(list[str]):
    """A write function that keeps what is printed."""

    def __call__(self, line: str) -> None:
        self.append(line)

    @property
    def draw(self) -> Draw:
        return plain_draw(self)

    @property
    def text(self) -> str:
        return "\n".join(self)
