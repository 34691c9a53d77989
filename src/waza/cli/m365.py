"""`waza m365`: evaluation documents of Microsoft 365 Copilot agents."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import click

from waza.cli.numbers import COUNT, FINITE, PARTS_OF_SECONDS
from waza.cli.options import (
    ResumableCommand,
    json_option,
    model_option,
    otel_options,
    output_option,
    reporter_option,
    resume_options,
    timeout_option,
)
from waza.cli.paths import PATH


@click.group(invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Work with evaluation documents of Microsoft 365 Copilot agents."""
    if context.invoked_subcommand is None:
        from waza.cli.streams import print_line

        print_line(context.get_help())


_JUDGE_TIMEOUT = click.option(
    "--judge-timeout",
    type=PARTS_OF_SECONDS,
    default=180,
    metavar="S",
    help="Seconds in which the judge must answer a built-in evaluator [default: 180].",
)
_EVALUATOR_TIMEOUT = click.option(
    "--evaluator-timeout",
    type=PARTS_OF_SECONDS,
    default=300,
    metavar="S",
    help="Seconds a custom evaluator may take [default: 300].",
)
_LOAD_FLOW = click.option(
    "--load-flow",
    type=click.Choice(["auto", "builtin", "promptflow"]),
    default="auto",
    help="What load_flow gives to custom judges [default: auto, promptflow where it is installed].",
)
_LOG_LEVEL = click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default=None,
    help="Log to stderr.",
)

RUN_EPILOG = """
\b
Examples:
  waza m365 run evals.json --agent mock --judge mock:judge.json   try it, without a model
  waza m365 run evals.json --agent "command:python bot.py"        any program
  waza m365 run evals.json --agent a2a:http://127.0.0.1:9999 --judge azure -o report.html
  waza m365 run results.json --agent recorded                     judge responses again

Exit codes: 0 all passed, 1 a turn did not, 2 bad configuration, 129, 130 and 143 interrupted.
"""


OF_RUNEVALS = {
    "--prompts": "write the prompts into a document; `waza m365 init` makes one",
    "--expected": "write 'expected_response' next to each prompt of a document",
    "-i": "write the prompts into a document; `waza m365 init` makes one",
    "--interactive": "write the prompts into a document; `waza m365 init` makes one",
    "--m365-agent-id": "agents are reached by --agent a2a:URL, command:CMD, copilot-sdk or chat",
    "--account": "agents are reached by --agent a2a:URL, with --bearer-env VAR for a token",
    "--azure-ai-auth-mode": "with AZURE_AI_API_KEY set that key is used, without it who is signed in",
    "--no-judge-auto-fallback": "no other judge is ever taken; leave it out",
    "--init-only": "nothing is to be prepared; leave it out",
}
"""Options of runevals that run does not have, and what to do instead."""


class RunCommand(ResumableCommand):
    """The command that people know by its name of another program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse; for options of runevals that are not ours, the error names the replacement."""
        options = itertools.takewhile(lambda word: word != "--", args)
        for name in (word.partition("=")[0] for word in options):
            if name in OF_RUNEVALS:
                raise click.UsageError(f"{name} is an option of runevals; here, {OF_RUNEVALS[name]}", ctx)
        return super().parse_args(ctx, args)


@command.command(cls=RunCommand, epilog=RUN_EPILOG)
@click.argument("document", required=False, type=PATH, metavar="[DOC]")
@click.option("--prompts-file", type=PATH, hidden=True, help="DOC, as runevals has it.")
@click.option(
    "--env",
    "env_name",
    default="",
    metavar="NAME",
    help="Read variables from .env, .env.local, .env.local.user and env/.env.NAME.",
)
@click.option(
    "--agent",
    default="",
    metavar="NAME",
    help="mock, recorded, command:CMD, a2a:URL, copilot-sdk or chat [default: defaults.engine of .waza.yaml].",
)
@model_option("Model of the copilot-sdk agent.")
@click.option("--skill", type=PATH, help="SKILL.md or .agent.md that the copilot-sdk agent has.")
@click.option(
    "--judge",
    "--judge-backend",
    "judge",
    default="",
    metavar="NAME",
    help="azure, openai, copilot or mock:FILE [default: what the environment configures].",
)
@click.option(
    "--judge-retrieval",
    is_flag=True,
    help="Let the judge say whether search results support the expected_items of RetrievalResult.",
)
@_JUDGE_TIMEOUT
@output_option(
    "Results as .json, .csv or .html; may be repeated [default: .json and .html in .evals].", several=True
)
@reporter_option("junit:PATH, markdown:PATH")
@click.option("--concurrency", type=COUNT, default=1, help="Items at the same time, at most 5.")
@timeout_option(PARTS_OF_SECONDS)
@_EVALUATOR_TIMEOUT
@click.option(
    "--bearer-env", "token_env", default="", metavar="VAR", help="Variable with the A2A agent's token."
)
@click.option("--api-key-env", "key_env", default="", metavar="VAR", help="Variable with its API key.")
@_LOAD_FLOW
@resume_options(
    "the newest run of the document", "ask every item again that ended in an error, as it does anyway"
)
@json_option("Print the results as JSON instead of a summary.")
@otel_options
@_LOG_LEVEL
def run(**options: Any) -> int:
    """Run a document: ask the agent, let the evaluators judge, and write the results.

    Without a DOC, the document that is found here or in evals/. Custom evaluators are those in
    custom-evaluators/ of the current directory; they run with all rights of this program.
    """
    from waza.cli.environment_files import load_variables
    from waza.cli.m365_run import DocumentRunArguments, run_command

    named = options.pop("prompts_file")
    if named and options["document"]:
        raise click.UsageError("--prompts-file names a document, and so does DOC; give one of them")
    options["document"] = named or options["document"]
    load_variables(options.pop("env_name"))
    return run_command(DocumentRunArguments(**{**options, "log_level": options["log_level"] or ""}))


TRY_EPILOG = """
\b
Examples:
  waza m365 try max_words --response "Lima is in Peru." --options '{"words": 3}'
  waza m365 try Groundedness --response "In Peru." --context "Lima is in Peru." --judge azure
  my-agent "Where is Lima?" | waza m365 try ExactMatch --response - --expected "In Peru."

Exit codes: 0 it passes, 1 it does not, 2 bad configuration.
"""


@command.command("try", epilog=TRY_EPILOG)
@click.argument("name")
@click.option("--response", required=True, help="The response to judge; - reads it from stdin.")
@click.option("--prompt", default="", help="The prompt that it answers.")
@click.option("--expected", default="", help="The expected response.")
@click.option("--context", default="", help="What the response should be grounded on.")
@click.option("--threshold", type=FINITE, help="Threshold, instead of the default.")
@click.option("--options", default="", metavar="JSON", help="Options of the evaluator, as a JSON object.")
@click.option("--judge", default="", metavar="NAME", help="azure, openai, copilot or mock:FILE.")
@_JUDGE_TIMEOUT
@_EVALUATOR_TIMEOUT
@_LOAD_FLOW
@json_option("Print the entry as results have it.")
@_LOG_LEVEL
def try_(**options: Any) -> int:
    """Ask one evaluator about one response, without a document or an agent.

    NAME is a built-in evaluator, or a folder in custom-evaluators/ of the current directory.
    """
    from waza.cli.m365_try import TryArguments, try_evaluator

    return try_evaluator(TryArguments(**{**options, "log_level": options["log_level"] or ""}))


@command.command(epilog="Example: waza m365 validate evals/evals.json")
@click.argument("files", nargs=-1, type=PATH, metavar="[FILE]...")
@click.option(
    "--resolve", is_flag=True, help="Import the evaluators as well, as a run from this directory would."
)
@json_option("Print what is found as JSON.")
def validate(files: tuple[Path, ...], *, resolve: bool, as_json: bool) -> int:
    """Check documents against the current schema, without asking anybody.

    With --resolve, what a run would refuse is refused as well; the code of custom evaluators is imported.

    Without a FILE, the document that is found here or in evals/. Exit code 0 when all are valid, 2 otherwise.
    """
    from waza.cli.m365_files import validate_files

    return validate_files(files, evaluators=resolve, as_json=as_json)


@command.command(epilog="Example: waza m365 init my-agent")
@click.argument("directory", default=".", type=PATH, metavar="[DIR]")
def init(directory: Path) -> int:
    """Write a first document and a custom evaluator. Files that are there are never overwritten."""
    from waza.cli.m365_files import write_starter

    return write_starter(directory)


@command.command(epilog="Example: waza m365 upgrade prompts.json")
@click.argument("file", type=PATH)
def upgrade(file: Path) -> int:
    """Rewrite a document of an older form or version in the current one, and keep the old one next to it.

    The old file is kept as FILE.bak.<time>. A document that is current is not touched.
    """
    from waza.cli.m365_files import upgrade_file

    return upgrade_file(file)
