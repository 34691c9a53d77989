"""`waza run` of an evaluation document: the options that it shares with `waza m365 run`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from waza.cli import m365_run
from waza.cli.telemetry import of_telemetry
from waza.errors import UsageError

if TYPE_CHECKING:
    from waza.cli.run_command import RunArguments

_SPELLED = {"tasks": "--task", "as_json": "--json", "evidence_files": "--evidence-file", "expression": "-k"}
_OF_SUITES = {
    name: _SPELLED.get(name, f"--{name.replace('_', '-')}")
    for name in (
        *("judge_model", "trials", "tasks", "tags", "context_dir", "baseline", "no_skills", "skip_graders"),
        *("update_snapshots", "keep_workspace", "cache", "cache_dir", "output_dir", "verbose"),
        *("no_summary", "interpret", "recommend", "suggest", "transcript_dir", "session_log"),
        *("auto_file_issue", "print_issue", "show_prompt"),
        *("snapshot", "snapshot_env_allow", "evidence_files", "redact"),
        *("discover", "strict", "warnings_as_errors"),
        *("expression", "changed_since", "watch", "shard", "durations", "backend", "scheduler", "resources"),
    )
}
"""Options that mean nothing to evaluation documents."""


def run_document(arguments: RunArguments) -> int:
    """Run an evaluation document instead of a suite, as `waza m365 run` does."""
    unused = [flag for name, flag in _OF_SUITES.items() if getattr(arguments, name)]
    if len(arguments.models) > 1 or arguments.form != "default" or unused:
        names = ", ".join(unused or ["--format" if arguments.form != "default" else "several --model"])
        raise UsageError(
            f"{arguments.targets[0]} is an evaluation document, and has no use for: {names}; see waza m365 run -h"
        )
    return m365_run.run_command(
        m365_run.DocumentRunArguments(
            document=Path(arguments.targets[0]),
            agent=arguments.executor,
            model=arguments.models[0] if arguments.models else "",
            output=(arguments.output,) if arguments.output else (),
            reporters=arguments.reporters,
            concurrency=(arguments.workers or m365_run.MOST_AT_ONCE) if arguments.parallel else 1,
            timeout=arguments.timeout,
            resume=arguments.resume,
            retry_errors=arguments.retry_errors,
            no_save=arguments.no_save,
            as_json=arguments.as_json,
            **msgspec.structs.asdict(of_telemetry(arguments)),
        )
    )
