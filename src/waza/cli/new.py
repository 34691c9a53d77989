"""`waza new`: start a skill, a suite, a task, a custom agent or a grader."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.author.scaffold import SCENARIOS
from waza.cli.options import executor_option
from waza.cli.paths import PATH

if TYPE_CHECKING:
    from pathlib import Path

_NEAR = 0.75  # how similar a name is to that of a command which was probably meant


class NewCommands(click.Group):
    """The group `new`; any other word is the name of a new skill, as in `waza new greeter`."""

    default_command = "skill"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; put `skill` in front of what is no command. Raises UsageError for what may be a misspelt one."""
        from waza.kit.names import nearest_name

        first = args[0] if args else ""
        if first in ("--help", "-h") or first in self.list_commands(ctx):
            return super().parse_args(ctx, args)
        meant = nearest_name(first, self.list_commands(ctx), _NEAR) if not first.startswith("-") else ""
        if meant:
            raise click.UsageError(
                f"did you mean `waza new {meant}`? For a skill of the name {first!r}: waza new skill {first}",
                ctx,
            )
        return super().parse_args(ctx, [self.default_command, *args])

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, in their order."""
        del ctx
        return [*self.commands, "task", "grader"]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command. `grader` is `waza grader new`, and the commands of `task` have a file of their own."""
        if cmd_name == "grader":
            from waza.cli.grader import new

            return new
        if cmd_name == "task":
            from waza.cli.new_task import task

            return task
        return super().get_command(ctx, cmd_name)


@click.group(cls=NewCommands, epilog="Example: waza new skill release-notes")
def command() -> None:
    """Start a skill, a suite, a task, a custom agent or a grader. Nothing is overwritten unasked.

    `waza new NAME` is short for `waza new skill NAME`.
    """


_output_dir = click.option(
    "-d", "--output-dir", default=".", type=PATH, metavar="DIR", help="Work in this directory, which is made."
)
_executor = executor_option("Executor of the suite [default: that of .waza.yaml, else mock].")
_executor_of_eval = executor_option(
    "Executor of the suite [default: that of .waza.yaml, else mock; of a scenario copilot-sdk]."
)
_yes = click.option("-y", "--yes", is_flag=True, help="Ask nothing, also on a terminal.")


@command.command(epilog="Example: waza new skill release-notes --trigger 'write release notes' --judge")
@click.argument("name", required=False, default="")
@click.option("--description", default="", metavar="TEXT", help="What the skill does, in a sentence.")
@click.option(
    "--trigger", "triggers", multiple=True, metavar="PHRASE", help="What it is for; can be repeated."
)
@click.option(
    "--anti-trigger",
    "anti_triggers",
    multiple=True,
    metavar="PHRASE",
    help="What it is not for; can be repeated.",
)
@click.option("--judge", is_flag=True, help="Let a model judge the first task as well.")
@_executor
@_output_dir
@click.option("-t", "--template", default="", help="Accepted; there are no templates to choose from yet.")
@click.option("--overwrite", is_flag=True, help="Replace a SKILL.md that cannot be read.")
@_yes
def skill(
    name: str,
    description: str,
    triggers: tuple[str, ...],
    anti_triggers: tuple[str, ...],
    executor: str,
    output_dir: Path,
    template: str,
    *,
    judge: bool,
    overwrite: bool,
    yes: bool,
) -> int:
    """Write a skill, and a suite for it that runs at once on the mock.

    Where there is a directory `skills`, here or above, the skill goes there, and its suite into `evals`. Elsewhere
    both are in a directory of the skill, with a workflow and a README. What is there already is kept, and what is
    missing is added.
    """
    from waza.cli.new_command import NewSkillArguments, new_skill

    return new_skill(
        NewSkillArguments(
            name=name,
            description=description,
            triggers=triggers,
            anti_triggers=anti_triggers,
            executor=executor,
            output_dir=output_dir,
            template=template,
            judge=judge,
            overwrite=overwrite,
            yes=yes,
        )
    )


@command.command(
    name="eval",
    epilog="""
\b
Examples:
  waza new eval release-notes
  waza new eval --scenario --template mcp --context security-reviewer
""",
)
@click.argument("name", required=False, default="", metavar="[SKILL]")
@click.option("--judge", is_flag=True, help="Let a model judge the first task as well.")
@click.option(
    "--scenario", is_flag=True, help="Write a scenario, which declares a workflow; SKILL is its name."
)
@click.option(
    "--template",
    type=click.Choice(SCENARIOS),
    default=None,
    help="What the scenario is about [default: repository].",
)
@click.option(
    "--context", default="", metavar="SKILL", help="Skill or custom agent that the agent of the scenario has."
)
@click.option(
    "-o",
    "--output",
    type=PATH,
    metavar="PATH",
    help="The suite file, or its directory [default: evals/NAME].",
)
@_executor_of_eval
@click.option("--overwrite", is_flag=True, help="Overwrite files that are there already.")
@_yes
def evaluation(
    name: str,
    template: str | None,
    context: str,
    output: Path | None,
    executor: str,
    *,
    judge: bool,
    scenario: bool,
    overwrite: bool,
    yes: bool,
) -> int:
    """Write a suite for a skill or custom agent that is there, or a scenario, which needs neither.

    SKILL is a name, a directory, a SKILL.md or an .agent.md. Tasks and trigger tests are made of its description.
    """
    from waza.cli.new_eval import NewEvalArguments, new_eval

    return new_eval(
        NewEvalArguments(
            name=name,
            template=template,
            context=context,
            output=output,
            executor=executor,
            judge=judge,
            scenario=scenario,
            overwrite=overwrite,
            yes=yes,
        )
    )


@command.command(epilog="Example: waza new agent security-reviewer")
@click.argument("name", required=False, default="")
@click.option("--description", default="", metavar="TEXT", help="What the agent does, in a sentence.")
@click.option("--judge", is_flag=True, help="Let a model judge the first task as well.")
@_executor
@_output_dir
@click.option("--overwrite", is_flag=True, help="Replace an .agent.md that cannot be read.")
@_yes
def agent(
    name: str, description: str, executor: str, output_dir: Path, *, judge: bool, overwrite: bool, yes: bool
) -> int:
    """Write a custom agent that may only read, and a suite for it that runs at once on the mock.

    The agent goes into `agents`, its suite into `evals`. What is there already is kept, and what is missing is added.
    """
    from waza.cli.new_command import NewAgentArguments, new_agent

    return new_agent(
        NewAgentArguments(
            name=name,
            description=description,
            executor=executor,
            output_dir=output_dir,
            judge=judge,
            overwrite=overwrite,
            yes=yes,
        )
    )
