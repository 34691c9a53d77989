"""`waza tokens`: how many tokens the Markdown files of skills have, and what their limits are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from waza.cli.numbers import COUNT_OR_NONE, Number
from waza.cli.options import (
    ask_options,
    complete_targets,
    executor_option,
    format_option,
    model_option,
)

_PERCENT = Number("a percentage from 0 on, such as 10", float, least=0)
F = TypeVar("F", bound=Callable[..., Any])

EPILOG = """
\b
Examples:
  waza tokens count                          every Markdown file below the current directory
  waza tokens check code-explainer --strict  exit code 1 where a file is over its limit

Tokens are counted by the encoding o200k where the extra 'tokens' is installed, else estimated.

\b
Exit codes: 0 the report is printed, 1 something is over a limit that was asked for, 2 bad usage,
or something cannot be read.
"""

targets_argument = click.argument(
    "targets", shell_complete=complete_targets, metavar="[SKILL | PATH]...", nargs=-1
)
tokenizer_option = click.option(
    "--tokenizer",
    type=click.Choice(["bpe", "estimate"]),
    help="How tokens are counted [default: bpe where its extra is installed].",
)


@click.group(epilog=EPILOG)
def command() -> None:
    """Count the tokens of Markdown files, and compare them with limits and with earlier commits."""


@command.command("count", epilog="Example: waza tokens count skills --sort tokens")
@targets_argument
@format_option(["table", "json"])
@click.option("--sort", "order", type=click.Choice(["path", "tokens", "name"]), help="Order [default: path].")
@click.option(
    "--min-tokens",
    "least",
    type=COUNT_OR_NONE,
    default=0,
    metavar="N",
    help="Leave out files with fewer tokens.",
)
@click.option("--no-total", is_flag=True, help="No line with the sums.")
@tokenizer_option
def count(
    *,
    targets: tuple[str, ...],
    form: str,
    order: str | None,
    least: int,
    no_total: bool,
    tokenizer: str | None,
) -> int:
    """Count the tokens, characters and lines of Markdown files.

    Directories are searched; without an argument, the current one is.
    """
    if form == "json" and (order or no_total):
        raise click.UsageError("--sort and --no-total are for tables; leave them out with --format json")
    from waza.cli.tokens_command import run_count

    return run_count(targets, form, order or "path", least, tokenizer or "", total=not no_total)


@command.command("check", epilog="Example: waza tokens check code-explainer --strict")
@targets_argument
@format_option(["table", "json"])
@click.option("--strict", is_flag=True, help="Exit with 1 where a file is over its limit.")
@click.option("--quiet", is_flag=True, help="List only files over their limits.")
@tokenizer_option
def check(*, targets: tuple[str, ...], form: str, strict: bool, quiet: bool, tokenizer: str | None) -> int:
    """Compare the tokens of Markdown files with their limits.

    Limits are those of `tokens.limits` in .waza.yaml, else of a .token-limits.json beside SKILL.md, else built-in ones.
    Without an argument the skills of the workspace are checked one by one; where it has fewer than two, the current directory.
    """
    from waza.cli.tokens_command import run_check

    return run_check(targets, form, tokenizer or "", strict=strict, quiet=quiet)


@command.command("compare", epilog="Example: waza tokens compare main --threshold 10")
@click.argument("refs", metavar="[BASE [HEAD]]", nargs=-1)
@format_option(["table", "json"])
@click.option("--show-unchanged", is_flag=True, help="List files that did not change, too.")
@click.option("--strict", is_flag=True, help="Exit with 1 where a file that changed is over its limit.")
@click.option("--skills", is_flag=True, help="Only SKILL.md and .agent.md; BASE is origin/main or main.")
@click.option(
    "--threshold", type=_PERCENT, metavar="PCT", help="Exit with 1 where a file grew by more than this."
)
@tokenizer_option
def compare(
    *,
    refs: tuple[str, ...],
    form: str,
    show_unchanged: bool,
    strict: bool,
    skills: bool,
    threshold: float | None,
    tokenizer: str | None,
) -> int:
    """Compare tokens between two commits, or a commit and the files as they are.

    Markdown files below the current directory are compared, new ones included and ignored ones not. BASE is HEAD where it is
    left out, HEAD the work tree.
    """
    if len(refs) > 2:  # a base and a head
        raise click.UsageError("two commits are compared at most; leave the others out")
    from waza.cli.tokens_command import CompareArguments, run_compare

    given = CompareArguments(refs, form, show_unchanged, strict, skills, threshold, tokenizer or "")
    return run_compare(given)


@command.command("profile", epilog="Example: waza tokens profile code-explainer")
@targets_argument
@format_option(["text", "json"])
@tokenizer_option
def profile(*, targets: tuple[str, ...], form: str, tokenizer: str | None) -> int:
    """Show how detailed skills and agents are: sections, code blocks, numbered steps.

    Without an argument all of the workspace are shown.
    """
    from waza.cli.tokens_command import run_profile

    return run_profile(targets, form, tokenizer or "")


@command.command("suggest", epilog="Example: waza tokens suggest code-explainer")
@targets_argument
@format_option(["text", "json"])
@click.option(
    "--min-savings",
    "least",
    type=COUNT_OR_NONE,
    default=10,
    metavar="N",
    help="Leave out what saves fewer tokens [default: 10].",
)
@tokenizer_option
@click.option("--copilot", is_flag=True, help="Ask a model as well, file by file.")
@executor_option("With --copilot: the executor whose judge is asked; mock:FILE has the answers.")
@model_option("With --copilot: the model that is asked.")
@ask_options(200_000)
def suggest(
    *,
    targets: tuple[str, ...],
    form: str,
    least: int,
    tokenizer: str | None,
    copilot: bool,
    executor: str,
    model: str,
    max_tokens: int,
    show_prompt: bool,
) -> int:
    """Look for what could be shorter: long code blocks and tables, repeated text, decoration.

    Directories are searched; without an argument, the current one is.
    """
    given = [("--model", model), ("--executor", executor), ("--show-prompt", show_prompt)]
    if not copilot and (alone := [name for name, value in given if value]):
        raise click.UsageError(f"{alone[0]} says who is asked; give --copilot as well")
    from waza.cli.tokens_command import run_suggest

    asking = None
    if copilot:
        from waza.cli.asking import AskArguments

        asking = AskArguments(
            executor=executor, model=model, max_tokens=max_tokens, show_prompt=show_prompt, timeout=60
        )
    return run_suggest(targets, form, least, tokenizer or "", asking)
