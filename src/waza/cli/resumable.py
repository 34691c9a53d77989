"""Commands with `--resume[=ID]`."""

from __future__ import annotations

import click


class ResumableCommand(click.Command):
    """A command with an option whose value is optional and stands behind a `=`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; a bare `--resume` never takes the next word for its value."""
        return super().parse_args(ctx, ["--resume=" if word == "--resume" else word for word in args])
