"""`waza plan`: how much a run of a suite takes, and how small a difference it can show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from waza.cli.numbers import COUNT, Number
from waza.cli.options import complete_targets, executor_option, json_option, model_option

if TYPE_CHECKING:
    from waza.model.loaded import Project, Suite
    from waza.model.result import SuiteResult
    from waza.results.combine import NamedResult

_POINTS = Number("a number of points above 0 and at most 100, such as 5", float, least=1e-3, most=100)
_NEWEST = 5  # runs of a suite that estimates are made from


@click.command(
    epilog="""Examples:

\b
  waza plan eval.yaml                      what a run takes, and the least difference it shows
  waza plan eval.yaml --for-difference 5   what it takes to show a difference of 5 points
  waza plan eval.yaml --from before.json   by these results instead of the newest runs"""
)
@click.argument("target", shell_complete=complete_targets, metavar="EVAL.YAML | SKILL")
@click.option(
    "--from",
    "sources",
    multiple=True,
    metavar="RESULTS",
    help="Results to estimate from: a file, a run id or a directory [default: the 5 newest runs of the suite].",
)
@click.option(
    "--for-difference",
    "points",
    type=_POINTS,
    metavar="POINTS",
    help="Say what it takes to show this difference.",
)
@click.option(
    "--trials",
    type=COUNT,
    metavar="N",
    help="Exactly so many trials a task, instead of config.trials_per_task and stop_when.",
)
@click.option("--baseline", is_flag=True, help="Plan a run with and without skills.")
@model_option("Model to run on, instead of config.model; repeat it for several.", several=True)
@executor_option("Agent engine to run on, instead of config.executor.")
@json_option("Print JSON.")
def command(
    target: str,
    sources: tuple[str, ...],
    points: float | None,
    trials: int | None,
    models: tuple[str, ...],
    executor: str,
    *,
    baseline: bool,
    as_json: bool,
) -> int:
    """Say what a run of a suite takes, and how small a difference it can show. Nothing is run.

    Sessions and questions to judges are counted; tokens, credits and time are estimated from earlier runs. The JSON is a
    list with a plan for each model.
    """
    from waza.author.plan.plan_size import plan_size
    from waza.author.plan.text import print_plan
    from waza.cli.choose_suites import choose_suites
    from waza.cli.open_project import open_project
    from waza.cli.streams import make_output_draw, print_json, print_notice, print_problems
    from waza.errors import EXIT_OK
    from waza.suite.load import load
    from waza.suite.loading import LoadOptions

    project, plans = open_project(), []
    for one in choose_suites((target,), project, print_notice).suites:
        options = LoadOptions(
            executor=executor, models=models, trials=trials, baseline=baseline, skill_dir=one.skill_dir
        )
        suite = load(one.path, options)
        print_problems(suite.warnings)
        history = _history(sources, project, suite)
        for model in suite.models:
            of_model = [(name, result) for name, result in history if _is_of(result, model)]
            plans.append(
                plan_size(suite, model, of_model, difference=None if points is None else points / 100)
            )
    if as_json:
        print_json(plans)
    else:
        for plan in plans:
            print_plan(plan, make_output_draw())
    return EXIT_OK


def _is_of(result: SuiteResult, model: str) -> bool:
    return not model or result.config.model_id == model


def _history(sources: tuple[str, ...], project: Project, suite: Suite) -> list[NamedResult]:
    """Return the results that are named, else the newest of the suite; runs that cannot be read are said to be so."""
    from waza.cli.open_results import find_runs, load_run
    from waza.cli.streams import print_notice
    from waza.errors import WazaError
    from waza.results.saved import runs_of_suite

    found: list[NamedResult] = []
    for source in sources:
        found += [(run.name, load_run(run)) for run in find_runs(source, project.directory).runs]
    if sources:
        return found
    for run in runs_of_suite(project.directory, Path(suite.path)):
        if len(found) == _NEWEST:
            break
        if run.unfinished:
            continue
        try:
            found.append((run.name, load_run(run)))
        except WazaError as error:
            print_notice(f"note: {run.name} is left out: {error}")
    return found
