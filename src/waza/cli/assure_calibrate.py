"""`waza assure calibrate`: how far judges agree with themselves and with people."""

from __future__ import annotations

from typing import Any

import click

from waza.cli.options import complete_targets, executor_option, json_option, judge_model_option
from waza.cli.paths import PATH

EPILOG = """
\b
Examples:
  waza assure calibrate eval.yaml --labels labels.json --dry-run   how many questions it takes
  waza assure calibrate eval.yaml --labels labels.json
  waza assure calibrate review --labels labels.json --times 5 --yes --json
  waza assure calibrate eval.yaml --results results.json           without labels

It asks the judges of the suite, which may cost. `waza label` makes labels.

\b
Exit codes: 0 the report is printed, 1 a judge gave no verdict, or a label could not be used,
2 bad usage, or nobody could be asked.
"""


@click.command(epilog=EPILOG)
@click.argument("target", shell_complete=complete_targets, metavar="EVAL.YAML|SKILL")
@click.option("--labels", type=PATH, metavar="FILE", help="Labels of people, which `waza label` has written.")
@click.option(
    "--results",
    default=None,
    metavar="RESULTS",
    help="The run whose answers are judged [default: that of the labels].",
)
@click.option(
    "--grader",
    "graders",
    multiple=True,
    metavar="NAME",
    help="Only the judge of this grader; can be repeated [default: all].",
)
@click.option(
    "--times",
    type=click.IntRange(2, 100),
    default=3,
    show_default=True,
    metavar="N",
    help="How often the same is asked.",
)
@judge_model_option
@executor_option("Agent engine that judges, instead of config.executor.")
@click.option("-y", "--yes", is_flag=True, help="Ask the judges without asking you first.")
@click.option("--dry-run", is_flag=True, help="Print how many questions it takes; ask nobody.")
@json_option("Print the report as JSON.")
def command(**options: Any) -> int:
    """Ask judges again about answers of a run, and compare them with themselves and with people.

    First the share of answers with the same verdict each time; then, by the first verdicts, Cohen's kappa with people, with
    sensitivity, specificity, and the pass rate of the run without the errors of the judge; of pairwise judges, whether
    the winner changes with the order.
    """
    from waza.cli.assure_calibrate_command import CalibrateArguments, run_calibrate

    return run_calibrate(CalibrateArguments(**options))
