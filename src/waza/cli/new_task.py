"""`waza new task`: tasks made of what was seen of an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from waza.cli.numbers import COUNT, DURATION
from waza.cli.options import executor_option, model_option
from waza.cli.paths import PATH

if TYPE_CHECKING:
    from pathlib import Path


@click.group()
def task() -> None:
    """Make a task of what was seen of an agent: once, or in a run that failed."""


@task.command(
    epilog="""
\b
Examples:
  waza new task from-prompt "Write release notes for v2" evals/release-notes/tasks/v2.yaml
  waza new task from-prompt "Say hello" hello.yaml --executor mock --script answer.yaml
"""
)
@click.argument("prompt")
@click.argument("path", type=PATH)
@executor_option("Executor [default: that of the suite, else of .waza.yaml, else copilot-sdk].")
@model_option("Model, instead of that of the suite.")
@click.option(
    "--timeout", type=DURATION, default=None, metavar="S", help="Seconds the turn may take, also as 5m."
)
@click.option("--testname", default="", metavar="ID", help="Id of the task [default: auto-generated-test].")
@click.option("--tags", default="", metavar="TAG,...", help="Tags of the task, besides `inferred`.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="Fixture of the suite; can be repeated.")
@click.option("--suite", type=PATH, metavar="PATH", help="Suite of the task [default: beside it, or above].")
@click.option("--root", type=PATH, default=".", metavar="DIR", help="Project whose skills the agent has.")
@click.option(
    "--script", type=PATH, metavar="FILE", help="What the mock does: the keys of a `mock` block in YAML."
)
@click.option("--overwrite", is_flag=True, help="Overwrite the file if it is there already.")
def from_prompt(
    prompt: str,
    path: Path,
    executor: str,
    model: str,
    timeout: float | None,
    testname: str,
    tags: str,
    files: tuple[str, ...],
    suite: Path | None,
    root: Path,
    script: Path | None,
    *,
    overwrite: bool,
) -> int:
    """Run PROMPT once, and write the task PATH with graders that are inferred from what the agent did.

    They hold what was seen once: skills, calls of tools, files and the whole answer. The task says so in every report
    until somebody reviews it. It also has what was seen as a script, and so runs without an agent.
    """
    from waza.cli.new_task_command import FromPromptArguments, from_prompt

    return from_prompt(
        FromPromptArguments(
            prompt=prompt,
            path=path,
            executor=executor,
            model=model,
            timeout=int(timeout) if timeout else None,
            testname=testname,
            tags=tags,
            files=files,
            suite=suite,
            root=root,
            script=script,
            overwrite=overwrite,
        )
    )


@task.command(
    epilog="""
\b
Examples:
  waza new task from-run results.json explain-go
  waza new task from-run run-20260701 explain-go --trial 2
"""
)
@click.argument("results")
@click.argument("task_id", metavar="TASK")
@click.option(
    "--trial", type=COUNT, default=None, metavar="N", help="Trial [default: the first that failed]."
)
@click.option("--suite", type=PATH, metavar="PATH", help="Suite of the run, where its results do not tell.")
@click.option(
    "-o",
    "--output",
    type=PATH,
    metavar="PATH",
    help="The task file [default: a new one beside that of the task].",
)
@click.option("--overwrite", is_flag=True, help="Overwrite the file if it is there already.")
def from_run(
    results: str,
    task_id: str,
    trial: float | None,
    suite: Path | None,
    output: Path | None,
    *,
    overwrite: bool,
) -> int:
    """Make a regression task of a failure in RESULTS: a results file, a directory, or the id of a run.

    It has the prompt and the fixtures of TASK, the graders that failed, and what was seen as a script: on the mock it
    fails as it did in the run.
    """
    from waza.cli.new_task_command import FromRunArguments, from_run

    return from_run(
        FromRunArguments(
            results=results,
            task=task_id,
            trial=int(trial) if trial else None,
            suite=suite,
            output=output,
            overwrite=overwrite,
        )
    )
