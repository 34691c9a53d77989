"""The verdict over a run: which exit code it deserves."""

from __future__ import annotations

from waza.errors import EXIT_FAILED, EXIT_OK
from waza.model.result import SuiteResult
from waza.model.suite import Metric


def exit_code(head: SuiteResult, metrics: list[Metric]) -> int:
    """Return 0 when the run passed, else 1.

    An A/B run passes when the success rate with skills is strictly higher. Otherwise every task that ran
    must have passed, or have been skipped on purpose. `trigger_accuracy` gates always, other metrics with
    `gate: true`.
    """
    gating = {metric.name for metric in metrics if metric.gate} | {"trigger_accuracy"}
    if any(not result.passed for name, result in head.metrics.items() if name in gating):
        return EXIT_FAILED
    if head.baseline_outcome is not None:
        better = head.summary.success_rate > head.baseline_outcome.summary.success_rate
        return EXIT_OK if better else EXIT_FAILED
    return EXIT_FAILED if head.summary.failed or head.summary.errors else EXIT_OK
