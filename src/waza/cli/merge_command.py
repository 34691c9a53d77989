"""`waza merge`, step by step: find the shards, make the whole, report, write, decide."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from waza.cli.check_options import check_printed
from waza.cli.command_run import CommandRun, Writer
from waza.cli.outputs import (
    JSON,
    CommandResults,
    ReporterOption,
    SkillOutcome,
    check_distinct,
    check_output,
    parse_reporter,
    write_report,
    write_results,
)
from waza.cli.streams import print_notice
from waza.engine.merge import merge
from waza.errors import EXIT_FAILED, EXIT_OK
from waza.kit.text import pluralize
from waza.report import overview
from waza.report.console import print_report
from waza.report.view import InvocationView, RunView, compare_outcomes


def merge_command(
    shards: Sequence[Path],
    output: Path | None,
    reporter_texts: Sequence[str],
    *,
    as_json: bool,
    verbose: bool,
    interpret: bool,
) -> int:
    """Merge shards; return the exit code of the whole. Raises UsageError for what does not fit."""
    reporters = [parse_reporter(text) for text in reporter_texts]
    if as_json:
        reporters.append(ReporterOption(JSON))
    check_printed(reporters, ["--interpret"] if interpret else [])
    check_distinct([output] if output else [], reporters)
    if output:
        check_output(output, [])
    call = CommandRun()
    merged = merge(shards)
    results = CommandResults(done=tuple(SkillOutcome(skill=one.skill, outcome=one.outcome) for one in merged))
    for one in merged:
        head = one.outcome.head
        name = f"{one.skill} on {head.config.model_id or 'the default model'}"
        print_notice(f"{name}: {pluralize(one.shards, 'shard')}")
        for warning in one.warnings:
            print_notice(f"warning: {warning}")
    if all(reporter.path is not None for reporter in reporters):
        for done in results.done:
            print_report(
                RunView.of(done.outcome, done.skill), call.out.draw, verbose=verbose, interpret=interpret
            )
        _sum_up(call, results)
    writers: list[Writer] = [
        partial(call.print_report, name, results)
        for name in dict.fromkeys(one.name for one in reporters if one.path is None)
    ]
    if output:
        writers.append(partial(write_results, output, results, summary=True))
    writers += [partial(write_report, reporter, results) for reporter in reporters]
    call.write(writers)
    call.finish(complete=True)
    return EXIT_OK if results.invocation.verdict.acceptable else EXIT_FAILED


def _sum_up(call: CommandRun, results: CommandResults) -> None:
    """Print what models and suites come to, as a run does, where there are several."""
    by_suite: dict[tuple[str, str], list[SkillOutcome]] = {}
    for one in results.done:
        by_suite.setdefault((one.skill, one.outcome.head.eval_name), []).append(one)
    for own in by_suite.values():
        if len(own) > 1:
            outcomes = [one.outcome for one in own]
            overview.print_model_comparison(
                [one.head for one in outcomes], call.out.draw, compare_outcomes(outcomes)
            )
    if len(by_suite) > 1:
        overview.print_skills_summary(InvocationView(results.invocation), call.out.draw)
