"""`waza diagnose`: from runs with a baseline, one verdict and one next step a skill."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from waza.author.diagnose.diagnosis import DiagnosisVerdict, Thresholds
from waza.cli.numbers import Number
from waza.cli.options import format_option, json_option

if TYPE_CHECKING:
    from waza.results.outcome import Outcome
    from waza.results.saved import SavedRun

_VERDICTS = get_args(DiagnosisVerdict)
_LIMITS = Thresholds()
_MARGIN = Number("a number of percentage points from 0.1 to 50, such as 10", float, least=0.1, most=50)
_TOKENS = Number("a number of tokens from 0 on, such as 5000", float, least=0)

EPILOG = """
\b
Examples:
  waza diagnose                                  the newest run
  waza diagnose inv-20260131T1425                all skills of one call of `waza run --baseline`
  waza diagnose results/ --json --fail-on harmful
  waza diagnose .waza/runs --format markdown     the newest run of each suite, executor and model

\b
Exit codes:
  0  every skill has a verdict
  1  a skill has a verdict that --fail-on names
  2  there is no such run, a file cannot be read, or an option cannot be used
"""


@click.command(epilog=EPILOG)
@click.argument("sources", nargs=-1, metavar="[RESULTS]...")
@click.option(
    "--margin",
    type=_MARGIN,
    default=_LIMITS.margin,
    show_default=True,
    metavar="POINTS",
    help="A lift of less than so many percentage points, either way, is no effect.",
)
@click.option(
    "--max-tokens-per-point",
    type=_TOKENS,
    default=_LIMITS.max_tokens_per_point,
    metavar="N",
    help="Tokens a trial that a percentage point of lift may cost [default: 5,000].",
)
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(_VERDICTS),
    help="Exit with 1 where a skill has this verdict; can be repeated.",
)
@format_option(["table", "json", "markdown"])
@json_option("Same as --format json.")
def command(
    sources: tuple[str, ...],
    margin: float,
    max_tokens_per_point: float,
    fail_on: tuple[str, ...],
    form: str,
    *,
    as_json: bool,
) -> int:
    """Say of each skill what is the matter with it, and what to do next, from runs with a baseline.

    RESULTS are results files, ids of runs or invocations, directories, or summaries of many skills; without any, the
    newest run. Of several runs of a suite on an executor and a model the newest one with a baseline counts.
    docs/diagnosing.md states the rules.
    """
    from waza.author.diagnose.diagnose import diagnose
    from waza.errors import EXIT_FAILED, EXIT_OK

    limits = Thresholds(margin=margin, max_tokens_per_point=max_tokens_per_point)
    found = [diagnose(run, outcome, limits) for run, outcome in _open(sources)]
    _print(found, "json" if as_json else form)
    return EXIT_FAILED if any(one.verdict in fail_on for one in found) else EXIT_OK


def _open(sources: tuple[str, ...]) -> list[tuple[SavedRun, Outcome]]:
    """Return the runs that the arguments mean, of each suite on an executor and a model the newest one.

    One with a baseline counts before one without.
    """
    from waza.cli.open_results import find_runs, open_run
    from waza.cli.streams import print_notice
    from waza.suite.project import find_project

    project = find_project(Path.cwd()).directory
    chosen: dict[tuple[str, ...], tuple[SavedRun, Outcome]] = {}
    older = 0
    for source in sources or (None,):
        for run in find_runs(source, project).runs:
            outcome = open_run(run)
            head = outcome.head
            key = (head.skill, head.eval_name, head.config.engine_type, head.config.model_id)
            other = chosen.get(key)
            if other is None or _rank(outcome) > _rank(other[1]):
                chosen[key] = (run, outcome)
            older += other is not None
    if older:
        runs_left = "run" if older == 1 else "runs"
        print_notice(
            f"note: {older} {runs_left} left out: of each suite on an executor and a model one run counts"
        )
    return list(chosen.values())


def _rank(outcome: Outcome) -> tuple[bool, Any]:
    """Return what orders runs of a suite: those with a baseline are above the others, newer ones above older ones."""
    return outcome.head.baseline_outcome is not None, outcome.head.timestamp


def _print(found: list[Any], form: str) -> None:
    from waza.author.diagnose.text import print_diagnoses
    from waza.cli.streams import make_output_draw, print_json, print_line

    if form == "json":
        print_json({"skills": found})
    elif form == "markdown":
        from waza.report.markdown import make_markdown_draw

        print_diagnoses(found, make_markdown_draw(print_line))
    else:
        print_diagnoses(found, make_output_draw())
