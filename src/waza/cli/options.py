"""Options that several commands have, each as a decorator. Their `text` says what they mean to a command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from waza.cli.numbers import COUNT, Number
from waza.cli.paths import PATH

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])


def complete_targets(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem[str]]:
    """Complete names of skills, agents and suites, and paths, in a shell."""
    del ctx, param
    from waza.cli.complete_targets import list_targets

    return list_targets(incomplete)


class ResumableCommand(click.Command):
    """A command with an option whose value is optional and follows a `=`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; a bare `--resume` never takes the next word for its value."""
        return super().parse_args(ctx, ["--resume=" if word == "--resume" else word for word in args])


def resume_options(resumed: str, tried: str) -> Callable[[F], F]:
    """Return the options of resuming; the texts say what is resumed, and what is tried again."""
    options = (
        click.option(
            "--resume", default=None, metavar="[=ID]", help=f"Go on with {resumed}, or with this one."
        ),
        click.option("--retry-errors", is_flag=True, help=f"With --resume: {tried}."),
        click.option(
            "--no-save", is_flag=True, help="Keep no run directory below .waza; nothing can be resumed then."
        ),
    )

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def executor_option(text: str) -> Callable[[F], F]:
    """Return `--executor`."""
    return click.option("--executor", metavar="NAME", default="", help=text)


def model_option(text: str, *, several: bool = False) -> Callable[[F], F]:
    """Return `--model`, whose parameter is `model`; `several`: it can be repeated, and its parameter is `models`."""
    if several:
        return click.option("-m", "--model", "models", multiple=True, help=text)
    return click.option("-m", "--model", default="", help=text)


def timeout_option(kind: Number) -> Callable[[F], F]:
    """Return `--timeout`; `kind` says which numbers of seconds it takes."""
    return click.option("--timeout", type=kind, metavar="S", help="Seconds a turn may take.")


def reporter_option(names: str) -> Callable[[F], F]:
    """Return `--reporter`, which can be repeated; `names` are the reporters of waza that the command has."""
    return click.option(
        "--reporter", "reporters", multiple=True, help=f"{names}, or NAME[:PATH] of a package."
    )


def output_option(text: str, *, several: bool = False) -> Callable[[F], F]:
    """Return `--output`; `several`: it can be repeated."""
    return click.option("-o", "--output", multiple=several, type=PATH, help=text)


def format_option(forms: Sequence[str]) -> Callable[[F], F]:
    """Return `--format`, whose parameter is `form`; the first form is the default."""
    return click.option(
        "-f", "--format", "form", type=click.Choice(forms), default=forms[0], help="Form of the output."
    )


def json_option(text: str) -> Callable[[F], F]:
    """Return `--json`, whose parameter is `as_json`."""
    return click.option("--json", "as_json", is_flag=True, help=text)


_OTEL_OPTIONS = (
    click.option(
        "--otel-exporter",
        type=click.Choice(["otlp", "stdout", "file"]),
        default=None,
        help="Send spans and metrics by OpenTelemetry; stdout: as JSON on stderr.",
    ),
    click.option("--otel-endpoint", default="", metavar="URL", help="Collector [default: OTEL_* variables]."),
    click.option("--otel-headers", default="", metavar="K=V,...", help="Headers for the collector."),
    click.option("--otel-file", type=PATH, metavar="FILE", help="Write spans as JSON lines; emptied first."),
    click.option(
        "--otel-include-payloads", is_flag=True, help="Send prompts, answers and arguments, redacted."
    ),
    click.option("--otel-compat", is_flag=True, help="Send the attributes of older conventions, too."),
)


def otel_options(function: F) -> F:
    """Add the options of telemetry."""
    for option in reversed(_OTEL_OPTIONS):
        function = option(function)
    return function


def ask_options(most: int, *names: str) -> Callable[[F], F]:
    """Return the options of what asks a model: `--max-tokens`, and `--show-prompt` or what it is called as well.

    `most` is the default limit of tokens.
    """
    options = (
        click.option(
            "--max-tokens",
            type=COUNT,
            default=most,
            metavar="N",
            help=f"Tokens of all questions and answers together [default: {most:,}].",
        ),
        click.option(
            "--show-prompt",
            *names,
            "show_prompt",
            is_flag=True,
            help="Print what would be asked and how many tokens it has; ask nobody.",
        ),
    )

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


judge_model_option = click.option("--judge-model", default="", help="Model of prompt graders that name none.")
context_dir_option = click.option(
    "-c", "--context-dir", default="", metavar="DIR", help="Fixtures directory [default: fixtures]."
)
redact_option = click.option(
    "--redact",
    type=PATH,
    metavar="FILE",
    help="Rules of what snapshots, logs and artifacts must not hold.",
)
