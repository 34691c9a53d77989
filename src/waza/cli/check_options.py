"""Options of `waza run` and `waza m365 run` that do not go together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from waza.cli.outputs import JSON, ReporterOption, check_distinct
from waza.errors import UsageError
from waza.kit.expression import Expression
from waza.suite.select import EXPRESSION_HINT

if TYPE_CHECKING:
    from waza.cli.run_command import RunArguments


def check_options(arguments: RunArguments, reporters: Sequence[ReporterOption]) -> None:
    """Raise UsageError for options that exclude each other, or of which one would be lost."""
    check_expression(arguments.expression)
    check_resumption(no_save=arguments.no_save, resume=arguments.resume, retry_errors=arguments.retry_errors)
    check_shard(arguments)
    if not arguments.backend and (arguments.scheduler or arguments.resources):
        flag = "--scheduler" if arguments.scheduler else "--resources"
        raise UsageError(f"{flag} is of a cluster; give --backend dask, too")
    if arguments.watch:
        check_watching(arguments, reporters)
    if arguments.output and arguments.output_dir:
        raise UsageError("-o and --output-dir exclude each other; keep one")
    others = ["--interpret"] if arguments.interpret else []
    if arguments.form != "default":
        others = ["--format github-comment"]
    check_printed(reporters, others)
    if arguments.show_prompt and not arguments.suggest:
        raise UsageError("--show-prompt shows what --suggest would ask; give both")
    if arguments.session_dir and arguments.session_log is False:
        raise UsageError("--session-dir says where the session log goes; leave it or --no-session-log out")
    check_distinct([path for path in (arguments.output, arguments.otel_file) if path], reporters)
    if arguments.snapshot is None and (arguments.snapshot_env_allow or arguments.evidence_files):
        flag = "--evidence-file" if arguments.evidence_files else "--snapshot-env-allow"
        raise UsageError(f"{flag} says what snapshots hold; give --snapshot DIR, too")


def check_expression(text: str | None) -> None:
    """Raise UsageError for a `-k` that cannot be read: a mistake of the call, and not of any suite."""
    if text is None:
        return
    try:
        Expression(text)
    except ValueError as error:
        raise UsageError(f"-k: {error}; {EXPRESSION_HINT}") from None


def check_resumption(*, no_save: bool, resume: str | None, retry_errors: bool) -> None:
    """Raise UsageError for options of resuming that exclude each other, or of which one has no effect."""
    if no_save and resume is not None:
        raise UsageError("--no-save keeps no run to resume; leave one of --no-save and --resume out")
    if retry_errors and resume is None:
        raise UsageError("--retry-errors says what --resume runs again; give both")


def check_shard(arguments: RunArguments) -> None:
    """Raise UsageError for options that are of a whole run, where a part of it is to be run, and for --durations alone."""
    if arguments.shard is None:
        if arguments.durations is not None:
            raise UsageError("--durations balances shards; give --shard I/N, too")
        return
    of_the_whole = {
        "--no-save": (arguments.no_save, "waza merge needs the run directory"),
        "--watch": (arguments.watch, "a shard is run once"),
        "--recommend": (arguments.recommend, "a part of a run recommends no model"),
        "--auto-file-issue": (arguments.auto_file_issue, "a part of a run decides nothing"),
    }
    for name, (given, why) in of_the_whole.items():
        if given:
            raise UsageError(f"--shard and {name} exclude each other: {why}")


def check_watching(arguments: RunArguments, reporters: Sequence[ReporterOption]) -> None:
    """Raise UsageError for options that are of one run, where there are to be many."""
    of_one_run = {
        "--resume": arguments.resume is not None,
        "--snapshot": arguments.snapshot is not None,
        "--changed-since": arguments.changed_since is not None,
        "--backend": bool(arguments.backend),
        "a report on standard output": any(reporter.path is None for reporter in reporters),
        "--auto-file-issue": arguments.auto_file_issue,
    }
    if wrong := [name for name, given in of_one_run.items() if given]:
        raise UsageError(
            f"--watch runs again and again, and {wrong[0]} is for one run; leave one of both out"
        )


def check_printed(reporters: Sequence[ReporterOption], others: Sequence[str] = ()) -> None:
    """Raise UsageError where a report is printed and anything else, too: another report, or what `others` print."""
    printed = list(dict.fromkeys(reporter.name for reporter in reporters if reporter.path is None))
    flags = [*("--json" if name == JSON else f"--reporter {name}" for name in printed), *others]
    if printed and len(flags) > 1:
        raise UsageError(
            f"{flags[0]} and {flags[1]} both write to standard output; leave one out, "
            f"or use --reporter {printed[0]}:FILE"
        )


def list_outputs(arguments: RunArguments, reporters: Sequence[ReporterOption]) -> frozenset[Path]:
    """Return the files and folders that a command writes."""
    given = arguments
    places = [given.output, given.output_dir, given.transcript_dir, given.session_dir, Path(given.cache_dir)]
    places += [given.snapshot, given.otel_file]
    places += [reporter.path for reporter in reporters]
    return frozenset(place.absolute() for place in places if place)
