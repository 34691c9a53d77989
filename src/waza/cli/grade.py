"""`waza grade`: its options. What they do is in `waza.cli.grade_command`."""

from __future__ import annotations

from typing import Any

import click

from waza.cli.options import (
    complete_targets,
    executor_option,
    json_option,
    judge_model_option,
    otel_options,
    output_option,
    reporter_option,
)
from waza.cli.paths import PATH

EPILOG = """
\b
Examples:
  waza grade eval.yaml --results results.json
  waza grade code-explainer --results results.json -o regraded.json --fail
  waza grade eval.yaml --results results.json --task a --evidence-snapshot evidence/a-run1.json
  waza grade eval.yaml --transcript session.jsonl --task a --workspace .
"""


@click.command(epilog=EPILOG)
@click.argument("target", shell_complete=complete_targets, metavar="EVAL.YAML|SKILL")
@click.option("--results", "results_path", type=PATH, help="Recorded results.")
@click.option(
    "--transcript",
    "transcripts",
    type=PATH,
    multiple=True,
    help="A session that ran elsewhere: of Claude Code, Codex or Copilot, or in ATIF. Can be repeated.",
)
@click.option("--task", default="", help="Grade only the task with this id; with --transcript, as this task.")
@click.option(
    "--workspace",
    type=PATH,
    help="Where graders of files look; without it these reach no verdict.",
)
@click.option(
    "--evidence-snapshot",
    type=PATH,
    metavar="SNAPSHOT.JSON",
    help="Files that `waza run --snapshot` kept, instead of a workspace; needs --task.",
)
@judge_model_option
@executor_option("Agent engine that judges, instead of config.executor.")
@output_option("Write the results with the new verdicts.")
@reporter_option("json, json:PATH, html:PATH, junit:PATH, markdown:PATH")
@json_option("Print the results as JSON instead of the scores.")
@click.option("--no-save", is_flag=True, help="With --transcript: keep no run directory below .waza.")
@click.option("-v", "--verbose", is_flag=True, help="Show every grader's verdict on stderr.")
@otel_options
@click.option("--fail", is_flag=True, help="Exit with 1 when the verdict is 'failed'.")
def command(**options: Any) -> int:
    """Grade recorded results again, or sessions that ran elsewhere. No agent is run. Prints the scores as JSON.

    Of recorded results, runs that broke before they were graded stay errors. A transcript is a trial of the task that
    --task names, of the suite's only task, or of the task with the same prompt; a grader that needs what it does not
    show reaches no verdict. Exit code 0 whatever the verdict, unless --fail.
    """
    from waza.cli.grade_command import GradeArguments, grade_command

    return grade_command(GradeArguments(**options))
