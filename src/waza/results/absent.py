"""The results of what did not start: a results file that says so, in the place of an older one."""

from __future__ import annotations

from datetime import datetime

from waza.model.result import RunConfig, SuiteResult, Summary
from waza.model.suite import SCHEMA_VERSION
from waza.results.ending import NOT_STARTED
from waza.results.outcome import Outcome
from waza.results.verdict import NotStarted, overall_verdict, with_verdict


def not_started_outcome(one: NotStarted) -> Outcome:
    """Return an outcome without tasks, whose verdict says why nothing was run."""
    head = SuiteResult(
        schemaVersion=SCHEMA_VERSION,
        eval_id="",
        skill=one.skill,
        eval_name=one.skill,
        timestamp=datetime.now().astimezone().isoformat(),
        config=RunConfig(runs_per_test=0, model_id=one.model, engine_type="", timeout_sec=0),
        summary=Summary(
            total_tests=0,
            succeeded=0,
            failed=0,
            errors=0,
            skipped=0,
            success_rate=0,
            aggregate_score=0,
            weighted_score=0,
            min_score=0,
            max_score=0,
            std_dev=0,
            duration_ms=0,
        ),
        metrics={},
        tasks=[],
        metadata={"run_status": NOT_STARTED},
    )
    return Outcome.of(with_verdict(head, overall_verdict([], [one])))
