"""What `waza assure calibrate` does with its options."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from waza.author.assure.ask_again import ask_again
from waza.author.assure.calibrate import calibrate
from waza.author.assure.calibrate_text import calibration_lines
from waza.author.assure.calibration import Calibration
from waza.author.assure.labels import Labels, find_labelled_results, read_labels
from waza.author.assure.plan_calibration import CalibrationPlan, make_plan
from waza.cli.asking import describe_tokens
from waza.cli.load_suite import load_to_grade
from waza.cli.open_project import open_project
from waza.cli.open_results import find_runs, load_run
from waza.cli.questions import may_spend
from waza.cli.reject_document import refuse_document
from waza.cli.streams import make_progress, output_width, print_json, print_line, print_notice, print_problems
from waza.cli.utf8 import require_utf8
from waza.errors import EXIT_FAILED, EXIT_OK, UsageError
from waza.kit.text import pluralize
from waza.model.loaded import Project, Suite
from waza.model.result import SuiteResult
from waza.problem import display_path
from waza.results.read import load as load_results

_LINES = 10  # of progress


class CalibrateArguments(msgspec.Struct, frozen=True, kw_only=True):
    """The options of `waza assure calibrate`, named as in `waza.cli.assure_calibrate`."""

    target: str
    labels: Path | None
    results: str | None
    graders: tuple[str, ...]
    times: int
    judge_model: str
    executor: str
    yes: bool
    dry_run: bool
    as_json: bool


def run_calibrate(given: CalibrateArguments) -> int:
    """Ask the judges, print the report, and return the exit code."""
    if given.labels is None and given.results is None:
        raise UsageError("name labels with --labels (`waza label` makes them), or a run with --results")
    refuse_document(Path(given.target), "judges of suites are calibrated")
    require_utf8("--judge-model", given.judge_model)
    project = open_project()
    labels = read_labels(given.labels) if given.labels else None
    recorded = _load_results(given, labels, project)
    suite = load_to_grade(
        given.target, project, recorded, executor=given.executor, judge_model=given.judge_model
    )
    plan = make_plan(suite, recorded, labels, given.graders)
    _announce(given, suite, plan)
    if given.dry_run:
        return EXIT_OK
    if not may_spend("Ask the judges?", yes=given.yes):
        raise UsageError("no judge was asked")
    found = _calibrate(given, suite, recorded, plan, project)
    if given.as_json:
        print_json(msgspec.to_builtins(found))
    else:
        print_line("\n".join(calibration_lines(found, output_width())))
    return EXIT_OK if found.complete else EXIT_FAILED


def _load_results(given: CalibrateArguments, labels: Labels | None, project: Project) -> SuiteResult:
    """Return the results whose answers are judged. Raises UsageError for those of another run than the labels'."""
    if given.results is None and given.labels and labels:
        path = find_labelled_results(given.labels, labels)
        recorded, warnings = load_results(path)
        print_problems(warnings)
    else:
        recorded = load_run(find_runs(given.results, project.directory).only())
    if labels and given.labels and labels.run != recorded.eval_id:
        raise UsageError(
            f"{display_path(given.labels)} has labels of {labels.run}, and the results are of {recorded.eval_id}; name those "
            "of the same run with --results"
        )
    return recorded


def _announce(given: CalibrateArguments, suite: Suite, plan: CalibrationPlan) -> None:
    """Say what is asked, of whom, and how much it is."""
    config = suite.file.config
    judge = config.judge_model or "its default model"
    questions = pluralize(plan.questions * given.times, "question")
    tokens = describe_tokens(plan.tokens * given.times, estimated=plan.estimated)
    text = (
        f"{questions} to the judge of {config.executor} ({judge}): {pluralize(len(plan.answers), 'answer')}, {given.times} "
        f"times each; {tokens}, without the answers of the judge"
    )
    if plan.left_out:
        print_notice(
            f"warning: {pluralize(len(plan.left_out), 'label')} cannot be used; the report lists them"
        )
    if given.dry_run:
        print_line(f"{text}; nobody was asked")
    else:
        print_notice(text)


def _calibrate(
    given: CalibrateArguments, suite: Suite, recorded: SuiteResult, plan: CalibrationPlan, project: Project
) -> Calibration:
    total = len(plan.answers) * given.times
    show, done = make_progress("asked", "times", max(1, total // _LINES)), 0

    def report() -> None:
        nonlocal done
        done += 1
        show(done, total)

    replies, warnings = asyncio.run(ask_again(suite, recorded, plan.answers, given.times, project, report))
    return calibrate(suite, recorded, plan, replies, given.times, warnings)
