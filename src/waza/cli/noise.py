"""`waza noise`: how often two identical arms trip a gate, and how much data a difference needs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from waza.cli.numbers import COUNT, Number
from waza.cli.options import executor_option, json_option, model_option

if TYPE_CHECKING:
    from waza.results.combine import NamedResult

_SHARE = Number("a number above 0 and at most 1, such as 0.05", float, least=1e-6, most=1)
_SUITES = (".yaml", ".yml")


@click.command(epilog="Example: waza noise .waza/runs --difference 0.05")
@click.argument("sources", nargs=-1, metavar="[EVAL|RUN]...")
@click.option(
    "--difference",
    type=_SHARE,
    default=0.05,
    show_default=True,
    help="The difference of scores that is to be shown; 0.05 is 5 points.",
)
@click.option(
    "--trials", type=COUNT, metavar="N", help="Trials a task in each arm, instead of those of the runs."
)
@model_option(
    "Of EVAL: the model to run on, instead of config.model. Of runs: only those on this model count."
)
@executor_option("Of EVAL: the agent engine to run on, instead of config.executor.")
@json_option("Print JSON.")
def command(
    sources: tuple[str, ...],
    difference: float,
    trials: int | None,
    model: str,
    executor: str,
    *,
    as_json: bool,
) -> int:
    """Say what chance does to a suite: how often two identical arms trip a gate, and how much data a difference needs.

    RUN is a results file, a run id or a directory, of one suite on one model; several are put together. EVAL is a suite
    file: it is run two times, which costs what two runs cost. Without either it is the newest run.
    """
    from waza.cli.streams import make_output_draw, print_json
    from waza.errors import EXIT_OK, UsageError
    from waza.report.noise import print_noise
    from waza.results.noise_report import noise_report

    suites = [name for name in sources if name.lower().endswith(_SUITES)]
    if suites and len(sources) > 1:
        raise UsageError("name one suite file, or runs: waza noise eval.yaml")
    if not suites and executor:
        raise UsageError("--executor is for a suite file; runs have theirs")
    runs = _run_twice(suites[0], model, executor, trials) if suites else _stored(sources, model)
    report = noise_report(runs, difference=difference, trials=trials)
    if as_json:
        print_json(report)
    else:
        print_noise(report, make_output_draw())
    return EXIT_OK


def _stored(sources: tuple[str, ...], model: str) -> list[NamedResult]:
    """Return the results that the arguments mean, on a model if one is named. UsageError: there is no such run."""
    from waza.cli.open_results import find_runs, load_run
    from waza.errors import UsageError
    from waza.suite.project import find_project

    project = find_project(Path.cwd()).directory
    found: list[NamedResult] = []
    for source in sources or (None,):
        found += [(run.name, load_run(run)) for run in find_runs(source, project).runs]
    chosen = [(name, result) for name, result in found if model in ("", result.config.model_id)]
    if not chosen:
        models = ", ".join(sorted({result.config.model_id or "the default model" for _, result in found}))
        raise UsageError(f"no run is on the model {model}; the runs are on: {models}")
    return chosen


def _run_twice(suite: str, model: str, executor: str, trials: int | None) -> list[NamedResult]:
    """Return the results of two runs of a suite, which are kept as others are.

    Raises UsageError for a suite with several models, and RunError for a run that did not come to its end.
    """
    from waza.api import load, run
    from waza.cli.streams import print_notice
    from waza.errors import RunError, UsageError
    from waza.results.ending import came_to_its_end, run_status

    found: list[NamedResult] = []
    loaded = load(suite, executor=executor, models=(model,) if model else (), trials=trials)
    if len(loaded.models) > 1:
        raise UsageError(f"{suite} has several models: {', '.join(loaded.models)}; choose one with --model")
    for number in (1, 2):
        print_notice(f"run {number} of 2 of {suite}")
        (result,) = run(loaded, save=True)
        if not came_to_its_end(result):
            raise RunError(f"run {number} of {suite} did not come to its end ({run_status(result)})")
        found.append((result.eval_id, result))
    return found
