"""Commands with `--resume[=ID]`, and the options that go with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


class ResumableCommand(click.Command):
    """A command with an option whose value is optional and follows a `=`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; a bare `--resume` never takes the next word for its value."""
        return super().parse_args(ctx, ["--resume=" if word == "--resume" else word for word in args])


def resume_options(resumed: str, tried: str) -> Callable[[F], F]:
    """Return the options of resuming as a decorator; the texts say what is resumed, and what is tried again."""
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
