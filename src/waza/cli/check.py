"""`waza check`: whether skills and custom agents are fit for use, and what to do where they are not."""

from __future__ import annotations

import click

from waza.cli.options import complete_targets, format_option
from waza.errors import UsageError

EPILOG = """
\b
Examples:
  waza check                             all skills and agents of the workspace
  waza check code-explainer --fix        one, and correct what is mechanical
  waza check skills/review --format json
  waza check --offline --fail-on error   in a hook: no network; exit code 1 unless all are ready
  waza check code-explainer --prove --integrity   whether its suite can be trusted

\b
Exit codes: 0 the report is printed, 1 --fail-on found something, 2 bad usage, nothing found,
or a file that cannot be read.
"""


@click.command(epilog=EPILOG)
@click.argument("targets", shell_complete=complete_targets, metavar="[TARGET]...", nargs=-1)
@format_option(["text", "table", "json", "sarif", "github"])
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning"]),
    help="Exit with 1 where there is such a finding, or a worse one.",
)
@click.option(
    "--fix",
    is_flag=True,
    help="Correct what is mechanical, and say what was changed. Sentences stay as they are.",
)
@click.option("--offline", is_flag=True, help="Do not ask whether addresses on the web are there.")
@click.option(
    "--prove",
    is_flag=True,
    help="Prove suites instead: run their graders against agents that should fail, their solutions, and answers made worse.",
)
@click.option(
    "--integrity",
    is_flag=True,
    help="Look into suites instead: leaked answers, what agents can read, canaries, injections into judges.",
)
@click.option(
    "--programs",
    is_flag=True,
    help="With --prove or --integrity: also ask graders that run programs, and run hooks.",
)
@click.option(
    "--judges",
    is_flag=True,
    help="With --prove: also ask graders that ask a judge; the suite's executor answers, which may cost.",
)
@click.option(
    "--tokenizer",
    type=click.Choice(["bpe", "estimate"]),
    help="How tokens are counted [default: bpe where its extra is installed].",
)
@click.option("--verbose", is_flag=True, hidden=True, help="Accepted; the report is always complete.")
def command(
    *,
    targets: tuple[str, ...],
    form: str,
    fail_on: str | None,
    fix: bool,
    offline: bool,
    prove: bool,
    integrity: bool,
    programs: bool,
    judges: bool,
    tokenizer: str | None,
    verbose: bool,
) -> int:
    """Check skills and custom agents: format, description, links, tokens, and their suites.

    TARGET is a name, a directory, a SKILL.md or an .agent.md; without one, all of the workspace are checked. Nothing is
    run, but for what --prove and --integrity play on the mock executor. Every finding has a file, a line and a code, which `waza explain CODE` explains.
    """
    del verbose
    from waza.cli.check_arguments import CheckArguments

    given = CheckArguments(
        targets, form, fail_on or "", fix, offline, tokenizer or "", prove, integrity, programs, judges
    )
    if judges and not prove:
        raise UsageError("--judges is for graders that are proved; add --prove")
    if prove or integrity:
        from waza.cli.check_prove import run_prove

        return run_prove(given)
    if programs:
        raise UsageError("--programs is for suites that are proved; add --prove or --integrity")
    from waza.cli.check_command import run_check

    return run_check(given)
