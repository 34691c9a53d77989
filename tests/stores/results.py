"""Results files for tests of stores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_result(
    directory: Path,
    run_id: str,
    *,
    skill: str = "review",
    model: str = "m1",
    timestamp: str = "2026-03-01T10:00:00+00:00",
    rate: float = 0.5,
    **more: Any,
) -> Path:
    """Write a results file as `waza run` does, with one task."""
    status = "passed" if rate == 1 else "failed"
    passed = rate == 1
    result = {
        "schemaVersion": "1.4", "eval_id": run_id, "skill": skill, "eval_name": "the suite", "timestamp": timestamp,
        "config": {"runs_per_test": 1, "model_id": model, "engine_type": "mock", "timeout_sec": 300},
        "summary": {
            "total_tests": 1, "succeeded": int(passed), "failed": int(not passed), "errors": 0, "skipped": 0,
            "success_rate": rate, "aggregate_score": rate, "weighted_score": rate, "min_score": rate,
            "max_score": rate, "std_dev": 0, "duration_ms": 5,
        },
        "metrics": {},
        "tasks": [{
            "test_id": "t", "display_name": "t", "status": status,
            "runs": [{"run_number": 1, "status": status, "duration_ms": 5, "final_output": "Grüße 你好 \u0007"}],
            "stats": {"pass_rate": rate, "avg_score": rate},
        }],
        "metadata": {"verdict": {"passed": passed, "reasons": [] if passed else ["it did not"]}, "run_status": "complete"},
        **more,
    }  # fmt: skip
    path = directory / f"{run_id or 'none'}.json"
    path.write_bytes(json.dumps(result, indent=2, ensure_ascii=False).encode())
    return path
