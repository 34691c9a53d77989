"""`waza suggest`: a suite for a skill, suggested by a model."""

from __future__ import annotations

from pathlib import Path

import click

from waza.cli.numbers import COUNT
from waza.cli.options import ask_options, complete_targets, executor_option, format_option, model_option
from waza.cli.paths import PATH

EPILOG = """
\b
Examples:
  waza suggest skills/review                          print a suite; nothing is written
  waza suggest skills/review --count 5 --apply        write it, but over nothing
  waza suggest skills/review --focus negative-triggers
  waza suggest skills/review --show-prompt            what would be asked first

Nothing is written without --apply. Paths stay inside the output directory; a suite file that is
there is kept, and files that are there are only replaced with --force.

\b
Exit codes: 0 the suggestion is valid and was printed or written, 2 bad usage, an answer that
cannot be used, mistakes that the loader finds in it, or files that are there already.
"""


@click.command(epilog=EPILOG)
@click.argument("skill", shell_complete=complete_targets)
@executor_option("The executor whose judge is asked; mock:FILE has the answers.")
@model_option("Model that is asked.")
@click.option("--dry-run/--no-dry-run", default=True, help="Only print the suggestion [default].")
@click.option("--apply/--no-apply", default=False, help="Write the files.")
@click.option("--force", is_flag=True, help="Replace files that are there; the suite file stays.")
@click.option("--count", type=COUNT, metavar="N", help="How many tasks.")
@click.option(
    "--focus",
    type=click.Choice(["triggers", "negative-triggers", "edge-fixtures", "do-not-use-for", "parameters"]),
    help="What tasks are to be about.",
)
@click.option(
    "--output-dir", type=PATH, metavar="DIR", help="Where files go [default: the suite's, else SKILL/evals]."
)
@format_option(["yaml", "json"])
@ask_options(200_000)
def command(
    *,
    skill: str,
    executor: str,
    model: str,
    dry_run: bool,
    apply: bool,
    force: bool,
    count: int | None,
    focus: str | None,
    output_dir: Path | None,
    form: str,
    max_tokens: int,
    show_prompt: bool,
) -> int:
    """Ask a model for a suite of a skill or custom agent: graders, tasks and fixtures.

    What it writes is loaded as `waza run` would before it is shown as valid; mistakes are shown to the model once.
    """
    if not apply and not dry_run:
        raise click.UsageError("nothing to do without --apply and without --dry-run; keep one")
    from waza.cli.asking import AskArguments
    from waza.cli.suggest_command import SuggestArguments, run_suggest

    asking = AskArguments(executor=executor, model=model, max_tokens=max_tokens, show_prompt=show_prompt)
    given = SuggestArguments(
        skill=skill,
        apply=apply,
        force=force,
        count=count or 0,
        focus=focus or "",
        output_dir=output_dir,
        form=form,
    )
    return run_suggest(given, asking)
