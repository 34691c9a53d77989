"""`waza show`: a saved run, and a trial of it as a page."""

from __future__ import annotations

import click

from waza.cli.options import json_option

EPILOG = """
\b
Examples:
  waza show                            why trials of the newest run failed
  waza show capital --trial 2          one trial as a page
  waza show run-20260131T1425 capital  in a run by its id, or how that begins
  waza show results.json --failed      all causes, in a results file
  waza show --requirements             what was recorded of the requirements of its tasks
  waza show --json --failed            for programs

RUN is a results file, the id of a run or an invocation, or a directory of a run, of results files or of a project.

Exit codes: 0 it was shown, 2 there is no such run, task or trial, or a file cannot be read.
"""


@click.command(epilog=EPILOG)
@click.argument("run", required=False, metavar="[RUN]")
@click.argument("task", required=False, metavar="[TASK]")
@click.option(
    "--trial",
    type=click.IntRange(min=1),
    metavar="N",
    help="This trial of the task [default: the first that did not pass].",
)
@click.option("--failed", is_flag=True, help="Only trials that failed or errored.")
@click.option(
    "--grader",
    default="",
    metavar="NAME",
    help="Only trials that this grader did not pass, and its verdicts.",
)
@click.option("--baseline", is_flag=True, help="Trials without skills, of a run with --baseline.")
@click.option(
    "--requirements", is_flag=True, help="The requirements of tasks, with what their graders recorded."
)
@click.option("--full", is_flag=True, help="Cut no text, and show all details of all verdicts.")
@json_option("Print the records of the trials, or the requirements, as JSON.")
@click.option(
    "--pager/--no-pager",
    default=None,
    help="Use a pager, or none [default: if it does not fit on the screen].",
)
def command(
    *,
    run: str | None,
    task: str | None,
    trial: int | None,
    failed: bool,
    grader: str,
    baseline: bool,
    requirements: bool,
    full: bool,
    as_json: bool,
    pager: bool | None,
) -> int:
    """Show why a run ended as it did; with a TASK, all that is recorded of one of its trials.

    Without a RUN, the newest one. A run in progress, or one that was cut off, is shown as far as it got.
    """
    from waza.cli.show_command import ShowArguments, show

    return show(
        ShowArguments(
            run=run,
            task=task,
            trial=trial,
            failed=failed,
            grader=grader,
            baseline=baseline,
            requirements=requirements,
            full=full,
            as_json=as_json,
            pager=pager,
        )
    )
