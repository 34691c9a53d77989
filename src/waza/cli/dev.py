"""`waza dev`: raising the level of skills' descriptions, and choosing descriptions by trigger tests."""

from __future__ import annotations

from typing import Any

import click

from waza.cli.numbers import COUNT, COUNT_OR_NONE
from waza.cli.options import ask_options, executor_option, format_option, model_option

LEVELS = ("low", "medium", "medium-high", "high")

EPILOG = """
\b
Examples:
  waza dev code-explainer                     propose changes one by one, and ask before each
  waza dev --all --auto --target high         all skills of the workspace, without asking
  waza dev code-explainer --copilot           advice of a model; nothing is changed
  waza dev code-explainer --scaffold-triggers trigger tests of the phrases in the description
  waza dev code-explainer --tune --auto       the description that trigger tests favour

\b
Exit codes: 0 also where a level was not reached, 2 bad usage or an error. With several skills
the errors of single ones are reported, and the exit code is 0.
"""


@click.command(epilog=EPILOG)
@click.argument("skills", metavar="[SKILL]...", nargs=-1)
@click.option(
    "--target", type=click.Choice(LEVELS), help="Level to reach [default: that of .waza.yaml, medium-high]."
)
@click.option(
    "--max-iterations", type=COUNT, metavar="N", help="Changes at most [default: those of .waza.yaml, 5]."
)
@click.option("--auto", is_flag=True, help="Write changes without asking.")
@click.option("--all", "everything", is_flag=True, help="All skills of the workspace.")
@click.option("--filter", "level", type=click.Choice(LEVELS), help="With --all: only skills of this level.")
@click.option("--scaffold-triggers", is_flag=True, help="Write trigger tests of the description's phrases.")
@click.option("--copilot", is_flag=True, help="Ask a model for advice instead.")
@click.option("--tune", is_flag=True, help="Ask a model for descriptions, and choose by trigger tests.")
@click.option("--trials", type=COUNT, metavar="N", help="With --tune: sessions for each prompt [default: 1].")
@click.option(
    "--seed",
    type=COUNT_OR_NONE,
    metavar="N",
    help="With --tune: which prompts are in which part [default: 0].",
)
@executor_option("Of --copilot and --tune: who is asked; mock:FILE has the answers.")
@model_option("Of --copilot and --tune: the model that is asked.")
@format_option(["text", "json"])
@ask_options(100_000)
@click.option("--fast", is_flag=True, hidden=True, help="Accepted; nothing is slow.")
def command(**options: Any) -> int:
    """Raise the level of descriptions of skills, change by change.

    The level is that of `waza check`. Without a model the words come from the skill itself: its name, its sections and its
    text. Read them before you keep them.

    With --tune a model proposes descriptions, and the skill's trigger tests are run with each. One third of the prompts is shown to
    the model, one decides which description is kept, and one is read once, for the figures that are reported.
    """
    from waza.cli.dev_command import DevArguments, run_dev

    del options["fast"]
    return run_dev(DevArguments(**options))
