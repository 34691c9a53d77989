"""`waza assure`: whether graders judge answers as people expect."""

from __future__ import annotations

from typing import Any

import click

from waza.cli.options import complete_targets, format_option, json_option, output_option
from waza.cli.paths import PATH

EPILOG = """
\b
Examples:
  waza assure eval.yaml --references cases.yaml
  waza assure code-explainer --references cases.yaml --review | less
  waza assure cases eval.yaml --references cases.yaml --judges --json

\b
Exit codes: 0 all cases hold, 1 a case does not hold or was not judged, 2 bad usage, or mistakes
in the suite or the cases.
"""
_ELSEWHERE: dict[str, str] = {"calibrate": "waza.cli.assure_calibrate"}
"""Subcommands with a file of their own, and its module."""


class AssureCommands(click.Group):
    """The group `assure`; any other word is a suite, as in `waza assure eval.yaml --references cases.yaml`."""

    default_command = "cases"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; put `cases` in front of what is no command."""
        first = args[0] if args else ""
        known = first in ("--help", "-h") or first in self.list_commands(ctx)
        return super().parse_args(ctx, args if known else [self.default_command, *args])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in their order."""
        del ctx
        return [*self.commands, *_ELSEWHERE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; those with a file of their own are imported only when they are called."""
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        from importlib import import_module

        command: click.Command = import_module(_ELSEWHERE[cmd_name]).command
        return command


@click.group(cls=AssureCommands, epilog="Example: waza assure eval.yaml --references cases.yaml")
def command() -> None:
    """Compare what graders say of answers with what people say of them.

    `waza assure EVAL` is short for `waza assure cases EVAL`; `waza assure cases --help` lists its options.
    """


@command.command(epilog=EPILOG)
@click.argument("target", shell_complete=complete_targets, metavar="EVAL.YAML|SKILL")
@click.option(
    "--references", type=PATH, required=True, metavar="FILE", help="The reference cases, a YAML file."
)
@click.option(
    "--review",
    is_flag=True,
    help="Show each answer with what every grader says of it, for people to review.",
)
@click.option(
    "--judges",
    is_flag=True,
    help="Also ask graders that ask a judge; the suite's executor answers, which may cost.",
)
@format_option(["text", "table", "json", "sarif", "github"])
@json_option("Print the report as JSON, same as --format json.")
@output_option("Write the report as JSON to this file, too.")
def cases(**options: Any) -> int:
    """Hold the graders of a suite against reference cases: this answer must pass, that one must fail.

    Scripts give the answers, and the engine grades them as it does in a run, with the programs and hooks of the suite.
    No agent runs, and nothing is kept. The report names graders and tasks without a passing or a failing case.
    """
    from waza.cli.assure_command import AssureArguments, run_assure

    return run_assure(AssureArguments(**options))
