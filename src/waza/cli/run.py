"""`waza run`: its options. What they do is in `waza.cli.run_command`."""

from __future__ import annotations

from typing import Any

import click

from waza.cli.numbers import COUNT, COUNT_OR_NONE, SECONDS, SHARD
from waza.cli.options import (
    ResumableCommand,
    complete_targets,
    context_dir_option,
    executor_option,
    format_option,
    json_option,
    judge_model_option,
    model_option,
    otel_options,
    output_option,
    redact_option,
    reporter_option,
    resume_options,
    timeout_option,
)
from waza.cli.paths import PATH

EPILOG = """
\b
Examples:
  waza run eval.yaml -v                    one suite, with what the agent says and does
  waza run code-explainer 'review-*'       the suites of some skills
  waza run eval.yaml --executor mock       try the suite without an agent
  waza run eval.yaml --model a --model b   compare two models
  waza run eval.yaml -k 'csv and not slow' some tasks, by texts in their ids, names and tags
  waza run eval.yaml --shard 2/3           the second of three parts, for waza merge
  waza run eval.yaml --backend dask -w 4   on four processes, or with --scheduler on a cluster
  waza run eval.yaml --resume              go on after an interrupt
  waza run eval.yaml --snapshot evidence   keep what was observed, sealed
  waza run --discover skills --strict      every skill must have a suite
  waza run --changed-since main            what a branch touches
  waza run --executor mock --watch         again what a saved file touches

\b
Exit codes: 0 all tasks passed (--baseline: more with skills than without), 1 not so,
2 bad configuration or nothing to run (with --changed-since: 0), 129, 130 and 143 interrupted.
"""


@click.command(cls=ResumableCommand, epilog=EPILOG)
@click.argument("targets", shell_complete=complete_targets, nargs=-1, metavar="[EVAL.YAML | SKILL]...")
@executor_option("Agent engine, instead of config.executor.")
@model_option("Model; several are run one after another.", several=True)
@judge_model_option
@click.option(
    "--trials",
    type=COUNT,
    metavar="N",
    help="Exactly so many trials a task, instead of config.trials_per_task and stop_when.",
)
@timeout_option(SECONDS)
@click.option("-t", "--task", "tasks", multiple=True, metavar="GLOB", help="Only tasks of this name or id.")
@click.option("--tags", multiple=True, metavar="GLOB", help="Only tasks with such a tag.")
@click.option(
    "-k",
    "expression",
    metavar="EXPRESSION",
    help="Only tasks with these texts in id, name or tags, joined by and, or, not.",
)
@click.option(
    "--shard", type=SHARD, metavar="I/N", help="Only the tasks of one of N parts; waza merge makes the whole."
)
@click.option(
    "--durations",
    type=PATH,
    metavar="FILE",
    help="With --shard: balance the parts by the durations in this results file.",
)
@click.option(
    "--wire",
    type=click.Choice(["auto", "off", "record", "replay"]),
    metavar="MODE",
    help="The wire between agent and model, instead of config.wire: auto, off, record or replay.",
)
@click.option(
    "--cassettes",
    metavar="DIR|RUN",
    default="",
    help="With --wire replay: a directory of cassettes, or the run that recorded them.",
)
@click.option("--backend", metavar="NAME", default="", help="Run trials on other machines: dask.")
@click.option(
    "--scheduler", metavar="ADDRESS", default="", help="With --backend: the scheduler of the cluster."
)
@click.option(
    "--resources",
    multiple=True,
    metavar="NAME=AMOUNT",
    help="With --backend: what a trial needs of a worker.",
)
@click.option(
    "--changed-since",
    metavar="REF",
    help="Only suites that changed files touch, since the branch left this commit.",
)
@click.option(
    "--watch", is_flag=True, help="Run again what a saved file touches, with the cache, until Ctrl-C."
)
@context_dir_option
@click.option("--parallel/--no-parallel", default=None, help="Run trials at the same time, or not.")
@click.option(
    "-w", "--workers", type=COUNT_OR_NONE, default=0, metavar="N", help="How many at once [0: automatic]."
)
@click.option("--baseline", is_flag=True, help="Run with and without skills, and compare.")
@click.option("--no-skills", is_flag=True, help="Run without any skill.")
@click.option("--skip-graders", is_flag=True, help="Run the agent and record, without grading.")
@click.option("--update-snapshots", is_flag=True, help="Let diff graders rewrite their expected files.")
@click.option("--keep-workspace", is_flag=True, help="Do not remove the workspaces.")
@resume_options("the newest invocation that was cut off", "run every trial again that ended in an error")
@click.option("--cache/--no-cache", default=None, help="Reuse results of tasks that did not change.")
@click.option("--cache-dir", default="", metavar="DIR", help="Where the cache is [default: .waza-cache].")
@output_option("Write the results file here; as a report to read and mail, if the name ends in .html.")
@click.option("-d", "--output-dir", type=PATH, help="Write results into a folder of this run.")
@click.option("--no-summary", is_flag=True, help="No combined summary file when several skills are run.")
@format_option(["default", "github-comment"])
@reporter_option("json, json:PATH, html:PATH, junit:PATH, markdown:PATH")
@json_option("Print the results as JSON, same as --reporter json.")
@click.option(
    "-v", "--verbose/--no-verbose", default=None, help="Show prompts, responses, tools and graders."
)
@click.option("--interpret", is_flag=True, help="Say in plain words what the figures mean.")
@click.option("--recommend", is_flag=True, help="Recommend one of several models.")
@click.option("--suggest", is_flag=True, help="Ask a model what to change in the skill, if anything failed.")
@click.option("--show-prompt", is_flag=True, help="With --suggest: print what would be asked; ask nobody.")
@click.option(
    "--auto-file-issue",
    is_flag=True,
    help="File an issue on GitHub by the program gh, if the run did not pass.",
)
@click.option("--print-issue", is_flag=True, help="Print the issue that --auto-file-issue would file.")
@click.option("--transcript-dir", type=PATH, help="Write a transcript of each task.")
@click.option("--session-log/--no-session-log", default=None, help="Write what happens as NDJSON.")
@click.option(
    "--session-dir",
    type=PATH,
    help="Write the session log into this directory [default: .].",
)
@click.option(
    "--snapshot",
    type=PATH,
    metavar="DIR",
    help="Write a snapshot of each trial as evidence, into a new directory.",
)
@click.option(
    "--snapshot-env-allow",
    multiple=True,
    metavar="NAME",
    help="Keep this environment variable in snapshots; with PREFIX*, all that begin so.",
)
@click.option(
    "--evidence-file",
    "evidence_files",
    multiple=True,
    metavar="GLOB",
    help="Keep these text files of workspaces in snapshots.",
)
@redact_option
@otel_options
@click.option("--discover", is_flag=True, help="Run the suites of all skills below a directory.")
@click.option("--warnings-as-errors", is_flag=True, help="Run no suite that has warnings.")
@click.option("--strict", is_flag=True, help="A skill without suite, or a filter without match, is an error.")
def command(**options: Any) -> int:
    """Run suites: every task in a workspace of its own, graded, repeated, counted.

    A suite is named by its file or directory, or by the skill or agent that it tests: a name, a path, or a pattern such as
    'skill-*'. Without an argument the suites of all skills around here are run, or else that of the current directory.
    """
    from waza.cli.run_command import RunArguments, run_command

    return run_command(RunArguments(**options))
