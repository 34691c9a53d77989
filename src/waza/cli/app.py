"""The table of commands. Help is printed from it, so that no command is imported to be listed."""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

import click

from waza.cli.option_spelling import normalize_words
from waza.cli.std_streams import is_debug, prepare_streams, silence
from waza.errors import (
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_TERMINATED,
    SuiteError,
    WazaError,
)
from waza.version import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = {
    "run": ("waza.cli.run", "Run a suite and report what its graders say."),
    "grade": ("waza.cli.grade", "Grade recorded results again, without running an agent."),
    "show": ("waza.cli.show", "Show why a run or a trial ended as it did."),
    "report": ("waza.cli.report", "Write runs as one HTML file, to read and to mail."),
    "compare": ("waza.cli.compare", "Compare results, and say what chance explains."),
    "diagnose": ("waza.cli.diagnose", "Say what is the matter with skills, and what to do next."),
    "ablate": ("waza.cli.ablate", "Say what each section of a skill gives, by leaving it out."),
    "gate": ("waza.cli.gate", "Decide whether a run may ship, by an earlier one."),
    "merge": ("waza.cli.merge", "Make one run of its shards."),
    "replay": ("waza.cli.replay", "Check the record of a trial, or find where two records part."),
    "serve": ("waza.cli.serve", "Show runs in a browser, also while they last."),
    "evidence": ("waza.cli.evidence", "Verify what a run kept as evidence."),
    "history": ("waza.cli.history", "Show runs over time: figures, changes, and tasks that flip."),
    "results": ("waza.cli.results", "List, fetch and compare the results in the store of a team."),
    "export": ("waza.cli.export", "Write results as rows, for spreadsheets and programs."),
    "noise": ("waza.cli.noise", "Say how often chance alone trips a gate."),
    "session": ("waza.cli.session", "List and view session logs."),
    "experiment": ("waza.cli.experiment", "Compare two arms by a plan that is sealed before the data."),
    "init": ("waza.cli.init", "Write the settings of a project, and suites for its skills."),
    "new": ("waza.cli.new", "Start a skill, a suite, a task, a custom agent or a grader."),
    "check": ("waza.cli.check", "Check whether skills and agents are fit for use."),
    "assure": ("waza.cli.assure", "Hold graders against answers that must pass or fail."),
    "coverage": ("waza.cli.coverage", "List skills and agents with their suites, and what these hold."),
    "spec": ("waza.cli.spec", "Check that tasks exercise what a skill promises."),
    "tokens": ("waza.cli.tokens", "Count tokens of skills, and compare them with limits."),
    "suggest": ("waza.cli.suggest", "Ask a model for a suite of a skill."),
    "label": ("waza.cli.label", "Label answers of a run without seeing verdicts."),
    "dev": ("waza.cli.dev", "Improve the descriptions of skills."),
    "quality": ("waza.cli.quality", "Ask a judge how good a skill or agent is."),
    "import": ("waza.cli.import_", "Make suites of the evals of other tools."),
    "adversarial": ("waza.cli.adversarial", "Attack an agent with packs of tasks, and say what it did."),
    "preflight": ("waza.cli.preflight", "Say what a suite needs and what is missing, without running it."),
    "plan": ("waza.cli.plan", "Say what a run takes, and how small a difference it shows."),
    "get": ("waza.cli.get", "Fetch graders from elsewhere and pin them in waza.lock."),
    "registry": ("waza.cli.registry", "Add, search and verify graders from elsewhere."),
    "grader": ("waza.cli.grader", "Look graders up, write your own, and try them."),
    "m365": ("waza.cli.m365", "Work with evaluation documents of Microsoft 365 Copilot agents."),
    "models": ("waza.cli.models", "List the models of the Copilot runtime."),
    "cache": ("waza.cli.cache", "Show what the cache of results holds, or empty it."),
    "cassette": ("waza.cli.cassette", "Show or remove what the wire recorded for replays."),
    "migrate": ("waza.cli.migrate", "Bring suites and results up to this version of waza."),
    "completion": ("waza.cli.completion", "Print a script that completes words in a shell."),
    "update": ("waza.cli.update", "Print the command that updates waza."),
    "doctor": ("waza.cli.doctor", "Say what is installed, and what real agents still need."),
    "explain": ("waza.cli.explain", "Explain the code of a problem."),
    "schema": ("waza.cli.schema", "Print the JSON Schema of a file format."),
}

OTHER_NAMES = {
    "compare-plan": ("experiment", "plan"),
    "compare-collect": ("experiment", "collect"),
    "generate": ("new", ""),
}
"""Names of commands, or of their subcommands, that are accepted as well, and not listed."""


class Commands(click.Group):
    """A group that imports a command only when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name in OTHER_NAMES:
            group, name = OTHER_NAMES[cmd_name]
            found = self.get_command(ctx, group)
            return found.get_command(ctx, name) if name and isinstance(found, click.Group) else found
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(COMMANDS[cmd_name][0]).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; say which one was probably meant."""
        known = args and (args[0] in COMMANDS or args[0] in OTHER_NAMES or args[0].startswith("-"))
        if args and not known and not ctx.resilient_parsing:
            from waza.kit.names import nearest_name

            meant = nearest_name(args[0], COMMANDS)
            hint = f" Did you mean {meant!r}?" if meant else f" Commands: {', '.join(COMMANDS)}."
            raise click.UsageError(f"there is no command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Complete names of commands from the table, and the options."""
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=text)
            for name, (_, text) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return [*names, *super(click.Group, self).shell_complete(ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands from the table."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=Commands,
    invoke_without_command=True,
    subcommand_metavar="COMMAND [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Example: waza run examples/code-explainer/eval.yaml -v",
)
@click.version_option(__version__, "-v", "--version", message="waza version %(version)s")
@click.option("--debug", is_flag=True, help="Show tracebacks of errors, also of graders and executors.")
@click.option("--no-update-check", is_flag=True, hidden=True, help="Accepted; there is no update check.")
@click.pass_context
def cli(ctx: click.Context, *, debug: bool, no_update_check: bool) -> None:
    """Evaluate AI agent skills and custom agents from YAML suites."""
    del debug, no_update_check
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _terminated(number: int, frame: object) -> NoReturn:
    """End in order on SIGTERM, so that nothing that was started stays; runs have their own way."""
    del number, frame
    raise SystemExit(EXIT_TERMINATED)


def run() -> NoReturn:
    """Run the command line and exit; mistakes of users are printed as one message on stderr."""
    signal.signal(signal.SIGTERM, _terminated)
    prepare_streams()
    try:
        sys.exit(_invoke())
    except SuiteError as error:
        _complain(error.listing, error.exit_code)
    except WazaError as error:
        if error.__cause__ is not None:
            _trace()
        _complain(f"Error: {error}", error.exit_code)
    except OSError as error:
        _fail_on_files(error)
    except (KeyboardInterrupt, click.exceptions.Abort):
        _complain("interrupted", EXIT_INTERRUPTED)
    except Exception as error:  # noqa: BLE001  # a defect of ours must not end as a failed task does, with 1
        _trace()
        where = "this is a defect of waza; `waza --debug ...` shows where it is"
        _complain(f"Error: {type(error).__name__}: {error}; {where}", EXIT_ERROR)


def _invoke() -> int:
    try:
        os.getcwd()  # noqa: PTH109 - one import less at the start
    except FileNotFoundError:
        _complain("the current directory was deleted; change to one that exists", EXIT_ERROR)
    try:
        sys.argv[1:] = normalize_words(cli, sys.argv[1:])
        code = cli.main(prog_name="waza", standalone_mode=False)
    except click.exceptions.Exit as done:
        code = done.exit_code
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        hint = f"; see `{context.command_path} --help`" if context else ""
        message = " ".join(error.format_message().split()).rstrip(".")
        _complain(f"Error: {message}{hint}", EXIT_ERROR)
    sys.stdout.flush()
    return code if isinstance(code, int) else EXIT_OK


def _fail_on_files(error: OSError) -> NoReturn:
    """End after trouble with a file or a stream."""
    _trace()
    silence(sys.stdout)
    from waza.kit.os_errors import describe_os_error

    where = error.filename or "the output"
    _complain(f"Error: cannot write or read {where}: {describe_os_error(error)}", EXIT_ERROR)


def _trace() -> None:
    """With `--debug`, show where the error at hand comes from."""
    if is_debug():
        from traceback import format_exc

        from waza.cli.streams import print_notice

        print_notice(format_exc().rstrip())


def _complain(message: str, code: int) -> NoReturn:
    from waza.cli.streams import print_notice

    print_notice(message)
    sys.exit(code)
