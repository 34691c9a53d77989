"""How long tasks took, by a results file: what balances shards."""

from __future__ import annotations

import hashlib
from pathlib import Path

from waza.errors import UsageError
from waza.kit.os_errors import describe_os_error
from waza.model.shard import TaskDurations
from waza.results.task_index import index_results


def read_durations(path: Path) -> TaskDurations:
    """Return the sum over the trials of each task in a results file, with and without skills; tasks without one are left out.

    Raises SuiteError for what is not a results file, UsageError for a file that cannot be read.
    """
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        index = index_results(path)
    except OSError as error:
        raise UsageError(f"--durations {path}: {describe_os_error(error)}; name a results file") from error
    tasks: dict[str, int] = {}
    for heads in index.tasks.values():
        for head in heads:
            if head.trials:
                took = sum(max(0, trial.duration_ms) for trial in head.trials)
                tasks[head.test_id] = tasks.get(head.test_id, 0) + took
    return TaskDurations(digest=digest, suite=index.head.eval_name, tasks=tasks)
