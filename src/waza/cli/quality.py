"""`waza quality`: what a judge thinks of a skill or custom agent."""

from __future__ import annotations

import click

from waza.cli.options import ask_options, complete_targets, executor_option, format_option, model_option

EPILOG = """
\b
Examples:
  waza quality code-explainer
  waza quality skills/review --model gpt-5-mini --format json
  waza quality skills/review --dry-run               what would be asked
  waza quality skills/review --executor mock:answers.yaml

Asked is the judge of the skill's suite, else of the engine in .waza.yaml (copilot-sdk).

\b
Exit codes: 0 the report is printed, 2 bad usage, or the judge gave no answer that can be used.
"""


@click.command(epilog=EPILOG)
@click.argument("skill", shell_complete=complete_targets)
@executor_option("The executor whose judge is asked; mock:FILE has the answers.")
@model_option("Model of the judge.")
@format_option(["table", "json"])
@ask_options(50_000, "--dry-run")
@click.option("--rubric", default="", hidden=True, help="Not supported.")
def command(
    *,
    skill: str,
    executor: str,
    model: str,
    form: str,
    max_tokens: int,
    show_prompt: bool,
    rubric: str,
) -> int:
    """Ask a judge how good a skill or custom agent is: clarity, completeness, triggers, scope, anti-patterns.

    It is an opinion, from 1 to 5; `waza check` has what can be checked, and a suite shows what works.
    """
    if rubric:
        raise click.UsageError("--rubric is not supported; the dimensions are fixed")
    from waza.cli.asking import AskArguments
    from waza.cli.quality_command import run_quality

    given = AskArguments(executor=executor, model=model, max_tokens=max_tokens, show_prompt=show_prompt)
    return run_quality(skill, given, form)
