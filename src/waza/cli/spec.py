"""`waza spec`: whether suites exercise what skills promise."""

from __future__ import annotations

import click

from waza.cli.numbers import COUNT, PARTS_OF_SECONDS
from waza.cli.options import ask_options, complete_targets, executor_option, format_option, judge_model_option

EPILOG = """
\b
Examples:
  waza spec verify                                     the one skill around here, and its suite
  waza spec verify code-explainer --fail --threshold 3
  waza spec verify skills/review evals/review/eval.yaml --semantic --judge-model gpt-5-mini

\b
Exit codes: 0 the report is printed, 1 --fail and at least --threshold requirements are not
covered, 2 bad usage, mistakes in the suite, or a judge that was to be asked gave no answer.
"""


@click.group()
def command() -> None:
    """Compare what skills promise with what their suites exercise."""


@command.command("verify", epilog=EPILOG)
@click.argument("skill", shell_complete=complete_targets, default="", metavar="[SKILL]")
@click.argument("suite", shell_complete=complete_targets, default="", metavar="[EVAL.YAML]")
@click.option("--skill", "skill_option", default="", metavar="SKILL", help="The same as the argument SKILL.")
@click.option(
    "--eval", "suite_option", default="", metavar="EVAL.YAML", help="The same as the argument EVAL.YAML."
)
@format_option(["human", "json", "github-actions"])
@click.option("--warn/--no-warn", default=True, help="Mark what is not covered as a warning.")
@click.option("--fail", is_flag=True, help="Exit with 1 where too much is not covered.")
@click.option(
    "--threshold",
    type=COUNT,
    default=1,
    metavar="N",
    help="With --fail: how many requirements are too much [default: 1].",
)
@click.option("--semantic", is_flag=True, help="Ask the judge of the suite about what no words cover.")
@judge_model_option
@click.option(
    "--semantic-timeout",
    type=PARTS_OF_SECONDS,
    default=30.0,
    metavar="S",
    help="Seconds that an answer of the judge may take [default: 30].",
)
@executor_option("The executor whose judge is asked, instead of the suite's; mock:FILE has the answers.")
@ask_options(500_000)
def verify(
    *,
    skill: str,
    suite: str,
    skill_option: str,
    suite_option: str,
    form: str,
    warn: bool,
    fail: bool,
    threshold: int,
    semantic: bool,
    judge_model: str,
    semantic_timeout: float,
    executor: str,
    max_tokens: int,
    show_prompt: bool,
) -> int:
    """Check that tasks exercise what a skill promises: its description, what it is for and not for, its parameters.

    Only files are read; with --semantic a judge is asked about what is left, and nothing else is run.
    """
    from waza.cli.spec_command import VerifyArguments, run_verify

    given = VerifyArguments(
        skill=skill_option or skill,
        suite=suite_option or suite,
        form=form,
        warn=warn,
        fail=fail,
        threshold=threshold,
        semantic=semantic,
        judge_model=judge_model,
        timeout=semantic_timeout,
        executor=executor,
        max_tokens=max_tokens,
        show_prompt=show_prompt,
    )
    return run_verify(given)
