"""What `waza check` does with its options."""

from __future__ import annotations

from collections.abc import Sequence

from waza.author.check.report import CheckReport
from waza.author.check.run import CheckOptions, check_targets
from waza.author.check.text import report_lines, table_lines
from waza.author.tokens.count import choose_counter
from waza.cli.check_arguments import CheckArguments
from waza.cli.find_targets import find_targets
from waza.cli.findings_output import print_findings
from waza.cli.open_project import open_project
from waza.cli.streams import make_progress, print_notice
from waza.errors import EXIT_ERROR
from waza.suite.detect import DetectedSkill, describe_definition

_STEP = 25  # addresses between two lines of progress


def run_check(given: CheckArguments) -> int:
    """Check, print the report, and return the exit code."""
    project = open_project()
    found = find_targets(given.targets, project)
    if given.fix:
        _fix(found)
        found = [
            describe_definition(one.definition, one.root, one.owner) for one in found
        ]  # names may be new
    options = CheckOptions(
        counter=choose_counter(given.tokenizer),
        offline=given.offline,
        report=make_progress("asked for", "addresses", _STEP),
    )
    report = check_targets(found, options)
    print_findings(report, given.form, text=report_lines, table=table_lines)
    return _exit_code(report, given)


def _fix(found: Sequence[DetectedSkill]) -> None:
    """Correct files, and say on standard error what was changed, so that the report can be piped."""
    from waza.author.check.fix import fix_files

    changes = [change for one in found for change in fix_files(one.definition)]
    for change in changes:
        print_notice(f"fixed {change.file}:{change.line}: {change.what}")
    if not changes:
        print_notice("nothing to fix")


def _exit_code(report: CheckReport, given: CheckArguments) -> int:
    unreadable = [target.path for target in report.targets if not target.readable]
    if unreadable:
        print_notice(f"Error: cannot be read as a skill or agent: {', '.join(unreadable)}")
        return EXIT_ERROR
    return given.exit_code(report.findings)
