"""`waza init`: the settings and directories of a project."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.paths import PATH

if TYPE_CHECKING:
    from pathlib import Path

EPILOG = """
\b
Examples:
  waza init
  waza init --workflow --hooks --source https://github.com/acme/waza
"""


@click.command(epilog=EPILOG)
@click.argument("directory", default=".", type=PATH, metavar="[DIR]")
@click.option(
    "--skills-dir", default="", metavar="DIR", help="Directory of skills [default: found, else skills]."
)
@click.option(
    "--evals-dir", default="", metavar="DIR", help="Directory of suites [default: found, else evals]."
)
@click.option(
    "--results-dir", default="", metavar="DIR", help="Directory of results [default: found, else results]."
)
@click.option("--engine", default="", metavar="NAME", help="Executor of new suites [default: mock].")
@click.option("--model", default="", metavar="NAME", help="Model of new suites.")
@click.option("--workflow", is_flag=True, help="Write a workflow for GitHub that runs the suites.")
@click.option("--hooks", is_flag=True, help="Write hooks for pre-commit that check skills and suites.")
@click.option("--source", default="", metavar="URL", help="Repository that has waza, for workflow and hooks.")
@click.option("--no-skill", is_flag=True, help="Do not offer to start a skill.")
@click.option("--no-evals", is_flag=True, help="Write no suites for skills that have none.")
@click.option("-y", "--yes", is_flag=True, help="Ask nothing, also on a terminal.")
def command(
    directory: Path,
    skills_dir: str,
    evals_dir: str,
    results_dir: str,
    engine: str,
    model: str,
    source: str,
    *,
    workflow: bool,
    hooks: bool,
    no_skill: bool,
    no_evals: bool,
    yes: bool,
) -> int:
    """Write the settings of a project, make its directories, and write a suite for each skill that has none.

    What is there already is kept; another time only what is missing is added. The exit code is 1
    where a skill or agent still has no suite because its definition is broken or its place is taken.
    """
    from waza.cli.init_command import InitArguments, init

    return init(
        InitArguments(
            directory=directory,
            skills_dir=skills_dir,
            evals_dir=evals_dir,
            results_dir=results_dir,
            engine=engine,
            model=model,
            source=source,
            workflow=workflow,
            hooks=hooks,
            no_skill=no_skill,
            no_evals=no_evals,
            yes=yes,
        )
    )
