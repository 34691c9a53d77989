"""`waza ablate`: what each section and file of a skill gives, measured by leaving it out."""

from __future__ import annotations

from pathlib import Path

import click

from waza.cli.numbers import COUNT, Number
from waza.cli.options import complete_targets, executor_option, format_option, json_option, model_option
from waza.cli.paths import PATH

_LEVEL = Number("a level of headings from 1 to 6", int, least=1, most=6)
_MARGIN = Number("a number of points from 0.1 to 50, such as 10", float, least=0.1, most=50)

EPILOG = """
\b
Examples:
  waza ablate eval.yaml --dry-run               what would be left out, and what it takes
  waza ablate greeter --trials 5
  waza ablate eval.yaml --level 3 --sections Setup --sections 'references/*' --yes
  waza ablate eval.yaml --dir ablation --yes    keep the runs; the same again goes on with them

\b
Exit codes:
  0  every part has a verdict
  1  a run did not come to its end; the verdicts are by its finished trials
  2  the suite has mistakes, or the skill cannot be measured
"""


@click.command(epilog=EPILOG)
@click.argument("target", shell_complete=complete_targets, metavar="EVAL.YAML | SKILL")
@click.option(
    "--level",
    type=_LEVEL,
    metavar="N",
    help="Level of the headings whose sections are left out [default: the top one below the title].",
)
@click.option(
    "--sections",
    multiple=True,
    metavar="NAME",
    help="Leave out these sections or files only; a name or a pattern, can be repeated.",
)
@click.option(
    "--margin",
    type=_MARGIN,
    default=10.0,
    show_default=True,
    metavar="POINTS",
    help="A part that gives less points of score than this costs more than it gives.",
)
@click.option("--trials", type=COUNT, metavar="N", help="Trials a task, instead of config.trials_per_task.")
@model_option("Model to run on, instead of config.model.")
@executor_option("Agent engine to run on, instead of config.executor.")
@click.option(
    "--dir",
    "directory",
    type=PATH,
    metavar="DIR",
    help="Keep all runs here, and go on with those that are here.",
)
@click.option("-y", "--yes", is_flag=True, help="Start without asking.")
@click.option("--dry-run", is_flag=True, help="Say what would be run, and run nothing.")
@format_option(["table", "json"])
@json_option("Same as --format json.")
def command(
    target: str,
    level: int | None,
    sections: tuple[str, ...],
    margin: float,
    trials: int | None,
    model: str,
    executor: str,
    directory: Path | None,
    form: str,
    *,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Say which sections of a skill help, which cost more than they give, and where the data cannot tell.

    The suite is run with a copy of the whole skill, and with copies that lack one section, or one file of references or
    scripts. The skill itself is not touched. docs/ablation.md states the rules.
    """
    from waza.cli.ablate_command import AblateArguments, ablate_command

    return ablate_command(
        AblateArguments(
            target=target,
            level=level,
            sections=sections,
            margin=margin / 100,
            trials=trials,
            model=model,
            executor=executor,
            directory=directory,
            yes=yes,
            dry_run=dry_run,
            as_json=as_json or form == "json",
        )
    )
