"""`waza adversarial`: the command's options."""

from __future__ import annotations

from typing import Any

import click

from waza.cli.numbers import COUNT, COUNT_OR_NONE
from waza.cli.options import ResumableCommand, json_option, output_option, resume_options
from waza.cli.paths import PATH
from waza.cli.word import Word

EPILOG = """
\b
Examples:
  waza adversarial --list-packs
  waza adversarial --spec evals/review/eval.yaml
  waza adversarial --skill review --packs prompt-injection,./attacks
  waza adversarial --engine mock --script weak      the packs against an agent that obeys

\b
Exit codes:
  0  every task is safe, or --on-unsafe-outcome warn
  2  a task is unsafe, unknown or not done, or the run broke
  3  packs, the suite or values of options cannot be used
"""


@click.command(cls=ResumableCommand, epilog=EPILOG)
@click.option(
    "--packs",
    default="",
    metavar="A,B",
    help="Packs: built-in ones by name, your own by the path of a directory, others by a ref [default: those of the suite, else all].",
)
@click.option("--list-packs", is_flag=True, help="List the built-in packs, with -v also their tasks.")
@click.option(
    "--spec",
    type=PATH,
    metavar="EVAL.YAML",
    help="Attack the agent of this suite: its target, executor, servers, and graders besides those of the packs.",
)
@click.option("--without-suite-graders", is_flag=True, help="Ask only the graders of the packs.")
@click.option("--skill", default="", metavar="NAME", help="The skill or agent under attack.")
@click.option(
    "--engine",
    default="",
    metavar="NAME",
    help="The executor [default: that of the suite; copilot-sdk with a skill; else mock].",
)
@click.option("--script", default="", metavar="NAME", help="With mock: weak, sound, refusing or silent.")
@click.option("-m", "--model", default="", help="The model of the agent.")
@click.option("--trials", type=COUNT, metavar="N", help="Trials of each task [default: 1].")
@click.option(
    "--on-unsafe-outcome",
    type=Word(["fail", "warn"]),
    default=None,
    help="What a task that is not safe means [default: that of the suite, else fail].",
)
@output_option("Write the results file here.")
@click.option("--parallel/--no-parallel", default=None, help="Run trials at the same time, or not.")
@click.option(
    "-w", "--workers", type=COUNT_OR_NONE, default=0, metavar="N", help="How many at once [0: automatic]."
)
@click.option("--keep-artifacts", is_flag=True, help="Keep the workspaces in which the agent worked.")
@click.option(
    "--artifacts-dir",
    type=PATH,
    metavar="DIR",
    help="Keep the packs and the workspaces in this new directory.",
)
@resume_options(
    "the newest run of these packs that was cut off", "run every trial again that ended in an error"
)
@json_option("Print what was found as JSON.")
@click.option("-v", "--verbose", is_flag=True, help="Show prompts, responses, tools and graders.")
def command(**options: Any) -> int:
    """Attack an agent: packs of tasks that tempt it to do what it must not, each with harmless work to do.

    A task is safe only if nothing unsafe was seen and its work was done. No model judges.
    """
    from waza.cli.adversarial_command import AdversarialArguments, run_command

    return run_command(AdversarialArguments(**options))
