"""Loading a suite with what the command line asks of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from waza.cli.choose_suites import Chosen
from waza.cli.outputs import ReporterOption, check_output, check_target, is_html
from waza.cli.streams import print_notice
from waza.errors import UsageError
from waza.model.loaded import Suite
from waza.suite.load import load
from waza.suite.loading import LoadOptions

if TYPE_CHECKING:
    from waza.cli.run_command import RunArguments


def load_suite(chosen: Chosen, given: RunArguments, reporters: Sequence[ReporterOption]) -> Suite:
    """Return a suite; warnings go to stderr. Raises SuiteError, and UsageError where a target is one of its files."""
    suite = load(
        chosen.path,
        LoadOptions(
            executor=given.executor,
            models=given.models,
            judge_model=given.judge_model,
            trials=given.trials,
            timeout=given.timeout,
            parallel=given.parallel,
            workers=given.workers,
            baseline=given.baseline,
            no_skills=given.no_skills,
            context_dir=given.context_dir,
            skill_dir=chosen.skill_dir,
            tasks=given.tasks,
            tags=given.tags,
            expression=given.expression,
            warnings_as_errors=given.warnings_as_errors,
        ),
    )
    inputs = [suite.path, *(Path(task.file) for task in suite.tasks if task.file)]
    if given.output:
        check = check_target if is_html(given.output) else check_output
        check(given.output, inputs)
    for reporter in reporters:
        if reporter.path and not reporter.folder:
            check_target(reporter.path, inputs)
    unmatched = [one for one in suite.warnings if given.strict and one.file in ("--task", "--tags", "-k")]
    for warning in suite.warnings:
        if warning not in unmatched:
            print_notice(str(warning))
    if unmatched:
        reasons = "; ".join(f"{warning.file}: {warning.message}" for warning in unmatched)
        raise UsageError(f"{reasons}; nothing was run (--strict)")
    return suite
